// A JSON document in memory, as patches, apply and free-form fields use it.
// Objects are Maps, so that no key of a client ever indexes a JavaScript object; key order is kept.
import { limits } from "../config/limits.ts";

/** A number token JavaScript cannot hold exactly or that was not written as an integer: its text, as sent. */
export class NumberText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** A JSON object. */
export type ValueMap = Map<string, Value>;

/**
 * Any JSON value. Integers within ±2^53 are numbers, other integers bigints,
 * everything with a fraction or exponent a NumberText (`1.0` and `1e3` are not integers to the type engine).
 */
export type Value = null | boolean | number | bigint | string | NumberText | Value[] | ValueMap;

/** The text of a string value; empty for anything else, also absent. */
export function textIn(value: Value | undefined): string {
  return typeof value === "string" ? value : "";
}

/** The text an object holds under a key; empty where there is none. */
export function textAt(object: Value | undefined, key: string): string {
  return object instanceof Map ? textIn(object.get(key)) : "";
}

/**
 * The value as plain data, for schemas and typed readers of configuration files: objects without fields that are null,
 * which upstream treats as absent. Values that nest deeper than any format are omitted.
 */
export function plainOf(value: Value, depth = 0): unknown {
  if (value instanceof NumberText) return Number(value.text);
  if (typeof value === "bigint") return Number(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= limits.fileDepthMax) return Array.isArray(value) ? [] : {};
  if (Array.isArray(value)) return value.map((item) => plainOf(item, depth + 1));
  const kept = [...value].filter(([, item]) => item !== null);
  return Object.fromEntries(kept.map(([key, item]) => [key, plainOf(item, depth + 1)]));
}
