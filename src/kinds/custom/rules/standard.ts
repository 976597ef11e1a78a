// The functions that every implementation of CEL has: sizes, texts, conversions, times.
import { parseDuration } from "../../../api/duration.ts";
import { limits } from "../../../config/limits.ts";
import { floatText } from "../numbers.ts";
import { countOf, found } from "./codepoints.ts";
import { duration, integer } from "./operators.ts";
import { type Overload, overload } from "./overloads.ts";
import { timeParts, timestampText } from "./times.ts";
import { typeNames } from "./typenames.ts";
import {
  type CelValue,
  type Duration,
  Fault,
  type Frame,
  kindOf,
  type ListValue,
  type MapValue,
  type Result,
  shortened,
  type Timestamp,
  TypeName,
  timestampAt,
  timestampOf,
  Uint,
} from "./values.ts";

const sizes: readonly Overload[] = ["size(T): int", "T.size(): int"].flatMap((form) => [
  overload(form.replace("T", "string"), (frame, text: string) => BigInt(countOf(frame, text))),
  overload(form.replace("T", "bytes"), (_, bytes: Uint8Array) => BigInt(bytes.length)),
  overload(form.replace("T", "list<A>"), (_, list: ListValue) => BigInt(list.size)),
  overload(form.replace("T", "map<A, B>"), (_, map: MapValue) => BigInt(map.size)),
]);

const texts: readonly Overload[] = [
  overload("string.contains(string): bool", (frame, text: string, part: string) => found(frame, text, part) >= 0),
  overload("string.startsWith(string): bool", (frame, text: string, part: string) => {
    frame.spend(part.length / 16);
    return text.startsWith(part);
  }),
  overload("string.endsWith(string): bool", (frame, text: string, part: string) => {
    frame.spend(part.length / 16);
    return text.endsWith(part);
  }),
];

function cannot(value: string, type: string): Fault {
  return new Fault(`type conversion error from 'string' to '${type}': "${shortened(value)}"`);
}

const range = new Fault("range error");

function integerOfText(text: string): Result {
  if (text.length > 20 || !/^[+-]?\d+$/.test(text)) return cannot(text, "int");
  return integer(BigInt(text.startsWith("+") ? text.slice(1) : text));
}

function unsignedOf(value: bigint): Result {
  return BigInt.asUintN(64, value) === value ? new Uint(value) : range;
}

function integerOfFloat(value: number): Result {
  if (!(value > -(2 ** 63) && value < 2 ** 63)) return range;
  return BigInt(Math.trunc(value));
}

function floatOfText(frame: Frame, text: string): Result {
  frame.spend(text.length / 16);
  if (text.length > 400 || !/^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/.test(text)) {
    const special = /^(?:([+-]?)inf(?:inity)?|nan)$/i.exec(text);
    if (special === null) return cannot(text, "double");
    if (special[1] === undefined) return Number.NaN;
    return special[1] === "-" ? -Infinity : Infinity;
  }
  return Number(text);
}

/** What Go's strconv takes for a truth value. */
const truths: ReadonlyMap<string, boolean> = new Map([
  ...["1", "t", "T", "true", "TRUE", "True"].map((text) => [text, true] as const),
  ...["0", "f", "F", "false", "FALSE", "False"].map((text) => [text, false] as const),
]);

