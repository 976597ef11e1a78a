// From a typed object to protobuf, byte for byte as upstream writes it. @hot: answers and watch events for
// clients that speak protobuf pass here. Everything is written from the end of a buffer towards its start, so that the
// length of a message is known when its header is due and nothing is measured or moved:
//
//   free ………………………│ header │ fields of the message, last one first written │ what was written before
//                 at ◄──┘
import { parseDuration } from "../../api/duration.ts";
import type { Message, RawJson } from "../../api/schema.ts";
import { parseInstant, TimeError } from "../../api/time.ts";
import { assert } from "../../base/assert.ts";
import { copyBytes } from "../../base/copy.ts";
import { shapes } from "../engine/plan.ts";
import { sortedKeys } from "../json/write.ts";
import { type WireField, type WirePlan, wirePlanOf, wireTypes } from "./wireplan.ts";

type Source = Readonly<Record<string, unknown>>;

const nothing: Source = Object.freeze({});
/** Keys of the two fields of a map's entry; the key of its value depends on the value. */
const entryKey = 1 * 8 + wireTypes.bytes;
const entryValue = 2 * 8;

/** Texts below so many bytes are copied here: cheaper than a call out of JavaScript. */
const copiedMax = 64;
/** Bytes a writer starts with, and keeps. */
const startBytes = 64 * 1024;

/** Writes protobuf backwards. One thread owns it; the result of bytes() is valid until the next reset(). */
export class ProtoWriter {
  #buffer: Buffer = Buffer.allocUnsafeSlow(startBytes);
  /** First byte that was written. */
  #at = startBytes;

  /** Starts over. A buffer that had to grow is given back. */
  reset(): void {
    if (this.#buffer.length > startBytes) this.#buffer = Buffer.allocUnsafeSlow(startBytes);
    this.#at = this.#buffer.length;
  }

  /** Bytes written so far. */
  get length(): number {
    return this.#buffer.length - this.#at;
  }

  /** The written bytes. */
  bytes(): Uint8Array {
    return this.#buffer.subarray(this.#at);
  }

  /** Puts a copy of `bytes` before the written bytes. */
  raw(bytes: Uint8Array): void {
    this.#put(bytes, 0, bytes.length);
  }

  /** Puts an unsigned number of at most 53 bits before the written bytes. */
  varint(value: number): void {
    if (value < 0x80) {
      const at = this.#reserve(1);
      this.#buffer[at] = value;
      this.#at = at;
      return;
    }
    let size = 1;
    for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size += 1;
    const at = this.#reserve(size);
    let rest = value;
    for (let index = 0; index < size; index += 1) {
      this.#buffer[at + index] = (rest % 0x80) + (index < size - 1 ? 0x80 : 0);
      rest = Math.floor(rest / 0x80);
    }
    this.#at = at;
  }

  /** The same for any int64; negative numbers take ten bytes. */
  integer(value: number | bigint): void {
    if (typeof value === "number" && value >= 0) return this.varint(value);
    let rest = BigInt.asUintN(64, BigInt(value));
    const bytes: number[] = [];
    for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) + 0x80);
    bytes.push(Number(rest));
    this.raw(Uint8Array.from(bytes));
  }

  /** A floating point number of 8 or 4 bytes. */
  float(value: number, single: boolean): void {
    const at = this.#reserve(single ? 4 : 8);
    if (single) this.#buffer.writeFloatLE(value, at);
    else this.#buffer.writeDoubleLE(value, at);
    this.#at = at;
  }

  /** A text and its length. */
  text(text: string): void {
    const { length } = text;
    if (length < 48 && this.#ascii(text, length)) return this.varint(length);
    const bytes = Buffer.byteLength(text);
    const at = this.#reserve(bytes);
    this.#buffer.write(text, at, bytes, "utf8");
    this.#at = at;
    this.varint(bytes);
  }

  /** Bytes of a text in UTF-8, and their length. */
  copy(source: Uint8Array, from: number, end: number): void {
    this.#put(source, from, end);
    this.varint(end - from);
  }

  #put(source: Uint8Array, from: number, end: number): void {
    const length = end - from;
    const at = this.#reserve(length);
    if (length < copiedMax) {
      const buffer = this.#buffer;
      for (let index = 0; index < length; index += 1) buffer[at + index] = source[from + index] as number;
    } else copyBytes(this.#buffer, at, source.subarray(from, end));
    this.#at = at;
  }

  /** Base64 text as bytes, and their length. */
  base64(text: string): void {
    const bytes = Buffer.from(text, "base64");
    this.raw(bytes);
    this.varint(bytes.length);
  }

  /** Short texts are copied here: cheaper than a call out of JavaScript. False, and nothing done, beyond ASCII. */
  #ascii(text: string, length: number): boolean {
    const at = this.#reserve(length);
    const buffer = this.#buffer;
    for (let index = 0; index < length; index += 1) {
      const code = text.charCodeAt(index);
      if (code >= 0x80) return false;
      buffer[at + index] = code;
    }
    this.#at = at;
    return true;
  }

  /** Makes room for `bytes` more; returns where they start. */
  #reserve(bytes: number): number {
    if (bytes <= this.#at) return this.#at - bytes;
    const used = this.length;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#buffer.length * 2, used + bytes + startBytes));
    larger.set(this.bytes(), larger.length - used);
    this.#buffer = larger;
    this.#at = larger.length - used;
    return this.#at - bytes;
  }
}

/** Writes an object's fields before the bytes of `writer`, without key and length. */
export function writeProto(writer: ProtoWriter, message: Message, object: object): void {
  writeMessage(writer, wirePlanOf(message), object as Source);
}

