// Protobuf bodies, as clients of the reference send them: an envelope that names the type, and the message in the wire
// format. A message becomes a Value, the JSON it stands for, so that defaults of absent fields, canonical forms and
// checks are those of JSON and exist once.
//
//   k8s\0   Unknown{ typeMeta{ apiVersion, kind }, raw: <message>, contentEncoding, contentType }
import type { Field, Message } from "../api/schema.ts";
import { NumberText, type Value, type ValueMap } from "../api/value.ts";
import { limits } from "../config/limits.ts";
import { Fault } from "./fault.ts";
import { parseJson } from "./scan.ts";

/** What an envelope holds. */
export interface Envelope {
  readonly apiVersion: string;
  readonly kind: string;
  /** The message. */
  readonly raw: Uint8Array;
}

const magic = [0x6b, 0x38, 0x73, 0x00];
const wire = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;
const text = new TextDecoder();

/** Opens an envelope. */
export function openEnvelope(bytes: Uint8Array): Envelope | Fault {
  if (magic.some((byte, index) => bytes[index] !== byte)) {
    const message = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]";
    return new Fault(message);
  }
  if (bytes.length === magic.length) return new Fault("empty body");
  let apiVersion = "";
  let kind = "";
  let raw = new Uint8Array(0);
  const reader = new Reader(bytes, magic.length, bytes.length);
  while (reader.next()) {
    if (reader.field === 2) raw = reader.bytes() as Uint8Array<ArrayBuffer>;
    else if (reader.field === 1) {
      const typeMeta = reader.message();
      while (typeMeta.next()) {
        if (typeMeta.field === 1) apiVersion = typeMeta.string();
        else if (typeMeta.field === 2) kind = typeMeta.string();
        else typeMeta.skip();
      }
      reader.adopt(typeMeta);
    } else reader.skip();
  }
  return reader.fault ?? { apiVersion, kind, raw };
}

/** The JSON a message stands for; fields the type does not have are dropped. */
export function protobufValue(message: Message, bytes: Uint8Array): Value | Fault {
  const reader = new Reader(bytes, 0, bytes.length);
  const value = readMessage(message, reader, 0);
  return reader.fault ?? value;
}

const byNumber = new WeakMap<Message, ReadonlyMap<number, Field>>();

function fieldsOf(message: Message): ReadonlyMap<number, Field> {
  let fields = byNumber.get(message);
  if (fields === undefined) {
    fields = new Map(message.fields.map((field) => [field.number, field]));
    byNumber.set(message, fields);
  }
  return fields;
}

function readMessage(message: Message, reader: Reader, depth: number): Value {
  const into: ValueMap = new Map();
  readInto(message, reader, depth, into);
  return message.special === undefined ? into : special(message.special, into);
}

/** Messages whose JSON is not an object. */
function special(shape: string, parts: ValueMap): Value {
  if (shape === "List") return parts.get("items") ?? [];
  const schema = parts.get("schema");
  if (shape === "JSONSchemaPropsOrBool") return schema ?? parts.get("allows") ?? false;
  return schema ?? parts.get(shape === "JSONSchemaPropsOrArray" ? "jSONSchemas" : "property") ?? [];
}

function readInto(message: Message, reader: Reader, depth: number, into: ValueMap): void {
  if (depth > limits.messageDepthMax) return reader.refuse("exceeded max depth");
  const fields = fieldsOf(message);
  while (reader.next()) {
    const field = fields.get(reader.field);
    if (field === undefined) reader.skip();
    else if (field.cardinality === "map") readEntry(field, reader, depth, into);
    else if (field.inline && field.message !== undefined) {
      const inner = reader.message();
      readInto(field.message, inner, depth + 1, into);
      reader.adopt(inner);
    } else {
      const value = readValue(field, reader, depth);
      if (field.cardinality === "one") into.set(field.json, value);
      else append(into, field.json, value);
    }
  }
}

function append(into: ValueMap, key: string, value: Value): void {
  const list = into.get(key);
  if (Array.isArray(list)) list.push(value);
  else into.set(key, [value]);
}

