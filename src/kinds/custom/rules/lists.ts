// Functions of lists: those that upstream adds, and sets of CEL's library.
import { compare, equal, membership } from "./compare.ts";
import { duration, integer, orderedTypes } from "./operators.ts";
import { type Overload, overload } from "./overloads.ts";
import {
  type CelValue,
  Duration,
  Fault,
  type Frame,
  type ListValue,
  noOverload,
  paid,
  type Result,
  Uint,
} from "./values.ts";

/** Calls `visit` with each item until it returns something. */
function each(frame: Frame, list: ListValue, visit: (item: CelValue, index: number) => Result | undefined) {
  for (let index = 0; index < list.size; index++) {
    frame.spend(2);
    const item = paid(frame, list.at(index));
    const found = item instanceof Fault ? item : visit(item, index);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isSorted(frame: Frame, list: ListValue): Result {
  let last: CelValue | undefined;
  const found = each(frame, list, (item) => {
    const order = last === undefined ? 0 : compare(frame, last, item);
    last = item;
    if (order instanceof Fault) return order;
    return order > 0 ? false : undefined;
  });
  return found ?? true;
}

/** The item that no other comes before (`sign` 1) or after (-1). */
function extreme(frame: Frame, list: ListValue, sign: 1 | -1): Result {
  let best: CelValue | undefined;
  const fault = each(frame, list, (item) => {
    const order = best === undefined ? -1 : compare(frame, item, best);
    if (order instanceof Fault) return order;
    if (best === undefined || order * sign < 0) best = item;
    return undefined;
  });
  if (fault !== undefined) return fault;
  return best === undefined ? new Fault(`${sign === 1 ? "min" : "max"} called on empty list`) : best;
}

function sum(zero: CelValue, add: (total: CelValue, item: CelValue) => Result) {
  return (frame: Frame, list: ListValue): Result => {
    let total = zero;
    const fault = each(frame, list, (item) => {
      const next = add(total, item);
      if (next instanceof Fault) return next;
      total = next;
      return undefined;
    });
    return fault ?? total;
  };
}

const bothIntegers = (a: CelValue, b: CelValue): Result =>
  typeof a === "bigint" && typeof b === "bigint" ? integer(a + b) : noOverload;
const bothUnsigned = (a: CelValue, b: CelValue): Result => {
  if (!(a instanceof Uint) || !(b instanceof Uint)) return noOverload;
  const value = a.value + b.value;
  return value < 2n ** 64n ? new Uint(value) : new Fault("unsigned integer overflow");
};
const bothFloats = (a: CelValue, b: CelValue): Result =>
  typeof a === "number" && typeof b === "number" ? a + b : noOverload;
const bothSpans = (a: CelValue, b: CelValue): Result =>
  a instanceof Duration && b instanceof Duration ? duration(a.nanos + b.nanos) : noOverload;

function indexOf(frame: Frame, list: ListValue, wanted: CelValue): Result {
  const found = each(frame, list, (item, index) => {
    const same = equal(frame, item, wanted);
    if (same instanceof Fault) return same;
    return same ? BigInt(index) : undefined;
  });
  return found ?? -1n;
}

function lastIndexOf(frame: Frame, list: ListValue, wanted: CelValue): Result {
  for (let index = list.size - 1; index >= 0; index--) {
    const item = list.at(index);
    const same = item instanceof Fault ? item : equal(frame, item, wanted);
    if (same instanceof Fault) return same;
    if (same) return BigInt(index);
  }
  return -1n;
}

/** Whether each item of `inner` is one of `outer`. */
function holdsAll(frame: Frame, outer: ListValue, inner: ListValue): Result {
  const isIn = membership(frame, outer);
  const missing = each(frame, inner, (item) => {
    const found = isIn(item);
    return found === true ? undefined : found;
  });
  return missing ?? true;
}

function holdsSome(frame: Frame, a: ListValue, b: ListValue): Result {
  const isIn = membership(frame, a);
  return (
    each(frame, b, (item) => {
      const found = isIn(item);
      return found === false ? undefined : found;
    }) ?? false
  );
}

/** The libraries of lists. */
export const listFunctions: readonly Overload[] = [
  ...orderedTypes.flatMap((type) => [
    overload(`list<${type}>.isSorted(): bool`, isSorted),
    overload(`list<${type}>.min(): ${type}`, (frame, list: ListValue) => extreme(frame, list, 1)),
    overload(`list<${type}>.max(): ${type}`, (frame, list: ListValue) => extreme(frame, list, -1)),
  ]),
  overload("list<int>.sum(): int", sum(0n, bothIntegers)),
  overload("list<uint>.sum(): uint", sum(new Uint(0n), bothUnsigned)),
  overload("list<double>.sum(): double", sum(0, bothFloats)),
  overload("list<duration>.sum(): duration", sum(new Duration(0n), bothSpans)),
  overload("list<A>.indexOf(A): int", indexOf),
  overload("list<A>.lastIndexOf(A): int", lastIndexOf),
  overload("@sets.contains(list<A>, list<A>): bool", holdsAll),
  overload("@sets.equivalent(list<A>, list<A>): bool", (frame, a: ListValue, b: ListValue) => {
    const found = holdsAll(frame, a, b);
    return found === true ? holdsAll(frame, b, a) : found;
  }),
  overload("@sets.intersects(list<A>, list<A>): bool", holdsSome),
];
