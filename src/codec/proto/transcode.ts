// From JSON our encoder wrote to protobuf without an object in between. @hot: records that clients of protobuf list and
// watch pass here, byte for byte as decode and encode would make them, at a fraction of the cost.
//
// The first pass goes through the bytes and notes where values are, the second one writes them from their end, because the
// length of a message stands in front of it (protoencode.ts):
//
//   nodes   of a message: one number for each of its fields, where its value begins; of a message within, its node;
//           of a list or a map, its last item, which knows the one before; 0: the field is absent
//   ends    where such a value ends; of a text with escapes, its place among `texts`, below zero
//
// What is rare is left to decode and encode: another order of fields, types with a form of their own, odd numbers and
// times, documents of very many values.
import { isAscii, isUtf8 } from "node:buffer";
import { canonicalText } from "../../api/quantity.ts";
import type { Message } from "../../api/schema.ts";
import { assert } from "../../base/assert.ts";
import { planOf, type Slot, shapes } from "../engine/plan.ts";
import { parseText, textOf } from "../json/scan.ts";
import { ProtoWriter, writeZero } from "./protoencode.ts";
import { microLength, plainLength, secondsAt } from "./timebytes.ts";
import { type WireField, wirePlanOf, wireTypes } from "./wireplan.ts";

/** A field in JSON. */
interface Step {
  readonly slot: Slot;
  /** Its place among the fields, and in a node. */
  readonly order: number;
  /** `name":` */
  readonly key: Uint8Array;
  /** Integers are within. */
  readonly min: number;
  readonly max: number;
  /** Of its message; made when it is first needed, since types are recursive. */
  way: Way | undefined;
  /** The field that followed it last time. */
  next: number;
}

/** A field on the wire. */
interface Wire {
  readonly field: WireField;
  /** Its place in a node; -1: its message is inlined, and has its fields in the same node. */
  readonly order: number;
  readonly inlined: readonly Wire[];
  /** What is written where it is absent, key included; undefined: nothing. */
  readonly zero: Uint8Array | undefined;
  way: Way | undefined;
}

/** A message on both sides. */
interface Way {
  readonly steps: readonly Step[];
  /** By falling number: messages are written from their end. */
  readonly wires: readonly Wire[];
  /** It has a form of its own in JSON. */
  readonly isForeign: boolean;
  /** The field that came first last time. */
  first: number;
}

const ways = new WeakMap<Message, Way>();

function wayOf(message: Message): Way {
  let way = ways.get(message);
  if (way === undefined) {
    const plan = planOf(message);
    const steps = plan.slots.map((slot, order): Step => {
      const [min, max] = [Number(slot.min), Number(slot.max)];
      return { slot, order, key: Buffer.from(slot.jsonKey.slice(1)), min, max, way: undefined, next: order + 1 };
    });
    const byName = new Map(plan.slots.map(({ json }, order) => [json, order]));
    const isForeign = plan.open || plan.union !== undefined || plan.present.some(({ shape }) => shape === shapes.union);
    way = { steps, wires: wiresOf(message, byName), isForeign, first: 0 };
    ways.set(message, way);
  }
  return way;
}

/** Fields of a message, or of one that is inlined in another, whose fields are found by their names. */
function wiresOf(message: Message, orders: ReadonlyMap<string, number>): Wire[] {
  return wirePlanOf(message).reversed.map((field): Wire => {
    if (field.slot === undefined) {
      assert(field.message !== undefined, "Only messages are inlined");
      return { field, order: -1, inlined: wiresOf(field.message, orders), zero: undefined, way: undefined };
    }
    const order = orders.get(field.slot.json);
    assert(order !== undefined, `No place for ${field.slot.json}`);
    return { field, order, inlined: [], zero: field.always ? zeroBytes(field) : undefined, way: undefined };
  });
}

/** Its own, since the other one may be at work. */
const zeroWriter = new ProtoWriter();

function zeroBytes(field: WireField): Uint8Array {
  zeroWriter.reset();
  writeZero(zeroWriter, field);
  zeroWriter.varint(field.key);
  return Uint8Array.from(zeroWriter.bytes());
}

const nothing = new Uint8Array(0);

/** Numbers of nodes and items at most: a megabyte. */
const numbersMax = 128 * 1024;
/** An item: the one before, its value. A value of a map has its key behind. */
const [itemNumbers, entryNumbers] = [2, 3];