function writeMessage(writer: ProtoWriter, plan: WirePlan, object: Source): void {
  for (const field of plan.reversed) {
    const { slot } = field;
    if (slot === undefined) {
      writeNested(writer, field, object);
      writer.varint(field.key);
      continue;
    }
    const value = object[slot.json];
    if (value === undefined) {
      if (!field.always) continue;
      writeZero(writer, field);
      writer.varint(field.key);
    } else if (slot.cardinality === "one") {
      writeOne(writer, field, value);
      writer.varint(field.key);
    } else if (slot.cardinality === "list") {
      const list = value as readonly unknown[];
      for (let index = list.length - 1; index >= 0; index -= 1) {
        writeOne(writer, field, list[index]);
        writer.varint(field.key);
      }
    } else {
      writeMap(writer, field, value as ReadonlyMap<string, unknown>);
    }
  }
}

function writeNested(writer: ProtoWriter, field: WireField, object: Source): void {
  assert(field.message !== undefined, "Only messages are nested");
  const before = writer.length;
  writeMessage(writer, wirePlanOf(field.message), object);
  writer.varint(writer.length - before);
}

function writeMap(writer: ProtoWriter, field: WireField, map: ReadonlyMap<string, unknown>): void {
  const keys = sortedKeys(map);
  const valueKey = entryValue + wireTypeOfValue(field);
  for (let index = keys.length - 1; index >= 0; index -= 1) {
    const key = keys[index] ?? "";
    const before = writer.length;
    writeOne(writer, field, map.get(key));
    writer.varint(valueKey);
    writer.text(key);
    writer.varint(entryKey);
    writer.varint(writer.length - before);
    writer.varint(field.key);
  }
}

function wireTypeOfValue({ shape }: WireField): number {
  return shape === shapes.bool || shape === shapes.int ? wireTypes.varint : wireTypes.bytes;
}

/** Writes a field that Go holds by value and the object lacks, without its key. */
export function writeZero(writer: ProtoWriter, field: WireField): void {
  switch (field.shape) {
    case shapes.message:
    case shapes.union:
      return writeNested(writer, field, nothing);
    case shapes.quantity:
      return writeOne(writer, field, "0");
    case shapes.intOrString:
      return writeOne(writer, field, 0);
    case shapes.duration:
      return writeOne(writer, field, "0s");
    case shapes.float:
      return writer.float(0, field.wireType === wireTypes.fixed32);
    default:
      // An empty text, an empty message (a time, raw JSON, a list of strings), the number 0 or false: one zero byte.
      return writer.varint(0);
  }
}

function writeOne(writer: ProtoWriter, field: WireField, value: unknown): void {
  switch (field.shape) {
    case shapes.string:
      return writer.text(value as string);
    case shapes.message:
    case shapes.union:
      return writeNested(writer, field, (value ?? nothing) as Source);
    case shapes.int:
      return writer.integer(value as number | bigint);
    case shapes.bool:
      return writer.varint(value === true ? 1 : 0);
    case shapes.bytes:
      return writer.base64((value as string | null) ?? "");
    case shapes.float:
      return writer.float(value as number, field.wireType === wireTypes.fixed32);
    case shapes.time:
      return writeTime(writer, value as string, field.slot?.field.type === "MicroTime" ? "MicroTime" : "Time");
    case shapes.quantity:
      return writeWrapped(writer, value as string);
    case shapes.raw:
      return writeWrapped(writer, (value as RawJson).text);
    case shapes.intOrString:
      return writeIntOrString(writer, value as number | string);
    case shapes.duration:
      return writeDuration(writer, value as string);
    case shapes.strings:
      return writeStrings(writer, value as readonly string[]);
  }
}

/** A message of one text: Quantity, RawExtension, FieldsV1, JSON. */
function writeWrapped(writer: ProtoWriter, text: string): void {
  const before = writer.length;
  writer.text(text);
  writer.varint(8 + wireTypes.bytes);
  writer.varint(writer.length - before);
}

/** seconds (1) and nanos (2); the zero time has neither. */
function writeTime(writer: ProtoWriter, text: string, type: "Time" | "MicroTime"): void {
  if (text === "") return writer.varint(0);
  const instant = parseInstant(text, type);
  assert(!(instant instanceof TimeError), "A time in memory is canonical");
  const before = writer.length;
  writer.varint(type === "Time" ? 0 : instant.nanos - (instant.nanos % 1000));
  writer.varint(16 + wireTypes.varint);
  writer.integer(instant.seconds);
  writer.varint(8 + wireTypes.varint);
  writer.varint(writer.length - before);
}

/** type (1), intVal (2) and strVal (3), all of them always. */
function writeIntOrString(writer: ProtoWriter, value: number | string): void {
  const before = writer.length;
  writer.text(typeof value === "string" ? value : "");
  writer.varint(24 + wireTypes.bytes);
  writer.integer(typeof value === "number" ? value : 0);
  writer.varint(16 + wireTypes.varint);
  writer.varint(typeof value === "string" ? 1 : 0);
  writer.varint(8 + wireTypes.varint);
  writer.varint(writer.length - before);
}

function writeDuration(writer: ProtoWriter, text: string): void {
  const nanos = parseDuration(text);
  assert(nanos !== undefined, "A duration in memory is canonical");
  const before = writer.length;
  writer.integer(nanos);
  writer.varint(8 + wireTypes.varint);
  writer.varint(writer.length - before);
}

function writeStrings(writer: ProtoWriter, list: readonly string[]): void {
  const before = writer.length;
  for (let index = list.length - 1; index >= 0; index -= 1) {
    writer.text(list[index] ?? "");
    writer.varint(8 + wireTypes.bytes);
  }
  writer.varint(writer.length - before);
}
