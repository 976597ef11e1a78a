// One version's schema, compiled once: a graph of nodes that prunes, defaults and validates. Subtrees that say the same
// are one node, over all versions a compiler is given; descriptions are left out, rare keywords stand in objects of their
// own that most nodes have none of. A node holds nothing of the text of the definition.
import type { JSONSchemaProps, ValidationRule } from "../../api/gen/apiextensions/v1.ts";
import type { RawJson } from "../../api/schema.ts";
import type { Value } from "../../api/value.ts";
import { flatText } from "../../base/flattext.ts";
import { isFault, parseOwn } from "../../codec/engine/json.ts";
import { isNumber } from "./numbers.ts";
import { Pattern } from "./patterns.ts";
import { type StringFormat, stringFormat } from "./stringformats.ts";
import { canonicalText } from "./texts.ts";

/** JSON types, as bits. */
export const types = { integer: 1, number: 2, string: 4, boolean: 8, array: 16, object: 32 } as const;

/** Bounds of numbers. */
export interface NumberRules {
  readonly maximum: number | undefined;
  readonly exclusiveMaximum: boolean;
  readonly minimum: number | undefined;
  readonly exclusiveMinimum: boolean;
  readonly multipleOf: number | undefined;
}

/** Bounds of texts. */
export interface TextRules {
  readonly lengthMax: number | undefined;
  readonly lengthMin: number | undefined;
  readonly pattern: Pattern | undefined;
}

/** Bounds of lists and objects. */
export interface SizeRules {
  readonly itemsMax: number | undefined;
  readonly itemsMin: number | undefined;
  readonly uniqueItems: boolean;
  readonly propertiesMax: number | undefined;
  readonly propertiesMin: number | undefined;
}

/** The values there may be: texts of each (`enumKey()`), and how messages list them. */
export interface EnumRules {
  /** Tells it from other enums of a compiler. */
  readonly number: number;
  readonly keys: ReadonlySet<string>;
  readonly listed: readonly string[];
}

/** Schemas that narrow what the node says. */
export interface JunctorRules {
  readonly anyOf: readonly Node[];
  readonly oneOf: readonly Node[];
  readonly allOf: readonly Node[];
  readonly not: Node | undefined;
}

/** How items of a list are told apart. */
export interface ListRules {
  readonly kind: "set" | "map";
  readonly keys: readonly string[];
}

/** What most nodes do not say. */
export interface Rules {
  readonly numbers: NumberRules | undefined;
  readonly texts: TextRules | undefined;
  readonly sizes: SizeRules | undefined;
  readonly enum: EnumRules | undefined;
  readonly junctors: JunctorRules | undefined;
  readonly list: ListRules | undefined;
  readonly format: StringFormat | undefined;
  /** `x-kubernetes-validations`. */
  readonly expressions: readonly ValidationRule[] | undefined;
}

/** A schema. */
export interface Node {
  /** Bits of the types a value may have; 0: any. */
  readonly types: number;
  /** As messages name them: `string`, `integer,string`. */
  readonly typeText: string;
  readonly nullable: boolean;
  /** Fields that are not declared are kept. */
  readonly preserves: boolean;
  /** An object of the API stands here: apiVersion, kind and metadata have rules of their own. */
  readonly embeds: boolean;
  readonly properties: ReadonlyMap<string, Node> | undefined;
  /** Of keys that are no properties; true: anything, that is to say objects without fields; false: there may be none. */
  readonly additional: Node | boolean | undefined;
  readonly items: Node | undefined;
  readonly required: readonly string[] | undefined;
  /** Names of the properties that have a default. */
  readonly defaulted: readonly string[] | undefined;
  readonly default: Value | undefined;
  readonly rules: Rules | undefined;
  /** Own expressions, or some below. */
  readonly hasExpressions: boolean;
  readonly mapType: "atomic" | undefined;
}

/** What a value is listed under in an enum; null is listed under nothing, and never allowed. */
export function enumKey(value: Value): string | undefined {
  if (value === null) return undefined;
  // Numbers of either kind are compared by value, those within lists and objects are told apart.
  return canonicalText(value, !isNumber(value));
}

const noNodes: readonly Node[] = [];

/** Compiles schemas; what they share is compiled once. */
export class SchemaCompiler {
  readonly #nodes = new Map<string, Node>();
  readonly #bySchema = new Map<JSONSchemaProps, Node>();
  readonly #ids = new Map<Node, number>();
  readonly #names = new Map<string, string>();
  readonly #patterns = new Map<string, Pattern>();
  readonly #enums = new Map<string, EnumRules>();

  /** The node of a schema that is structural. */
  compile(schema: JSONSchemaProps): Node {
    let node = this.#bySchema.get(schema);
    if (node === undefined) {
      node = this.#compile(schema);
      this.#bySchema.set(schema, node);
    }
    return node;
  }

