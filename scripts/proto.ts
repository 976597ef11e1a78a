// Reads the protobuf language as far as proto/ uses it: proto2 files with messages of fields, and options whose values
// are scalars, lists or text-format blocks. A general parser loses what we need (order, our options unflattened), and
// this subset is small.

/** An option's value. Repeated keys and options are gathered into a list. */
export type OptionValue = string | number | boolean | OptionValue[] | OptionBlock;
/** A text-format block, `{ name: "x", verbs: ["get"] }`. */
export interface OptionBlock {
  readonly entries: Map<string, OptionValue>;
}

/** A field as written. */
export interface ProtoField {
  readonly label: "optional" | "repeated" | "map";
  /** Scalar or fully qualified message name (of a map's values). */
  readonly type: string;
  readonly name: string;
  readonly number: number;
  readonly options: Map<string, OptionValue>;
}

/** A message as written. */
export interface ProtoMessage {
  readonly name: string;
  readonly options: Map<string, OptionValue>;
  readonly fields: readonly ProtoField[];
}

/** A file as written. */
export interface ProtoFile {
  readonly package: string;
  readonly imports: readonly string[];
  readonly options: Map<string, OptionValue>;
  readonly messages: readonly ProtoMessage[];
}

interface Cursor {
  readonly path: string;
  readonly tokens: readonly string[];
  at: number;
}

const scalars = new Set(["string", "bool", "int32", "int64", "uint32", "uint64", "float", "double", "bytes"]);

/** Parses one file; throws with the path and the token at fault. */
export function parseProto(path: string, text: string): ProtoFile {
  const cursor: Cursor = { path, tokens: tokenize(path, text), at: 0 };
  const imports: string[] = [];
  const options = new Map<string, OptionValue>();
  const messages: ProtoMessage[] = [];
  let name = "";
  while (cursor.at < cursor.tokens.length) {
    const word = next(cursor);
    if (word === "syntax") {
      expect(cursor, "=");
      expect(cursor, '"proto2"');
      expect(cursor, ";");
    } else if (word === "package") {
      name = next(cursor);
      expect(cursor, ";");
    } else if (word === "import") {
      imports.push(JSON.parse(next(cursor)) as string);
      expect(cursor, ";");
    } else if (word === "option") {
      parseOption(cursor, options);
      expect(cursor, ";");
    } else if (word === "message") {
      messages.push(parseMessage(cursor, name));
    } else {
      fail(cursor, word);
    }
  }
  return { package: name, imports, options, messages };
}

function tokenize(path: string, text: string): string[] {
  const pattern = /\s+|\/\/[^\n]*|("(?:[^"\\\n]|\\.)*"|[\w.+-]+|[{}[\]()<>=;:,])|(.)/gy;
  const tokens: string[] = [];
  for (const match of text.matchAll(pattern)) {
    if (match[2] !== undefined) throw new Error(`${path}: unexpected ${match[2]} at ${match.index}`);
    if (match[1] !== undefined) tokens.push(match[1]);
  }
  return tokens;
}

function next(cursor: Cursor): string {
  const token = cursor.tokens[cursor.at];
  if (token === undefined) throw new Error(`${cursor.path}: ends too early`);
  cursor.at += 1;
  return token;
}

function fail(cursor: Cursor, token: string): never {
  const around = cursor.tokens.slice(Math.max(0, cursor.at - 8), cursor.at + 3).join(" ");
  throw new Error(`${cursor.path}: unexpected ${token} in ${around}`);
}

function expect(cursor: Cursor, token: string): void {
  const got = next(cursor);
  if (got !== token) fail(cursor, got);
}

/** Takes `token` if it comes next. */
function accept(cursor: Cursor, token: string): boolean {
  if (cursor.tokens[cursor.at] !== token) return false;
  cursor.at += 1;
  return true;
}

function parseMessage(cursor: Cursor, scope: string): ProtoMessage {
  const name = next(cursor);
  const options = new Map<string, OptionValue>();
  const fields: ProtoField[] = [];
  expect(cursor, "{");
  while (!accept(cursor, "}")) {
    const word = next(cursor);
    if (word === "option") {
      parseOption(cursor, options);
      expect(cursor, ";");
    } else {
      fields.push(parseField(cursor, word, scope));
    }
  }
  return { name, options, fields };
}

