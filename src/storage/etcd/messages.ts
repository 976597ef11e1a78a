// @hot The messages of etcd's API that the engine sends and reads, and no more of each than it needs: field numbers are those of
// etcd's published rpc.proto and kv.proto. Bytes that are read are slices of the message they came in.
import protobuf from "protobufjs/minimal.js";

const { Reader, Writer } = protobuf;
type Reads = protobuf.Reader;
type Writes = protobuf.Writer;

/** A lease, opaque. */
export type Lease = ReturnType<Reads["int64"]>;

/** A key, its value, and the revisions they are at. */
export interface KeyValue {
  readonly key: Uint8Array;
  readonly createRevision: number;
  readonly modRevision: number;
  /** Writes since the key was created; 1: this one created it. */
  readonly version: number;
  readonly value: Uint8Array;
}

/** What each answer says of the cluster. */
export interface Header {
  /** Tells the cluster from another one. */
  readonly cluster: number;
  /** Newest revision of the store when the answer was made. */
  readonly revision: number;
  /** Counts the elections of leaders. */
  readonly term: number;
}

/** Keys of a range. */
export interface RangeAnswer {
  readonly header: Header;
  readonly kvs: readonly KeyValue[];
  readonly more: boolean;
  /** Keys in the range, these included. */
  readonly total: number;
}

/** The end of a transaction that failed reads its key, and its guard's; undefined: the key is not there. */
export interface TxnAnswer {
  readonly header: Header;
  readonly succeeded: boolean;
  readonly found: readonly (KeyValue | undefined)[];
}

/** One change of a key. */
export interface WatchedEvent {
  readonly deleted: boolean;
  readonly kv: KeyValue;
  /** The key before; undefined: it was not there, or that is compacted. */
  readonly before: KeyValue | undefined;
}

/** A message of the watch stream. */
export interface WatchAnswer {
  readonly header: Header;
  readonly watch: number;
  readonly created: boolean;
  readonly canceled: boolean;
  /** Of a watch that began below it; 0: the watch ends for another reason. */
  readonly compactRevision: number;
  readonly reason: string;
  /** More of the same message follows. */
  readonly fragment: boolean;
  readonly events: readonly WatchedEvent[];
}

/** A member, as it describes itself. */
export interface MemberStatus {
  readonly header: Header;
  readonly version: string;
  readonly sizeBytes: number;
}

const none: Uint8Array = new Uint8Array(0);
const noHeader: Header = { cluster: 0, revision: 0, term: 0 };

/** A 64-bit integer that counts revisions, keys or bytes. */
function count(value: unknown): number {
  return typeof value === "number" ? value : (value as { toNumber(): number }).toNumber();
}

/** Reads the fields of a message: `field` reads the one of a number, or returns false to have it skipped. */
function fields(reader: Reads, length: number | undefined, field: (number: number) => boolean): void {
  const end = length === undefined ? reader.len : reader.pos + length;
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (!field(tag >>> 3)) reader.skipType(tag & 7);
  }
}

function readHeader(reader: Reads): Header {
  let cluster = 0;
  let revision = 0;
  let term = 0;
  fields(reader, reader.uint32(), (number) => {
    // Of its 64 bits, as many as a number has.
    if (number === 1) cluster = count(reader.uint64());
    else if (number === 3) revision = count(reader.int64());
    else if (number === 4) term = count(reader.uint64());
    else return false;
    return true;
  });
  return { cluster, revision, term };
}

function readKeyValue(reader: Reads): KeyValue {
  const kv = { key: none, createRevision: 0, modRevision: 0, version: 0, value: none };
  fields(reader, reader.uint32(), (number) => {
    if (number === 1) kv.key = reader.bytes();
    else if (number === 2) kv.createRevision = count(reader.int64());
    else if (number === 3) kv.modRevision = count(reader.int64());
    else if (number === 4) kv.version = count(reader.int64());
    else if (number === 5) kv.value = reader.bytes();
    else return false;
    return true;
  });
  return kv;
}

