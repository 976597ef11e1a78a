// One segment of a log: two shared buffers that the store thread appends to and every front reads, without locks.
// Published bytes are never changed until every front has released the segment. Writer and readers each wrap the
// same two buffers in a Segment of their own.
// @hot
//
//   data   ┌─────────┬─────────┬─────────┬───────────────────────┐
//          │ frame 0 │ frame 1 │ frame 2 │ free                  │   frames only, adjacent: an unfiltered watch is one
//          └─────────┴─────────┴─────────┴───────────────────────┘   slice
//   frame  {"type":"ADDED",   "object":{…}}\n                        the object starts at a constant offset, because the
//          {"type":"MODIFIED","object":{…}}\n                        shorter types are padded with JSON white space
//          {"type":"DELETED", "object":{…}}\n
//   meta   ┌─────────┬─────────┬─────────┬─────┬─────────────────┐
//          │ entry 0 │ entry 1 │ entry 2 │ 0…  │ selection 2 1 0 │   64-byte entries from the front, selection tables
//          └─────────┴─────────┴─────────┴─────┴─────────────────┘   (selection.ts) from the back
//   entry  i32  0 type, written last       1 frame at (data byte)    2 frame bytes       3 selection at (meta byte)
//          i32  4 selection bytes          5 previous segment (0: no)6 previous index    7 version digits at (object byte)
//          f64  4 revision                 5 create revision         6 time (ms, wall)   7 order
//
// Publication: the frame, the selection table and the entry's other words are stored first, the type word last with
// Atomics.store; a reader loads the type word with Atomics.load and reads on only when it is not 0. The store releases
// and the load acquires, so a reader that sees the type sees everything before it. Readers walk until they meet a 0, or
// `continued`: the log continues in the segment that word 5 names. A zeroed meta buffer is an empty segment.
//
// `order` is the log's newest revision when the entry was written: the revision itself for events, so that order never
// decreases along a log even where records of old revisions are moved forward.
import { assertShared } from "../../base/assert.ts";
import { copyBytes, copyRange } from "../../base/copy.ts";
import { type Location, recordTypes } from "./record.ts";
import { keyEnd, keyStart, type SelectionSource } from "./selection.ts";

/** Type word of the entry that ends a closed segment. */
export const continued = 5;

/** Entries a segment can have at most; locations count in steps of it. */
export const recordsPerSegment = 65_536;

/** Bytes of a frame before its object. */
const framePrefixBytes = 28;
/** Bytes of a frame beside its object. */
const frameExtraBytes = framePrefixBytes + 2;

/** Bytes of an entry. */
export const entryBytes = 64;
const entryWords = entryBytes / 4;
const entryDoubles = entryBytes / 8;

const newline = 0x0a;
const closingBrace = 0x7d;

function framePrefix(type: string): Uint8Array<ArrayBuffer> {
  const bytes = new TextEncoder().encode(`{"type":"${type}",${" ".repeat("MODIFIED".length - type.length)}"object":`);
  assertShared(bytes.length === framePrefixBytes, `A frame of ${type} starts with ${bytes.length} bytes`);
  return bytes;
}

const addedPrefix = framePrefix("ADDED");
const modifiedPrefix = framePrefix("MODIFIED");
const deletedPrefix = framePrefix("DELETED");

/** First bytes of the frames of a record type. A moved record is state, so it reads as ADDED. */
export function framePrefixOf(type: number): Uint8Array<ArrayBuffer> {
  if (type === recordTypes.update) return modifiedPrefix;
  return type === recordTypes.delete ? deletedPrefix : addedPrefix;
}

/** Segment number of a place. */
export function segmentOf(at: Location): number {
  return Math.floor(at / recordsPerSegment);
}

/** Index in its segment of a place. */
export function indexOf(at: Location): number {
  return at % recordsPerSegment;
}

/** Input of one entry, from the writer. */
export interface Entry {
  type: number;
  revision: number;
  createRevision: number;
  time: number;
  order: number;
  previousSegment: number;
  previousIndex: number;
  selection: Uint8Array;
  /** The object's JSON, the digits of its version included. */
  body: Uint8Array;
  versionAt: number;
}

/** A segment as one thread sees it. `words` and `bytes` are the meta buffer: selection tables are read from there. */
export class Segment implements SelectionSource {
  /** Grows by one with every segment of the log; from 1. */
  readonly number: number;
  /** Position in the log of entry 0. */
  readonly base: number;
  readonly data: Uint8Array<SharedArrayBuffer>;
  readonly words: Int32Array<SharedArrayBuffer>;
  readonly bytes: Buffer<SharedArrayBuffer>;
  readonly #doubles: Float64Array<SharedArrayBuffer>;

  constructor(number: number, base: number, data: SharedArrayBuffer, meta: SharedArrayBuffer) {
    assertShared(number >= 1, "A segment has no number");
    assertShared(base >= 0, "A segment begins before its log");
    assertShared(meta.byteLength % entryBytes === 0, "A segment's meta buffer is no whole number of entries");
    this.number = number;
    this.base = base;
    this.data = new Uint8Array(data);
    this.words = new Int32Array(meta);
    this.bytes = Buffer.from(meta);
    this.#doubles = new Float64Array(meta);
  }

