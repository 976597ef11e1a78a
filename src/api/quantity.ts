// Quantities as upstream reads and writes them (apimachinery's resource.Quantity): decimal numbers with a suffix
// of one of three families. Read once at decoding, where the canonical text replaces the client's; validators parse
// that text again when they need the number. Work is bounded: digits and exponents have limits, so that neither a
// megabyte of digits nor `1e999999999` costs anything.

import { limits } from "../config/limits.ts";

/** The family of suffixes a quantity was written in, which its canonical text keeps. */
export type QuantityFormat = "DecimalSI" | "BinarySI" | "DecimalExponent";

/** A number: `unscaled` × 10^`scale`. */
export interface Quantity {
  readonly unscaled: bigint;
  readonly scale: number;
  readonly format: QuantityFormat;
}

/** Error texts of upstream. */
export const quantityErrors = {
  format: "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  suffix: "unable to parse quantity's suffix",
  numeric: "unable to parse numeric part of quantity",
} as const;

/** Which part of a text is not a quantity. */
export type QuantityError = keyof typeof quantityErrors;

const decimalSuffixes = new Map([
  ["n", -9],
  ["u", -6],
  ["m", -3],
  ["", 0],
  ["k", 3],
  ["M", 6],
  ["G", 9],
  ["T", 12],
  ["P", 15],
  ["E", 18],
]);
const binarySuffixes = new Map([
  ["Ki", 10],
  ["Mi", 20],
  ["Gi", 30],
  ["Ti", 40],
  ["Pi", 50],
  ["Ei", 60],
]);
const decimalNames = new Map([...decimalSuffixes].map(([suffix, exponent]) => [exponent, suffix]));
const binaryNames = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/** Exponents beyond this are compared by magnitude alone and never expanded. */
const exponentMax = 4096;

const nano = -9;
const int64Max = (1n << 63n) - 1n;

interface Parts {
  readonly negative: boolean;
  /** Integer digits without leading zeros, "0" when there are none. */
  readonly whole: string;
  /** Digits after the point. */
  readonly fraction: string;
  readonly suffix: string;
}

/** The number behind a text; undefined when it is no quantity. */
export function parseQuantity(text: string): Quantity | undefined {
  const parts = split(text);
  if (typeof parts === "string") return undefined;
  const number = interpret(parts);
  return typeof number === "string" ? undefined : number;
}

/** The canonical text of a client's quantity, or its error. `text` has no surrounding space. */
export function canonicalText(text: string): { readonly text: string } | QuantityError {
  const parts = split(text);
  if (typeof parts === "string") return parts;
  const number = interpret(parts);
  if (typeof number === "string") return number;
  return { text: keepsText(parts) ? text : canonical(number) };
}

/**
 * True for the texts that are surely canonical already: most of all quantities. `1500m`, `64Mi`, `3`.
 * Kept apart so that the decoder's common case allocates nothing.
 */
export function isPlainCanonical(text: string): boolean {
  return /^(?:[1-9]\d{0,2}(?:[munkMGTPE]|[KMGT]i)?|0)$/.test(text);
}

/** Splits a text by upstream's reading, which is more lenient than the pattern its error names. */
function split(text: string): Parts | QuantityError {
  if (text === "") return "format";
  if (text.length > limits.quantityCharsMax) return "numeric";
  const match = /^([+-]?)(\d*)(?:\.(\d*))?((?:[eEinumkKMGTP]+[+-]?\d*|[+-]\d*)?)$/.exec(text);
  if (match === null) return "format";
  const [, sign, digits = "", fraction = "", suffix = ""] = match;
  let zeros = 0;
  while (zeros < digits.length - 1 && digits.charCodeAt(zeros) === 48) zeros += 1;
  return { negative: sign === "-", whole: digits === "" ? "0" : digits.slice(zeros), fraction, suffix };
}

