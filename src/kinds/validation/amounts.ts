// Questions rules ask about quantities, given in their canonical text. A text that is none counts as zero: it cannot
// come here, since decoding refuses it.
import { GoText, quote } from "../../api/gotext.ts";
import {
  compareQuantities,
  integerValue,
  milliValue,
  parseQuantity,
  type Quantity,
  signOf,
} from "../../api/quantity.ts";

const zero: Quantity = { unscaled: 0n, scale: 0, format: "DecimalSI" };
/** Powers of ten beyond it are taken as it: no resource of a cluster comes near, and the arithmetic stays small. */
const scaleMax = 100;

function read(text: string): Quantity {
  return parseQuantity(text) ?? zero;
}

/** A quantity in billionths, the finest it can be. */
export function billionths(text: string): bigint {
  const { unscaled, scale } = read(text);
  return unscaled * 10n ** BigInt(Math.max(0, Math.min(scale, scaleMax) + 9));
}

/** Negative, zero or positive as `a` is less than, equal to or greater than `b`. */
export function compareAmounts(a: string, b: string): number {
  return a === b ? 0 : compareQuantities(read(a), read(b));
}

/** True for an amount below zero. */
export function isNegativeAmount(text: string): boolean {
  return text.startsWith("-") && signOf(read(text)) < 0;
}

/** True for an amount above zero. */
export function isPositiveAmount(text: string): boolean {
  return !text.startsWith("-") && signOf(read(text)) > 0;
}

/** True for an amount without thousandths. Finer parts round up, as upstream does. */
export function isWholeAmount(text: string): boolean {
  return milliValue(read(text)) % 1000n === 0n;
}

/** Amount in ones, rounded up. */
export function wholeUnits(text: string): bigint {
  return integerValue(read(text));
}

/** Amount in thousandths, rounded up. */
export function thousandths(text: string): bigint {
  return milliValue(read(text));
}

/** The struct of a quantity as messages show it. */
export function goQuantity(text: string): GoText {
  const { unscaled, scale, format } = read(text);
  return new GoText(
    `resource.Quantity{i:resource.int64Amount{value:${unscaled}, scale:${scale}}, ` +
      `d:resource.infDecAmount{Dec:(*inf.Dec)(nil)}, s:${quote(text)}, Format:"${format}"}`,
  );
}
