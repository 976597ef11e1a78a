// A store's state, read beside the server that writes it, and a new store that begins with such a state.
//
// History is left behind. A restored store begins at a revision above every one its predecessor can have given out: its
// floor is there. So whoever knew a later state than the one saved is told that history is gone (410), and a write that
// expects a revision of then finds another one (409): no revision ever means two things.
import { mkdirSync } from "node:fs";
import { type Database, open, type RootDatabase, type Transaction } from "lmdb";
import { limits } from "../../config/limits.ts";
import type { LiveObject } from "../liveobjects.ts";
import { changeTypes, type Record, StoreError } from "../store.ts";
import { anywhere, atEnd, damaged, fileOf, openBeside, syncDirectory } from "./file.ts";
import { journalRecords, readJournal } from "./journal.ts";
import {
  decodeCurrent,
  decodeMeta,
  decodeNumberKey,
  decodeRecord,
  encodeCurrent,
  encodeCurrentKey,
  encodeMeta,
  encodeNumberKey,
  encodeRecord,
  type LogRecord,
  newMeta,
  recordBytesMax,
} from "./record.ts";

type Bytes = Database<Buffer, Buffer>;

const metaKey = Buffer.from("store");
/** Records of one page of a scan, and of one transaction that writes them. */
const pageRecords = 1000;

/** The record of an object that is there. */
export type LiveRecord = LogRecord;

/** The bytes of an object's record. `sealed`: what is stored instead of its body. */
export function encodeLive(object: LiveObject, sealed: Uint8Array): LiveRecord {
  const { revision, createRevision, prefix, key, selection, body, versionAt } = object;
  const change = { prefix, key, selection, body, versionAt, expected: 0, type: changeTypes.create };
  const whole = sealed === body ? change : { ...change, sealed };
  const keyBytes = Buffer.from(key);
  const value = Buffer.alloc(recordBytesMax(whole, keyBytes.length));
  const { end } = encodeRecord(value, 0, whole, keyBytes, { revision, previous: 0, createRevision });
  return { revision, value: value.subarray(0, end) };
}

/** The record of such bytes. Throws StoreError "corrupt". */
export function decodeLive({ revision, value }: LiveRecord): Record {
  return decodeRecord(revision, value);
}

/** The state of a store at one revision. */
export interface StoreState {
  readonly identity: string;
  readonly revision: number;
  /** Live records in order of revision, checked one by one. Rejects with StoreError "corrupt". */
  records(): Generator<LiveRecord>;
  close(): Promise<void>;
}

/** How often a state is read again whose journal was written meanwhile. */
const readingsMax = 5;

/**
 * Opens the newest state of the store in a directory, which a server may have open and go on writing. Rejects with
 * StoreError "corrupt". To be closed soon: pages that the state needs are not used again meanwhile, and the file grows.
 */
export async function readState(path: string): Promise<StoreState> {
  for (let reading = 1; ; reading++) {
    const root = openBeside(fileOf(path), limits.storeBytesMax);
    try {
      return stateOf(path, root);
    } catch (error) {
      await root.close();
      // Of a journal that is being written anew the parts of two may have been read.
      if (!(error instanceof StoreError) || reading === readingsMax) throw error;
    }
  }
}

function stateOf(path: string, root: RootDatabase<Buffer, Buffer>): StoreState {
  // Before the tree: what goes from one to the other meanwhile is in both, not in neither.
  const journal = readJournal(path);
  const database = (name: string): Bytes =>
    root.openDB<Buffer, Buffer>({ name, encoding: "binary", keyEncoding: "binary" });
  const [log, current, meta] = [database("log"), database("current"), database("meta")] as const;
  if (log === undefined || current === undefined || meta === undefined) throw damaged("it has no description");
  const transaction = root.useReadTransaction();
  try {
    const bytes = meta.get(metaKey, { transaction });
    if (bytes === undefined) throw damaged("it has no description");
    const description = decodeMeta(Buffer.from(bytes));
    const [newest] = [...log.getKeys({ reverse: true, limit: 1, transaction })];
    const revision = Math.max(description.revision, newest === undefined ? 0 : decodeNumberKey(newest));
    const { journal: name } = description;
    const later = name === undefined ? [] : journalRecords(journal, name, revision);
    return {
      identity: description.identity,
      revision: later.at(-1)?.revision ?? revision,
      records: () => liveRecords(log, current, transaction, later),
      close: async () => {
        transaction.done();
        await root.close();
      },
    };
  } catch (error) {
    transaction.done();
    throw error;
  }
}