function readEntry(field: Field, reader: Reader, depth: number, into: ValueMap): void {
  const entry = reader.message();
  let key = "";
  let value: Value | undefined;
  while (entry.next()) {
    if (entry.field === 1) key = entry.string();
    else if (entry.field === 2) value = readValue(field, entry, depth);
    else entry.skip();
  }
  reader.adopt(entry);
  const found = into.get(field.json);
  const map: ValueMap = found instanceof Map ? found : new Map();
  map.set(key, value ?? null);
  into.set(field.json, map);
}

/** One value; for a list, one item. */
function readValue(field: Field, reader: Reader, depth: number): Value {
  switch (field.type) {
    case "string":
      return reader.string();
    case "bytes":
      return Buffer.from(reader.bytes()).toString("base64");
    case "bool":
      return reader.bool();
    case "int32":
      return reader.int32();
    case "uint32":
      return reader.int32() >>> 0;
    case "int64":
      return reader.int64(true);
    case "uint64":
      return reader.int64(false);
    case "double":
    case "float":
      return decimal(reader.float(field.type === "double"));
    case "message":
      return field.message === undefined
        ? null
        : reader.within((inner) => readMessage(field.message as Message, inner, depth + 1));
    default:
      return reader.within((inner) => readSpecial(field.type, inner));
  }
}

function decimal(number: number): Value {
  return Number.isInteger(number) && Math.abs(number) <= Number.MAX_SAFE_INTEGER
    ? number
    : new NumberText(String(number));
}

/** Scalars that are messages on the wire. */
function readSpecial(type: Field["type"], reader: Reader): Value {
  switch (type) {
    case "Time":
    case "MicroTime":
      return readTime(reader, type === "MicroTime");
    case "Duration":
      return readOne(reader, () => `${reader.int64(true)}ns`, "0s");
    case "Quantity":
      return readOne(reader, () => reader.string(), "0");
    case "IntOrString":
      return readIntOrString(reader);
    default:
      return readOne(reader, () => readJson(reader), null);
  }
}

/** Field 1 of a message of one field. */
function readOne(reader: Reader, read: () => Value, absent: Value): Value {
  let value = absent;
  while (reader.next()) {
    if (reader.field === 1) value = read();
    else reader.skip();
  }
  return value;
}

function readJson(reader: Reader): Value {
  const bytes = reader.bytes();
  if (bytes.length === 0) return null;
  const value = parseJson(bytes);
  if (!(value instanceof Fault)) return value;
  reader.refuse(value.message);
  return null;
}

function readIntOrString(reader: Reader): Value {
  let isString = false;
  let number = 0;
  let string = "";
  while (reader.next()) {
    if (reader.field === 1) isString = reader.int32() === 1;
    else if (reader.field === 2) number = reader.int32();
    else if (reader.field === 3) string = reader.string();
    else reader.skip();
  }
  return isString ? string : number;
}

/** Years 1 to 9999, in seconds since 1970. */
const secondsMin = -62_135_596_800;
const secondsMax = 253_402_300_799;

function readTime(reader: Reader, micro: boolean): Value {
  let seconds = 0;
  let nanos = 0;
  while (reader.next()) {
    if (reader.field === 1) seconds = Number(reader.int64(true));
    else if (reader.field === 2) nanos = reader.int32();
    else reader.skip();
  }
  if (seconds === 0 && nanos === 0) return null;
  if (seconds < secondsMin || seconds > secondsMax) {
    reader.refuse(`time ${seconds} is out of range`);
    return null;
  }
  const whole = new Date(seconds * 1000).toISOString().slice(0, 19);
  const micros = Math.min(999_999, Math.max(0, Math.trunc(nanos / 1000)));
  return micro ? `${whole}.${String(micros).padStart(6, "0")}Z` : `${whole}Z`;
}

/** Reads the fields of one message. The first fault stays; after it everything reads as zero and next() is false. */
class Reader {
  fault: Fault | undefined;
  /** Number of the field next() found. */
  field = 0;
  #type = 0;
  #at: number;
  readonly #end: number;
  readonly #bytes: Uint8Array;
  #low = 0;
  #high = 0;

