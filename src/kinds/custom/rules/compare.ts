// Equality and order of values. Both are paid for by what is compared. Depth is bounded by that of schemas and expressions.
import { compareBytes } from "../../../api/gotext.ts";
import { compareQuantities } from "../../../api/quantity.ts";
import type { Value } from "../../../api/value.ts";
import { floatOf, integerOf, isNumber } from "../numbers.ts";
import { canonicalText } from "../texts.ts";
import {
  type CelValue,
  CidrValue,
  Duration,
  Fault,
  FormatValue,
  type Frame,
  IpValue,
  ListValue,
  MapValue,
  noOverload,
  ObjectValue,
  Optional,
  paid,
  QuantityValue,
  Timestamp,
  TypeName,
  Uint,
  UrlValue,
} from "./values.ts";

/** Characters that are compared for one unit. */
const charsPerUnit = 16;
/** Those that are ordered: one by one. */
const orderedCharsPerUnit = 4;

/** Whether two values are equal: numbers by value, lists and maps by what they hold. Values of two kinds are not. */
export function equal(frame: Frame, a: CelValue, b: CelValue): boolean | Fault {
  frame.spend(1);
  if (typeof a === "string") {
    if (typeof b !== "string" || a.length !== b.length) return false;
    frame.spend(a.length / charsPerUnit);
    return a === b;
  }
  if (a === b) return !(typeof a === "number" && Number.isNaN(a));
  if (isNumeric(a)) return isNumeric(b) && compareNumbers(a, b) === 0;
  if (typeof a !== "object" || a === null || typeof b !== "object" || b === null) return false;
  return equalObjects(frame, a, b);
}

function equalObjects(frame: Frame, a: CelValue & object, b: CelValue & object): boolean | Fault {
  if (a instanceof ListValue) return b instanceof ListValue && equalLists(frame, a, b);
  if (a instanceof MapValue) return b instanceof MapValue && equalMaps(frame, a, b);
  if (a instanceof ObjectValue) return b instanceof ObjectValue && equalDeclared(frame, a, b);
  if (a instanceof Timestamp) return b instanceof Timestamp && a.nanos === b.nanos;
  if (a instanceof Duration) return b instanceof Duration && a.nanos === b.nanos;
  if (a instanceof TypeName) return b instanceof TypeName && a.name === b.name;
  if (a instanceof IpValue) return b instanceof IpValue && isSameAddress(a.address, b.address);
  if (a instanceof CidrValue) {
    if (!(b instanceof CidrValue) || a.cidr.bits !== b.cidr.bits) return false;
    return isSameAddress(a.cidr.address, b.cidr.address);
  }
  if (a instanceof FormatValue) return b instanceof FormatValue && a.name === b.name;
  if (a instanceof UrlValue) return b instanceof UrlValue && a.parts.text === b.parts.text;
  if (a instanceof QuantityValue) return b instanceof QuantityValue && compareQuantities(a.quantity, b.quantity) === 0;
  if (a instanceof Optional) {
    if (!(b instanceof Optional)) return false;
    if (a.value === undefined || b.value === undefined) return a.value === b.value;
    return equal(frame, a.value, b.value);
  }
  if (a instanceof Uint8Array) return b instanceof Uint8Array && compareOctets(frame, a, b) === 0;
  return false;
}

