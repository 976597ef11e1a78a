// JSON numbers as upstream sees them: what is written as an integer of 64 bits is one, everything else is a float, and
// each kind is compared and printed in its own way.
import { NumberText, type Value } from "../../api/value.ts";

/** A JSON number. */
export type JsonNumber = number | bigint | NumberText;

const int64Min = -(2n ** 63n);
const int64Max = 2n ** 63n - 1n;

/** Whether a value is a number. */
export function isNumber(value: Value): value is JsonNumber {
  return typeof value === "number" || typeof value === "bigint" || value instanceof NumberText;
}

/** The integer of 64 bits a number is; undefined where upstream reads a float. */
export function integerOf(value: JsonNumber): number | bigint | undefined {
  if (typeof value === "number") return Number.isSafeInteger(value) ? value : undefined;
  if (typeof value === "bigint") return value >= int64Min && value <= int64Max ? value : undefined;
  return undefined;
}

/** The number as a float. */
export function floatOf(value: JsonNumber): number {
  return value instanceof NumberText ? Number(value.text) : Number(value);
}

const relativeErrorMax = 1e-9;

/** Whether a float counts as an integer: it is one within 2^53, or off by less than a billionth. */
export function isIntegral(float: number): boolean {
  if (!(Math.abs(float) <= Number.MAX_SAFE_INTEGER)) return false;
  const whole = Math.trunc(float);
  if (float === whole) return true;
  // A negative number has no unsigned whole to be near to.
  if (float < 0 || whole === 0) return false;
  return Math.abs(float - whole) / (float + whole) < relativeErrorMax;
}

/** Go's `%v` of a float: an exponent below 1e-4 and from 1e6 on, of two digits at least. */
export function floatText(float: number): string {
  const size = Math.abs(float);
  if (float === 0 || (size >= 1e-4 && size < 1e6) || !Number.isFinite(float)) return String(float);
  return float.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
}

/** A bound as it stands in messages about integers: cut to an integer of 64 bits. */
export function integerBound(bound: number): bigint {
  if (bound >= 2 ** 63) return int64Max;
  if (bound <= -(2 ** 63)) return int64Min;
  return BigInt(Math.trunc(bound));
}