function parseField(cursor: Cursor, label: string, scope: string): ProtoField {
  if (label !== "optional" && label !== "repeated" && label !== "map") return fail(cursor, label);
  if (label === "map") for (const token of ["<", "string", ","]) expect(cursor, token);
  const type = next(cursor);
  if (label === "map") expect(cursor, ">");
  const name = next(cursor);
  expect(cursor, "=");
  const number = Number(next(cursor));
  if (!Number.isSafeInteger(number) || number < 1) fail(cursor, String(number));
  const options = new Map<string, OptionValue>();
  if (accept(cursor, "[")) {
    do parseOption(cursor, options);
    while (accept(cursor, ","));
    expect(cursor, "]");
  }
  expect(cursor, ";");
  const qualified = scalars.has(type) || type.includes(".") ? type : `${scope}.${type}`;
  return { label, type: qualified, name, number, options };
}

/** `(orch.name) = value` is kept as `name`, protobuf's own options under their name. */
function parseOption(cursor: Cursor, into: Map<string, OptionValue>): void {
  const own = accept(cursor, "(");
  const word = next(cursor);
  if (own) expect(cursor, ")");
  if (own && !word.startsWith("orch.")) fail(cursor, word);
  expect(cursor, "=");
  gather(into, own ? word.slice("orch.".length) : word, parseValue(cursor));
}

function gather(into: Map<string, OptionValue>, name: string, value: OptionValue): void {
  const known = into.get(name);
  if (known === undefined) into.set(name, value);
  else into.set(name, [...(Array.isArray(known) ? known : [known]), ...(Array.isArray(value) ? value : [value])]);
}

function parseValue(cursor: Cursor): OptionValue {
  const token = next(cursor);
  if (token === "{") return parseBlock(cursor);
  if (token === "[") return parseList(cursor);
  if (token.startsWith('"')) return JSON.parse(token) as string;
  if (token === "true" || token === "false") return token === "true";
  const number = Number(token);
  return Number.isFinite(number) ? number : fail(cursor, token);
}

function parseList(cursor: Cursor): OptionValue[] {
  const values: OptionValue[] = [];
  while (!accept(cursor, "]")) {
    values.push(parseValue(cursor));
    accept(cursor, ",");
  }
  return values;
}

function parseBlock(cursor: Cursor): OptionBlock {
  const entries = new Map<string, OptionValue>();
  while (!accept(cursor, "}")) {
    const name = next(cursor);
    expect(cursor, ":");
    gather(entries, name, parseValue(cursor));
    accept(cursor, ",");
  }
  return { entries };
}

/** A string option, or undefined. */
export function textOf(options: ReadonlyMap<string, OptionValue>, name: string): string | undefined {
  const value = options.get(name);
  if (value !== undefined && typeof value !== "string") throw new Error(`${name} must be a string`);
  return value;
}

/** A boolean option, or undefined. */
export function flagOf(options: ReadonlyMap<string, OptionValue>, name: string): boolean | undefined {
  const value = options.get(name);
  if (value !== undefined && typeof value !== "boolean") throw new Error(`${name} must be true or false`);
  return value;
}

/** A number option, or undefined. */
export function numberOf(options: ReadonlyMap<string, OptionValue>, name: string): number | undefined {
  const value = options.get(name);
  if (value !== undefined && typeof value !== "number") throw new Error(`${name} must be a number`);
  return value;
}

/** A repeated string option. */
export function textsOf(options: ReadonlyMap<string, OptionValue>, name: string): string[] {
  const value = options.get(name) ?? [];
  const values = Array.isArray(value) ? value : [value];
  return values.map((item) => {
    if (typeof item !== "string") throw new Error(`${name} must hold strings`);
    return item;
  });
}

/** A block option, given once or repeatedly. */
export function blocksOf(options: ReadonlyMap<string, OptionValue>, name: string): Map<string, OptionValue>[] {
  const value = options.get(name) ?? [];
  const values = Array.isArray(value) ? value : [value];
  return values.map((item) => {
    if (typeof item !== "object" || Array.isArray(item)) throw new Error(`${name} must hold blocks`);
    return item.entries;
  });
}
