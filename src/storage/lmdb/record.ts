// The bytes of the embedded engine: keys and values of its databases. Integers are big-endian in keys, so that they
// sort, and little-endian in values. Bytes that do not decode are corrupt: nothing is guessed.
//
//   log       key    0  8  revision
//             value  0  4  CRC-32 of the key's 8 bytes, then of the value from byte 4 on
//                    4  1  format, 1
//                    5  1  type: 1 create, 2 update, 3 delete
//                    6  2  1 when the body is encrypted, else 0; earlier releases refuse what is encrypted
//                    8  8  previous: the revision of the same key's record before this one, 0 for none
//                   16  8  create revision
//                   24  4  bytes of the prefix (the key begins with it)
//                   28  4  bytes of the key
//                   32  4  bytes of the selection
//                   36  4  bytes of the body
//                   40  4  offset of resourceVersion's digits in the body; encrypted, it has no digits, and this is
//                          where they belong once it is decrypted
//                   44     key (UTF-8), selection, body, nothing after it
//
//   current   key    the key in UTF-8; longer ones: byte 0xff, which UTF-8 does not have, and their SHA-256
//             value  0  8  mod revision
//                    8  8  create revision, 0 when the key is deleted and its delete not yet compacted
//                   16  4  CRC-32 of the database key, then of bytes 0 to 15
//
//   times     key    0  8  milliseconds since 1970
//             value  0  8  newest revision then
//                    8  4  CRC-32 of the key, then of bytes 0 to 7
//
//   meta      key    "store"
//             value  JSON of Meta, then 4 bytes CRC-32 of it; its format is 2 where it names a journal (journal.ts), in
//                    which records may be that are not here yet: earlier releases refuse such a store
import { createHash } from "node:crypto";
import { assertShared } from "../../base/assert.ts";
import { crc32 } from "../../base/crc32.ts";
import type { Current } from "../check.ts";
import { spliceDigits, withDigits } from "../digits.ts";
import { type Change, type ChangeType, changeTypes, type Record, StoreError } from "../store.ts";

/** Bytes before the key in a log value. */
export const headerBytes = 44;
/** LMDB's longest key on 4 KiB pages. */
export const lmdbKeyBytesMax = 1978;
const format = 1;
/** Of a description that names a journal. */
const journaledFormat = 2;
/** Flag of a record whose body is encrypted. */
const sealedFlag = 1;
const digitsMax = 16;

/** The store's description of itself. */
export interface Meta {
  readonly format: number;
  readonly identity: string;
  readonly floor: number;
  /** Newest revision at the time of writing; the log's newest record may be newer. */
  readonly revision: number;
  /** The journal that has, or may have, records after the log's newest, by its random name: 32 hexadecimal digits. */
  readonly journal?: string;
}

/** A record as the bytes of `log`. */
export interface LogRecord {
  readonly revision: number;
  readonly value: Buffer;
}

function corrupt(what: string): never {
  throw new StoreError("corrupt", `The store is damaged: ${what}`);
}

/** Reads a number of 53 bits. Throws StoreError "corrupt" for a larger one. */
export function readUint64(bytes: Buffer, at: number): number {
  const value = bytes.readUInt32LE(at + 4) * 0x1_0000_0000 + bytes.readUInt32LE(at);
  if (!Number.isSafeInteger(value)) corrupt(`number above 2^53 at byte ${at}`);
  return value;
}

/** Writes a number of 53 bits. */
export function writeUint64(bytes: Buffer, value: number, at: number): void {
  bytes.writeUInt32LE(value % 0x1_0000_0000, at);
  bytes.writeUInt32LE(Math.floor(value / 0x1_0000_0000), at + 4);
}

/** Writes a number as a key of `log` and `times` into `bytes` and returns it. */
export function encodeNumberKey(value: number, bytes = Buffer.allocUnsafe(8)): Buffer {
  assertShared(Number.isSafeInteger(value) && value >= 0, `Key ${value} is no number of 53 bits`);
  bytes.writeUInt32BE(Math.floor(value / 0x1_0000_0000), 0);
  bytes.writeUInt32BE(value % 0x1_0000_0000, 4);
  return bytes;
}

/** The number of a key of `log` or `times`. */
export function decodeNumberKey(key: Uint8Array): number {
  if (key.length !== 8) corrupt(`key of ${key.length} bytes instead of 8`);
  const bytes = Buffer.from(key.buffer, key.byteOffset, 8);
  const value = bytes.readUInt32BE(0) * 0x1_0000_0000 + bytes.readUInt32BE(4);
  if (!Number.isSafeInteger(value)) corrupt("key above 2^53");
  return value;
}

