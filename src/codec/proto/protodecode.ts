// From protobuf to a typed object: the same object the JSON of the same content decodes to. Every body in protobuf
// passes here, so nothing about the bytes is trusted; faults carry the texts of upstream's generated readers.
// Unknown fields are skipped. A field that comes twice counts as protobuf says: scalars last, messages merged.
import { formatDuration } from "../../api/duration.ts";
import { canonicalText, isPlainCanonical, quantityErrors } from "../../api/quantity.ts";
import { type Message, RawJson } from "../../api/schema.ts";
import { formatInstant, zeroTimeSeconds } from "../../api/time.ts";
import { assert } from "../../base/assert.ts";
import { limits } from "../../config/limits.ts";
import { planOf, type Slot, shapes } from "../engine/plan.ts";
import { zeroOfSlot } from "../engine/zero.ts";
import { Fault, TooManyValues } from "../json/fault.ts";
import { parseJson } from "../json/scan.ts";
import { writeValue } from "../json/write.ts";
import { ProtoReader, texts } from "./protoreader.ts";
import { type WireField, type WirePlan, wirePlanOf, wireTypes } from "./wireplan.ts";

type Target = Record<string, unknown>;

/** The object of `message` that `bytes` hold, or why they are none. `valuesMax`: of how many values at most. */
export function decodeProto<T extends object>(
  message: Message,
  bytes: Uint8Array,
  valuesMax: number = limits.bodyValuesMax,
): T | Fault {
  return readProto<T>(new ProtoReader(bytes, valuesMax), message, bytes.length);
}

/** The object of `message` that a reader has before it, up to `end`; the reader knows how many values that took. */
export function readProto<T extends object>(reader: ProtoReader, message: Message, end: number): T | Fault {
  const valuesMax = reader.left;
  const object: Target = {};
  readMessage(reader, wirePlanOf(message), end, object);
  if (reader.left < 0) return new TooManyValues(valuesMax);
  if (reader.fault !== undefined) return new Fault(reader.fault);
  return fill(message, object) as T;
}

function readMessage(reader: ProtoReader, plan: WirePlan, end: number, object: Target): void {
  if (reader.depth >= limits.messageDepthMax) return reader.fail(texts.depth);
  reader.count();
  reader.depth += 1;
  while (reader.at < end && reader.fault === undefined) {
    const key = reader.varint(end);
    if (reader.fault !== undefined) return;
    const { shortName } = plan.message;
    // Nearly all are, and whole numbers of 32 bits are divided at a fraction of the cost.
    const isSmall = key < 2 ** 31;
    const wireType = isSmall ? key & 7 : key % 8;
    const number = isSmall ? key >> 3 : Math.floor(key / 8) % 2 ** 32;
    if (wireType === wireTypes.endGroup) return reader.fail(`proto: ${shortName}: wiretype end group for non-group`);
    if (number === 0 || number >= 2 ** 31) {
      return reader.fail(`proto: ${shortName}: illegal tag ${number | 0} (wire type ${wireType})`);
    }
    const field = plan.byNumber[number];
    if (field === undefined) reader.skip(wireType, end);
    else readField(reader, field, wireType, end, object);
  }
  reader.depth -= 1;
}

function readField(reader: ProtoReader, field: WireField, wireType: number, end: number, object: Target): void {
  const { slot } = field;
  if (slot === undefined) {
    if (wireType !== wireTypes.bytes) return wrongType(reader, wireType, field);
    assert(field.message !== undefined, "Only messages are inlined");
    return readMessage(reader, wirePlanOf(field.message), reader.span(end), object);
  }
  if (slot.cardinality === "list") return readItems(reader, field, slot, wireType, end, object);
  if (wireType !== field.wireType) return wrongType(reader, wireType, field);
  if (slot.cardinality === "map") return readEntry(reader, field, slot, end, object);
  const isMerged = field.message !== undefined;
  const value = readOne(reader, field, slot, end, isMerged ? object[slot.json] : undefined);
  const zero = slot.dropsZero && (value === "" || value === 0 || value === false) && slot.shape <= shapes.bytes;
  if (value !== undefined && !zero) object[slot.json] = value;
  else if (object[slot.json] !== undefined) delete object[slot.json];
}

function wrongType(reader: ProtoReader, wireType: number, field: WireField): void {
  const name = field.slot?.json ?? field.message?.shortName ?? "";
  reader.fail(`proto: wrong wireType = ${wireType} for field ${name.slice(0, 1).toUpperCase()}${name.slice(1)}`);
}

/** One item, or (of numbers) many items packed together. */
function readItems(
  reader: ProtoReader,
  field: WireField,
  slot: Slot,
  wireType: number,
  end: number,
  object: Target,
): void {
  const list = (object[slot.json] ??= []) as unknown[];
  if (wireType === field.wireType) {
    reader.count();
    list.push(readOne(reader, field, slot, end, undefined) ?? zeroOfSlot(slot));
  } else if (wireType === wireTypes.bytes) {
    const packedEnd = reader.span(end);
    while (reader.at < packedEnd && reader.fault === undefined) {
      reader.count();
      list.push(readOne(reader, field, slot, packedEnd, undefined));
    }
  } else {
    wrongType(reader, wireType, field);
  }
}

function readEntry(reader: ProtoReader, field: WireField, slot: Slot, end: number, object: Target): void {
  const map = (object[slot.json] ??= new Map()) as Map<string, unknown>;
  const entryEnd = reader.span(end);
  reader.count();
  let name = "";
  let value: unknown;
  while (reader.at < entryEnd && reader.fault === undefined) {
    const key = reader.varint(entryEnd);
    if (key === 8 + wireTypes.bytes) name = reader.text(reader.span(entryEnd));
    else if (Math.floor(key / 8) === 2) value = readOne(reader, field, slot, entryEnd, undefined);
    else reader.skip(key % 8, entryEnd);
  }
  map.set(name, value ?? zeroOfSlot(slot));
}