  #compile(schema: JSONSchemaProps): Node {
    const properties = this.#properties(schema);
    const { items, additionalProperties } = schema;
    const item = items?.schema === undefined ? undefined : this.compile(items.schema);
    const additional =
      additionalProperties?.schema === undefined ? undefined : this.compile(additionalProperties.schema);
    const junctors = this.#junctors(schema);
    const below = [...(properties?.values() ?? []), item, additional, ...allOf(junctors)];
    const key = `${ownText(schema)}${properties === undefined ? "" : JSON.stringify([...properties.keys()])}|${below.map((node) => (node === undefined ? "" : this.#ids.get(node))).join()}`;
    const known = this.#nodes.get(key);
    if (known !== undefined) return known;
    const own = { properties, item, additional: additional ?? additionalProperties?.allows };
    const node = this.#node(schema, own, junctors);
    this.#nodes.set(key, node);
    this.#ids.set(node, this.#ids.size);
    return node;
  }

  #properties(schema: JSONSchemaProps): ReadonlyMap<string, Node> | undefined {
    if (schema.properties === undefined || schema.properties.size === 0) return undefined;
    const properties = new Map<string, Node>();
    for (const [name, property] of schema.properties) properties.set(this.#name(name), this.compile(property));
    return properties;
  }

  #junctors(schema: JSONSchemaProps): JunctorRules | undefined {
    const { anyOf = [], oneOf = [], allOf = [], not } = schema;
    if (anyOf.length + oneOf.length + allOf.length === 0 && not === undefined) return undefined;
    const nodes = (list: readonly JSONSchemaProps[]): readonly Node[] =>
      list.length === 0 ? noNodes : list.map((part) => this.compile(part));
    return {
      anyOf: nodes(anyOf),
      oneOf: nodes(oneOf),
      allOf: nodes(allOf),
      not: not === undefined ? undefined : this.compile(not),
    };
  }

  #node(
    schema: JSONSchemaProps,
    own: Pick<Node, "properties" | "additional"> & { readonly item: Node | undefined },
    junctors: JunctorRules | undefined,
  ): Node {
    const { properties, item, additional } = own;
    const isEither = schema["x-kubernetes-int-or-string"] === true;
    const defaulted = [...(properties ?? [])].filter(([, node]) => node.default !== undefined).map(([name]) => name);
    const expressions = schema["x-kubernetes-validations"];
    const hasExpressions = (expressions?.length ?? 0) > 0;
    return {
      types: isEither ? types.integer | types.string : typeBits(schema.type),
      typeText: isEither ? "integer,string" : this.#name(schema.type ?? ""),
      nullable: schema.nullable === true,
      preserves: schema["x-kubernetes-preserve-unknown-fields"] === true,
      embeds: schema["x-kubernetes-embedded-resource"] === true,
      properties,
      additional,
      items: item,
      required:
        schema.required === undefined || schema.required.length === 0 ? undefined : this.#texts(schema.required),
      defaulted: defaulted.length === 0 ? undefined : defaulted,
      default: valueOfRaw(schema.default),
      rules: this.#rules(schema, junctors, hasExpressions ? expressions : undefined),
      hasExpressions:
        hasExpressions ||
        [...(properties?.values() ?? []), item, additional].some(
          (node) => typeof node === "object" && node.hasExpressions,
        ),
      mapType: schema["x-kubernetes-map-type"] === "atomic" ? "atomic" : undefined,
    };
  }

  #rules(
    schema: JSONSchemaProps,
    junctors: JunctorRules | undefined,
    expressions: readonly ValidationRule[] | undefined,
  ): Rules | undefined {
    const rules: Rules = {
      numbers: numberRules(schema),
      texts: this.#textRules(schema),
      sizes: sizeRules(schema),
      enum: this.#enumRules(schema.enum),
      junctors,
      list: this.#listRules(schema),
      format: schema.format === undefined ? undefined : stringFormat(schema.format),
      expressions: expressions?.map(({ rule, message }) => ({
        rule: flatText(rule),
        message: message && flatText(message),
      })),
    };
    return Object.values(rules).some((part) => part !== undefined) ? rules : undefined;
  }

  #textRules({ maxLength, minLength, pattern }: JSONSchemaProps): TextRules | undefined {
    if (maxLength === undefined && minLength === undefined && (pattern === undefined || pattern === ""))
      return undefined;
    return { lengthMax: count(maxLength), lengthMin: count(minLength), pattern: this.#pattern(pattern) };
  }

  #pattern(text: string | undefined): Pattern | undefined {
    if (text === undefined || text === "") return undefined;
    const known = this.#patterns.get(text);
    if (known !== undefined) return known;
    const made = new Pattern(flatText(text));
    this.#patterns.set(made.text, made);
    return made;
  }

  #listRules(schema: JSONSchemaProps): ListRules | undefined {
    const kind = schema["x-kubernetes-list-type"];
    if (kind !== "set" && kind !== "map") return undefined;
    return { kind, keys: this.#texts(schema["x-kubernetes-list-map-keys"] ?? []) };
  }

  #enumRules(list: readonly RawJson[] | undefined): EnumRules | undefined {
    if (list === undefined || list.length === 0) return undefined;
    const text = list.map((raw) => raw.text).join();
    const known = this.#enums.get(text);
    if (known !== undefined) return known;
    const made = enumRules(list, this.#enums.size);
    this.#enums.set(text, made);
    return made;
  }

  #texts(list: readonly string[]): readonly string[] {
    return list.map((text) => this.#name(text));
  }

  /** One text for all that are equal, which is no part of the definition's. */
  #name(text: string): string {
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    const own = flatText(text);
    this.#names.set(own, own);
    return own;
  }
}