/** What the passes share: of this thread, since nothing is waited for in them. */
class Tape {
  bytes: Uint8Array = nothing;
  at = 0;
  readonly nodes = new Int32Array(numbersMax);
  readonly ends = new Int32Array(numbersMax);
  /** Place 0 stands for nothing. */
  used = 1;
  /** Of strings with escapes. */
  readonly texts: string[] = [];
  failed = false;
}

const tape = new Tape();
const writer = new ProtoWriter();

/** The message of an object of which `json` is as our encoder wrote it; undefined: it is not to be had in this way. */
export function transcode(message: Message, json: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  if (!isAscii(json) && !isUtf8(json)) return undefined;
  tape.bytes = json;
  tape.at = 0;
  tape.used = 1;
  tape.failed = false;
  const way = wayOf(message);
  try {
    const node = readMessage(way);
    if (tape.failed || tape.at !== json.length) return undefined;
    writer.reset();
    writeMessage(way.wires, node);
    return Uint8Array.from(writer.bytes());
  } finally {
    tape.bytes = nothing;
    tape.texts.length = 0;
  }
}

const [quote, comma, colon, openList, closeList, openMap, closeMap] = [34, 44, 58, 91, 93, 123, 125];
const [backslash, minus, zero, nine, letterF, letterN, letterT] = [92, 45, 48, 57, 102, 110, 116];

function fail(): 0 {
  tape.failed = true;
  return 0;
}

/** Room for so many numbers, all of them 0. */
function reserve(count: number): number {
  const { nodes, used } = tape;
  if (used + count > numbersMax) return fail();
  for (let index = used; index < used + count; index += 1) nodes[index] = 0;
  tape.used = used + count;
  return used;
}

function byteAt(at: number): number {
  return tape.bytes[at] ?? 0;
}

/** Notes a message; returns its node. */
function readMessage(way: Way): number {
  const node = reserve(way.steps.length);
  if (tape.failed || way.isForeign || byteAt(tape.at) !== openMap) return fail();
  tape.at += 1;
  if (byteAt(tape.at) === closeMap) {
    tape.at += 1;
    return node;
  }
  let order = -1;
  while (!tape.failed) {
    const step = nextStep(way, order);
    if (step === undefined) break;
    order = step.order;
    readField(step, node + order);
    const after = byteAt(tape.at);
    tape.at += 1;
    if (after === closeMap) return node;
    if (after !== comma) break;
  }
  return fail();
}

/** Reads a key: most often it is the one that followed the last time. In any other order a field could come twice. */
function nextStep(way: Way, before: number): Step | undefined {
  const { steps } = way;
  if (byteAt(tape.at) !== quote) return undefined;
  tape.at += 1;
  // An index below zero would be looked up as a name.
  const last = before < 0 ? undefined : (steps[before] as Step);
  const guess = last === undefined ? way.first : last.next;
  if (guess < steps.length && isKey(steps[guess] as Step)) return steps[guess];
  for (let order = before + 1; order < steps.length; order += 1) {
    if (!isKey(steps[order] as Step)) continue;
    if (last === undefined) way.first = order;
    else last.next = order;
    return steps[order];
  }
  return undefined;
}

/** Whether the key of a field is next; then it is gone behind. */
function isKey({ key }: Step): boolean {
  const { bytes, at } = tape;
  for (let index = 0; index < key.length; index += 1) if (bytes[at + index] !== key[index]) return false;
  tape.at = at + key.length;
  return true;
}

function readField(step: Step, place: number): void {
  const { slot } = step;
  if (byteAt(tape.at) === letterN) {
    // null is as good as absent, but in types that have a form of their own.
    if (slot.shape === shapes.union || !isNull()) fail();
    tape.at += 4;
  } else if (slot.cardinality === "one") {
    tape.nodes[place] = readOne(step, place);
    if (slot.dropsZero && slot.shape === shapes.bytes && tape.ends[place] === tape.nodes[place]) tape.nodes[place] = 0;
  } else if (slot.cardinality === "list") {
    readList(step, place);
  } else {
    readMap(step, place);
  }
}

function isNull(): boolean {
  const { bytes, at } = tape;
  return bytes[at + 1] === 117 && bytes[at + 2] === 108 && bytes[at + 3] === 108;
}

