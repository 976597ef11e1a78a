// Protobuf on both sides of the type engine, in the envelope the API puts around it:
//
//   6b 38 73 00 │ Unknown { typeMeta (1) { apiVersion (1), kind (2) }, raw (2), contentEncoding (3), contentType (4) }
//
// raw holds the object's own message. The prefix is the same under every identity.
import type { Message } from "../../api/schema.ts";
import { copyBytes, copyOf } from "../../base/copy.ts";
import { Fault } from "../json/fault.ts";
import { ProtoWriter, writeProto } from "./protoencode.ts";
import { ProtoReader } from "./protoreader.ts";
import { wireTypes } from "./wireplan.ts";

export { decodeProto } from "./protodecode.ts";

/** The first bytes of every document. */
export const envelopePrefix = Uint8Array.of(0x6b, 0x38, 0x73, 0);

/** An envelope that was opened; the type is empty where it names none. */
export interface Envelope {
  readonly apiVersion: string;
  readonly kind: string;
  /** The object's message: a part of the envelope. */
  readonly raw: Uint8Array;
}

const typeMetaKey = 8 + wireTypes.bytes;
const rawKey = 16 + wireTypes.bytes;
const encodingKey = 24 + wireTypes.bytes;
const contentTypeKey = 32 + wireTypes.bytes;

/** The end of every document: no contentEncoding, no contentType. */
export const envelopeFoot = Uint8Array.of(encodingKey, 0, contentTypeKey, 0);

/** Opens an envelope; faults carry upstream's texts. */
export function openEnvelope(bytes: Uint8Array): Envelope | Fault {
  if (bytes.length === 0) return new Fault("empty data");
  if (envelopePrefix.some((byte, index) => bytes[index] !== byte)) {
    return new Fault("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]");
  }
  if (bytes.length === envelopePrefix.length) return new Fault("empty body");
  const reader = new ProtoReader(bytes);
  reader.at = envelopePrefix.length;
  const end = bytes.length;
  const type = { apiVersion: "", kind: "" };
  let raw = new Uint8Array(0) as Uint8Array;
  while (reader.at < end && reader.fault === undefined) {
    const key = reader.varint(end);
    if (reader.fault !== undefined) break;
    if (key === typeMetaKey) readType(reader, reader.span(end), type);
    else if (key === rawKey) raw = reader.slice(reader.span(end));
    else if (key % 8 === wireTypes.endGroup) reader.fail("proto: Unknown: wiretype end group for non-group");
    else if (key < 8) reader.fail(`proto: Unknown: illegal tag 0 (wire type ${key})`);
    else reader.skip(key % 8, end);
  }
  return reader.fault === undefined ? { ...type, raw } : new Fault(reader.fault);
}

function readType(reader: ProtoReader, end: number, type: { apiVersion: string; kind: string }): void {
  while (reader.at < end && reader.fault === undefined) {
    const key = reader.varint(end);
    if (key === 8 + wireTypes.bytes) type.apiVersion = reader.text(reader.span(end));
    else if (key === 16 + wireTypes.bytes) type.kind = reader.text(reader.span(end));
    else reader.skip(key % 8, end);
  }
}

/** This thread's writer: nothing awaits between filling and copying it. */
const writer = new ProtoWriter();

/** The type of an object, which its envelope names. */
export type ObjectType = Pick<Envelope, "apiVersion" | "kind">;

const frameLength = Buffer.alloc(4);

/**
 * What stands before an object in an event of a watch: four bytes of length, then a WatchEvent with the object's document
 * in it. The object is a document of `bytes`, or with `object` a message, whose envelope is part of the head and ends with
 * envelopeFoot. Valid until this thread encodes anything else.
 */
export function watchEventHead(type: string, bytes: number, object?: ObjectType): Uint8Array {
  writer.reset();
  if (object !== undefined) writeHead(writer, object.apiVersion, object.kind, bytes);
  const after = object === undefined ? bytes : bytes + envelopeFoot.length;
  writer.varint(writer.length + after);
  writer.varint(8 + wireTypes.bytes);
  writer.varint(writer.length + after);
  writer.varint(16 + wireTypes.bytes);
  writer.text(type);
  writer.varint(8 + wireTypes.bytes);
  frameLength.writeUInt32BE(writer.length + after);
  writer.raw(frameLength);
  return writer.bytes();
}

/** An event of a watch, framed. */
export function encodeWatchEvent(type: string, document: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = watchEventHead(type, document.length);
  const frame = new Uint8Array(head.length + document.length);
  frame.set(head);
  frame.set(document, head.length);
  return frame;
}

/** The document of an object whose kind and apiVersion are set. */
export function encodeProto(message: Message, object: object): Uint8Array<ArrayBuffer> {
  writer.reset();
  writeEnvelope(writer, message, object);
  return copyOf(writer.bytes());
}

/** Every list's items: the second field, behind the metadata. */
const itemsKey = 16 + wireTypes.bytes;

/** An object's message alone, without an envelope. */
export function encodeMessage(message: Message, object: object): Uint8Array<ArrayBuffer> {
  writer.reset();
  writeProto(writer, message, object);
  return copyOf(writer.bytes());
}

/** The longest putListItemHead() gets: a key and the length of a message in memory. */
export const listItemHeadBytesMax = 6;

/** Writes key and length of a list's item, whose message is `bytes` long, at `at`; returns the byte after them. */
export function putListItemHead(target: Uint8Array, at: number, bytes: number): number {
  let next = at;
  target[next++] = itemsKey;
  for (let rest = bytes; ; rest >>>= 7) {
    if (rest < 0x80) {
      target[next++] = rest;
      return next;
    }
    target[next++] = (rest & 0x7f) + 0x80;
  }
}

/** The document of an object whose message is there. It is not to be kept: small ones share memory with others. */
export function encodeEnvelope(apiVersion: string, kind: string, raw: Uint8Array): Uint8Array<ArrayBuffer> {
  writer.reset();
  writeHead(writer, apiVersion, kind, raw.length);
  const head = writer.bytes();
  const document = Buffer.allocUnsafe(head.length + raw.length + envelopeFoot.length);
  document.set(head);
  document.set(envelopeFoot, copyBytes(document, head.length, raw));
  return document;
}

/** The start of a list's document, up to its items, which are `itemsBytes` long; `list` has none. */
export function listHead(message: Message, list: object, itemsBytes: number): Uint8Array<ArrayBuffer> {
  writer.reset();
  writeProto(writer, message, list);
  const { apiVersion = "", kind = "" } = list as { apiVersion?: string; kind?: string };
  writeHead(writer, apiVersion, kind, writer.length + itemsBytes);
  return copyOf(writer.bytes());
}

function writeEnvelope(into: ProtoWriter, message: Message, object: object): void {
  into.raw(envelopeFoot);
  const before = into.length;
  writeProto(into, message, object);
  const { apiVersion = "", kind = "" } = object as { apiVersion?: string; kind?: string };
  writeHead(into, apiVersion, kind, into.length - before);
}

/** The bytes before a raw of `bytes`. */
function writeHead(into: ProtoWriter, apiVersion: string, kind: string, bytes: number): void {
  into.varint(bytes);
  into.varint(rawKey);
  const before = into.length;
  into.text(kind);
  into.varint(16 + wireTypes.bytes);
  into.text(apiVersion);
  into.varint(8 + wireTypes.bytes);
  into.varint(into.length - before);
  into.varint(typeMetaKey);
  into.raw(envelopePrefix);
}