/** One value; `known`: the field's previous value, into which a message is merged. */
function readOne(reader: ProtoReader, field: WireField, slot: Slot, end: number, known: unknown): unknown {
  switch (field.shape) {
    case shapes.string:
      return reader.text(reader.span(end));
    case shapes.bool:
      return reader.varint(end) !== 0;
    case shapes.int:
      return readInt(reader, slot, end);
    case shapes.float:
      return reader.float(end, field.wireType === wireTypes.fixed32);
    case shapes.bytes:
      return reader.slice(reader.span(end)).toString("base64");
    case shapes.message:
    case shapes.union:
      return readNested(reader, field, reader.span(end), known);
    case shapes.time:
      return readTime(reader, reader.span(end), slot.field.type === "MicroTime" ? "MicroTime" : "Time");
    case shapes.quantity:
      return readQuantity(reader, reader.span(end));
    case shapes.intOrString:
      return readIntOrString(reader, reader.span(end));
    case shapes.raw:
      return readRaw(reader, slot, reader.span(end));
    case shapes.duration:
      return readDuration(reader, reader.span(end));
    case shapes.strings:
      return readStrings(reader, reader.span(end));
  }
}

function readInt(reader: ProtoReader, { field }: Slot, end: number): number | bigint {
  if (field.type === "int32" || field.type === "uint32") return reader.int32(end, field.type === "int32");
  return reader.integer(end, field.type === "int64");
}

function readNested(reader: ProtoReader, field: WireField, end: number, known: unknown): Target {
  assert(field.message !== undefined, "Only messages are nested");
  const object = (known ?? {}) as Target;
  readMessage(reader, wirePlanOf(field.message), end, object);
  return fill(field.message, object);
}

/** Adds properties that a decoded object always has and the bytes omitted. */
function fill(message: Message, object: Target): Target {
  for (const slot of planOf(message).present) {
    if (object[slot.json] === undefined) object[slot.json] = zeroOfSlot(slot);
  }
  return object;
}

/** Calls `take` with the number of each field of a small message; fields it does not read are skipped. */
function eachField(reader: ProtoReader, end: number, take: (key: number) => boolean): void {
  while (reader.at < end && reader.fault === undefined) {
    const key = reader.varint(end);
    if (!take(key)) reader.skip(key % 8, end);
  }
}

function readTime(reader: ProtoReader, end: number, type: "Time" | "MicroTime"): string | undefined {
  if (reader.at === end) return undefined;
  let seconds = 0;
  let nanos = 0;
  eachField(reader, end, (key) => {
    if (key === 8 + wireTypes.varint) seconds = Number(reader.integer(end, true));
    else if (key === 16 + wireTypes.varint) nanos = reader.int32(end, true);
    else return false;
    return true;
  });
  const sub = type === "Time" ? 0 : nanos;
  const carried = Math.floor(sub / 1e9);
  const instant = { seconds: seconds + carried, nanos: sub - carried * 1e9 };
  if (instant.seconds === zeroTimeSeconds && instant.nanos === 0) return undefined;
  const text = formatInstant(instant, type);
  if (text === undefined) reader.fail("Time.MarshalJSON: year outside of range [0,9999]");
  return text;
}

function readQuantity(reader: ProtoReader, end: number): string {
  let text: string | undefined;
  eachField(reader, end, (key) => {
    if (key !== 8 + wireTypes.bytes) return false;
    text = reader.text(reader.span(end));
    return true;
  });
  if (text === undefined || isPlainCanonical(text)) return text ?? "0";
  const canonical = canonicalText(text);
  if (typeof canonical !== "string") return canonical.text;
  reader.fail(quantityErrors[canonical]);
  return "0";
}

function readIntOrString(reader: ProtoReader, end: number): number | string {
  let type = 0;
  let number = 0;
  let text = "";
  eachField(reader, end, (key) => {
    if (key === 8 + wireTypes.varint) type = reader.varint(end);
    else if (key === 16 + wireTypes.varint) number = reader.int32(end, true);
    else if (key === 24 + wireTypes.bytes) text = reader.text(reader.span(end));
    else return false;
    return true;
  });
  if (type > 1) reader.fail("impossible IntOrString.Type");
  return type === 0 ? number : text;
}

/** RawExtension, FieldsV1, JSON: their bytes must be JSON here, for nothing else could be shown as such. */
function readRaw(reader: ProtoReader, slot: Slot, end: number): RawJson | undefined {
  let bytes: Buffer | undefined;
  eachField(reader, end, (key) => {
    if (key !== 8 + wireTypes.bytes) return false;
    bytes = reader.slice(reader.span(end));
    return true;
  });
  if (bytes === undefined || bytes.length === 0) return slot.pointer ? new RawJson("null") : undefined;
  const value = parseJson(bytes, reader.left);
  if (value instanceof TooManyValues) reader.left = -1;
  if (value instanceof Fault) {
    reader.fail(value.message);
    return undefined;
  }
  return new RawJson(writeValue(value));
}

function readDuration(reader: ProtoReader, end: number): string {
  let nanos = 0n;
  eachField(reader, end, (key) => {
    if (key !== 8 + wireTypes.varint) return false;
    nanos = BigInt(reader.integer(end, true));
    return true;
  });
  return formatDuration(nanos);
}

function readStrings(reader: ProtoReader, end: number): string[] {
  const list: string[] = [];
  eachField(reader, end, (key) => {
    if (key !== 8 + wireTypes.bytes) return false;
    reader.count();
    list.push(reader.text(reader.span(end)));
    return true;
  });
  return list;
}