function readRange(reader: Reads, length?: number): RangeAnswer {
  let header = noHeader;
  const kvs: KeyValue[] = [];
  let more = false;
  let total = 0;
  fields(reader, length, (number) => {
    if (number === 1) header = readHeader(reader);
    else if (number === 2) kvs.push(readKeyValue(reader));
    else if (number === 3) more = reader.bool();
    else if (number === 4) total = count(reader.int64());
    else return false;
    return true;
  });
  return { header, kvs, more, total };
}

/** How a range is asked for. */
export interface RangeQuestion {
  readonly key: Uint8Array;
  /** The key after the range; absent: `key` alone. */
  readonly end?: Uint8Array;
  /** At most so many keys; 0: all. */
  readonly limit?: number;
  /** As of a revision; 0: now. */
  readonly revision?: number;
  /** Their number alone. */
  readonly countOnly?: boolean;
}

function writeRange(writer: Writes, { key, end, limit = 0, revision = 0, countOnly }: RangeQuestion): Writes {
  writer.uint32(10).bytes(key);
  if (end !== undefined) writer.uint32(18).bytes(end);
  if (limit !== 0) writer.uint32(24).int64(limit);
  if (revision !== 0) writer.uint32(32).int64(revision);
  if (countOnly === true) writer.uint32(72).bool(true);
  return writer;
}

/** RangeRequest. */
export function rangeRequest(question: RangeQuestion): Uint8Array {
  return writeRange(Writer.create(), question).finish();
}

/** RangeResponse. */
export function rangeAnswer(bytes: Uint8Array): RangeAnswer {
  return readRange(Reader.create(bytes));
}

/** What a key is compared by: its last write, or how often it was written. */
export type Compared = { readonly modRevision: number } | { readonly version: number };

/** A key as it must be. */
export interface Expected {
  readonly key: Uint8Array;
  readonly expected: Compared;
}

/** Puts `value` at `key`, or deletes it (undefined), if the key and the guard are as expected; else reads them. */
export interface Swap extends Expected {
  readonly guard?: Expected | undefined;
  readonly value: Uint8Array | undefined;
  /** The lease that ends the key; absent: none. */
  readonly lease?: Lease;
}

/** TxnRequest of a compare-and-swap. */
export function swapRequest({ key, expected, guard, value, lease }: Swap): Uint8Array {
  const writer = Writer.create();
  writeCompare(writer, { key, expected });
  if (guard !== undefined) writeCompare(writer, guard);
  // RequestOp: request_range 1, request_put 2, request_delete_range 3.
  writer.uint32(18).fork();
  if (value === undefined) writer.uint32(26).fork().uint32(10).bytes(key).ldelim();
  else {
    writer.uint32(18).fork().uint32(10).bytes(key).uint32(18).bytes(value);
    if (lease !== undefined) writer.uint32(24).int64(lease);
    writer.ldelim();
  }
  writer.ldelim();
  for (const read of guard === undefined ? [key] : [key, guard.key]) {
    writer.uint32(26).fork().uint32(10).fork();
    writeRange(writer, { key: read }).ldelim().ldelim();
  }
  return writer.finish();
}

/** Compare: result 1 (EQUAL is 0), target 2, key 3, version 4, mod_revision 6. */
function writeCompare(writer: Writes, { key, expected }: Expected): void {
  writer.uint32(10).fork();
  if ("modRevision" in expected) {
    writer.uint32(16).int32(2).uint32(26).bytes(key).uint32(48).int64(expected.modRevision);
  } else {
    writer.uint32(26).bytes(key).uint32(32).int64(expected.version);
  }
  writer.ldelim();
}