  constructor(bytes: Uint8Array, start: number, end: number) {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
  }

  /** Moves to the next field; false at the end and after a fault. */
  next(): boolean {
    if (this.fault !== undefined || this.#at >= this.#end) return false;
    this.#varint();
    this.field = (this.#low >>> 3) | (this.#high << 29);
    this.#type = this.#low & 7;
    if (this.fault === undefined && this.field <= 0) this.refuse(`illegal tag ${this.field}`);
    return this.fault === undefined;
  }

  refuse(message: string): void {
    this.fault ??= new Fault(message);
  }

  /** Takes over the fault of a reader of a part. */
  adopt(part: Reader): void {
    this.fault ??= part.fault;
  }

  skip(): void {
    switch (this.#type) {
      case wire.varint:
        this.#varint();
        return;
      case wire.fixed64:
        this.#move(8);
        return;
      case wire.fixed32:
        this.#move(4);
        return;
      case wire.bytes:
        this.bytes();
        return;
      default:
        this.refuse(`illegal wireType ${this.#type}`);
    }
  }

  bytes(): Uint8Array {
    if (!this.#expect(wire.bytes)) return new Uint8Array(0);
    this.#varint();
    const start = this.#at;
    const length = this.#high !== 0 || this.#low < 0 ? Number.POSITIVE_INFINITY : this.#low;
    return this.#move(length) ? this.#bytes.subarray(start, start + length) : new Uint8Array(0);
  }

  string(): string {
    return text.decode(this.bytes());
  }

  /** A reader of the message in this field. */
  message(): Reader {
    const bytes = this.bytes();
    return new Reader(bytes, 0, bytes.length);
  }

  /** Reads the message in this field. */
  within(read: (part: Reader) => Value): Value {
    const part = this.message();
    const value = read(part);
    this.adopt(part);
    return value;
  }

  bool(): boolean {
    if (this.#expect(wire.varint)) this.#varint();
    return this.#low !== 0 || this.#high !== 0;
  }

  int32(): number {
    if (this.#expect(wire.varint)) this.#varint();
    return this.#low | 0;
  }

  int64(signed: boolean): number | bigint {
    if (this.#expect(wire.varint)) this.#varint();
    const high = signed ? this.#high | 0 : this.#high >>> 0;
    const near = high * 4294967296 + (this.#low >>> 0);
    return Number.isSafeInteger(near) ? near : (BigInt(high) << 32n) | BigInt(this.#low >>> 0);
  }

  float(double: boolean): number {
    const length = double ? 8 : 4;
    const start = this.#at;
    if (!this.#expect(double ? wire.fixed64 : wire.fixed32) || !this.#move(length)) return 0;
    const view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset + start, length);
    return double ? view.getFloat64(0, true) : view.getFloat32(0, true);
  }

  #expect(type: number): boolean {
    if (this.fault === undefined && this.#type === type) return true;
    this.#low = 0;
    this.#high = 0;
    if (this.fault === undefined) this.refuse(`wrong wireType = ${this.#type} for field ${this.field}`);
    return false;
  }

  #move(length: number): boolean {
    if (this.fault === undefined && this.#at + length <= this.#end) {
      this.#at += length;
      return true;
    }
    this.refuse("unexpected EOF");
    return false;
  }

  /** Reads up to ten bytes into #low and #high. */
  #varint(): void {
    this.#low = 0;
    this.#high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      if (this.#at >= this.#end) return this.refuse("unexpected EOF");
      const byte = this.#bytes[this.#at++] ?? 0;
      const part = byte & 0x7f;
      if (shift < 28) this.#low |= part << shift;
      else if (shift === 28) {
        this.#low |= part << 28;
        this.#high = part >>> 4;
      } else if (shift < 64) this.#high |= part << (shift - 32);
      if (byte < 0x80) return;
    }
    this.refuse("integer overflow");
  }
}
