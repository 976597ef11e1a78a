// Values of expressions. Integers are bigints, floats are numbers. What a document holds is not converted: lists, maps
// and objects are views of it, which make a value of an item when it is asked for.
import { parseDuration } from "../../../api/duration.ts";
import type { Quantity } from "../../../api/quantity.ts";
import { parseInstant, TimeError } from "../../../api/time.ts";
import type { Value, ValueMap } from "../../../api/value.ts";
import { limits } from "../../../config/limits.ts";
import type { Address, Cidr } from "../../address.ts";
import { floatOf, integerOf, isIntegral, isNumber } from "../numbers.ts";
import type { Pattern } from "../patterns.ts";
import type { ListRules } from "../plan.ts";
import type { CelType, Kind } from "./types.ts";

/** An error of an evaluation: it is passed on like a value, and `||` and `&&` may do without it. */
export class Fault {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** What a value comes to that is not what its schema says; validation by the schema tells why. */
export class Misfit extends Fault {}

/** An unsigned integer. */
export class Uint {
  readonly value: bigint;
  constructor(value: bigint) {
    this.value = value;
  }
}

/** A point in time, in nanoseconds since 1970. */
export class Timestamp {
  readonly nanos: bigint;
  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

/** A span of time, in nanoseconds. */
export class Duration {
  readonly nanos: bigint;
  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

/** A quantity of a resource. */
export class QuantityValue {
  readonly quantity: Quantity;
  constructor(quantity: Quantity) {
    this.quantity = quantity;
  }
}

/** Parts of a URL, as they are written. */
export interface UrlParts {
  readonly text: string;
  readonly scheme: string;
  /** With its port. */
  readonly host: string;
  readonly path: string;
  readonly query: string;
}

/** A URL. */
export class UrlValue {
  readonly parts: UrlParts;
  constructor(parts: UrlParts) {
    this.parts = parts;
  }
}

/** An IP address. */
export class IpValue {
  readonly address: Address;
  constructor(address: Address) {
    this.address = address;
  }
}

/** A network. */
export class CidrValue {
  readonly cidr: Cidr;
  constructor(cidr: Cidr) {
    this.cidr = cidr;
  }
}

/** A format that texts are checked by. */
export class FormatValue {
  readonly name: string;
  /** What is wrong with a text. */
  readonly faultsOf: (text: string) => readonly string[];
  constructor(name: string, faultsOf: FormatValue["faultsOf"]) {
    this.name = name;
    this.faultsOf = faultsOf;
  }
}

/** A value that may be absent. */
export class Optional {
  readonly value: CelValue | undefined;
  constructor(value: CelValue | undefined) {
    this.value = value;
  }
}

/** The absent value. */
export const none = new Optional(undefined);

/** A type as a value: `type(self)`, `string`. */
export class TypeName {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** A list: of a document, or made by an expression. */
export class ListValue {
  readonly #items: readonly Value[] | readonly CelValue[];
  /** Of the document's items; undefined: they are values of expressions. */
  readonly #declared: CelType | undefined;
  /** How items are told apart; undefined: by their place. */
  readonly rules: ListRules | undefined;

  constructor(items: readonly Value[] | readonly CelValue[], declared?: CelType, rules?: ListRules) {
    this.#items = items;
    this.#declared = declared;
    this.rules = rules;
  }

  get size(): number {
    return this.#items.length;
  }

  at(index: number): Result {
    const item = this.#items[index];
    return this.#declared === undefined ? (item as CelValue) : viewOf(item as Value, this.#declared);
  }
}

/** Keys of maps. Unsigned integers and whole floats are kept as the integers they equal. */
export type MapKey = string | bigint | boolean;

/** A map: of a document, or made by an expression. */
export class MapValue {
  readonly #entries: ReadonlyMap<MapKey, Value | CelValue>;
  readonly #declared: CelType | undefined;