/** TxnResponse of a compare-and-swap. */
export function swapAnswer(bytes: Uint8Array): TxnAnswer {
  const reader = Reader.create(bytes);
  let header = noHeader;
  let succeeded = false;
  const found: (KeyValue | undefined)[] = [];
  fields(reader, undefined, (number) => {
    if (number === 1) header = readHeader(reader);
    else if (number === 2) succeeded = reader.bool();
    else if (number === 3) {
      fields(reader, reader.uint32(), (response) => {
        if (response !== 1) return false;
        found.push(readRange(reader, reader.uint32()).kvs[0]);
        return true;
      });
    } else return false;
    return true;
  });
  return { header, succeeded, found };
}

/** A watch of a range, from a revision on. */
export interface WatchQuestion {
  readonly key: Uint8Array;
  readonly end: Uint8Array;
  readonly start: number;
}

/** WatchRequest that creates a watch: with values before, progress, and large messages in fragments. */
export function watchRequest({ key, end, start }: WatchQuestion): Uint8Array {
  const writer = Writer.create();
  writer.uint32(10).fork().uint32(10).bytes(key).uint32(18).bytes(end).uint32(24).int64(start);
  writer.uint32(32).bool(true).uint32(48).bool(true).uint32(64).bool(true);
  return writer.ldelim().finish();
}

/** WatchRequest that asks how far the watches of the stream have come. */
export function progressRequest(): Uint8Array {
  return Writer.create().uint32(26).fork().ldelim().finish();
}

function readEvent(reader: Reads): WatchedEvent {
  const event: { deleted: boolean; kv: KeyValue | undefined; before: KeyValue | undefined } = {
    deleted: false,
    kv: undefined,
    before: undefined,
  };
  fields(reader, reader.uint32(), (number) => {
    if (number === 1) event.deleted = reader.int32() === 1;
    else if (number === 2) event.kv = readKeyValue(reader);
    else if (number === 3) event.before = readKeyValue(reader);
    else return false;
    return true;
  });
  const { deleted, before } = event;
  const kv = event.kv ?? { key: none, createRevision: 0, modRevision: 0, version: 0, value: none };
  return { deleted, kv, before };
}

/** WatchResponse. */
export function watchAnswer(bytes: Uint8Array): WatchAnswer {
  const reader = Reader.create(bytes);
  const events: WatchedEvent[] = [];
  const answer = {
    header: noHeader,
    watch: 0,
    created: false,
    canceled: false,
    compactRevision: 0,
    reason: "",
    fragment: false,
    events,
  };
  fields(reader, undefined, (number) => {
    if (number === 1) answer.header = readHeader(reader);
    else if (number === 2) answer.watch = count(reader.int64());
    else if (number === 3) answer.created = reader.bool();
    else if (number === 4) answer.canceled = reader.bool();
    else if (number === 5) answer.compactRevision = count(reader.int64());
    else if (number === 6) answer.reason = reader.string();
    else if (number === 7) answer.fragment = reader.bool();
    else if (number === 11) events.push(readEvent(reader));
    else return false;
    return true;
  });
  return answer;
}

/** CompactionRequest. */
export function compactionRequest(revision: number): Uint8Array {
  return Writer.create().uint32(8).int64(revision).finish();
}

/** LeaseGrantRequest; the cluster chooses the lease. */
export function leaseRequest(seconds: number): Uint8Array {
  return Writer.create().uint32(8).int64(seconds).finish();
}

/** LeaseGrantResponse. */
export function leaseAnswer(bytes: Uint8Array): Lease {
  const reader = Reader.create(bytes);
  let lease: Lease | undefined;
  fields(reader, undefined, (number) => {
    if (number !== 2) return false;
    lease = reader.int64();
    return true;
  });
  if (lease === undefined) throw new RangeError("a granted lease has no name");
  return lease;
}

/** StatusResponse of a member. */
export function statusAnswer(bytes: Uint8Array): MemberStatus {
  const reader = Reader.create(bytes);
  let header = noHeader;
  let version = "";
  let sizeBytes = 0;
  fields(reader, undefined, (number) => {
    if (number === 1) header = readHeader(reader);
    else if (number === 2) version = reader.string();
    else if (number === 3) sizeBytes = count(reader.int64());
    else return false;
    return true;
  });
  return { header, version, sizeBytes };
}