/** The database key of `current` for a key's UTF-8 bytes. */
export function encodeCurrentKey(key: Uint8Array): Buffer {
  if (key.length <= lmdbKeyBytesMax) return Buffer.from(key.buffer, key.byteOffset, key.length);
  return Buffer.concat([Buffer.of(0xff), createHash("sha256").update(key).digest()]);
}

/** Bytes of an entry of `current` and of `times`, the checksum included. */
const currentBytes = 20;
const timeBytes = 12;

/** Ends an entry with the checksum of its key and of the bytes before. */
function seal(key: Uint8Array, bytes: Buffer): Buffer {
  bytes.writeUInt32LE(sumOf(key, bytes), bytes.length - 4);
  return bytes;
}

/** Throws StoreError "corrupt" unless `bytes` were sealed under `key`. */
function checkSeal(key: Uint8Array, bytes: Buffer, length: number, what: string): void {
  if (bytes.length !== length) corrupt(`${what} of ${bytes.length} bytes instead of ${length}`);
  if (bytes.readUInt32LE(length - 4) !== sumOf(key, bytes)) corrupt(`checksum of ${what}`);
}

function sumOf(key: Uint8Array, bytes: Buffer): number {
  return crc32(bytes.subarray(0, -4), crc32(key));
}

/** An entry of `current`, stored under `currentKey`. */
export function encodeCurrent(currentKey: Uint8Array, mod: number, create: number): Buffer {
  const bytes = Buffer.allocUnsafe(currentBytes);
  assertShared(create <= mod, `A key created at ${create} was changed at ${mod}`);
  writeUint64(bytes, mod, 0);
  writeUint64(bytes, create, 8);
  return seal(currentKey, bytes);
}

/** Reads an entry of `current`. Throws StoreError "corrupt". */
export function decodeCurrent(currentKey: Uint8Array, bytes: Buffer): Current {
  checkSeal(currentKey, bytes, currentBytes, "an index entry");
  return { mod: readUint64(bytes, 0), create: readUint64(bytes, 8) };
}

/** A value of `times`, stored under `timeKey`. */
export function encodeTime(timeKey: Uint8Array, revision: number): Buffer {
  const bytes = Buffer.allocUnsafe(timeBytes);
  writeUint64(bytes, revision, 0);
  return seal(timeKey, bytes);
}

/** Reads a value of `times`. Throws StoreError "corrupt". */
export function decodeTime(timeKey: Uint8Array, bytes: Buffer): number {
  checkSeal(timeKey, bytes, timeBytes, "a time entry");
  return readUint64(bytes, 0);
}

/** The value of `meta`. */
export function encodeMeta(meta: Meta): Buffer {
  const text = Buffer.from(JSON.stringify(meta));
  const sum = Buffer.allocUnsafe(4);
  sum.writeUInt32LE(crc32(text), 0);
  return Buffer.concat([text, sum]);
}

/** Reads the value of `meta`. Throws StoreError "corrupt", also for a format that is not this one. */
export function decodeMeta(bytes: Buffer): Meta {
  const text = bytes.subarray(0, -4);
  if (bytes.length < 4 || bytes.readUInt32LE(text.length) !== crc32(text)) corrupt("checksum of its description");
  const meta = JSON.parse(text.toString()) as Meta;
  if (meta.format !== format && meta.format !== journaledFormat) {
    const known = `${format} and ${journaledFormat}`;
    throw new StoreError("corrupt", `The store has format ${meta.format}, this server reads ${known}`);
  }
  if ((meta.format === journaledFormat) !== (meta.journal !== undefined)) corrupt("its description names no journal");
  return meta;
}

/** A description of a store that holds nothing. */
export function newMeta(identity: string, revision = 0): Meta {
  return { format, identity, floor: revision, revision };
}

/** The same description with another journal, or with none. */
export function withJournal({ journal: _, ...meta }: Meta, journal: string | undefined): Meta {
  return journal === undefined ? { ...meta, format } : { ...meta, format: journaledFormat, journal };
}

/** An upper bound of the bytes encodeRecord() needs for a change. */
export function recordBytesMax({ selection, body, sealed = body }: Change, keyBytes: number): number {
  return headerBytes + keyBytes + selection.length + sealed.length + digitsMax;
}

/** A record's place in history. */
export interface Place {
  readonly revision: number;
  readonly previous: number;
  readonly createRevision: number;
}

/**
 * Lays a change out as a log value in `bytes` from `at` on. Returns the record, whose selection and body are slices of
 * `bytes` (an encrypted body's plain one is a buffer of its own), and where the value ends.
 */
