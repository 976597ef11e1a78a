// The embedded engine: LMDB with one writer, and a journal before it (journal.ts). See record.ts for the bytes.
//
// A commit is one durable step: a frame of the journal, or one transaction that takes what is pending in the journal and
// the commit itself to the tree. What is pending is in memory as well, where checks of a key's revision find it first.
//
// Two options of the library lose acknowledged writes at a power cut and are therefore never used: overlapping sync
// (the default) shows a commit before it is on disk, and a transaction whose callback returns something may still be
// open when the next one is acknowledged. Every callback here returns nothing.
import { chmodSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Database, PutOptions, RootDatabase } from "lmdb";
import { AssertionFailure, assertShared } from "../../base/assert.ts";
import { crc32 } from "../../base/crc32.ts";
import { failpoint } from "../../base/failpoint.ts";
import { nextTurn } from "../../base/turn.ts";
import { limits } from "../../config/limits.ts";
import { Ages, type Sample } from "../ages.ts";
import { type Current, checkChange, checkGuard } from "../check.ts";
import { Feed } from "../feed.ts";
import { takeLock } from "../lock.ts";
import {
  type Change,
  changeTypes,
  type Deliver,
  isNearlyFull,
  type OpenOptions,
  type Outcome,
  type Record,
  type Refusal,
  type Store,
  StoreError,
  type Take,
  type Unguarded,
} from "../store.ts";
import {
  anywhere,
  atEnd,
  bytesOf,
  changeBytesMax,
  checkWitness,
  DiskRoom,
  damaged,
  fileOf,
  footprint,
  openFile,
  type Room,
  writeWitness,
} from "./file.ts";
import { frameHeaderBytes, Journal, journalRecords, readJournal } from "./journal.ts";
import { Pending } from "./pending.ts";
import {
  decodeCurrent,
  decodeMeta,
  decodeNumberKey,
  decodeRecord,
  decodeTime,
  encodeCurrent,
  encodeCurrentKey,
  encodeMeta,
  encodeNumberKey,
  encodeRecord,
  encodeTime,
  lmdbKeyBytesMax,
  type Meta,
  newMeta,
  recordBytesMax,
  withJournal,
} from "./record.ts";
import { type Superseding, SupersedingRecords } from "./superseding.ts";

type Bytes = Database<Buffer, Buffer>;

const metaKey = Buffer.from("store");
/** Keys fetched at once by a scan; no read transaction lives longer. */
const scanKeysMax = 1000;
/** Bytes of records delivered at once, or one record more. */
const toldBytesMax = 4 * 1024 * 1024;
/** Memory that records are read into. */
const pieceBytes = 1024 * 1024;

/** One word of an order-free sum over (key, revision) pairs, to compare the log with the index. */
function pairSum(key: string, revision: number): number {
  return Math.imul(crc32(Buffer.from(key), revision >>> 0), 0x9e3779b1) ^ (revision | 0);
}

/** Opens or creates a store: Engine.open(). */
export function openLmdb(options: OpenOptions): Store {
  mkdirSync(options.path, { recursive: true, mode: 0o700 });
  const unlock = takeLock(join(options.path, "owner"));
  let root: RootDatabase<Buffer, Buffer> | undefined;
  try {
    root = openFile(fileOf(options.path), options.mapBytesMax ?? limits.storeBytesMax);
    // The library asks for no mode, and earlier releases left it at that.
    chmodSync(options.path, 0o700);
    for (const name of readdirSync(options.path)) chmodSync(join(options.path, name), 0o600);
    return new LmdbStore(options, root, unlock);
  } catch (error) {
    void root?.close();
    unlock();
    if (error instanceof StoreError) throw error;
    throw new StoreError(
      "corrupt",
      `The store at ${options.path} cannot be opened: ${(error as Error).message}`,
      error,
    );
  }
}

/**
 * Reads records one after the other, into pieces of memory the allocator gives back whole: in memory of their own each,
 * 10,000 records of 5 KiB left 40 MiB with the process after a start.
 */
class RecordReader {
  readonly #log: Bytes;
  #piece = Buffer.alloc(0);
  #used = 0;