  constructor(entries: ValueMap | ReadonlyMap<MapKey, CelValue>, declared?: CelType) {
    this.#entries = entries as ReadonlyMap<MapKey, Value | CelValue>;
    this.#declared = declared;
  }

  get size(): number {
    return this.#entries.size;
  }

  keys(): IterableIterator<MapKey> {
    return this.#entries.keys();
  }

  has(key: MapKey): boolean {
    return this.#entries.has(key);
  }

  /** The value under a key; undefined: there is none. */
  get(key: MapKey): Result | undefined {
    const value = this.#entries.get(key);
    if (value === undefined || this.#declared === undefined) return value as CelValue | undefined;
    return viewOf(value as Value, this.#declared);
  }
}

/** An object of a document: the fields that its schema declares, under the names that expressions have for them. */
export class ObjectValue {
  readonly raw: ValueMap;
  readonly type: CelType;

  constructor(raw: ValueMap, type: CelType) {
    this.raw = raw;
    this.type = type;
  }

  /** The field of a name of expressions; undefined: it is absent, or null. */
  get(identifier: string): Result | undefined {
    const field = this.type.fields.byIdentifier.get(identifier);
    if (field === undefined) return undefined;
    const value = this.raw.get(field.name);
    return value === undefined || value === null ? undefined : viewOf(value, field.type);
  }

  /** A field's value as its schema says. */
  view(value: Value, type: CelType): Result {
    return viewOf(value, type);
  }

  has(identifier: string): boolean {
    const field = this.type.fields.byIdentifier.get(identifier);
    return field !== undefined && (this.raw.get(field.name) ?? null) !== null;
  }
}

/** Any value. */
export type CelValue =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint
  | Uint8Array
  | Timestamp
  | Duration
  | QuantityValue
  | UrlValue
  | IpValue
  | CidrValue
  | FormatValue
  | Optional
  | TypeName
  | ListValue
  | MapValue
  | ObjectValue;

/** What an expression comes to. */
export type Result = CelValue | Fault;

/** The kind of a value. */
export function kindOf(value: CelValue): Kind {
  switch (typeof value) {
    case "string":
      return "string";
    case "boolean":
      return "bool";
    case "bigint":
      return "int";
    case "number":
      return "double";
    default:
      return value === null ? "null" : kindOfObject(value);
  }
}

const kinds: ReadonlyMap<unknown, Kind> = new Map<unknown, Kind>([
  [Uint, "uint"],
  [Timestamp, "timestamp"],
  [Duration, "duration"],
  [QuantityValue, "quantity"],
  [UrlValue, "url"],
  [IpValue, "ip"],
  [CidrValue, "cidr"],
  [FormatValue, "format"],
  [Optional, "optional"],
  [TypeName, "type"],
  [ListValue, "list"],
  [MapValue, "map"],
  [ObjectValue, "object"],
]);

function kindOfObject(value: object): Kind {
  return kinds.get(value.constructor) ?? "bytes";
}

/** A value of a document as the type says that its schema gave it. */
export function viewOf(value: Value, type: CelType): Result {
  if (value === null) return null;
  switch (type.kind) {
    case "string":
      return typeof value === "string" ? value : misfit(type);
    case "bool":
      return typeof value === "boolean" ? value : misfit(type);
    case "object":
      return value instanceof Map ? new ObjectValue(value, type) : misfit(type);
    case "map":
      return value instanceof Map ? new MapValue(value, type.inner) : misfit(type);
    case "list":
      return Array.isArray(value) ? new ListValue(value, type.inner, type.listRules) : misfit(type);
    case "int":
      return isNumber(value) ? integerView(value) : misfit(type);
    case "double":
      return isNumber(value) ? floatOf(value) : misfit(type);
    case "dyn":
      if (typeof value === "string") return value;
      return isNumber(value) ? (integerOf(value) === undefined ? floatOf(value) : integerView(value)) : misfit(type);
    default:
      return typeof value === "string" ? textView(value, type) : misfit(type);
  }
}

function misfit({ kind }: CelType): Misfit {
  return new Misfit(
    `invalid data, expected ${kind === "dyn" ? "either a string or integer" : `a value of type ${kind}`}`,
  );
}

function integerView(value: Parameters<typeof integerOf>[0]): Result {
  const integer = integerOf(value);
  if (integer !== undefined) return BigInt(integer);
  // `1.0` is an integer to the schema, too.
  const float = floatOf(value);
  return isIntegral(float) ? BigInt(Math.round(float)) : new Misfit("invalid data, expected a value of type int");
}

/** Texts whose format makes more of them than a text. */
function textView(text: string, { kind, node }: CelType): Result {
  if (kind === "bytes") return bytesOf(text) ?? new Misfit("invalid data, expected base64 text");
  if (kind === "timestamp") {
    const time = timestampOf(node?.rules?.format?.name === "date" ? `${text}T00:00:00Z` : text);
    return time ?? new Misfit(`Invalid date formatted string "${shortened(text)}"`);
  }
  const nanos = text.length > limits.durationCharsMax ? undefined : parseDuration(text);
  return nanos === undefined ? new Misfit(`Invalid duration "${shortened(text)}"`) : new Duration(nanos);
}

/** A text as faults quote it. */
export function shortened(text: string): string {
  return text.length > limits.shownCharsMax ? `${text.slice(0, limits.shownCharsMax)}…` : text;
}

function bytesOf(text: string): Uint8Array | undefined {
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : undefined;
}

const nanosPerSecond = 1_000_000_000n;
/** The first and last second of the years 1 to 9999. */
const secondsMin = -62_135_596_800n;
const secondsMax = 253_402_300_799n;

/** A time in RFC 3339. */
export function timestampOf(text: string): Timestamp | undefined {
  // Texts of times are short; a long one is none, and need not be looked at.
  if (text.length > 64) return undefined;
  const instant = parseInstant(text, "Time");
  if (instant instanceof TimeError) return undefined;
  return timestampAt(BigInt(instant.seconds) * nanosPerSecond + BigInt(instant.nanos));
}

/** The timestamp of a number of nanoseconds; undefined beyond the years there are. */
export function timestampAt(nanos: bigint): Timestamp | undefined {
  if (nanos < secondsMin * nanosPerSecond || nanos >= (secondsMax + 1n) * nanosPerSecond) return undefined;
  return new Timestamp(nanos);
}

/** The key of a map that a value is; undefined: it is none. */
export function keyOf(value: CelValue): MapKey | undefined {
  if (typeof value === "string" || typeof value === "bigint" || typeof value === "boolean") return value;
  if (value instanceof Uint) return value.value;
  return typeof value === "number" && Number.isInteger(value) ? BigInt(value) : undefined;
}

/** The evaluation of one rule: its variables, and what it may still cost. */
export class Frame {
  /** By their place: self, oldSelf, then those of macros by how deep these stand. */
  readonly slots: CelValue[];
  /** The patterns that the rule spells out. */
  readonly patterns: ReadonlyMap<string, Pattern>;
  left: number;

  constructor(slots: CelValue[], patterns: ReadonlyMap<string, Pattern>, left: number) {
    this.slots = slots;
    this.patterns = patterns;
    this.left = left;
  }

  /** Pays for work that is about to be done. Ends the evaluation when there is nothing left to pay with. */
  spend(units: number): void {
    this.left -= units;
    if (this.left < 0) throw new OverBudget("The expression costs too much");
  }
}

/** An evaluation was ended for what it cost. */
export class OverBudget extends Error {}

/** A step of an expression, compiled. */
export type Run = (frame: Frame) => Result;

/** Bytes and times are read from a document each time they are asked for, and paid for then. */
export function paid(frame: Frame, value: Result): Result {
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Uint8Array) frame.spend(16 + value.length / 2);
  else if (value instanceof Timestamp || value instanceof Duration) frame.spend(20);
  return value;
}

/** What calls fail with that have no function for their arguments. */
export const noOverload = new Fault("no such overload");
