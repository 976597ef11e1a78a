// Operators that have no more to them than their arguments, by the names that messages have for them.
import { compare, equal, identityOf, type Numeric, scalarKey } from "./compare.ts";
import { type Overload, overload } from "./overloads.ts";
import {
  type CelValue,
  Duration,
  Fault,
  type Frame,
  keyOf,
  ListValue,
  type MapKey,
  type MapValue,
  type Result,
  type Timestamp,
  timestampAt,
  Uint,
} from "./values.ts";

const integerOverflow = new Fault("integer overflow");
const unsignedOverflow = new Fault("unsigned integer overflow");
const durationOverflow = new Fault("duration overflow");
const timestampOverflow = new Fault("timestamp overflow");
const divisionByZero = new Fault("division by zero");
const modulusByZero = new Fault("modulus by zero");

/** An integer of 64 bits. */
export function integer(value: bigint): Result {
  return BigInt.asIntN(64, value) === value ? value : integerOverflow;
}

function unsigned(value: bigint): Result {
  return BigInt.asUintN(64, value) === value ? new Uint(value) : unsignedOverflow;
}

/** A duration of a number of nanoseconds. */
export function duration(nanos: bigint): Result {
  return BigInt.asIntN(64, nanos) === nanos ? new Duration(nanos) : durationOverflow;
}

function timestamp(nanos: bigint): Result {
  return timestampAt(nanos) ?? timestampOverflow;
}

const arithmetic: readonly Overload[] = [
  overload("_+_(int, int): int", (_, a: bigint, b: bigint) => integer(a + b)),
  overload("_+_(uint, uint): uint", (_, a: Uint, b: Uint) => unsigned(a.value + b.value)),
  overload("_+_(double, double): double", (_, a: number, b: number) => a + b),
  overload("_+_(string, string): string", joined),
  overload("_+_(bytes, bytes): bytes", (frame, a: Uint8Array, b: Uint8Array) => {
    frame.spend((a.length + b.length) / 16);
    return Buffer.concat([a, b]);
  }),
  overload("_+_(list<A>, list<A>): list<A>", merged),
  overload("_+_(timestamp, duration): timestamp", (_, a: Timestamp, b: Duration) => timestamp(a.nanos + b.nanos)),
  overload("_+_(duration, timestamp): timestamp", (_, a: Duration, b: Timestamp) => timestamp(a.nanos + b.nanos)),
  overload("_+_(duration, duration): duration", (_, a: Duration, b: Duration) => duration(a.nanos + b.nanos)),
  overload("_-_(int, int): int", (_, a: bigint, b: bigint) => integer(a - b)),
  overload("_-_(uint, uint): uint", (_, a: Uint, b: Uint) => unsigned(a.value - b.value)),
  overload("_-_(double, double): double", (_, a: number, b: number) => a - b),
  overload("_-_(timestamp, timestamp): duration", (_, a: Timestamp, b: Timestamp) => duration(a.nanos - b.nanos)),
  overload("_-_(timestamp, duration): timestamp", (_, a: Timestamp, b: Duration) => timestamp(a.nanos - b.nanos)),
  overload("_-_(duration, duration): duration", (_, a: Duration, b: Duration) => duration(a.nanos - b.nanos)),
  overload("_*_(int, int): int", (_, a: bigint, b: bigint) => integer(a * b)),
  overload("_*_(uint, uint): uint", (_, a: Uint, b: Uint) => unsigned(a.value * b.value)),
  overload("_*_(double, double): double", (_, a: number, b: number) => a * b),
  overload("_/_(int, int): int", (_, a: bigint, b: bigint) => (b === 0n ? divisionByZero : integer(a / b))),
  overload("_/_(uint, uint): uint", (_, a: Uint, b: Uint) =>
    b.value === 0n ? divisionByZero : unsigned(a.value / b.value),
  ),
  overload("_/_(double, double): double", (_, a: number, b: number) => a / b),
  overload("_%_(int, int): int", (_, a: bigint, b: bigint) => (b === 0n ? modulusByZero : integer(a % b))),
  overload("_%_(uint, uint): uint", (_, a: Uint, b: Uint) =>
    b.value === 0n ? modulusByZero : unsigned(a.value % b.value),
  ),
  overload("-_(int): int", (_, a: bigint) => integer(-a)),
  overload("-_(double): double", (_, a: number) => -a),
];