function isSameAddress(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

function equalLists(frame: Frame, a: ListValue, b: ListValue): boolean | Fault {
  if (a.size !== b.size) return false;
  const rules = a.rules ?? b.rules;
  if (rules?.kind === "set") return equalSets(frame, a, b);
  if (rules?.kind === "map") return equalListMaps(frame, a, b, rules.keys);
  for (let index = 0; index < a.size; index++) {
    frame.spend(3);
    const found = equalResults(frame, paid(frame, a.at(index)), paid(frame, b.at(index)));
    if (found !== true) return found;
  }
  return true;
}

function equalResults(frame: Frame, a: CelValue | Fault, b: CelValue | Fault): boolean | Fault {
  if (a instanceof Fault) return a;
  return b instanceof Fault ? b : equal(frame, a, b);
}

function equalSets(frame: Frame, a: ListValue, b: ListValue): boolean | Fault {
  const all = membership(frame, b);
  for (let index = 0; index < a.size; index++) {
    const item = a.at(index);
    if (item instanceof Fault) return item;
    const found = all(item);
    if (found !== true) return found;
  }
  return true;
}

/** Tells whether a list holds a value: scalars are looked up, anything else is compared with each item. */
export function membership(frame: Frame, list: ListValue): (value: CelValue) => boolean | Fault {
  frame.spend(list.size);
  const keys = new Set<string>();
  const others: CelValue[] = [];
  for (let index = 0; index < list.size; index++) {
    const item = list.at(index);
    if (item instanceof Fault) return () => item;
    const key = scalarKey(frame, item);
    if (key === undefined) others.push(item);
    else keys.add(key);
  }
  return (value) => {
    const key = scalarKey(frame, value);
    if (key !== undefined) return keys.has(key);
    for (const other of others) {
      const found = equal(frame, value, other);
      if (found !== false) return found;
    }
    return false;
  };
}

/** One text for scalars that are equal; undefined: the value is no scalar. */
export function scalarKey(frame: Frame, value: CelValue): string | undefined {
  frame.spend(5);
  switch (typeof value) {
    case "string":
      frame.spend(value.length / charsPerUnit);
      return `s${value}`;
    case "boolean":
      return value ? "t" : "f";
    case "bigint":
      return `n${value}`;
    case "number":
      // A whole float equals an integer.
      return Number.isInteger(value) ? `n${BigInt(value)}` : `n${value}`;
    default:
      if (value instanceof Uint) return `n${value.value}`;
      return value === null ? "0" : undefined;
  }
}

function equalListMaps(frame: Frame, a: ListValue, b: ListValue, keys: readonly string[]): boolean | Fault {
  const known = new Map<string, CelValue>();
  for (let index = 0; index < b.size; index++) {
    const item = b.at(index);
    if (item instanceof Fault) return item;
    known.set(identityOf(frame, item, keys), item);
  }
  for (let index = 0; index < a.size; index++) {
    const item = a.at(index);
    if (item instanceof Fault) return item;
    const other = known.get(identityOf(frame, item, keys));
    const found = other === undefined ? false : equal(frame, item, other);
    if (found !== true) return found;
  }
  return true;
}

/** What tells an item of a list that is a map from others: the values of its keys. */
export function identityOf(frame: Frame, item: CelValue, keys: readonly string[]): string {
  if (!(item instanceof ObjectValue)) return "";
  const text = canonicalText(
    keys.map((key) => item.raw.get(key) ?? null),
    false,
  );
  frame.spend(20 + text.length / charsPerUnit);
  return text;
}

function equalMaps(frame: Frame, a: MapValue, b: MapValue): boolean | Fault {
  if (a.size !== b.size) return false;
  for (const key of a.keys()) {
    frame.spend(6);
    const [own, other] = [a.get(key), b.get(key)];
    if (own === undefined || other === undefined) return false;
    const found = equalResults(frame, own, other);
    if (found !== true) return found;
  }
  return true;
}

function equalDeclared(frame: Frame, a: ObjectValue, b: ObjectValue): boolean | Fault {
  if (a.raw.size !== b.raw.size) return false;
  for (const [name, value] of a.raw) {
    const other = b.raw.get(name);
    frame.spend(3);
    if (other === undefined) return false;
    const found = equalField(frame, a, b, name, value, other);
    if (found !== true) return found;
  }
  return true;
}

function equalField(
  frame: Frame,
  a: ObjectValue,
  b: ObjectValue,
  name: string,
  value: Value,
  other: Value,
): boolean | Fault {
  const type = a.type.fields.byName.get(name);
  if (type === undefined || a.type !== b.type) return equalRaw(frame, value, other);
  // Lists and objects as their schema compares them; scalars, too, for 1 and 1.0 are one number.
  return equalResults(frame, a.view(value, type), b.view(other, type));
}

/** Equality of what no schema declares. Nothing recurses: it nests as deep as a document may. */
function equalRaw(frame: Frame, a: Value, b: Value): boolean {
  const rest: [Value, Value][] = [[a, b]];
  for (let pair = rest.pop(); pair !== undefined; pair = rest.pop()) {
    const [left, right] = pair;
    frame.spend(2);
    if (Array.isArray(left)) {
      if (!Array.isArray(right) || left.length !== right.length) return false;
      frame.spend(left.length);
      for (const [index, item] of left.entries()) rest.push([item, right[index] as Value]);
    } else if (left instanceof Map) {
      if (!(right instanceof Map) || left.size !== right.size) return false;
      frame.spend(left.size);
      for (const [key, item] of left) {
        const other = right.get(key);
        if (other === undefined) return false;
        rest.push([item, other]);
      }
    } else if (!isSameScalar(frame, left, right)) return false;
  }
  return true;
}

function isSameScalar(frame: Frame, a: Value, b: Value): boolean {
  if (typeof a === "string") {
    frame.spend(a.length / charsPerUnit);
    return a === b;
  }
  if (a === b) return true;
  if (!isNumber(a) || !isNumber(b)) return false;
  const [own, other] = [integerOf(a), integerOf(b)];
  if (own !== undefined && other !== undefined) return BigInt(own) === BigInt(other);
  return floatOf(a) === floatOf(b);
}

/** A number of any kind. */
export type Numeric = bigint | number | Uint;

export function isNumeric(value: CelValue): value is Numeric {
  return typeof value === "bigint" || typeof value === "number" || value instanceof Uint;
}

/** The order of two numbers of any kind, exactly; NaN where there is none. */
export function compareNumbers(a: Numeric, b: Numeric): number {
  const left = a instanceof Uint ? a.value : a;
  const right = b instanceof Uint ? b.value : b;
  if (left < right) return -1;
  if (left > right) return 1;
  return Number.isNaN(left) || Number.isNaN(right) ? Number.NaN : 0;
}

/** The order of two values: negative, 0, positive; NaN: there is none. */
export function compare(frame: Frame, a: CelValue, b: CelValue): number | Fault {
  if (isNumeric(a) && isNumeric(b)) return compareNumbers(a, b);
  if (typeof a === "string" && typeof b === "string") {
    frame.spend(1 + Math.min(a.length, b.length) / orderedCharsPerUnit);
    return compareBytes(a, b);
  }
  if (typeof a === "boolean" && typeof b === "boolean") return Number(a) - Number(b);
  if (a instanceof Timestamp && b instanceof Timestamp) return compareNumbers(a.nanos, b.nanos);
  if (a instanceof Duration && b instanceof Duration) return compareNumbers(a.nanos, b.nanos);
  if (a instanceof Uint8Array && b instanceof Uint8Array) return compareOctets(frame, a, b);
  return noOverload;
}

function compareOctets(frame: Frame, a: Uint8Array, b: Uint8Array): number {
  frame.spend(Math.min(a.length, b.length) / charsPerUnit);
  return Buffer.compare(a, b);
}