  constructor(log: Bytes) {
    this.#log = log;
  }

  /** The record at a key that is there. Throws StoreError "corrupt" else. */
  read(key: Buffer): Record {
    const value = this.#log.getBinaryFast(key);
    if (value === undefined) throw gone(key);
    // Of its bytes only so many are the value; they are others with the next call.
    const { length } = value;
    if (length > this.#piece.length - this.#used) {
      this.#piece = Buffer.allocUnsafeSlow(Math.max(length, pieceBytes));
      this.#used = 0;
    }
    const from = this.#used;
    this.#used += length;
    this.#piece.set(value.subarray(0, length), from);
    return decodeRecord(decodeNumberKey(key), this.#piece.subarray(from, this.#used));
  }
}

function gone(key: Buffer): StoreError {
  return damaged(`entry ${key.toString("hex")} is gone`);
}

class LmdbStore implements Store {
  revision: number;
  floor: number;
  readonly #path: string;
  readonly #identity: string;
  readonly #bytesMax: number;
  readonly #unlock: () => void;
  readonly #root: RootDatabase<Buffer, Buffer>;
  readonly #log: Bytes;
  readonly #current: Bytes;
  readonly #times: Bytes;
  readonly #meta: Bytes;
  readonly #room: DiskRoom;
  readonly #ages: Ages;
  readonly #feed = new Feed(this, (after) => this.#after(after));
  readonly #key = Buffer.allocUnsafe(8);
  /** Undefined until a transaction with plenty of room begins it. */
  #journal: Journal | undefined;
  /** False: the disk says that there is plenty and has no room for one, for a quota. */
  #mayJournal = true;
  readonly #pending = new Pending();
  readonly #superseding = new SupersedingRecords();
  /** Newest revision when the store was opened: of those after it #superseding knows. */
  readonly #openedAt: number;
  /** Bytes the records and the index take: pages of the tree, and roughly what is pending. */
  #bytes: number;
  /** Number of the last transaction that wrote. */
  #transaction: number;
  /** Whether the transaction under way has written. */
  #dirty = false;
  /** Set once by a failure nothing is known after: every later call throws it again. */
  #failure: unknown;