function readList(step: Step, place: number): void {
  if (byteAt(tape.at) !== openList) return void fail();
  tape.at += 1;
  if (byteAt(tape.at) === closeList) return void (tape.at += 1);
  for (let last = 0; !tape.failed; ) {
    const item = reserve(itemNumbers);
    tape.nodes[item] = last;
    tape.nodes[item + 1] = readOne(step, item + 1);
    last = item;
    const after = byteAt(tape.at);
    tape.at += 1;
    if (after === closeList) return void (tape.nodes[place] = last);
    if (after !== comma) fail();
  }
}

function readMap(step: Step, place: number): void {
  if (byteAt(tape.at) !== openMap) return void fail();
  tape.at += 1;
  if (byteAt(tape.at) === closeMap) return void (tape.at += 1);
  for (let last = 0; !tape.failed; ) {
    const entry = reserve(entryNumbers);
    tape.nodes[entry] = last;
    tape.nodes[entry + 2] = readString(entry + 2);
    // Keys stand in the order of their bytes, each once.
    if (last !== 0 && !isAfter(entry + 2, last + 2)) return void fail();
    if (byteAt(tape.at) !== colon) return void fail();
    tape.at += 1;
    tape.nodes[entry + 1] = readOne(step, entry + 1);
    last = entry;
    const after = byteAt(tape.at);
    tape.at += 1;
    if (after === closeMap) return void (tape.nodes[place] = last);
    if (after !== comma) fail();
  }
}