/** The newest of some records of each key, in order of revision. */
function newestOf(
  records: readonly LogRecord[],
): Map<string, { readonly record: LogRecord; readonly isLive: boolean }> {
  const found = new Map<string, { readonly record: LogRecord; readonly isLive: boolean }>();
  for (const record of records) {
    const { key, type } = decodeRecord(record.revision, record.value);
    found.delete(key);
    found.set(key, { record, isLive: type !== changeTypes.delete });
  }
  return found;
}

function* liveRecords(
  log: Bytes,
  current: Bytes,
  transaction: Transaction,
  later: readonly LogRecord[],
): Generator<LiveRecord> {
  const newest = newestOf(later);
  let found = 0;
  for (const key of keysOf(log, transaction)) {
    const revision = decodeNumberKey(key);
    const value = bytesAt(log, key, transaction);
    const record = decodeRecord(revision, value);
    const currentKey = encodeCurrentKey(Buffer.from(record.key));
    const { mod } = decodeCurrent(currentKey, bytesAt(current, currentKey, transaction));
    if (mod < revision) throw damaged(`${record.key} is at ${mod}, and was changed at ${revision}`);
    if (mod > revision) continue;
    found++;
    if (record.type !== changeTypes.delete && !newest.has(record.key)) yield { revision, value };
  }
  let known = 0;
  for (const _ of keysOf(current, transaction)) known++;
  if (found !== known) throw damaged(`${found} keys in the log, ${known} in the index`);
  for (const { record, isLive } of newest.values()) if (isLive) yield record;
}

function* keysOf(db: Bytes, transaction: Transaction): Generator<Buffer> {
  let start = Buffer.of(0);
  for (;;) {
    const page = [...db.getKeys({ start, limit: pageRecords, transaction })];
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < pageRecords) return;
    start = Buffer.concat([last, Buffer.of(0)]);
  }
}

function bytesAt(db: Bytes, key: Buffer, transaction: Transaction): Buffer {
  const value = db.get(key, { transaction });
  if (value === undefined) throw damaged(`entry ${key.toString("hex")} is gone`);
  return Buffer.from(value);
}

/**
 * Makes a store in a directory that has none, whose state is `records` and whose first change comes after `revision`.
 * Throws StoreError "corrupt" when a record is damaged, there twice, or not below `revision`.
 */
export async function writeState(
  path: string,
  { identity, revision }: { readonly identity: string; readonly revision: number },
  records: Iterable<LiveRecord>,
): Promise<void> {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const root = open<Buffer, Buffer>({
    path: fileOf(path),
    overlappingSync: false,
    maxDbs: 4,
    encoding: "binary",
    keyEncoding: "binary",
    mapSize: limits.storeBytesMax,
  });
  try {
    writeAll(root, newMeta(identity, revision), records);
  } finally {
    await root.close();
  }
  syncDirectory(path);
}

function writeAll(
  root: RootDatabase<Buffer, Buffer>,
  meta: ReturnType<typeof newMeta>,
  records: Iterable<LiveRecord>,
): void {
  const database = (name: string): Bytes =>
    root.openDB<Buffer, Buffer>({ name, encoding: "binary", keyEncoding: "binary" });
  const [log, current, described] = [database("log"), database("current"), database("meta")] as const;
  let newest = 0;
  const put = ({ revision, value }: LiveRecord): void => {
    if (revision > meta.revision) throw damaged(`revision ${revision} above ${meta.revision}`);
    const { key, createRevision } = decodeRecord(revision, value);
    const currentKey = encodeCurrentKey(Buffer.from(key));
    if (current.doesExist(currentKey)) throw damaged(`${key} is there twice`);
    const logKey = encodeNumberKey(revision);
    if (log.doesExist(logKey)) throw damaged(`revision ${revision} is there twice`);
    log.putSync(logKey, value, revision > newest ? atEnd : anywhere);
    newest = Math.max(newest, revision);
    current.putSync(currentKey, encodeCurrent(currentKey, revision, createRevision));
  };
  const page: LiveRecord[] = [];
  const flush = (): void => {
    root.transactionSync(() => {
      for (const record of page) put(record);
    });
    page.length = 0;
  };
  for (const record of records) {
    page.push(record);
    if (page.length === pageRecords) flush();
  }
  flush();
  // Last: a store without a description is no store.
  root.transactionSync(() => {
    described.putSync(metaKey, encodeMeta(meta));
  });
}
