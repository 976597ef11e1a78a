// Indented JSON, for people. Slow by design; nothing hot asks for it.
import type { Value } from "../../api/value.ts";
import { limits } from "../../config/limits.ts";
import { sortedKeys, writeValue } from "./write.ts";

/** JSON indented by two spaces, as upstream prints it (no newline at the end). */
export function prettyJson(value: Value): string {
  return indented(value, "");
}

/** The value with the keys of every object in the order of their bytes: how upstream prints values without a type. */
export function sortedDocument(value: Value): Value {
  if (Array.isArray(value)) return value.map(sortedDocument);
  if (!(value instanceof Map)) return value;
  return new Map(sortedKeys(value).map((key) => [key, sortedDocument(value.get(key) as Value)]));
}

/** A value at depth `margin` in a document of prettyJson(). */
export function prettyItem(value: Value, margin: string): string {
  return indented(value, margin);
}

function indented(value: Value, margin: string): string {
  // A margin is two characters a level: to the limit of nesting they would make a small document a huge one.
  if (margin.length > 2 * limits.indentedDepthMax) return writeValue(value);
  const inner = `${margin}  `;
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    return `[\n${value.map((item) => inner + indented(item, inner)).join(",\n")}\n${margin}]`;
  }
  if (value instanceof Map) {
    if (value.size === 0) return "{}";
    const lines = [...value].map(([key, item]) => `${inner}${writeValue(key)}: ${indented(item, inner)}`);
    return `{\n${lines.join(",\n")}\n${margin}}`;
  }
  return writeValue(value);
}
