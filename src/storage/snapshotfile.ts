// A snapshot: the state of a store at one revision, in one file that can be checked without anything else.
//
//    0  8  "orchsnap"
//    8  4  format, 1
//   12  4  bytes of the head
//   16     JSON of Head
//          for each live record: 8 revision, 4 bytes of its value, the value as in the log of the
//          embedded engine (lmdb/record.ts), whose checksum covers both
//          8 zeros, 8 number of records
//          32 SHA-256 of everything before
//
// Integers are little-endian. What is encrypted in the store is encrypted in the file.
import { createHash } from "node:crypto";
import { closeSync, fstatSync, fsyncSync, openSync, readSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { LiveRecord } from "./lmdb/copy.ts";
import { syncDirectory } from "./lmdb/file.ts";
import { StoreError } from "./store.ts";

const magic = Buffer.from("orchsnap");
const format = 1;
const sumBytes = 32;
const headBytesMax = 64 * 1024;
const bufferBytes = 1024 * 1024;

/** What a snapshot says of itself. */
export interface Head {
  readonly identity: string;
  /** Of the state. */
  readonly revision: number;
  /** When it was read, ms since 1970. */
  readonly savedMs: number;
}

/** What is in a file that was read to its end. */
export interface SnapshotStatus extends Head {
  readonly records: number;
  readonly bytes: number;
  /** SHA-256 of it, hexadecimal. */
  readonly sum: string;
}

function number64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

/** A snapshot that is being written: it has its name when it is whole and on the disk. */
export class SnapshotWriter {
  readonly #file: string;
  readonly #draft: string;
  readonly #head: Head;
  readonly #fd: number;
  readonly #hash = createHash("sha256");
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #bytes = 0;
  #records = 0;

  /** Begins a file that must not be there. Throws what the file system throws. */
  constructor(file: string, head: Head) {
    this.#file = file;
    this.#draft = `${file}.part`;
    this.#head = head;
    this.#fd = openSync(this.#draft, "wx", 0o600);
    const text = Buffer.from(JSON.stringify(head));
    const lengths = Buffer.alloc(8);
    lengths.writeUInt32LE(format, 0);
    lengths.writeUInt32LE(text.length, 4);
    this.#write(magic, lengths, text);
  }

  /** Adds a record. */
  add({ revision, value }: LiveRecord): void {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(value.length);
    this.#write(number64(revision), length, value);
    this.#records += 1;
  }

  /** All records were added. */
  end(): SnapshotStatus {
    this.#write(number64(0), number64(this.#records));
    this.#flush();
    const sum = this.#hash.digest();
    writeSync(this.#fd, sum);
    fsyncSync(this.#fd);
    closeSync(this.#fd);
    renameSync(this.#draft, this.#file);
    syncDirectory(dirname(resolve(this.#file)));
    return {
      ...this.#head,
      records: this.#records,
      bytes: this.#bytes + sumBytes,
      sum: sum.toString("hex"),
    };
  }

  /** It is not to be. */
  giveUp(): void {
    try {
      closeSync(this.#fd);
    } catch {
      // It was closed.
    }
    rmSync(this.#draft, { force: true });
  }

  #write(...parts: Buffer[]): void {
    for (const part of parts) this.#waitingBytes += part.length;
    this.#waiting.push(...parts);
    if (this.#waitingBytes >= bufferBytes) this.#flush();
  }

  #flush(): void {
    const all = Buffer.concat(this.#waiting);
    for (let at = 0; at < all.length; ) at += writeSync(this.#fd, all, at);
    this.#hash.update(all);
    this.#bytes += all.length;
    this.#waiting = [];
    this.#waitingBytes = 0;
  }
}

/** Writes a snapshot of what `work` adds; nothing is left of it when that fails. Rejects with its error. */
export async function saveSnapshot(
  file: string,
  head: Head,
  work: (writer: SnapshotWriter) => void | Promise<void>,
): Promise<SnapshotStatus> {
  const writer = new SnapshotWriter(file, head);
  try {
    await work(writer);
    return writer.end();
  } catch (error) {
    writer.giveUp();
    throw error;
  }
}

/** A snapshot's bytes from the beginning on, each piece no longer than the file. */
class Reading {
  readonly bytes: number;
  readonly #fd: number;
  readonly #hash = createHash("sha256");
  #buffer = Buffer.alloc(0);
  /** Bytes of the file that were read into the buffer, and that were taken. */
  #read = 0;
  #taken = 0;

  constructor(fd: number) {
    this.#fd = fd;
    this.bytes = fstatSync(fd).size;
  }

  /** The next bytes. Throws StoreError "corrupt" when they are not there. */
  take(length: number, isSummed = true): Buffer {
    if (length > this.bytes - this.#taken) throw broken(`it ends at byte ${this.bytes}`);
    while (this.#buffer.length < length) {
      const more = Buffer.allocUnsafe(Math.max(bufferBytes, length));
      const got = readSync(this.#fd, more, 0, more.length, this.#read);
      if (got === 0) throw broken(`it ends at byte ${this.#read}`);
      this.#read += got;
      this.#buffer = Buffer.concat([this.#buffer, more.subarray(0, got)]);
    }
    const taken = this.#buffer.subarray(0, length);
    this.#buffer = this.#buffer.subarray(length);
    this.#taken += length;
    if (isSummed) this.#hash.update(taken);
    return taken;
  }

  number64(): number {
    const value = Number(this.take(8).readBigUInt64LE());
    if (!Number.isSafeInteger(value)) throw broken("a number is above 2^53");
    return value;
  }

  /** Checks the end of the file. Returns the checksum. */
  end(): string {
    const expected = this.#hash.digest("hex");
    const found = this.take(sumBytes, false).toString("hex");
    if (found !== expected) throw broken(`its checksum is ${expected}, and should be ${found}`);
    if (this.#taken !== this.bytes) throw broken(`${this.bytes - this.#taken} bytes follow its end`);
    return found;
  }
}

function broken(what: string): StoreError {
  return new StoreError("corrupt", `the snapshot is damaged: ${what}`);
}

/**
 * Reads a snapshot from end to end, and hands out its records before the checksum has been compared: what is done with
 * them is void when this throws. Throws StoreError "corrupt", or what the file system throws.
 */
export function* readSnapshot(file: string): Generator<LiveRecord, SnapshotStatus> {
  const fd = openSync(file, "r");
  try {
    const reading = new Reading(fd);
    if (reading.bytes < magic.length || !reading.take(magic.length).equals(magic))
      throw broken("it does not begin as one");
    const [found, headBytes] = [reading.take(4).readUInt32LE(), reading.take(4).readUInt32LE()];
    if (found !== format)
      throw new StoreError("corrupt", `the snapshot has format ${found}, this release reads ${format}`);
    if (headBytes > headBytesMax) throw broken(`its head has ${headBytes} bytes`);
    const head = headOf(reading.take(headBytes).toString());
    let records = 0;
    for (;;) {
      const revision = reading.number64();
      if (revision === 0) break;
      yield { revision, value: Buffer.from(reading.take(reading.take(4).readUInt32LE())) };
      records++;
    }
    const told = reading.number64();
    if (told !== records) throw broken(`it has ${records} records, and should have ${told}`);
    return { ...head, records, bytes: reading.bytes, sum: reading.end() };
  } finally {
    closeSync(fd);
  }
}

function headOf(text: string): Head {
  try {
    const { identity, revision, savedMs } = JSON.parse(text) as Head;
    if (typeof identity === "string" && Number.isSafeInteger(revision) && Number.isSafeInteger(savedMs)) {
      return { identity, revision, savedMs };
    }
  } catch {
    // Said below.
  }
  throw broken("its head cannot be read");
}

/** Reads a whole snapshot and checks it: its checksum, and that of every record. Throws as readSnapshot(). */
export function checkSnapshot(file: string, check: (record: LiveRecord) => void = () => undefined): SnapshotStatus {
  const reading = readSnapshot(file);
  for (;;) {
    const next = reading.next();
    if (next.done === true) return next.value;
    check(next.value);
  }
}
