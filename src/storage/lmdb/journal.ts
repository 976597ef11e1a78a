// The journal: commits that are durable and not yet in LMDB's tree. A commit of the tree rewrites a page for each level
// of each of its databases and syncs twice; a commit to the journal is one write and one sync of its records. Whatever
// is in the journal goes to the tree in one transaction, when the journal is full and at least once a second (store.ts).
//
//   file      frames from byte 0 on, each at a multiple of 512 bytes, in a file that is as long as it will ever be: a
//             sync of it has no metadata to write. Behind the last frame lies what earlier ones left.
//   frame     0  4  CRC-32 of bytes 4 to 23
//             4  8  revision of the first record
//            12  4  number of records
//            16  4  bytes of the records
//            20  4  format, 1
//            24     values of `log` (record.ts), one behind the other, for revisions that rise by one
//
// Frames that matter begin with the revision after the tree's newest one and go on without a gap; those that the tree
// has are left over. Only the last frame can be half written. A frame that is damaged with a later one behind it was
// acknowledged: such a journal is refused. No body passes for a frame: JSON has no zero bytes.
import { closeSync, existsSync, fdatasyncSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { assertShared } from "../../base/assert.ts";
import { crc32 } from "../../base/crc32.ts";
import { failpoint } from "../../base/failpoint.ts";
import { damaged, syncDirectory } from "./file.ts";
import { decodeRecord, headerBytes, readUint64, recordEnd, writeUint64 } from "./record.ts";

/** Bytes of the file. What they hold is written to the tree at once, which takes some milliseconds. */
export const journalBytes = 256 * 1024;
/** Bytes before a frame's records. */
export const frameHeaderBytes = 24;
/** What a disk writes whole or not at all: a frame that is being written shares none with one that was acknowledged. */
const sectorBytes = 512;
const format = 1;

/** A record's bytes as the journal holds them. */
export interface JournalRecord {
  readonly revision: number;
  /** The value of `log`. */
  readonly value: Buffer;
}

/** The journal's file in a store's directory. */
export function journalOf(path: string): string {
  return join(path, "journal");
}

/** The file under a store that writes it. */
export class Journal {
  readonly #fd: number;
  #end = 0;

  /**
   * Makes the file, durable with its name, in place of one whose records the tree has: a store that was copied may have
   * one with revisions it never came to. Throws what the file system throws.
   */
  constructor(file: string) {
    this.#fd = openSync(file, "w+", 0o600);
    write(this.#fd, Buffer.alloc(journalBytes), 0);
    fsyncSync(this.#fd);
    syncDirectory(dirname(file));
  }

  /** Whether a frame of so many bytes, its header among them, has a place. */
  fits(bytes: number): boolean {
    return this.#end + bytes <= journalBytes;
  }

  /**
   * Makes a frame durable. Its records lie in `frame` behind `frameHeaderBytes`, which are filled in here; `first` is the
   * revision of the first of them.
   */
  append(frame: Buffer, first: number, count: number): void {
    assertShared(this.fits(frame.length), `A frame of ${frame.length} bytes at ${this.#end} of the journal`);
    writeUint64(frame, first, 4);
    frame.writeUInt32LE(count, 12);
    frame.writeUInt32LE(frame.length - frameHeaderBytes, 16);
    frame.writeUInt32LE(format, 20);
    frame.writeUInt32LE(crc32(frame.subarray(4, frameHeaderBytes)), 0);
    write(this.#fd, frame, this.#end);
    failpoint("inside-journal");
    fdatasyncSync(this.#fd);
    this.#end = afterFrame(this.#end + frame.length);
  }

  /** The tree has everything: the next frame is the first. */
  restart(): void {
    this.#end = 0;
  }

  close(): void {
    closeSync(this.#fd);
  }
}

function write(fd: number, bytes: Buffer, at: number): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done, bytes.length - done, at + done);
}

function afterFrame(end: number): number {
  return Math.ceil(end / sectorBytes) * sectorBytes;
}

/** The bytes of a journal, for journalRecords(). Throws StoreError "corrupt" when there is none. */
export function readJournal(path: string): Buffer {
  const file = journalOf(path);
  if (!existsSync(file)) throw damaged(`${file} is gone, which holds its newest changes`);
  return readFileSync(file);
}

/** The records of a journal that a tree with this newest revision does not have. Throws StoreError "corrupt". */
export function journalRecords(bytes: Buffer, revision: number): JournalRecord[] {
  const found: JournalRecord[] = [];
  let next = revision + 1;
  let at = 0;
  for (;;) {
    const records = frameAt(bytes, at, next);
    const last = records?.at(-1);
    if (records === undefined || last === undefined) break;
    found.push(...records);
    next = last.revision + 1;
    at = afterFrame(last.value.byteOffset - bytes.byteOffset + last.value.length);
  }
  // Whatever else begins with a later revision was written after something that is missing here.
  for (; at + frameHeaderBytes <= bytes.length; at += sectorBytes) {
    const first = firstAt(bytes, at);
    if (first !== undefined && first >= next && frameAt(bytes, at, first) !== undefined)
      throw damaged(`revision ${first} is in its journal, and ${next} is not`);
  }
  return found;
}

/** The first revision of a frame; undefined: none begins here. */
function firstAt(bytes: Buffer, at: number): number | undefined {
  if (at + frameHeaderBytes > bytes.length) return undefined;
  if (bytes.readUInt32LE(at) !== crc32(bytes.subarray(at + 4, at + frameHeaderBytes))) return undefined;
  if (bytes.readUInt32LE(at + 20) !== format) return undefined;
  return readUint64(bytes, at + 4);
}

/** The records of the frame that begins at `first`; undefined: there is no such frame here, or not all of it. */
function frameAt(bytes: Buffer, at: number, first: number): JournalRecord[] | undefined {
  if (firstAt(bytes, at) !== first) return undefined;
  const count = bytes.readUInt32LE(at + 12);
  const end = at + frameHeaderBytes + bytes.readUInt32LE(at + 16);
  if (end > bytes.length) return undefined;
  const records: JournalRecord[] = [];
  let from = at + frameHeaderBytes;
  while (records.length < count) {
    if (from + headerBytes > end) return undefined;
    const to = recordEnd(bytes, from);
    if (to > end) return undefined;
    const record = { revision: first + records.length, value: bytes.subarray(from, to) };
    if (!isWhole(record)) return undefined;
    records.push(record);
    from = to;
  }
  return from === end ? records : undefined;
}

function isWhole({ revision, value }: JournalRecord): boolean {
  try {
    decodeRecord(revision, value);
    return true;
  } catch {
    return false;
  }
}
