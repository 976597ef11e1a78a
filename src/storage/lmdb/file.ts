// The file under the embedded engine: checks before LMDB reads it, and preconditions before LMDB writes it.
// The library (lmdb 3.5.6) crashes on a file that is not its own, and overruns a buffer of its own when a write fails
// for lack of space; so neither is let happen.
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statfsSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { type Database, open, type PutOptions, type RootDatabase } from "lmdb";
import { StoreError } from "../store.ts";
import { fileName } from "./name.ts";

type Root = RootDatabase<Buffer, Buffer>;

/** LMDB's page; it follows the machine's. */
export const pageBytes = 4096;
const MiB = 1024 * 1024;
/** With this much free space beyond the need, space is not counted. */
const plentyBytes = 64 * MiB;
/** The part of the room at the end of the file that is reserved for deletes and compaction. */
const lastBytes = 12 * MiB;
/** The same when there are this many bytes of free pages inside the file, which LMDB takes first. */
const lastBytesInside = 6 * MiB;
const insideBytesMin = 16 * MiB;
/** With less room than this nothing is tried. */
const leastBytes = 3 * MiB;
const zeros = Buffer.alloc(MiB);

/** How a value is put at a key that may be among others. */
export const anywhere: PutOptions = {};
/**
 * The same at a key that must be behind all others of its database: when its page is full a new one begins, where else
 * the page would be split in two halves, of which the first stays half empty.
 */
export const atEnd: PutOptions = { append: true };

/** Bytes a change or a compacted record takes besides its own: copies of pages of the trees. */
export const changeBytesMax = 8 * pageBytes;

/** Bytes a record takes on disk, roughly: small ones lie in the tree, others in pages of their own. */
export function footprint(bytes: number): number {
  return bytes < pageBytes / 2 ? bytes : Math.ceil((bytes + 16) / pageBytes) * pageBytes;
}

/** LMDB's file in a store's directory. */
export function fileOf(path: string): string {
  return join(path, fileName);
}

/** The error for a store whose bytes are damaged. */
export function damaged(what: string): StoreError {
  return new StoreError("corrupt", `The store is damaged: ${what}`);
}

/** Whether the file system says that there is no room: on the disk, or in a quota. */
export function isDiskFull(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOSPC" || code === "EDQUOT";
}

/** Opens or creates the file. Throws StoreError "corrupt", or "full" when there is no room for a new one. */
export function openFile(file: string, bytesMax: number): Root {
  checkFile(file);
  const made = !existsSync(file);
  if (made && freeBytes(file) < MiB) {
    throw new StoreError("full", `No space left for a new store in ${dirname(file)}`);
  }
  const root = open<Buffer, Buffer>({
    path: file,
    // Durable before visible: see store.ts; test/crash checks the order and cuts the power.
    overlappingSync: false,
    maxDbs: 4,
    encoding: "binary",
    keyEncoding: "binary",
    // Address space only; the library maps more when the file outgrows it.
    mapSize: bytesMax,
  });
  // Reading past the end of a truncated file would be a fatal signal; zeros are found out.
  const bytes = usedBytes(root);
  if (statSync(file).size < bytes) truncateSync(file, bytes);
  // Synced data in a file whose name is not on the disk is lost all the same.
  if (made) for (const path of [dirname(file), dirname(dirname(file))]) syncDirectory(path);
  return root;
}

/** Makes names in a directory durable. */
export function syncDirectory(path: string): void {
  const fd = openSync(path, "r");
  fsyncSync(fd);
  closeSync(fd);
}

/** The bytes of a file's first two pages. */
function headOf(file: string): { head: Buffer; length: number } {
  const head = Buffer.alloc(2 * pageBytes);
  const fd = openSync(file, "r");
  const length = readSync(fd, head, 0, head.length, 0);
  closeSync(fd);
  return { head, length };
}

/** Page header, then the magic number and version of the data format. */
function isLmdb(head: Buffer): boolean {
  return head.readUInt32LE(24) === 0xbeefc0de && head.readUInt32LE(28) === 2;
}

/** Opens a file to read it beside the process that writes it. Throws StoreError "corrupt". */
export function openBeside(file: string, bytesMax: number): Root {
  if (!existsSync(file) || !isLmdb(headOf(file).head)) throw new StoreError("corrupt", `${file} is not an LMDB file`);
  return open<Buffer, Buffer>({
    path: file,
    readOnly: true,
    maxDbs: 4,
    encoding: "binary",
    keyEncoding: "binary",
    mapSize: bytesMax,
  });
}