const conversions: readonly Overload[] = [
  overload("dyn(A): dyn", (_, value: CelValue) => value),
  overload("type(A): type", (_, value: CelValue) => new TypeName(typeNames.get(kindOf(value)) ?? kindOf(value))),
  overload("bool(bool): bool", (_, value: boolean) => value),
  overload("bool(string): bool", (_, text: string) => truths.get(text) ?? cannot(text, "bool")),
  overload("int(int): int", (_, value: bigint) => value),
  overload("int(uint): int", (_, { value }: Uint) => integer(value)),
  overload("int(double): int", (_, value: number) => integerOfFloat(value)),
  overload("int(string): int", (_, text: string) => integerOfText(text)),
  overload("int(timestamp): int", (_, { nanos }: Timestamp) => BigInt(Math.floor(Number(nanos / 1_000_000n) / 1000))),
  overload("int(duration): int", (_, { nanos }: Duration) => nanos),
  overload("uint(uint): uint", (_, value: Uint) => value),
  overload("uint(int): uint", (_, value: bigint) => unsignedOf(value)),
  overload("uint(double): uint", (_, value: number) =>
    value > -1 && value < 2 ** 64 ? unsignedOf(BigInt(Math.trunc(value))) : range,
  ),
  overload("uint(string): uint", (_, text: string) =>
    text.length <= 20 && /^\d+$/.test(text) ? unsignedOf(BigInt(text)) : cannot(text, "uint"),
  ),
  overload("double(double): double", (_, value: number) => value),
  overload("double(int): double", (_, value: bigint) => Number(value)),
  overload("double(uint): double", (_, { value }: Uint) => Number(value)),
  overload("double(string): double", floatOfText),
  overload("string(string): string", (_, text: string) => text),
  overload("string(bool): string", (_, value: boolean) => String(value)),
  overload("string(int): string", (_, value: bigint) => String(value)),
  overload("string(uint): string", (_, { value }: Uint) => String(value)),
  overload("string(double): string", (_, value: number) => floatText(value)),
  overload("string(bytes): string", (frame, bytes: Uint8Array) => {
    frame.spend(bytes.length / 16);
    const text = Buffer.from(bytes).toString();
    return Buffer.from(text).equals(bytes) ? text : new Fault("invalid UTF-8 in bytes, cannot convert to string");
  }),
  overload("string(timestamp): string", (_, time: Timestamp) => timestampText(time)),
  overload("string(duration): string", (_, { nanos }: Duration) => `${decimal(nanos)}s`),
  overload("bytes(bytes): bytes", (_, bytes: Uint8Array) => bytes),
  overload("bytes(string): bytes", (frame, text: string) => {
    frame.spend(text.length / 8);
    return Buffer.from(text);
  }),
];

/** Seconds of a span, with no more digits than it has. */
function decimal(nanos: bigint): string {
  const size = nanos < 0n ? -nanos : nanos;
  const fraction = String(size % 1_000_000_000n).padStart(9, "0");
  let end = 9;
  while (end > 0 && fraction.charCodeAt(end - 1) === 48) end -= 1;
  const text = `${size / 1_000_000_000n}${end === 0 ? "" : `.${fraction.slice(0, end)}`}`;
  return nanos < 0n ? `-${text}` : text;
}

function durationOfText(frame: Frame, text: string): Result {
  frame.spend(40 + Math.min(text.length, limits.durationCharsMax));
  const nanos = text.length > limits.durationCharsMax ? undefined : parseDuration(text);
  return nanos === undefined ? cannot(text, "duration") : duration(nanos);
}

function timestampOfText(frame: Frame, text: string): Result {
  frame.spend(40);
  return timestampOf(text) ?? cannot(text, "timestamp");
}

/** Of a span, its size in a unit. */
const spans: readonly Overload[] = [
  ["Hours", 3_600_000_000_000n] as const,
  ["Minutes", 60_000_000_000n] as const,
  ["Seconds", 1_000_000_000n] as const,
  ["Milliseconds", 1_000_000n] as const,
].map(([name, unit]) => overload(`duration.get${name}(): int`, (_, { nanos }: Duration) => nanos / unit));

/** Of a time, a part of its date or clock, in UTC or in a zone that is named. */
const parts: readonly Overload[] = [...timeParts].flatMap(([name, part]) => [
  overload(`timestamp.${name}(): int`, (frame, time: Timestamp) => part(frame, time, "UTC")),
  overload(`timestamp.${name}(string): int`, (frame, time: Timestamp, zone: string) => part(frame, time, zone)),
]);

const times: readonly Overload[] = [
  overload("duration(duration): duration", (_, value: Duration) => value),
  overload("duration(string): duration", durationOfText),
  overload("isDuration(string): bool", (frame, text: string) => !(durationOfText(frame, text) instanceof Fault)),
  overload("timestamp(timestamp): timestamp", (_, value: Timestamp) => value),
  overload("timestamp(string): timestamp", timestampOfText),
  overload(
    "timestamp(int): timestamp",
    (_, seconds: bigint) => timestampAt(seconds * 1_000_000_000n) ?? new Fault("timestamp overflow"),
  ),
  ...spans,
  ...parts,
];

/** All of them. */
export const standardFunctions: readonly Overload[] = [...sizes, ...texts, ...conversions, ...times];
