// Types of expressions: what a schema declares, and what operators and functions take and give. A type is an object;
// types of declared objects are one per schema, and compared by identity.
import type { ListRules, Node } from "../plan.ts";

/** The kinds of types. `param` stands for any type, the same at each place of a signature. */
export type Kind =
  | "dyn"
  | "null"
  | "bool"
  | "int"
  | "uint"
  | "double"
  | "string"
  | "bytes"
  | "timestamp"
  | "duration"
  | "quantity"
  | "url"
  | "ip"
  | "cidr"
  | "format"
  | "type"
  | "list"
  | "map"
  | "optional"
  | "object"
  | "param";

/** A field of a declared object. */
export interface DeclaredField {
  /** As documents have it. */
  readonly name: string;
  readonly type: CelType;
}

/** Fields of an object by the names expressions have for them, and by those that documents have. */
export interface DeclaredFields {
  readonly byIdentifier: ReadonlyMap<string, DeclaredField>;
  readonly byName: ReadonlyMap<string, CelType>;
}

/** A type. */
export class CelType {
  readonly kind: Kind;
  /** Of the items of a list; of keys and values of a map; of the value of an optional. */
  readonly args: readonly CelType[];
  /** Of a parameter. */
  readonly name: string;
  /** The schema of what is declared. */
  readonly node: Node | undefined;
  readonly #declare: (() => DeclaredFields) | undefined;
  #fields: DeclaredFields | undefined = undefined;

  constructor(
    kind: Kind,
    args: readonly CelType[] = [],
    { name = "", node, fields }: { name?: string; node?: Node | undefined; fields?: () => DeclaredFields } = {},
  ) {
    this.kind = kind;
    this.args = args;
    this.name = name;
    this.node = node;
    this.#declare = fields;
  }

  /** The fields of an object; none of anything else. */
  get fields(): DeclaredFields {
    this.#fields ??= this.#declare?.() ?? noFields;
    return this.#fields;
  }

  /** Of a declared list: how its items are told apart. */
  get listRules(): ListRules | undefined {
    return this.node?.rules?.list;
  }

  /** The type within: of items, of values. */
  get inner(): CelType {
    return this.args.at(-1) ?? dynType;
  }
}

const noFields: DeclaredFields = { byIdentifier: new Map(), byName: new Map() };

/** Types without parts. */
export const dynType = new CelType("dyn");
export const nullType = new CelType("null");
export const boolType = new CelType("bool");
export const intType = new CelType("int");
export const uintType = new CelType("uint");
export const doubleType = new CelType("double");
export const stringType = new CelType("string");
export const bytesType = new CelType("bytes");
export const timestampType = new CelType("timestamp");
export const durationType = new CelType("duration");
export const quantityType = new CelType("quantity");
export const urlType = new CelType("url");
export const ipType = new CelType("ip");
export const cidrType = new CelType("cidr");
export const formatType = new CelType("format");
export const typeType = new CelType("type");

const simple: ReadonlyMap<string, CelType> = new Map(
  [
    ...[dynType, nullType, boolType, intType, uintType, doubleType, stringType, bytesType, timestampType],
    ...[durationType, quantityType, urlType, ipType, cidrType, formatType, typeType],
  ].map((type) => [type.kind, type]),
);

export function listOf(item: CelType): CelType {
  return new CelType("list", [item]);
}

export function mapOf(key: CelType, value: CelType): CelType {
  return new CelType("map", [key, value]);
}

export function optionalOf(of: CelType): CelType {
  return new CelType("optional", [of]);
}

/** What an expression's parameters stand for. */
export type Bindings = Map<string, CelType>;

/** Whether a value of type `given` may stand where `wanted` is; parameters get bound. Dyn fits everywhere. */
export function fits(wanted: CelType, given: CelType, bindings: Bindings): boolean {
  if (wanted === given || wanted.kind === "dyn" || given.kind === "dyn") return true;
  if (wanted.kind === "param") {
    const bound = bindings.get(wanted.name);
    if (bound === undefined) {
      bindings.set(wanted.name, given);
      return true;
    }
    const joined = join(bound, given);
    if (joined === undefined) return false;
    bindings.set(wanted.name, joined);
    return true;
  }
  if (given.kind === "null") return isNullable(wanted);
  if (wanted.kind !== given.kind) return false;
  // Types of declared objects are one for each schema.
  if (wanted.kind === "object") return false;
  return wanted.args.every((part, index) => fits(part, given.args[index] ?? dynType, bindings));
}

