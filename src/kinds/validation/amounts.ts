// Comparing quantities in their canonical text. Amounts are whole billionths, the finest a quantity can be.
import { GoText, quote } from "../../api/gotext.ts";

const powersOfTen: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  "": 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const powersOf1024 = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/** Exponents beyond it are taken as it: no resource of a cluster comes near, and the arithmetic stays small. */
const exponentMax = 100;
const parts = /^([+-]?)([0-9]{0,40})(?:\.([0-9]{0,40}))?([a-zA-Z]{0,2}|[eE][+-]?[0-9]{1,9})$/;

/** A quantity in billionths, rounded up; 0 for a text that is none. */
export function billionths(text: string): bigint {
  const match = parts.exec(text);
  if (match === null) return 0n;
  const [, sign, whole = "", fraction = "", suffix = ""] = match;
  const digits = BigInt(`${whole}${fraction}` || "0");
  const binary = powersOf1024.indexOf(suffix) + 1;
  const amount = shift(digits * 1024n ** BigInt(binary), (binary > 0 ? 0 : exponent(suffix)) - fraction.length + 9);
  return sign === "-" ? -amount : amount;
}

function exponent(suffix: string): number {
  const power = powersOfTen[suffix] ?? Number(suffix.slice(1));
  return Math.max(-exponentMax, Math.min(exponentMax, power));
}

function shift(digits: bigint, power: number): bigint {
  if (power >= 0) return digits * 10n ** BigInt(power);
  const divisor = 10n ** BigInt(-power);
  return (digits + divisor - 1n) / divisor;
}

/** Negative, zero or positive as `a` is less than, equal to or greater than `b`. */
export function compareAmounts(a: string, b: string): number {
  if (a === b) return 0;
  const [left, right] = [billionths(a), billionths(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** True for an amount below zero. */
export function isNegativeAmount(text: string): boolean {
  return text.startsWith("-") && billionths(text) < 0n;
}

/** True for an amount above zero. */
export function isPositiveAmount(text: string): boolean {
  return !text.startsWith("-") && billionths(text) > 0n;
}

/** True for an amount without thousandths. Finer parts round up, as the reference does. */
export function isWholeAmount(text: string): boolean {
  return wholeUnits(text, 1_000_000n) % 1000n === 0n;
}

/** Amount in units of `unit` billionths, rounded up (a million: thousandths; a milliard: ones). */
export function wholeUnits(text: string, unit = 1_000_000_000n): bigint {
  const amount = billionths(text);
  const units = amount / unit;
  return amount > 0n && units * unit !== amount ? units + 1n : units;
}

/** The struct of a quantity as messages show it. */
export function goQuantity(text: string): GoText {
  const binary = /[KMGTPE]i$/.test(text);
  const format = binary ? "BinarySI" : /[eE][+-]?[0-9]/.test(text) ? "DecimalExponent" : "DecimalSI";
  const match = parts.exec(text);
  const scale = binary ? 0 : exponent(match?.[4] ?? "");
  const value = binary ? wholeUnits(text) : BigInt(`${match?.[1] ?? ""}${match?.[2] || "0"}`);
  return new GoText(
    `resource.Quantity{i:resource.int64Amount{value:${value}, scale:${scale}}, ` +
      `d:resource.infDecAmount{Dec:(*inf.Dec)(nil)}, s:${quote(text)}, Format:"${format}"}`,
  );
}