/** A text that two make. The copy is paid for now; it is made when the text is read. */
function joined(frame: Frame, a: string, b: string): Result {
  frame.spend((a.length + b.length) / 16);
  return a + b;
}

/** Lists are appended; sets are united, and of items of list maps with the same keys the later ones count. */
function merged(frame: Frame, a: ListValue, b: ListValue): Result {
  const rules = a.rules ?? b.rules;
  const items: CelValue[] = [];
  const places = new Map<string, number>();
  for (const list of [a, b]) {
    frame.spend(3 * list.size);
    for (let index = 0; index < list.size; index++) {
      const item = list.at(index);
      if (item instanceof Fault) return item;
      const place = rules === undefined ? undefined : placeOf(frame, rules.kind, rules.keys, item, items, places);
      if (place instanceof Fault) return place;
      if (place === undefined) items.push(item);
      else if (rules?.kind === "map") items[place] = item;
    }
  }
  return new ListValue(items, undefined, rules);
}

/** Where a set or list map has an item already; undefined: nowhere, and it will be put at the end. */
function placeOf(
  frame: Frame,
  kind: "set" | "map",
  keys: readonly string[],
  item: CelValue,
  items: readonly CelValue[],
  places: Map<string, number>,
): number | undefined | Fault {
  const key = kind === "map" ? identityOf(frame, item, keys) : scalarKey(frame, item);
  if (key !== undefined) {
    const place = places.get(key);
    if (place === undefined) places.set(key, items.length);
    return place;
  }
  for (const [index, other] of items.entries()) {
    const found = equal(frame, item, other);
    if (found !== false) return found === true ? index : found;
  }
  return undefined;
}

const ordered = ["bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration"];
const numeric = ["int", "uint", "double"];
const isOrdered: readonly (readonly [name: string, test: (order: number) => boolean])[] = [
  ["_<_", (order) => order < 0],
  ["_<=_", (order) => order <= 0],
  ["_>_", (order) => order > 0],
  ["_>=_", (order) => order >= 0],
];

const comparisons: readonly Overload[] = isOrdered.flatMap(([name, test]) => {
  const run = (frame: Frame, a: CelValue, b: CelValue): Result => {
    const order = compare(frame, a, b);
    return order instanceof Fault ? order : test(order);
  };
  const pairs = [
    ...ordered.map((type) => [type, type]),
    ...numeric.flatMap((a) => numeric.filter((b) => b !== a).map((b) => [a, b])),
  ];
  return pairs.map(([a, b]) => overload(`${name}(${a}, ${b}): bool`, run));
});

/** What values are listed by order. */
export const orderedTypes: readonly string[] = ordered;

const rest: readonly Overload[] = [
  overload("_==_(A, A): bool", equal),
  overload("_!=_(A, A): bool", (frame, a: CelValue, b: CelValue) => {
    const found = equal(frame, a, b);
    return found instanceof Fault ? found : !found;
  }),
  overload("@in(A, list<A>): bool", (frame, item: CelValue, list: ListValue) => {
    for (let index = 0; index < list.size; index++) {
      const other = list.at(index);
      const found = other instanceof Fault ? other : equal(frame, item, other);
      if (found !== false) return found;
    }
    return false;
  }),
  overload("@in(A, map<A, B>): bool", (_, key: CelValue, map: MapValue) => {
    const found = keyOf(key);
    return found !== undefined && map.has(found);
  }),
  overload("_[_](list<A>, int): A", (_, list: ListValue, index: bigint) => itemAt(list, index)),
  overload("_[_](map<A, B>, A): B", (_, map: MapValue, key: CelValue) => valueUnder(map, key)),
];

/** The item of a list at an index. */
export function itemAt(list: ListValue, index: Numeric): Result {
  const at = Number(index instanceof Uint ? index.value : index);
  if (at >= 0 && at < list.size && Number.isInteger(at)) return list.at(at);
  return new Fault(`index out of bounds: ${String(index instanceof Uint ? index.value : index)}`);
}

/** The value of a map under a key. */
export function valueUnder(map: MapValue, key: CelValue): Result {
  const found = keyOf(key);
  return (found === undefined ? undefined : map.get(found)) ?? noSuchKey(found);
}

/** What access to something absent fails with. */
export function noSuchKey(key: MapKey | undefined): Fault {
  return new Fault(`no such key: ${typeof key === "string" ? key.slice(0, 256) : String(key)}`);
}

/** All operators. */
export const operators: readonly Overload[] = [...arithmetic, ...comparisons, ...rest];