/** The type that has the values of both; undefined: there is none but dyn. */
export function join(a: CelType, b: CelType): CelType | undefined {
  if (a === b || b.kind === "dyn") return a;
  if (a.kind === "dyn") return b;
  if (a.kind === "null") return isNullable(b) ? b : undefined;
  if (b.kind === "null") return isNullable(a) ? a : undefined;
  if (a.kind !== b.kind || a.kind === "object") return undefined;
  if (a.args.length === 0) return a;
  const parts: CelType[] = [];
  for (const [index, part] of a.args.entries()) {
    const joined = join(part, b.args[index] ?? dynType);
    if (joined === undefined) return undefined;
    parts.push(joined);
  }
  return new CelType(a.kind, parts);
}

/** CEL lets null stand for whole messages, and for nothing of the schema's scalars. */
function isNullable({ kind }: CelType): boolean {
  return kind === "null" || kind === "object" || kind === "timestamp" || kind === "duration" || kind === "optional";
}

/** A type with its parameters replaced; those that are not bound are dyn. */
export function substitute(type: CelType, bindings: Bindings): CelType {
  if (type.kind === "param") return bindings.get(type.name) ?? dynType;
  if (type.args.length === 0 || type.node !== undefined) return type;
  return new CelType(
    type.kind,
    type.args.map((part) => substitute(part, bindings)),
  );
}

/** Kinds whose name in messages is another word. */
export const kindNames: ReadonlyMap<Kind, string> = new Map<Kind, string>([
  ["optional", "optional_type"],
  ["quantity", "kubernetes.Quantity"],
  ["url", "kubernetes.URL"],
  ["ip", "net.IP"],
  ["cidr", "net.CIDR"],
  ["format", "kubernetes.NamedFormat"],
]);

/** Levels of a type that messages show. */
const shownLevels = 6;

/** A type as messages name it. */
export function typeText(type: CelType, level = 0): string {
  const name = type.kind === "param" ? type.name : (kindNames.get(type.kind) ?? type.kind);
  if (type.args.length === 0) return name;
  if (level === shownLevels) return `${name}(…)`;
  return `${name}(${type.args.map((part) => typeText(part, level + 1)).join(", ")})`;
}

/** Reads types in signatures: `string`, `list<A>`, `map<A, B>`, `optional<A>`; a capital letter is a parameter. */
export function typeOfText(text: string): CelType {
  const open = text.indexOf("<");
  if (open < 0) return simple.get(text) ?? new CelType("param", [], { name: text });
  const kind = text.slice(0, open) as Kind;
  const parts = splitTypes(text.slice(open + 1, -1));
  return new CelType(kind, parts.map(typeOfText));
}

/** Splits a list of types at the commas that stand in no brackets. */
export function splitTypes(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at <= text.length; at++) {
    const mark = text[at];
    if (mark === "<") depth += 1;
    else if (mark === ">") depth -= 1;
    else if (at === text.length || (mark === "," && depth === 0)) {
      const part = text.slice(from, at).trim();
      if (part !== "") parts.push(part);
      from = at + 1;
    }
  }
  return parts;
}

/** Words that are no identifiers in expressions: fields of that name are written `__word__`. */
const reserved: ReadonlySet<string> = new Set([
  ...["true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import"],
  ...["let", "loop", "package", "namespace", "return", "var", "void", "while"],
]);

const replacements: ReadonlyMap<string, string> = new Map([
  ["__", "__underscores__"],
  [".", "__dot__"],
  ["-", "__dash__"],
  ["/", "__slash__"],
]);

/** The name of a field in expressions; undefined: it has none, and cannot be accessed. */
export function identifierOf(name: string): string | undefined {
  if (reserved.has(name)) return `__${name}__`;
  if (!/^[A-Za-z_./-][A-Za-z0-9_./-]*$/.test(name)) return undefined;
  return name.replace(/__|[./-]/g, (mark) => replacements.get(mark) ?? mark);
}