  /** Type word: 0 while not published. Everything else may be read once this is not 0. */
  type(index: number): number {
    return Atomics.load(this.words, index * entryWords);
  }

  /** Byte of `data` where the frame starts. */
  frameAt(index: number): number {
    return this.#word(index * entryWords + 1);
  }

  frameBytes(index: number): number {
    return this.#word(index * entryWords + 2);
  }

  /** Byte of `bytes` where the selection table starts. */
  selectionAt(index: number): number {
    return this.#word(index * entryWords + 3);
  }

  selectionBytes(index: number): number {
    return this.#word(index * entryWords + 4);
  }

  /** Place of the key's record before this one; 0 when there was none. It may have been recycled since. */
  previous(index: number): Location {
    const word = index * entryWords;
    return this.#word(word + 5) * recordsPerSegment + this.#word(word + 6);
  }

  /** Place of an entry of this segment. */
  locationOf(index: number): Location {
    return this.number * recordsPerSegment + index;
  }

  /** Bytes a record takes in both buffers. */
  bytesOf(index: number): number {
    return this.frameBytes(index) + aligned(this.selectionBytes(index)) + entryBytes;
  }

  /** The record's event as it is sent. */
  frame(index: number): Uint8Array<SharedArrayBuffer> {
    const start = this.frameAt(index);
    const end = start + this.frameBytes(index);
    assertShared(end <= this.data.length, "A frame ends beyond its segment");
    return this.data.subarray(start, end);
  }

  /** The record's object, the part of the frame that is stored. */
  object(index: number): Uint8Array<SharedArrayBuffer> {
    const start = this.frameAt(index) + framePrefixBytes;
    return this.data.subarray(start, start + this.objectBytes(index));
  }

  /** Its length. */
  objectBytes(index: number): number {
    const bytes = this.frameBytes(index) - frameExtraBytes;
    assertShared(bytes > 0, "A frame holds no object");
    assertShared(
      this.frameAt(index) + framePrefixBytes + bytes <= this.data.length,
      "An object ends beyond its segment",
    );
    return bytes;
  }

  /** Copies it, from its byte `from` on, to byte `to` of `target`, where it fits; returns the byte after it. */
  copyObject(index: number, from: number, target: Uint8Array, to: number): number {
    const start = this.frameAt(index) + framePrefixBytes;
    return copyRange(target, to, this.data, start + from, start + this.objectBytes(index));
  }

  /** The record's selection table. */
  selection(index: number): Uint8Array<SharedArrayBuffer> {
    const start = this.selectionAt(index);
    const end = start + this.selectionBytes(index);
    assertShared(end <= this.bytes.length, "A selection table ends beyond its segment");
    return this.bytes.subarray(start, end);
  }

  /** Number of the next segment, in the entry that says `continued`. */
  next(index: number): number {
    return this.#word(index * entryWords + 5);
  }

  /** Byte in the object of the first digit of its version. */
  versionAt(index: number): number {
    return this.#word(index * entryWords + 7);
  }

  revision(index: number): number {
    return this.#double(index * entryDoubles + 4);
  }

  createRevision(index: number): number {
    return this.#double(index * entryDoubles + 5);
  }

  /** When the record was appended, ms since 1970. */
  time(index: number): number {
    return this.#double(index * entryDoubles + 6);
  }

  order(index: number): number {
    return this.#double(index * entryDoubles + 7);
  }

  /** The record's key relative to the prefix, one character per UTF-8 byte: such strings compare as their bytes do. */
  byteKey(index: number): string {
    const at = this.selectionAt(index);
    return this.bytes.toString("latin1", keyStart(this, at), keyEnd(this, at));
  }

  #word(at: number): number {
    const value = this.words[at];
    assertShared(value !== undefined, "An entry lies beyond its segment");
    return value;
  }

  #double(at: number): number {
    const value = this.#doubles[at];
    assertShared(value !== undefined, "An entry lies beyond its segment");
    return value;
  }
}

/** A segment being filled, on the store thread. */
export class OpenSegment {
  readonly segment: Segment;
  /** Entries written, the closing one not counted. */
  count = 0;
  /** Bytes of data written. */
  dataBytes = 0;
  /** First byte of the selection tables; they reach to the end of the meta buffer. */
  selectionStart: number;
  readonly #doubles: Float64Array<SharedArrayBuffer>;

  constructor(segment: Segment) {
    this.segment = segment;
    this.selectionStart = segment.bytes.length;
    this.#doubles = new Float64Array(segment.bytes.buffer);
  }

  /** Whether one more record fits, with room left for the closing entry. */
  fits(frameBytes: number, selectionBytes: number): boolean {
    if (this.dataBytes + frameBytes > this.segment.data.length) return false;
    return bytesOfMeta(this.count + 1, 0) + aligned(selectionBytes) <= this.selectionStart;
  }

