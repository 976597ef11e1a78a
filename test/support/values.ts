// JSON texts to Values and back, for tests of code that works on Values. Only small documents with plain numbers.
import type { Value } from "../../src/api/value.ts";
import { NumberText } from "../../src/api/value.ts";

/** The Value of a JSON-like test literal; objects become Maps. */
export function value(literal: unknown): Value {
  if (Array.isArray(literal)) return literal.map(value);
  if (literal !== null && typeof literal === "object") {
    return new Map(Object.entries(literal).map(([key, item]) => [key, value(item)]));
  }
  if (typeof literal === "number" && !Number.isSafeInteger(literal)) return new NumberText(String(literal));
  return literal as Value;
}

/** The Value of a JSON text. Unlike a literal it can hold a key `__proto__`. */
export function fromJson(text: string): Value {
  return value(JSON.parse(text));
}

/** Compact JSON of a Value, keys in their order. */
export function toJson(of: Value): string {
  if (Array.isArray(of)) return `[${of.map(toJson).join(",")}]`;
  if (of instanceof Map) return `{${[...of].map(([key, item]) => `${JSON.stringify(key)}:${toJson(item)}`).join(",")}}`;
  if (of instanceof NumberText) return of.text;
  return typeof of === "bigint" ? String(of) : JSON.stringify(of);
}
