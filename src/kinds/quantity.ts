// Quantities, exactly: a decimal number as an integer times a power of ten, read from the canonical text. Only what
// defaults and validation need: rounding, comparing, telling integers from fractions.

/** `value × 10^exponent`, exact. */
export interface Quantity {
  readonly value: bigint;
  readonly exponent: number;
  /** How it was written, which decides how it is written again. */
  readonly format: "DecimalSI" | "BinarySI" | "DecimalExponent";
}

const decimalSuffixes: ReadonlyMap<string, number> = new Map([
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
const binarySuffixes: ReadonlyMap<string, bigint> = new Map([
  ["Ki", 10n],
  ["Mi", 20n],
  ["Gi", 30n],
  ["Ti", 40n],
  ["Pi", 50n],
  ["Ei", 60n],
]);
const suffixesDown = [...decimalSuffixes].reverse();
const grammar = /^([+-]?)([0-9]*)(?:\.([0-9]*))?(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?[0-9]{1,3}))?$/;

/** Reads a quantity; undefined when it is not one. */
export function parseQuantity(text: string): Quantity | undefined {
  const match = grammar.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = "", fraction = "", suffix = "", power] = match;
  if (whole === "" && fraction === "") return undefined;
  const digits = BigInt(`${whole}${fraction}`);
  let value = sign === "-" ? -digits : digits;
  let exponent = -fraction.length;
  const shift = binarySuffixes.get(suffix);
  if (shift !== undefined) value <<= shift;
  else exponent += power === undefined ? (decimalSuffixes.get(suffix) ?? 0) : Number(power);
  return {
    value,
    exponent,
    format: shift !== undefined ? "BinarySI" : power === undefined ? "DecimalSI" : "DecimalExponent",
  };
}

/** Negative, zero or positive as `a` is less than, equal to or greater than `b`. */
export function compareQuantities(a: Quantity, b: Quantity): number {
  const exponent = Math.min(a.exponent, b.exponent);
  const difference = scaled(a, exponent) - scaled(b, exponent);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** -1, 0 or 1. */
export function signOf(quantity: Quantity): number {
  return quantity.value < 0n ? -1 : quantity.value > 0n ? 1 : 0;
}

/** True for a whole number. */
export function isInteger(quantity: Quantity): boolean {
  return quantity.exponent >= 0 || quantity.value % 10n ** BigInt(-quantity.exponent) === 0n;
}

/** A canonical quantity rounded away from zero to thousandths; the same text when nothing has to go. */
export function roundToMilli(text: string): string {
  // Canonical texts of such values end in n or u, or carry an exponent: all others are left alone at once.
  if (!/[nueE]/.test(text)) return text;
  const quantity = parseQuantity(text);
  if (quantity === undefined || quantity.exponent >= -3) return text;
  const divisor = 10n ** BigInt(-3 - quantity.exponent);
  const rest = quantity.value % divisor;
  if (rest === 0n) return text;
  const milli = quantity.value / divisor + (quantity.value < 0n ? -1n : 1n);
  return formatQuantity({ value: milli, exponent: -3, format: quantity.format });
}

/** Canonical text: the largest suffix (or exponent of three) that leaves no fraction. */
function formatQuantity({ value, exponent, format }: Quantity): string {
  if (value === 0n) return "0";
  let digits = value;
  let power = exponent;
  while (power % 3 !== 0) {
    digits *= 10n;
    power--;
  }
  while (power < (format === "DecimalExponent" ? 1000 : 18) && digits % 1000n === 0n) {
    digits /= 1000n;
    power += 3;
  }
  if (format === "DecimalExponent") return power === 0 ? String(digits) : `${digits}e${power}`;
  for (const [suffix, size] of suffixesDown) if (size === power) return `${digits}${suffix}`;
  return `${digits * 10n ** BigInt(Math.max(0, power - 18))}E`;
}

function scaled(quantity: Quantity, exponent: number): bigint {
  return quantity.value * 10n ** BigInt(quantity.exponent - exponent);
}