export function encodeRecord(
  bytes: Buffer,
  at: number,
  change: Change,
  key: Uint8Array,
  place: Place,
): { record: Record; end: number } {
  const { selection, body, versionAt, sealed } = change;
  assertShared(versionAt > 0, `Version offset ${versionAt} of a body of ${body.length} bytes`);
  assertShared(versionAt < body.length, `Version offset ${versionAt} of a body of ${body.length} bytes`);
  assertShared(body[versionAt - 1] === 0x22, "No quote before the version digits");
  assertShared(body[versionAt] === 0x22, "No quote after the version digits");
  assertShared(place.previous < place.revision, `Revision ${place.revision} follows ${place.previous}`);
  assertShared(place.createRevision <= place.revision, `Revision ${place.revision} of ${place.createRevision}`);
  const digits = String(place.revision);
  const selectionAt = at + headerBytes + key.length;
  const bodyAt = selectionAt + selection.length;
  const end = bodyAt + (sealed === undefined ? body.length + digits.length : sealed.length);
  assertShared(end <= bytes.length, `A record ends at byte ${end} of ${bytes.length}`);
  bytes.set(key, at + headerBytes);
  bytes.set(selection, selectionAt);
  if (sealed === undefined) spliceDigits(bytes, bodyAt, body, versionAt, digits);
  else bytes.set(sealed, bodyAt);
  bytes[at + 4] = format;
  bytes[at + 5] = change.type;
  bytes.writeUInt16LE(sealed === undefined ? 0 : sealedFlag, at + 6);
  writeUint64(bytes, place.previous, at + 8);
  writeUint64(bytes, place.createRevision, at + 16);
  bytes.writeUInt32LE(Buffer.byteLength(change.prefix), at + 24);
  bytes.writeUInt32LE(key.length, at + 28);
  bytes.writeUInt32LE(selection.length, at + 32);
  bytes.writeUInt32LE(end - bodyAt, at + 36);
  bytes.writeUInt32LE(versionAt, at + 40);
  bytes.writeUInt32LE(crc32(bytes.subarray(at + 4, end), crc32(encodeNumberKey(place.revision))), at);
  const record = {
    revision: place.revision,
    createRevision: place.createRevision,
    previous: place.previous,
    type: change.type,
    prefix: change.prefix,
    key: change.key,
    selection: bytes.subarray(selectionAt, bodyAt),
    body: sealed === undefined ? bytes.subarray(bodyAt, end) : withDigits(body, versionAt, place.revision),
    versionAt,
  };
  return { record, end };
}

/** Where the log value that begins at `at` ends, by the lengths in its header. */
export function recordEnd(bytes: Buffer, at: number): number {
  return at + headerBytes + bytes.readUInt32LE(at + 28) + bytes.readUInt32LE(at + 32) + bytes.readUInt32LE(at + 36);
}

/** Whether a log value of at least a header is what was stored at a revision. */
export function isWhole(revision: number, bytes: Buffer): boolean {
  return bytes.readUInt32LE(0) === crc32(bytes.subarray(4), crc32(encodeNumberKey(revision)));
}

/** Reads a log value; selection and body are slices of it. Throws StoreError "corrupt" on anything unexpected. */
export function decodeRecord(revision: number, bytes: Buffer): Record {
  if (bytes.length < headerBytes) corrupt(`record ${revision} of ${bytes.length} bytes`);
  if (!isWhole(revision, bytes)) corrupt(`checksum of record ${revision}`);
  const flags = bytes.readUInt16LE(6);
  if (bytes[4] !== format || flags > sealedFlag) corrupt(`record ${revision} has an unknown format`);
  const isSealed = flags === sealedFlag;
  const type = bytes[5] as ChangeType;
  const prefixBytes = bytes.readUInt32LE(24);
  const selectionAt = headerBytes + bytes.readUInt32LE(28);
  const bodyAt = selectionAt + bytes.readUInt32LE(32);
  const versionAt = bytes.readUInt32LE(40);
  if (type !== changeTypes.create && type !== changeTypes.update && type !== changeTypes.delete) {
    corrupt(`record ${revision} has an unknown type`);
  }
  if (bodyAt + bytes.readUInt32LE(36) !== bytes.length) corrupt(`lengths of record ${revision}`);
  const endMin = isSealed ? bodyAt : bodyAt + versionAt;
  if (headerBytes + prefixBytes >= selectionAt || endMin >= bytes.length) corrupt(`offsets of record ${revision}`);
  return {
    revision,
    createRevision: readUint64(bytes, 16),
    previous: readUint64(bytes, 8),
    type,
    prefix: bytes.toString("utf8", headerBytes, headerBytes + prefixBytes),
    key: bytes.toString("utf8", headerBytes, selectionAt),
    selection: bytes.subarray(selectionAt, bodyAt),
    body: bytes.subarray(bodyAt),
    versionAt,
    ...(isSealed ? { isSealed } : {}),
  };
}
