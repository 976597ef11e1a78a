// The types server-side apply works with, read off the message descriptors: which lists have keyed items, which
// are sets, which values are owned as a whole. One type per message, made when it is first used; recursive messages are
// recursive types. Raw JSON is `any`: whatever it holds is owned as a whole (upstream: untyped types).
import type { Field, Message } from "../api/schema.ts";
import type { Value } from "../api/value.ts";

/** A scalar; `untyped` takes any of them. */
export interface ScalarType {
  readonly kind: "scalar";
  readonly scalar: "string" | "numeric" | "boolean" | "untyped";
}

/** A message (`fields`) or a map (`element`). */
export interface MapType {
  readonly kind: "map";
  readonly fields: ReadonlyMap<string, Type>;
  /** Type of keys that are no fields; undefined where there are none. */
  readonly element: Type | undefined;
  /** Owned as a whole. */
  readonly atomic: boolean;
}

/** A list. */
export interface ListType {
  readonly kind: "list";
  readonly element: Type;
  readonly relation: "atomic" | "set" | "keyed";
  /** Names of the keys, sorted, and the JSON text of each one's default. */
  readonly keys: readonly { readonly name: string; readonly default: string | undefined }[];
}

/** Whatever the value is. */
export interface AnyType {
  readonly kind: "any";
  /** Objects are owned key by key, at any depth; otherwise as a whole. */
  readonly separable: boolean;
}

/** A type. */
export type Type = ScalarType | MapType | ListType | AnyType;

const any: AnyType = { kind: "any", separable: false };
const anyMap: MapType = { kind: "map", fields: new Map(), element: any, atomic: true };
/** Values without a schema: objects key by key, lists as a whole (upstream: deduced types). */
export const deduced: AnyType = { kind: "any", separable: true };
const deducedMap: MapType = { kind: "map", fields: new Map(), element: deduced, atomic: false };
const anyList: ListType = { kind: "list", element: any, relation: "atomic", keys: [] };
const untyped: ScalarType = { kind: "scalar", scalar: "untyped" };
const text: ScalarType = { kind: "scalar", scalar: "string" };
const numeric: ScalarType = { kind: "scalar", scalar: "numeric" };
const boolean: ScalarType = { kind: "scalar", scalar: "boolean" };
const texts: ListType = { kind: "list", element: text, relation: "atomic", keys: [] };

/** The type of a value: `any` becomes the type of the value itself. */
export function resolve(type: Type, value: Value | undefined): ScalarType | MapType | ListType {
  if (type.kind !== "any") return type;
  if (Array.isArray(value)) return anyList;
  if (value !== undefined && value !== null && !(value instanceof Map)) return untyped;
  return type.separable ? deducedMap : anyMap;
}

const types = new WeakMap<Message, MapType>();

/** The type of a message. */
export function typeOfMessage(message: Message): MapType {
  const known = types.get(message) ?? makers.get(message)?.();
  if (known !== undefined) return known;
  const fields = new Map<string, Type>();
  const type: MapType = { kind: "map", fields, element: undefined, atomic: message.structType === "atomic" };
  // Known before its fields are looked at: messages may hold themselves.
  types.set(message, type);
  if (message.typeMeta) fields.set("apiVersion", text).set("kind", text);
  for (const [json, field] of message.byJson) fields.set(json, typeOfField(field));
  return type;
}

const makers = new WeakMap<Message, () => MapType>();

/** Sets the type of an open message: `make` compiles its definition's schema at the first use. */
export function giveType(message: Message, make: () => MapType): void {
  makers.set(message, make);
}

/** Type of a field. */
function typeOfField(field: Field): Type {
  const one = typeOfOne(field);
  switch (field.cardinality) {
    case "one":
      return one;
    case "map":
      return { kind: "map", fields: new Map(), element: one, atomic: field.mapType === "atomic" };
    case "list":
      return typeOfList(field, one);
  }
}

function typeOfList(field: Field, element: Type): ListType {
  const { listType, patchStrategy, patchMergeKey } = field;
  if (listType === "atomic") return { kind: "list", element, relation: "atomic", keys: [] };
  if (listType === "set") return { kind: "list", element, relation: "set", keys: [] };
  if (listType === "map") return { kind: "list", element, relation: "keyed", keys: keysOf(field, field.listMapKeys) };
  if (!patchStrategy.includes("merge")) return { kind: "list", element, relation: "atomic", keys: [] };
  if (patchMergeKey === undefined) return { kind: "list", element, relation: "set", keys: [] };
  return { kind: "list", element, relation: "keyed", keys: keysOf(field, [patchMergeKey]) };
}

function keysOf(field: Field, names: readonly string[]): ListType["keys"] {
  return [...names].sort().map((name) => {
    const key = field.message?.byJson.get(name);
    return { name, default: key === undefined ? undefined : defaultOf(key) };
  });
}

/** The default the schema gives a key: its own, or the zero value of fields that are always written. */
function defaultOf(key: Field): string | undefined {
  if (key.default !== undefined) return key.default;
  if (key.pointer || key.omitEmpty) return undefined;
  if (key.type === "string") return '""';
  return key.type === "bool" ? "false" : "0";
}

function typeOfOne(field: Field): Type {
  switch (field.type) {
    case "message": {
      const { message } = field;
      if (message === undefined) return any;
      if (message.special === undefined) return typeOfMessage(message);
      return message.special === "List" ? texts : any;
    }
    case "string":
    case "bytes":
    case "Duration":
      return text;
    case "bool":
      return boolean;
    case "Time":
    case "MicroTime":
    case "Quantity":
    case "IntOrString":
      return untyped;
    case "raw":
      return any;
    case "int32":
    case "int64":
    case "uint32":
    case "uint64":
    case "float":
    case "double":
      return numeric;
  }
}