  constructor(options: OpenOptions, root: RootDatabase<Buffer, Buffer>, unlock: () => void) {
    this.#path = options.path;
    this.#identity = options.identity;
    this.#bytesMax = options.mapBytesMax ?? limits.storeBytesMax;
    this.#unlock = unlock;
    this.#root = root;
    const database = (name: string): Bytes =>
      root.openDB<Buffer, Buffer>({ name, encoding: "binary", keyEncoding: "binary" });
    this.#log = database("log");
    this.#current = database("current");
    this.#times = database("times");
    this.#meta = database("meta");
    this.#transaction = lastTransaction(root);
    this.#room = new DiskRoom(fileOf(options.path), root, [this.#log, this.#current, this.#times, this.#meta]);
    const known = this.#meta.getBinary(metaKey);
    const meta =
      known === undefined ? newMeta(options.identity, options.firstRevision) : decodeMeta(Buffer.from(known));
    if (meta.identity !== options.identity) {
      const what = `The store at ${options.path} was created with --identity=${meta.identity}, not ${options.identity}`;
      throw Object.assign(new StoreError("identity", what), { holds: meta.identity });
    }
    this.floor = meta.floor;
    this.revision = Math.max(meta.revision, this.#newestInLog());
    if (known === undefined) this.#write(() => this.#put(this.#meta, metaKey, encodeMeta(meta)));
    if (meta.journal !== undefined) this.#recover(meta, meta.journal);
    this.#openedAt = this.revision;
    this.#bytes = this.#bytesOfTree();
    checkWitness(options.path, this.revision);
    const samples: Sample[] = [];
    for (const key of this.#times.getKeys())
      samples.push([decodeNumberKey(key), decodeTime(key, this.#get(this.#times, key))]);
    this.#ages = new Ages(options.clock, samples);
  }

  get sizeBytes(): number {
    return statSync(fileOf(this.#path), { throwIfNoEntry: false })?.size ?? 0;
  }

  get nearlyFull(): boolean {
    return isNearlyFull(this.#bytes, this.#bytesMax);
  }

  currentRevision(): Promise<number> {
    return Promise.resolve(this.revision);
  }

  watch(after: number, take: Deliver): Promise<() => void> {
    return this.#feed.watch(after, take);
  }

  async commit(changes: readonly Change[]): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    const records: Record[] = [];
    const keys = changes.map((change) => Buffer.from(change.key));
    const arena = Buffer.allocUnsafeSlow(
      changes.reduce((sum, change, i) => sum + recordBytesMax(change, (keys[i] as Buffer).length), frameHeaderBytes),
    );
    let revision = this.revision;
    let bytes = this.#bytes;
    let end = frameHeaderBytes;
    const now = this.#ages.now();
    const sample = this.#ages.isDue(now, this.revision);
    if (changes.length === 0 && !sample && this.#pending.records.length === 0) return outcomes;
    const room = this.#makeRoom(arena.length + changes.length * changeBytesMax);
    failpoint("before-commit");
    this.#durably(() => {
      changes.forEach((change, i) => {
        const key = keys[i] as Buffer;
        const current = this.#currentOf(change.key, key);
        const refused =
          checkChange(change, key, current) ?? this.#checkGuard(change) ?? this.#checkRoom(change, key, bytes, room);
        if (refused !== undefined) {
          outcomes.push(refused);
          return;
        }
        const place = { revision: revision + 1, previous: current.mod, createRevision: current.create || revision + 1 };
        const { record, end: recordEnd } = encodeRecord(arena, end, change, key, place);
        this.#pending.add(record, arena.subarray(end, recordEnd));
        this.#superseding.note(record);
        bytes += footprint(recordEnd - end);
        revision = place.revision;
        end = recordEnd;
        records.push(record);
        outcomes.push({ revision });
      });
      if (changes.length > 0 && !sample && room.isPlenty && this.#journal?.fits(end) === true) {
        if (records.length > 0) this.#journal.append(arena.subarray(0, end), this.revision + 1, records.length);
        // A process that opens the store writes a transaction before it reads the journal: it has read this frame, or is
        // noticed here.
        this.#assertAlone(lastTransaction(this.#root));
        this.#bytes = bytes;
      } else {
        this.#toTree(room.isPlenty, () => {
          if (sample) this.#putSample(now);
        });
      }
    });
    failpoint("after-commit");
    assertShared(outcomes.length === changes.length, `${outcomes.length} outcomes for ${changes.length} changes`);
    assertShared(records.length === revision - this.revision, `${records.length} records up to ${revision}`);
    // Of the newest revision before this batch: that one is at least this old.
    if (sample) this.#ages.note(now, this.revision);
    this.revision = revision;
    this.#feed.tell(records);
    return outcomes;
  }

  async replay(take: Take): Promise<number> {
    let taken: unknown;
    try {
      await this.#replay((records) =>
        Promise.resolve(take(records)).catch((error: unknown) => {
          taken = error;
          throw error;
        }),
      );
      return this.revision;
    } catch (error) {
      // What the library throws over damaged pages is of no type of its own. Positive codes are the system's.
      const { code, message } = error as { code?: unknown; message: string };
      const isOther = error instanceof StoreError || error === taken || (typeof code === "number" && code > 0);
      throw isOther ? error : damaged(message);
    }
  }

  async #replay(take: Take): Promise<void> {
    if (this.#pending.records.length > 0) this.#toTree(this.#makeRoom(0).isPlenty);
    let heads = 0;
    let sum = 0;
    let last = 0;
    let some: Record[] = [];
    let bytes = 0;
    const reader = new RecordReader(this.#log);
    for (const key of this.#keys(this.#log)) {
      const record = reader.read(key);
      const { revision, previous } = record;
      if (revision <= last || revision > this.revision) throw damaged(`revision ${revision} after ${last}`);
      last = revision;
      heads++;
      sum = (sum + pairSum(record.key, revision)) | 0;
      // The record before this one is still stored, unless it was compacted.
      const supersedes =
        previous !== 0 && revision > this.floor && (record.type !== changeTypes.create || previous > this.floor);
      if (supersedes) {
        heads--;
        sum = (sum - pairSum(record.key, previous)) | 0;
      }
      some.push(record);
      bytes += record.body.length;
      if (some.length < scanKeysMax && bytes < toldBytesMax) continue;
      await take(some);
      some = [];
      bytes = 0;
      await nextTurn();
    }
    await take(some);
    this.#checkIndex(heads, sum);
  }

  /** Some of the records above a revision: every one above the floor is there. */
  #after(revision: number): Record[] {
    const found: Record[] = [];
    let bytes = 0;
    const reader = new RecordReader(this.#log);
    for (const key of [...this.#log.getKeys({ start: encodeNumberKey(revision + 1), limit: scanKeysMax })]) {
      const record = reader.read(key);
      found.push(record);
      bytes += record.body.length;
      if (bytes >= toldBytesMax) break;
    }
    return found.length > 0 ? found : this.#pending.after(revision);
  }

  revisionAged(ageMs: number): number {
    return this.#ages.revisionAged(ageMs);
  }

  async compact(revision: number): Promise<boolean> {
    const target = Math.min(revision, this.revision);
    if (target <= this.floor) return true;
    let floor = this.floor;
    const { isPlenty } = this.#makeRoom(limits.compactRecordsMax * changeBytesMax);
    this.#toTree(isPlenty, () => {
      floor = this.floor < this.#openedAt ? this.#forgetFound(target) : this.#forgetNoted(target);
      for (const time of this.#ages.behind(floor)) this.#delete(this.#times, encodeNumberKey(time));
      this.#putMeta(floor);
      failpoint("inside-compaction");
    });
    assertShared(floor > this.floor, `A compaction moves the floor from ${this.floor} to ${floor}`);
    assertShared(floor <= target, `A compaction to ${target} moves the floor to ${floor}`);
    this.floor = floor;
    this.#ages.drop(floor);
    return floor >= target;
  }

  async close(): Promise<void> {
    try {
      if (this.#failure === undefined && this.#journal !== undefined) this.#endJournal();
    } finally {
      this.#journal?.close();
      writeWitness(this.#path, this.revision);
      await this.#root.close();
      this.#unlock();
    }
  }

  /** Takes what a store that was not closed has in its journal to the tree. */
  #recover(meta: Meta, name: string): void {
    // Another process that writes all the same acknowledges nothing from here on: see commit().
    this.#makeRoom(0);
    this.#write(() => this.#put(this.#meta, metaKey, encodeMeta(meta)));
    for (const { revision, value } of journalRecords(readJournal(this.#path), name, this.revision)) {
      const record = decodeRecord(revision, value);
      const { mod } = this.#currentOf(record.key, Buffer.from(record.key));
      if (record.previous !== mod)
        throw damaged(`${record.key} is at ${mod}, and its journal expects ${record.previous}`);
      this.#pending.add(record, value);
      this.revision = revision;
    }
    this.#makeRoom(0);
    this.#toTree(false, () => this.#putMeta(this.floor));
  }

  #beginJournal(): void {
    this.#durably(() => {
      this.#journal = Journal.make(this.#path);
    });
    this.#mayJournal = this.#journal !== undefined;
  }

  /** Leaves a store that is whole without its journal, unless the disk is full. */
  #endJournal(): void {
    try {
      this.#makeRoom(0);
      this.#toTree(false);
    } catch (error) {
      if (!(error instanceof StoreError) || error.kind !== "full") throw error;
    }
  }

  #putMeta(floor: number): void {
    const meta: Meta = { ...newMeta(this.#identity), floor, revision: this.revision };
    this.#put(this.#meta, metaKey, encodeMeta(withJournal(meta, this.#journal?.name)));
  }

  #checkGuard({ guard }: Change): Unguarded | undefined {
    return guard && checkGuard(guard, this.#currentOf(guard.key, Buffer.from(guard.key)));
  }

  /** Room for what is pending and `bytes` more. Throws StoreError "full" when what is pending finds none. */
  #makeRoom(bytes: number): Room {
    const room = this.#room.make(this.#pending.bytes + bytes);
    if (this.#pending.bytes <= room.last) return room;
    throw new StoreError("full", `No space left on the disk of ${this.#path}`);
  }

  /** Whether a change is refused because `bytes` are stored, or for what is pending. */
  #checkRoom(change: Change, key: Buffer, bytes: number, room: Room): Refusal | undefined {
    const grows = change.type !== changeTypes.delete;
    const size = footprint(recordBytesMax(change, key.length));
    if (grows && bytes + size > this.#bytesMax) {
      return { refused: "full", message: `The store holds ${bytes} of at most ${this.#bytesMax} bytes` };
    }
    if (this.#pending.bytes + size + changeBytesMax > (grows ? room.grow : room.last)) {
      return { refused: "full", message: `No space left on the disk of ${this.#path}` };
    }
    return undefined;
  }

  /**
   * Takes what is pending to the tree, with what `more` writes, in one durable transaction, from which on there is a
   * journal or none: none without plenty of room, so that a start on a full disk has nothing to write.
   */
  #toTree(isJournaled: boolean, more?: () => void): void {
    const before = this.#journal;
    if (!isJournaled) this.#journal = undefined;
    else if (before === undefined && this.#mayJournal) this.#beginJournal();
    this.#write(() => {
      this.#putPending();
      if (this.#journal !== before) this.#putMeta(this.floor);
      more?.();
      failpoint("inside-transaction");
    });
    if (this.#journal !== before) before?.close();
    this.#pending.clear();
    this.#bytes = this.#bytesOfTree();
    this.#journal?.restart();
  }

  #bytesOfTree(): number {
    return bytesOf(this.#log) + bytesOf(this.#current);
  }

  #putPending(): void {
    for (const { revision, value } of this.#pending.records)
      this.#put(this.#log, encodeNumberKey(revision, this.#key), value, atEnd);
    for (const [key, { mod, create }] of this.#pending.keys) {
      const currentKey = encodeCurrentKey(Buffer.from(key));
      this.#put(this.#current, currentKey, encodeCurrent(currentKey, mod, create));
    }
  }

  /**
   * Runs one durable transaction: when it returns, everything written in it is on the disk. The caller has made sure
   * that the disk has room.
   */
  #write(work: () => void): void {
    this.#durably(() => {
      this.#dirty = false;
      this.#root.transactionSync(() => {
        this.#assertAlone(this.#root.getWriteTxnId() - 1);
        work();
      });
      // LMDB gives the number of a transaction that wrote nothing to the next one.
      if (this.#dirty) this.#transaction++;
    });
    // Reads of this turn would go on with what was there before.
    this.#root.resetReadTxn();
  }

