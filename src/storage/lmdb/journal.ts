// The journal: commits that are durable and not yet in LMDB's tree. A commit of the tree rewrites a page for each level
// of each of its databases and syncs twice; a commit to the journal is one write and one sync of its records. Whatever
// is in the journal goes to the tree in one transaction, when the journal is full and at least once a second (store.ts).
//
//   file      frames from byte 0 on, each at a multiple of 4096 bytes, in a file that is as long as it will ever be: a
//             sync of it has no metadata to write. Behind the last frame lies what earlier ones left.
//   frame     0  4  CRC-32 of bytes 4 to 39
//             4  8  revision of the first record
//            12  4  number of records, at least one
//            16  4  bytes of the records
//            20  4  format, 1
//            24 16  name of the journal: random, and told by the tree. Nothing a client has stored passes for a frame.
//            40     values of `log` (record.ts), one behind the other, for revisions that rise by one
//
// Frames that matter begin with the revision after the tree's newest one and go on without a gap; those that the tree
// has are left over. Only the last frame can be half written. A frame that is damaged with a later one behind it was
// acknowledged: such a journal is refused.
import { randomBytes } from "node:crypto";
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { assertShared } from "../../base/assert.ts";
import { crc32 } from "../../base/crc32.ts";
import { failpoint } from "../../base/failpoint.ts";
import { damaged, isDiskFull, syncDirectory } from "./file.ts";
import { headerBytes, isWhole, type LogRecord, readUint64, recordEnd, writeUint64 } from "./record.ts";

/** Bytes of the file. What they hold is written to the tree at once, which takes some milliseconds. */
export const journalBytes = 512 * 1024;
const nameAt = 24;
const nameBytes = 16;
/** Bytes before a frame's records. */
export const frameHeaderBytes = nameAt + nameBytes;
/** Of a disk's largest sectors: while a frame is written none is that has another one, which was acknowledged. */
const sectorBytes = 4096;
const format = 1;

/** The journal's file in a store's directory. */
export function journalOf(path: string): string {
  return join(path, "journal");
}

/** The file under a store that writes it. */
export class Journal {
  /** 32 hexadecimal digits. */
  readonly name: string;
  readonly #name: Buffer;
  readonly #fd: number;
  #end = 0;

  private constructor(name: Buffer, fd: number) {
    this.#name = name;
    this.name = name.toString("hex");
    this.#fd = fd;
  }

  /**
   * Makes a journal in a store's directory in place of one whose records the tree has. It is another file: a process that
   * still writes the former one, though it should not, destroys nothing. Undefined: the disk has no room for it.
   */
  static make(path: string): Journal | undefined {
    const file = journalOf(path);
    const draft = `${file}.new`;
    let fd: number | undefined;
    try {
      fd = openSync(draft, "w+", 0o600);
      write(fd, Buffer.alloc(journalBytes), 0);
      fsyncSync(fd);
      renameSync(draft, file);
      syncDirectory(dirname(file));
      failpoint("journal-made");
      return new Journal(randomBytes(nameBytes), fd);
    } catch (error) {
      if (fd !== undefined) closeSync(fd);
      if (!isDiskFull(error)) throw error;
      rmSync(draft, { force: true });
      return undefined;
    }
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
    assertShared(count > 0, "A frame without a record");
    writeUint64(frame, first, 4);
    frame.writeUInt32LE(count, 12);
    frame.writeUInt32LE(frame.length - frameHeaderBytes, 16);
    frame.writeUInt32LE(format, 20);
    frame.set(this.#name, nameAt);
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

/** The bytes of the journal in a store's directory, for journalRecords(); undefined: there is none. */
export function readJournal(path: string): Buffer | undefined {
  const file = journalOf(path);
  return existsSync(file) ? readFileSync(file) : undefined;
}

/**
 * The records of a journal of this name that a tree with this newest revision does not have. Throws StoreError "corrupt"
 * when some are missing.
 */
export function journalRecords(bytes: Buffer | undefined, name: string, revision: number): LogRecord[] {
  if (bytes === undefined) throw damaged("its journal is gone, which has its newest changes");
  const reader = new JournalReader(bytes, Buffer.from(name, "hex"));
  const found: LogRecord[] = [];
  let next = revision + 1;
  let at = 0;
  for (;;) {
    const records = reader.frameAt(at, next);
    const last = records?.at(-1);
    if (records === undefined || last === undefined) break;
    found.push(...records);
    next = last.revision + 1;
    at = afterFrame(last.value.byteOffset - bytes.byteOffset + last.value.length);
  }
  // Whatever begins with a later revision was written after something that is missing here.
  for (; at < bytes.length; at += sectorBytes) {
    const first = reader.firstAt(at);
    if (first !== undefined && first >= next && reader.frameAt(at, first) !== undefined)
      throw damaged(`revision ${first} is in its journal, and ${next} is not`);
  }
  return found;
}

class JournalReader {
  readonly #bytes: Buffer;
  readonly #name: Buffer;

  constructor(bytes: Buffer, name: Buffer) {
    this.#bytes = bytes;
    this.#name = name;
  }

  /** The first revision of the frame that begins here; undefined: none does. */
  firstAt(at: number): number | undefined {
    const header = this.#bytes.subarray(at, at + frameHeaderBytes);
    if (header.length < frameHeaderBytes || !header.subarray(nameAt).equals(this.#name)) return undefined;
    if (header.readUInt32LE(0) !== crc32(header.subarray(4))) return undefined;
    if (header.readUInt32LE(20) !== format) throw damaged(`its journal has format ${header.readUInt32LE(20)}`);
    return readUint64(header, 4);
  }

  /** The records of the frame that begins with a revision; undefined: there is no such frame here, or not all of it. */
  frameAt(at: number, first: number): LogRecord[] | undefined {
    const bytes = this.#bytes;
    if (this.firstAt(at) !== first) return undefined;
    const count = bytes.readUInt32LE(at + 12);
    const end = at + frameHeaderBytes + bytes.readUInt32LE(at + 16);
    if (end > bytes.length) return undefined;
    const records: LogRecord[] = [];
    let from = at + frameHeaderBytes;
    while (records.length < count) {
      if (from + headerBytes > end) return undefined;
      const to = recordEnd(bytes, from);
      if (to > end) return undefined;
      const record = { revision: first + records.length, value: bytes.subarray(from, to) };
      if (!isWhole(record.revision, record.value)) return undefined;
      records.push(record);
      from = to;
    }
    return from === end ? records : undefined;
  }
}
