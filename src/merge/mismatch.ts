// Why a document cannot be read as a message, in the words of upstream's converter from generic values: a strategic
// merge patch passes there and not through JSON. Values that both reject for the same reason (times, quantities,
// unions) keep the words of the JSON codec.
import type { Field, Message } from "../api/schema.ts";
import { NumberText, type Value, type ValueMap } from "../api/value.ts";

/** The first field that holds a value of another kind than its type, described; undefined: none was found. */
export function findMismatch(message: Message, document: Value): string | undefined {
  const rest: [Message, ValueMap][] = document instanceof Map ? [[message, document]] : [];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const [type, map] = next;
    const below: [Message, ValueMap][] = [];
    for (const [json, field] of type.byJson) {
      const value = map.get(json);
      const found = value === undefined || value === null ? undefined : describe(field, value, below);
      if (found !== undefined) return found;
    }
    for (const inner of below.reverse()) rest.push(inner);
  }
  return undefined;
}

function describe(field: Field, value: Value, below: [Message, ValueMap][]): string | undefined {
  if (field.cardinality === "one") return describeOne(field, value, below);
  if (field.cardinality === "map" && !(value instanceof Map)) return `cannot restore map from ${kindOf(value)}`;
  if (field.cardinality === "list" && !Array.isArray(value)) return `cannot restore slice from ${kindOf(value)}`;
  for (const item of (value as ValueMap | Value[]).values()) {
    const found = item === null ? undefined : describeOne(field, item, below);
    if (found !== undefined) return found;
  }
  return undefined;
}

function describeOne(field: Field, value: Value, below: [Message, ValueMap][]): string | undefined {
  const kind = kindOf(value);
  switch (field.type) {
    case "message":
      if (field.message?.special !== undefined) return undefined;
      if (!(value instanceof Map)) return `cannot restore struct from: ${kind}`;
      if (field.message !== undefined) below.push([field.message, value]);
      return undefined;
    case "string":
      if (kind === "string") return undefined;
      return kind === "int64" ? `cannot convert int64 to ${goName(field)}` : "unrecognized type: string";
    case "bool":
      return kind === "bool" ? undefined : "unrecognized type: bool";
    case "int32":
    case "int64":
    case "uint32":
    case "uint64":
      if (kind === "int64") return undefined;
      return kind === "float64" ? `cannot convert float64 to ${goName(field)}` : `unrecognized type: ${field.type}`;
    default:
      return undefined;
  }
}

/** The Go type of one value of a field. */
function goName(field: Field): string {
  return field.goType.replace(/^(\*|\[\]|map\[\w+\])+/, "");
}

function kindOf(value: Value): string {
  if (Array.isArray(value)) return "slice";
  if (value instanceof Map) return "map";
  if (typeof value === "string") return "string";
  if (typeof value === "boolean") return "bool";
  return value instanceof NumberText ? "float64" : "int64";
}