/** A power cut leaves a new file full of zeros: such a file is removed. */
function checkFile(file: string): void {
  if (!existsSync(file)) return;
  const { head, length } = headOf(file);
  if (length === 0 || isLmdb(head)) return;
  const untouched = head.every((byte) => byte === 0) && statSync(file).size <= head.length;
  if (!untouched) throw new StoreError("corrupt", `${file} is not an LMDB file`);
  rmSync(file);
}

function freeBytes(file: string): number {
  const { bavail, bsize } = statfsSync(dirname(file));
  return bavail * bsize;
}

/** Bytes up to the last page LMDB has ever used. */
function usedBytes(root: Root): number {
  const { lastPageNumber, pageSize } = root.getStats() as { lastPageNumber: number; pageSize: number };
  return (lastPageNumber + 1) * pageSize;
}

/** Bytes of new pages a transaction may need at most. */
export interface Room {
  /** For changes that store more. */
  readonly grow: number;
  /** For deletes and compaction. */
  readonly last: number;
  /** There is plenty besides: what is written a second later finds room as well. */
  readonly isPlenty: boolean;
}

const boundless: Room = { grow: Number.POSITIVE_INFINITY, last: Number.POSITIVE_INFINITY, isPlenty: true };

/** Makes sure that LMDB's writes find room: plenty of free space, or blocks at the end of the file that are there. */
export class DiskRoom {
  readonly #file: string;
  readonly #root: Root;
  readonly #databases: readonly Database<Buffer, Buffer>[];

  constructor(file: string, root: Root, databases: readonly Database<Buffer, Buffer>[]) {
    this.#file = file;
    this.#root = root;
    this.#databases = databases;
  }

  /**
   * The room there is for a transaction that would like `bytes`. On a nearly full disk the blocks are taken beforehand,
   * so that LMDB may use them all. Throws StoreError "full" when nothing can be written any more.
   */
  make(bytes: number): Room {
    if (freeBytes(this.#file) >= bytes + plentyBytes) return boundless;
    const used = usedBytes(this.#root);
    const stats = this.#root.getStats() as Stats & { root: Stats; free: Stats };
    // Every transaction rewrites parts of the list of free pages.
    const kept = 2 * pagesOf(stats.free) * pageBytes;
    const size = this.#extend(used + kept + bytes + 2 * lastBytes);
    const room = size - used - kept;
    if (room < leastBytes) throw new StoreError("full", `No space left on the disk of ${this.#file}`);
    const pages = [stats.root, stats.free, ...this.#databases.map((db) => db.getStats() as Stats)].reduce(
      (sum, one) => sum + pagesOf(one),
      2,
    );
    const inside = used - pages * pageBytes;
    return { grow: room - (inside >= insideBytesMin ? lastBytesInside : lastBytes), last: room, isPlenty: false };
  }

  /** Writes zeros behind the file's end until it has `bytes` or the disk is full. Returns its size. */
  #extend(bytes: number): number {
    const fd = openSync(this.#file, "r+");
    let size = fstatSync(fd).size;
    try {
      while (size < bytes) size += writeSync(fd, zeros, 0, Math.min(zeros.length, bytes - size), size);
    } catch (error) {
      if (!isDiskFull(error)) throw error;
    } finally {
      closeSync(fd);
    }
    return size;
  }
}

interface Stats {
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
}

function pagesOf(stats: Stats): number {
  return stats.treeBranchPageCount + stats.treeLeafPageCount + stats.overflowPages;
}

/** Bytes of the pages of one database. */
export function bytesOf(db: Database<Buffer, Buffer>): number {
  return pagesOf(db.getStats() as Stats) * pageBytes;
}

/**
 * The witness is a file with a revision the store once had. LMDB keeps the last two states and takes the newest that
 * looks right: when the newest one is damaged, the one before it would pass for the whole truth.
 */
export function checkWitness(path: string, revision: number): void {
  let text = "";
  try {
    text = readFileSync(join(path, "revision"), "latin1");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  // Cut short by a power cut it is smaller or empty, never larger.
  const known = Number(text);
  if (known > revision) {
    const mend = `remove ${join(path, "revision")} to use it all the same, for example when it is an older copy`;
    throw damaged(`it is at revision ${revision} and was at ${known} before; ${mend}`);
  }
}

/** Notes the revision of a store that is being closed. */
export function writeWitness(path: string, revision: number): void {
  try {
    writeFileSync(join(path, "revision"), String(revision), { mode: 0o600 });
  } catch {
    // On a full disk the check is missing at the next start, nothing else.
  }
}