function formatOf(suffix: string): { format: QuantityFormat; exponent: number } | undefined {
  const decimal = decimalSuffixes.get(suffix);
  if (decimal !== undefined) return { format: "DecimalSI", exponent: decimal };
  const binary = binarySuffixes.get(suffix);
  if (binary !== undefined) return { format: "BinarySI", exponent: binary };
  if (!/^[eE][+-]?\d{1,19}$/.test(suffix)) return undefined;
  const exponent = BigInt(suffix.slice(suffix[1] === "+" ? 2 : 1));
  if (BigInt.asIntN(64, exponent) !== exponent) return undefined;
  return { format: "DecimalExponent", exponent: Number(BigInt.asIntN(32, exponent)) };
}

function interpret(parts: Parts): Quantity | QuantityError {
  const of = formatOf(parts.suffix);
  if (of === undefined) return "suffix";
  const digits = parts.whole + parts.fraction;
  let unscaled = BigInt(digits);
  let scale = -parts.fraction.length;
  let format = of.format;
  if (format === "BinarySI") unscaled <<= BigInt(of.exponent);
  else scale += of.exponent;
  if (unscaled === 0n) return { unscaled, scale: 0, format };
  if (scale > exponentMax && digits.length > 17) return "numeric";
  // Below a billionth everything is rounded away from zero, so that no positive request becomes zero.
  if (scale < nano) {
    const drop = nano - scale;
    // A power of ten beyond the digits leaves the one that is rounded up to, and is not worth computing.
    unscaled = drop >= digits.length ? 1n : divideUp(unscaled, 10n ** BigInt(drop));
    scale = nano;
  }
  if (format === "BinarySI") {
    if (scale < 0 && unscaled < 10n ** BigInt(-scale)) format = "DecimalSI";
    if (scale >= 0 ? unscaled > int64Max : unscaled > int64Max * 10n ** BigInt(-scale)) {
      unscaled = int64Max;
      scale = 0;
    }
  }
  return { unscaled: parts.negative ? -unscaled : unscaled, scale, format };
}

/** Whether upstream repeats the text as sent: it looks canonical on its fast path (even `+1` and `1.500` do). */
function keepsText(parts: Parts): boolean {
  const of = formatOf(parts.suffix);
  if (of === undefined) return false;
  const digits = parts.whole + parts.fraction;
  const fraction = parts.fraction.length;
  if (of.format === "BinarySI") {
    if (fraction > 0) return false;
    const precision = 15 - digits.length - Math.trunc((of.exponent * 3) / 10) - 1;
    return precision >= 0 && Number(digits) % 8 !== 0;
  }
  const scale = of.exponent - fraction;
  if (digits.length > 18 || scale < nano) return false;
  return scale % 3 === 0 && !digits.endsWith("000") && !digits.startsWith("0");
}

function divideUp(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  return quotient * by === value ? quotient : quotient + (value < 0n ? -1n : 1n);
}

/** The canonical text: no fraction, the largest suffix of its family that loses nothing. */
export function canonical(quantity: Quantity): string {
  const { unscaled, scale, format } = quantity;
  if (unscaled === 0n) return "0";
  if (format === "BinarySI") {
    const whole = exactInteger(quantity);
    if (whole !== undefined && (whole >= 1024n || whole <= -1024n)) return binaryText(whole);
  }
  const digits = unscaled.toString();
  let end = digits.length;
  while (digits.charCodeAt(end - 1) === 48) end -= 1;
  const odd = (scale + digits.length - end) % 3;
  const zeros = odd < 0 ? odd + 3 : odd;
  const amount = digits.slice(0, end) + "0".repeat(zeros);
  const exponent = scale + digits.length - end - zeros;
  if (format === "DecimalExponent") return exponent === 0 ? `${amount}` : `${amount}e${exponent}`;
  // Upstream has no suffix beyond E and drops it silently; an exponent keeps the number.
  return `${amount}${decimalNames.get(exponent) ?? `e${exponent}`}`;
}

function binaryText(whole: bigint): string {
  let amount = whole;
  let power = 0;
  while (amount % 1024n === 0n && power + 1 < binaryNames.length) {
    amount /= 1024n;
    power += 1;
  }
  return `${amount}${binaryNames[power]}`;
}