  /** `last`: the number of the last transaction of the tree. */
  #assertAlone(last: number): void {
    assertShared(last === this.#transaction, `Transaction ${last} after ${this.#transaction}: another process wrote`);
  }

  /** Runs a step after which everything is on the disk. When it fails, nothing is known any more. */
  #durably(step: () => void): void {
    if (this.#failure !== undefined) throw this.#failure;
    try {
      step();
    } catch (error) {
      // Which changes reached the disk is unknown now, and only a restart can tell.
      const known = error instanceof StoreError || error instanceof AssertionFailure;
      const message = `The store at ${this.#path} failed: ${(error as Error).message}`;
      this.#failure = known ? error : new StoreError("in-doubt", message, error);
      throw this.#failure;
    }
  }

  #put(db: Bytes, key: Buffer, value: Buffer, options: PutOptions = anywhere): void {
    this.#dirty = true;
    db.putSync(key, value, options);
  }

  #delete(db: Bytes, key: Buffer): void {
    this.#dirty = true;
    db.removeSync(key);
  }

  #get(db: Bytes, key: Buffer): Buffer {
    const value = db.getBinary(key);
    if (value === undefined) throw gone(key);
    return Buffer.from(value.buffer, value.byteOffset, value.length);
  }

  /** The state of a key, whose UTF-8 bytes are `bytes`: of what is pending, or else of the tree. */
  #currentOf(key: string, bytes: Buffer): Current {
    return this.#pending.keys.get(key) ?? this.#indexed(encodeCurrentKey(bytes));
  }

  #indexed(currentKey: Buffer): Current {
    const value = this.#current.getBinary(currentKey);
    return value === undefined
      ? { mod: 0, create: 0 }
      : decodeCurrent(currentKey, Buffer.from(value.buffer, value.byteOffset, value.length));
  }

  /** The keys of a database in order, fetched page by page. */
  *#keys(db: Bytes): Generator<Buffer> {
    let start = Buffer.of(0);
    for (;;) {
      const page = [...db.getKeys({ start, limit: scanKeysMax })];
      yield* page;
      const last = page.at(-1);
      if (last === undefined || page.length < scanKeysMax) return;
      start = Buffer.concat([last, Buffer.of(0)]);
    }
  }

  #newestInLog(): number {
    for (const key of this.#log.getKeys({ reverse: true, limit: 1 })) return decodeNumberKey(key);
    return 0;
  }

  /** Compacts some of the records that were there when the store was opened. Returns the floor. */
  #forgetFound(target: number): number {
    const end = Math.min(target, this.#openedAt);
    const keys = [...this.#log.getKeys({ start: encodeNumberKey(this.floor + 1), limit: limits.compactRecordsMax })];
    let floor = this.floor;
    for (const key of keys) {
      const revision = decodeNumberKey(key);
      if (revision > end) return end;
      this.#forget(decodeRecord(revision, this.#get(this.#log, key)));
      floor = revision;
    }
    // A short page was the last one: no record is left up to the end.
    return keys.length < limits.compactRecordsMax ? end : floor;
  }

  /** The same for those written since. */
  #forgetNoted(target: number): number {
    let floor = this.floor;
    for (let done = 0; done < limits.compactRecordsMax; done++) {
      const superseding = this.#superseding.take(target);
      if (superseding === undefined) return target;
      this.#forget(superseding);
      floor = superseding.revision;
    }
    return floor;
  }

  /** Compacts one record: its predecessor, and itself when it is a delete. */
  #forget({ revision, previous, type }: Superseding): void {
    if (previous !== 0) this.#delete(this.#log, encodeNumberKey(previous, this.#key));
    if (type !== changeTypes.delete) return;
    const logKey = encodeNumberKey(revision);
    const currentKey = encodeCurrentKey(Buffer.from(decodeRecord(revision, this.#get(this.#log, logKey)).key));
    if (this.#indexed(currentKey).mod === revision) this.#delete(this.#current, currentKey);
    this.#delete(this.#log, logKey);
  }

  /** Compares the index with the log, which has `heads` keys whose pairSum is `sum`. */
  #checkIndex(heads: number, sum: number): void {
    let entries = 0;
    let left = sum;
    for (const key of this.#keys(this.#current)) {
      const { mod } = this.#indexed(key);
      // A hashed key is not text: its pair is summed over the key in the record.
      const text =
        key.length <= lmdbKeyBytesMax && key[0] !== 0xff
          ? key.toString()
          : decodeRecord(mod, this.#get(this.#log, encodeNumberKey(mod))).key;
      left = (left - pairSum(text, mod)) | 0;
      entries++;
    }
    if (entries !== heads || left !== 0) throw damaged(`${heads} keys in the log, ${entries} in the index`);
  }

  /** Notes that the newest revision is at least this old; entries from a clock that was ahead are dropped. */
  #putSample(now: number): void {
    for (const time of this.#ages.aheadOf(now)) this.#delete(this.#times, encodeNumberKey(time));
    const key = encodeNumberKey(now);
    this.#put(this.#times, key, encodeTime(key, this.revision));
  }
}

/** The library's types leave this out; getStats() has the number as well, and asks four databases for theirs. */
interface Environment {
  readonly env: { info(): { readonly lastTxnId: number } };
}

function lastTransaction(root: RootDatabase<Buffer, Buffer>): number {
  return (root as unknown as Environment).env.info().lastTxnId;
}
