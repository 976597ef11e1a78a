// Arithmetic on lists of resources by name, as quotas need it: sums, differences, what exceeds what, and how
// upstream prints them.
import {
  addQuantities,
  canonical,
  compareQuantities,
  negateQuantity,
  parseQuantity,
  type Quantity,
  quantityOf,
  signOf,
} from "../../api/quantity.ts";

/** Amounts by resource name. */
export type Amounts = ReadonlyMap<string, Quantity>;

/** Amounts under construction. */
export type AmountMap = Map<string, Quantity>;

const zero = quantityOf(0n, "DecimalSI");

/** A count of things. */
export function countOf(things: number): Quantity {
  return quantityOf(BigInt(things), "DecimalSI");
}

/** Reads a resource list; what is no quantity (it was decoded as one) counts as nothing. */
export function readAmounts(list: ReadonlyMap<string, string> | undefined): AmountMap {
  const amounts: AmountMap = new Map();
  for (const [name, text] of list ?? []) amounts.set(name, parseQuantity(text) ?? zero);
  return amounts;
}

/** The list as an object holds it. */
export function writeAmounts(amounts: Amounts): Map<string, string> {
  return new Map([...amounts].map(([name, amount]) => [name, canonical(amount)]));
}

/** Adds every amount of `more` to `sums`. */
export function addAll(sums: AmountMap, more: Amounts): void {
  for (const [name, amount] of more) {
    const sum = sums.get(name);
    sums.set(name, sum === undefined ? amount : addQuantities(sum, amount));
  }
}

/** Raises every amount of `sums` to at least that of `other`. */
export function raiseAll(sums: AmountMap, other: Amounts): void {
  for (const [name, amount] of other) {
    const sum = sums.get(name);
    if (sum === undefined || compareQuantities(amount, sum) > 0) sums.set(name, amount);
  }
}

/** `left` less `right`, never below nothing. */
export function subtractDownToZero(left: Amounts, right: Amounts): AmountMap {
  const rest: AmountMap = new Map();
  for (const [name, amount] of left) {
    const less = right.get(name);
    const difference = less === undefined ? amount : addQuantities(amount, negateQuantity(less));
    rest.set(name, signOf(difference) < 0 ? zero : difference);
  }
  return rest;
}

/** The amounts whose name is chosen. */
export function only(amounts: Amounts, chosen: (name: string) => boolean): AmountMap {
  return new Map([...amounts].filter(([name]) => chosen(name)));
}

/** Names of the amounts that are not zero, as a list of what they are. */
export function withoutZeros(amounts: Amounts): AmountMap {
  return new Map([...amounts].filter(([, amount]) => signOf(amount) !== 0));
}

/** Names of amounts below zero. */
export function negativeNames(amounts: Amounts): string[] {
  return [...amounts].filter(([, amount]) => signOf(amount) < 0).map(([name]) => name);
}

/** Names whose amount is above that of `bounds`, where there is one. */
export function exceededNames(amounts: Amounts, bounds: Amounts): string[] {
  const above = ([name, amount]: readonly [string, Quantity]): boolean => {
    const bound = bounds.get(name);
    return bound !== undefined && compareQuantities(amount, bound) > 0;
  };
  return [...amounts].filter(above).map(([name]) => name);
}

/** Whether both have the same names with the same values. */
export function sameAmounts(left: Amounts, right: Amounts): boolean {
  if (left.size !== right.size) return false;
  for (const [name, amount] of left) {
    const other = right.get(name);
    if (other === undefined || compareQuantities(amount, other) !== 0) return false;
  }
  return true;
}

/** `a=1,b=2` in the order of names, as refusals print amounts. */
export function amountsText(amounts: Amounts): string {
  const names = [...amounts.keys()].toSorted();
  return names.map((name) => `${name}=${canonical(amounts.get(name) ?? zero)}`).join(",");
}