  /** Appends and publishes a record; it must fit. Returns its index. */
  append(entry: Entry): number {
    const index = this.count;
    assertShared(entry.type >= recordTypes.create && entry.type <= recordTypes.move, "An entry has an unknown type");
    assertShared(entry.createRevision <= entry.revision, "A record is older than its object");
    assertShared(entry.revision <= entry.order, "A record is newer than its log");
    assertShared(entry.versionAt < entry.body.length, "The version of a record is not in its object");
    assertShared(entry.previousIndex < recordsPerSegment, "An index lies beyond every segment");
    this.#checkNext(bytesOfFrame(entry.body.length), entry.selection.length, entry.order);
    const frameAt = this.dataBytes;
    const frameBytes = this.#writeFrame(entry);
    const selectionAt = this.selectionStart - aligned(entry.selection.length);
    copyBytes(this.segment.bytes, selectionAt, entry.selection);
    const word = index * entryWords;
    const words = this.segment.words;
    words[word + 1] = frameAt;
    words[word + 2] = frameBytes;
    words[word + 3] = selectionAt;
    words[word + 4] = entry.selection.length;
    words[word + 5] = entry.previousSegment;
    words[word + 6] = entry.previousIndex;
    words[word + 7] = entry.versionAt;
    const double = index * entryDoubles;
    this.#doubles[double + 4] = entry.revision;
    this.#doubles[double + 5] = entry.createRevision;
    this.#doubles[double + 6] = entry.time;
    this.#doubles[double + 7] = entry.order;
    this.selectionStart = selectionAt;
    this.dataBytes = frameAt + frameBytes;
    this.count = index + 1;
    Atomics.store(words, word, entry.type);
    return index;
  }

  /** Copies a record of another segment here as a move, frame bytes and all, and publishes it. It must fit. */
  move(source: Segment, index: number, order: number, time: number): number {
    const here = this.count;
    const frameBytes = source.frameBytes(index);
    assertShared(source.number < this.segment.number, "A record is moved to an older segment");
    this.#checkNext(frameBytes, source.selectionBytes(index), order);
    const data = this.segment.data;
    copyBytes(data, this.dataBytes, source.frame(index));
    data.set(addedPrefix, this.dataBytes);
    const selectionBytes = source.selectionBytes(index);
    const selectionAt = this.selectionStart - aligned(selectionBytes);
    copyBytes(this.segment.bytes, selectionAt, source.selection(index));
    const word = here * entryWords;
    const words = this.segment.words;
    words[word + 1] = this.dataBytes;
    words[word + 2] = frameBytes;
    words[word + 3] = selectionAt;
    words[word + 4] = selectionBytes;
    words[word + 5] = source.number;
    words[word + 6] = index;
    words[word + 7] = source.versionAt(index);
    const double = here * entryDoubles;
    this.#doubles[double + 4] = source.revision(index);
    this.#doubles[double + 5] = source.createRevision(index);
    this.#doubles[double + 6] = time;
    this.#doubles[double + 7] = order;
    this.selectionStart = selectionAt;
    this.dataBytes += frameBytes;
    this.count = here + 1;
    Atomics.store(words, word, recordTypes.move);
    return here;
  }

  /** Closes the segment: readers continue in segment `next`, which must have been announced to them before. */
  close(next: number): void {
    const word = this.count * entryWords;
    assertShared(next > this.segment.number, "A log continues in an older segment");
    assertShared(this.segment.type(this.count) === 0, "A segment is closed twice");
    this.segment.words[word + 5] = next;
    Atomics.store(this.segment.words, word, continued);
  }

  /** Preconditions of each entry: there is room, nothing is there yet, and order does not decrease. */
  #checkNext(frameBytes: number, selectionBytes: number, order: number): void {
    const { count, segment } = this;
    assertShared(this.fits(frameBytes, selectionBytes), "A record does not fit its segment");
    assertShared(segment.type(count) === 0, "An entry is written twice, or behind the end of its segment");
    if (count > 0) assertShared(order >= segment.order(count - 1), "The order of a log goes back");
  }

  #writeFrame(entry: Entry): number {
    const { body } = entry;
    const data = this.segment.data;
    let at = this.dataBytes;
    data.set(framePrefixOf(entry.type), at);
    at += framePrefixBytes;
    copyBytes(data, at, body);
    at += body.length;
    data[at] = closingBrace;
    data[at + 1] = newline;
    return at + 2 - this.dataBytes;
  }
}

/** Bytes of the frame of a body. */
export function bytesOfFrame(bodyBytes: number): number {
  return frameExtraBytes + bodyBytes;
}

/** Bytes of meta that records and their tables take, the closing entry included. */
export function bytesOfMeta(count: number, selectionBytes: number): number {
  return (count + 1) * entryBytes + selectionBytes;
}

/** Selection tables start at multiples of 4. */
function aligned(bytes: number): number {
  return (bytes + 3) & ~3;
}