/** Whether the text at one place is greater than the one at another; texts with escapes are not compared. */
function isAfter(place: number, before: number): boolean {
  const { bytes, nodes, ends } = tape;
  const [a, aEnd, b, bEnd] = [nodes[place] ?? 0, ends[place] ?? 0, nodes[before] ?? 0, ends[before] ?? 0];
  if (aEnd < 0 || bEnd < 0) return false;
  for (let index = 0; a + index < aEnd && b + index < bEnd; index += 1) {
    const difference = (bytes[a + index] ?? 0) - (bytes[b + index] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return aEnd - a > bEnd - b;
}

/** Notes a value that is not null: where it begins, or its node. */
function readOne(step: Step, place: number): number {
  const { slot } = step;
  switch (slot.shape) {
    case shapes.string:
      return readString(place);
    case shapes.message:
      if (slot.message === undefined) return fail();
      step.way ??= wayOf(slot.message);
      return readMessage(step.way);
    case shapes.int:
      return readInt(place, step.min, step.max);
    case shapes.bool:
      return readBool();
    case shapes.quantity:
      return readQuantity(place);
    case shapes.intOrString:
      if (byteAt(tape.at) === quote) return readString(place);
      return readInt(place, -2147483648, 2147483647);
    case shapes.time:
      return readTime(place, slot.field.type === "MicroTime" ? microLength : plainLength);
    case shapes.bytes:
      return readBytes(place);
    case shapes.raw:
      return readRaw(place);
    default:
      return fail();
  }
}

/** Bytes that are nothing but themselves in a string: 0. Control characters, quotes and backslashes are not. */
const inText = Uint8Array.from({ length: 256 }, (_, byte) => (byte < 0x20 || byte === 34 || byte === 92 ? 1 : 0));
/** The same of raw JSON, in which our encoder escapes `<`, `>` and `&`; space and what is beyond ASCII are looked at. */
const inRaw = inText.map((kind, byte) => (byte === 0x20 || byte >= 0x7f || [60, 62, 38].includes(byte) ? 1 : kind));

function readString(place: number): number {
  const { bytes, at: lead } = tape;
  const start = lead + 1;
  if (bytes[lead] !== quote) return fail();
  let at = start;
  let isPlain = true;
  for (;;) {
    while (inText[bytes[at] as number] === 0) at += 1;
    if (bytes[at] === quote) break;
    if (bytes[at] !== backslash) return fail();
    isPlain = false;
    at += 2;
  }
  tape.at = at + 1;
  tape.ends[place] = isPlain ? at : escaped(lead, at + 1);
  return start;
}

/** Keeps the text of a string with escapes; returns its place, below zero. */
function escaped(from: number, end: number): number {
  const text = parseText(textOf(tape.bytes.subarray(from, end)));
  return typeof text === "string" ? -tape.texts.push(text) : fail();
}

/** Longer numbers may not be exact. */
const digitsMax = 15;

function readInt(place: number, min: number, max: number): number {
  const { bytes, at: start } = tape;
  const isNegative = bytes[start] === minus;
  const first = isNegative ? start + 1 : start;
  let at = first;
  let value = 0;
  for (let byte = byteAt(at); byte >= zero && byte <= nine; byte = byteAt((at += 1))) value = value * 10 + byte - zero;
  const digits = at - first;
  if (digits === 0 || digits > digitsMax || (digits > 1 && bytes[first] === zero)) return fail();
  if (isNegative ? -value < min : value > max || value < min) return fail();
  tape.at = at;
  tape.ends[place] = at;
  return start;
}

/** The same number; it was read before. */
function intAt(start: number, end: number): number {
  const { bytes } = tape;
  const isNegative = bytes[start] === minus;
  let value = 0;
  for (let at = isNegative ? start + 1 : start; at < end; at += 1) value = value * 10 + byteAt(at) - zero;
  // Subtracting from zero makes no -0.
  return isNegative ? 0 - value : value;
}

function readBool(): number {
  const { bytes, at } = tape;
  const isTrue = bytes[at] === letterT && bytes[at + 1] === 114 && bytes[at + 2] === 117 && bytes[at + 3] === 101;
  const isFalse =
    bytes[at] === letterF &&
    bytes[at + 1] === 97 &&
    bytes[at + 2] === 108 &&
    bytes[at + 3] === 115 &&
    bytes[at + 4] === 101;
  if (!isTrue && !isFalse) return fail();
  tape.at += isTrue ? 4 : 5;
  return at;
}

function readQuantity(place: number): number {
  const start = readString(place);
  const end = tape.ends[place] ?? 0;
  if (tape.failed || end < 0) return fail();
  if (isPlainQuantity(start, end)) return start;
  const text = textFrom(start, end);
  const canonical = canonicalText(text);
  return typeof canonical === "string" || canonical.text !== text ? fail() : start;
}

/** `0`, or up to three digits and one of the usual suffixes: canonical as it is (quantity.ts). */
function isPlainQuantity(start: number, end: number): boolean {
  const first = byteAt(start);
  if (first === zero) return end - start === 1;
  let at = start;
  for (let byte = first; at < end && at - start < 3 && byte >= zero && byte <= nine; byte = byteAt((at += 1)));
  if (at === start) return false;
  if (end - at === 1) return decimalSuffixes.has(byteAt(at));
  return at === end || (end - at === 2 && binarySuffixes.has(byteAt(at)) && byteAt(at + 1) === letterI);
}

const letterI = 105;
const decimalSuffixes = new Set(Buffer.from("munkMGTPE"));
const binarySuffixes = new Set(Buffer.from("KMGT"));

function textFrom(start: number, end: number): string {
  return textOf(tape.bytes.subarray(start, end));
}

function readTime(place: number, length: number): number {
  const start = readString(place);
  const end = tape.ends[place] ?? 0;
  return tape.failed || end - start !== length || secondsAt(tape.bytes, start, end) < 0 ? fail() : start;
}

/** Base64 in its canonical form, as far as that can be told by the length; what decodes to no bytes is left alone. */
function readBytes(place: number): number {
  const start = readString(place);
  const end = tape.ends[place] ?? 0;
  return tape.failed || end < 0 || !isBase64.test(textFrom(start, end)) || (end - start) % 4 !== 0 ? fail() : start;
}

const isBase64 = /^[A-Za-z0-9+/]*(?:[AQgw]==|[AEIMQUYcgkosw048]=)?$/;

/** Raw JSON: an object or a list without what our encoder would write in another way (canonical.ts). */
function readRaw(place: number): number {
  const { bytes, at: start } = tape;
  if (bytes[start] !== openMap && bytes[start] !== openList) return fail();
  let depth = 0;
  for (let at = start; at < bytes.length; ) {
    const byte = bytes[at] as number;
    at += 1;
    if (byte === quote) {
      at = endOfRawText(at);
      if (at < 0) break;
    } else if (byte === openMap || byte === openList) depth += 1;
    else if (byte === closeMap || byte === closeList) {
      depth -= 1;
      if (depth > 0) continue;
      tape.at = at;
      tape.ends[place] = at;
      return start;
    } else if (inRaw[byte] !== 0) break;
  }
  return fail();
}

/** Behind the string in raw JSON whose text begins at `start`; -1: it is not as our encoder writes it. */
function endOfRawText(start: number): number {
  const { bytes } = tape;
  for (let at = start; ; at += 2) {
    while (inRaw[bytes[at] as number] === 0) at += 1;
    if (bytes[at] === quote) return at + 1;
    if (bytes[at] !== backslash || (bytes[at + 1] !== quote && bytes[at + 1] !== backslash)) return -1;
  }
}

function writeMessage(wires: readonly Wire[], node: number): void {
  for (const wire of wires) {
    const { field, order } = wire;
    if (order < 0) {
      const before = writer.length;
      writeMessage(wire.inlined, node);
      writer.varint(writer.length - before);
      writer.varint(field.key);
      continue;
    }
    const place = node + order;
    const value = tape.nodes[place] ?? 0;
    if (value === 0) {
      if (wire.zero !== undefined) writer.raw(wire.zero);
    } else if (field.slot?.cardinality === "one") {
      writeOne(wire, place);
      writer.varint(field.key);
    } else if (field.slot?.cardinality === "list") {
      for (let item = value; item !== 0; item = tape.nodes[item] ?? 0) {
        writeOne(wire, item + 1);
        writer.varint(field.key);
      }
    } else {
      for (let entry = value; entry !== 0; entry = tape.nodes[entry] ?? 0) writeEntry(wire, entry);
    }
  }
}

const [keyOfKey, keyOfValue] = [8 + wireTypes.bytes, 16];

function writeEntry(wire: Wire, entry: number): void {
  const { shape, key } = wire.field;
  const before = writer.length;
  writeOne(wire, entry + 1);
  writer.varint(keyOfValue + (shape === shapes.bool || shape === shapes.int ? wireTypes.varint : wireTypes.bytes));
  writeText(entry + 2);
  writer.varint(keyOfKey);
  writer.varint(writer.length - before);
  writer.varint(key);
}

function writeOne(wire: Wire, place: number): void {
  const { field } = wire;
  const start = tape.nodes[place] ?? 0;
  switch (field.shape) {
    case shapes.string:
      return writeText(place);
    case shapes.message: {
      assert(field.message !== undefined, "Only messages are nested");
      wire.way ??= wayOf(field.message);
      const before = writer.length;
      writeMessage(wire.way.wires, start);
      return writer.varint(writer.length - before);
    }
    case shapes.int:
      return writer.integer(intAt(start, tape.ends[place] ?? 0));
    case shapes.bool:
      return writer.varint(byteAt(start) === letterT ? 1 : 0);
    case shapes.bytes:
      return writer.base64(textFrom(start, tape.ends[place] ?? 0));
    case shapes.time:
      return writeTime(field, start, tape.ends[place] ?? 0);
    case shapes.intOrString:
      return writeIntOrString(place);
    default:
      return writeWrapped(place);
  }
}

function writeText(place: number): void {
  const end = tape.ends[place] ?? 0;
  if (end < 0) writer.text(tape.texts[-end - 1] ?? "");
  else writer.copy(tape.bytes, tape.nodes[place] ?? 0, end);
}

/** A message of one text: a quantity or raw JSON. */
function writeWrapped(place: number): void {
  const before = writer.length;
  writeText(place);
  writer.varint(8 + wireTypes.bytes);
  writer.varint(writer.length - before);
}

/** seconds (1) and nanos (2). */
function writeTime(field: WireField, start: number, end: number): void {
  const before = writer.length;
  writer.varint(field.slot?.field.type === "MicroTime" ? microsAt(start, end) * 1000 : 0);
  writer.varint(16 + wireTypes.varint);
  writer.varint(secondsAt(tape.bytes, start, end));
  writer.varint(8 + wireTypes.varint);
  writer.varint(writer.length - before);
}

/** The six digits of a time's fraction, where it has one. */
function microsAt(start: number, end: number): number {
  return end - start === microLength ? intAt(end - 7, end - 1) : 0;
}

/** type (1), intVal (2) and strVal (3), all of them always. */
function writeIntOrString(place: number): void {
  const start = tape.nodes[place] ?? 0;
  const isText = byteAt(start - 1) === quote;
  const before = writer.length;
  if (isText) writeText(place);
  else writer.varint(0);
  writer.varint(24 + wireTypes.bytes);
  writer.integer(isText ? 0 : intAt(start, tape.ends[place] ?? 0));
  writer.varint(16 + wireTypes.varint);
  writer.varint(isText ? 1 : 0);
  writer.varint(8 + wireTypes.varint);
  writer.varint(writer.length - before);
}