function allOf(junctors: JunctorRules | undefined): readonly (Node | undefined)[] {
  if (junctors === undefined) return noNodes;
  // Kept apart by gaps, for the same schemas in another junctor are another rule.
  return [...junctors.anyOf, undefined, ...junctors.oneOf, undefined, ...junctors.allOf, undefined, junctors.not];
}

function typeBits(type: string | undefined): number {
  switch (type) {
    case undefined:
    case "":
      return 0;
    case "integer":
    case "number":
    case "string":
    case "boolean":
    case "array":
    case "object":
      return types[type];
    default:
      // Of a type there is not: no value has it.
      return 64;
  }
}

function count(bound: number | bigint | undefined): number | undefined {
  return bound === undefined ? undefined : Number(bound);
}

function valueOfRaw(raw: RawJson | undefined): Value | undefined {
  if (raw === undefined || raw.text === "null") return undefined;
  // A copy of the text: parts of it live on in the value.
  const value = parseOwn(flatText(raw.text));
  return isFault(value) ? undefined : value;
}

function numberRules(schema: JSONSchemaProps): NumberRules | undefined {
  const { maximum, minimum, multipleOf } = schema;
  if (maximum === undefined && minimum === undefined && multipleOf === undefined) return undefined;
  const { exclusiveMaximum = false, exclusiveMinimum = false } = schema;
  return { maximum, exclusiveMaximum, minimum, exclusiveMinimum, multipleOf };
}

function sizeRules(schema: JSONSchemaProps): SizeRules | undefined {
  const { maxItems, minItems, maxProperties, minProperties, uniqueItems = false } = schema;
  if (!uniqueItems && [maxItems, minItems, maxProperties, minProperties].every((bound) => bound === undefined)) {
    return undefined;
  }
  return {
    itemsMax: count(maxItems),
    itemsMin: count(minItems),
    uniqueItems,
    propertiesMax: count(maxProperties),
    propertiesMin: count(minProperties),
  };
}

function enumRules(list: readonly RawJson[], number: number): EnumRules {
  const values = list.map((raw) => valueOfRaw(raw) ?? null);
  const keys = values.map(enumKey).filter((key) => key !== undefined);
  const listed = values.map((value) => (typeof value === "string" ? value : canonicalText(value, false)));
  return { number, keys: new Set(keys), listed };
}

/** All a schema says itself, in one text; what it says of others, and what it tells people, left out. */
function ownText(schema: JSONSchemaProps): string {
  let text = "";
  for (const name of ownKeywords) {
    const value = schema[name];
    if (value === undefined || value === false || value === "") continue;
    text += `${name}:${typeof value === "string" ? JSON.stringify(value) : keywordText(value)},`;
  }
  if (schema.additionalProperties !== undefined) text += schema.additionalProperties.allows ? "+" : "-";
  return text;
}

const ownKeywords = [
  ...(["type", "format", "nullable", "default", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"] as const),
  ...(["maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "multipleOf", "enum"] as const),
  ...(["maxProperties", "minProperties", "required", "x-kubernetes-preserve-unknown-fields"] as const),
  ...(["x-kubernetes-embedded-resource", "x-kubernetes-int-or-string", "x-kubernetes-list-map-keys"] as const),
  ...(["x-kubernetes-list-type", "x-kubernetes-map-type", "x-kubernetes-validations"] as const),
] as const;

function keywordText(value: object | number | bigint | true): string {
  return typeof value === "object"
    ? JSON.stringify(value, (_key, inner: unknown) => (typeof inner === "bigint" ? String(inner) : inner))
    : String(value);
}