/** The value as an integer, when it is one and below 10^4096. */
export function exactInteger({ unscaled, scale }: Quantity): bigint | undefined {
  if (unscaled === 0n) return 0n;
  if (scale > exponentMax) return undefined;
  if (scale >= 0) return unscaled * 10n ** BigInt(scale);
  const by = 10n ** BigInt(-scale);
  return unscaled % by === 0n ? unscaled / by : undefined;
}

/** True when the value has no fraction. */
export function isInteger(quantity: Quantity): boolean {
  return quantity.scale >= 0 || exactInteger(quantity) !== undefined;
}

/** -1, 0 or 1. */
export function signOf(quantity: Quantity): -1 | 0 | 1 {
  return quantity.unscaled < 0n ? -1 : quantity.unscaled > 0n ? 1 : 0;
}

/** -1, 0 or 1, by value. */
export function compareQuantities(left: Quantity, right: Quantity): -1 | 0 | 1 {
  const sign = signOf(left);
  if (sign !== signOf(right)) return sign < signOf(right) ? -1 : 1;
  if (sign === 0) return 0;
  const size = magnitude(left) - magnitude(right);
  if (size !== 0) return size > 0 === sign > 0 ? 1 : -1;
  // Same number of digits before the point: the scales differ by no more than `quantityCharsMax`.
  const scale = Math.min(left.scale, right.scale);
  const a = left.unscaled * 10n ** BigInt(left.scale - scale);
  const b = right.unscaled * 10n ** BigInt(right.scale - scale);
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Digits before the decimal point. */
function magnitude({ unscaled, scale }: Quantity): number {
  return (unscaled < 0n ? -unscaled : unscaled).toString().length + scale;
}

/** The sum, in the format of `left` (of `right` when `left` is zero). Exponents beyond 10^4096 give the larger one. */
export function addQuantities(left: Quantity, right: Quantity): Quantity {
  if (right.unscaled === 0n && left.unscaled !== 0n) return left;
  if (left.unscaled === 0n) return right;
  if (Math.abs(left.scale - right.scale) > exponentMax) return magnitude(left) > magnitude(right) ? left : right;
  const scale = Math.min(left.scale, right.scale);
  const unscaled =
    left.unscaled * 10n ** BigInt(left.scale - scale) + right.unscaled * 10n ** BigInt(right.scale - scale);
  return { unscaled, scale, format: left.format };
}

/** The same quantity, negative. */
export function negateQuantity(quantity: Quantity): Quantity {
  return { ...quantity, unscaled: -quantity.unscaled };
}

/** ceil(value × 10^`digits`), away from zero; saturates at ±(2^63 − 1) as int64 does in upstream's validation. */
export function scaledValue({ unscaled, scale }: Quantity, digits: number): bigint {
  const shift = scale + digits;
  if (unscaled === 0n) return 0n;
  if (shift > 40) return unscaled < 0n ? -int64Max : int64Max;
  const value = shift >= 0 ? unscaled * 10n ** BigInt(shift) : divideUp(unscaled, 10n ** BigInt(-shift));
  return value > int64Max ? int64Max : value < -int64Max ? -int64Max : value;
}

/** Thousandths, rounded up; saturating. */
export function milliValue(quantity: Quantity): bigint {
  return scaledValue(quantity, 3);
}

/** Whole units, rounded up; saturating. */
export function integerValue(quantity: Quantity): bigint {
  return scaledValue(quantity, 0);
}

/** A quantity of whole units. */
export function quantityOf(value: bigint, format: QuantityFormat): Quantity {
  return { unscaled: value, scale: 0, format };
}

/**
 * The canonical text rounded up to thousandths (resource lists of core/v1 are, by their defaulting).
 * Texts that are no quantity are returned as they are.
 */
export function roundUpToMilli(text: string): string {
  // Canonical texts of such values end in n or u, or carry an exponent.
  if (!/[nue]/i.test(text)) return text;
  const quantity = parseQuantity(text);
  if (quantity === undefined || quantity.scale >= -3) return text;
  const unscaled = divideUp(quantity.unscaled, 10n ** BigInt(-3 - quantity.scale));
  return canonical({ unscaled, scale: -3, format: quantity.format });
}
