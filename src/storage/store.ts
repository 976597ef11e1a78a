// The contract between the server and the durable log. Every engine of table.ts passes one test suite (test/contract/).
//
// Revisions. A revision is a positive integer. A committed change has one, the next change of any writer a greater one; none
// is handed out twice, not even after a crash. Only commit() moves the newest revision, here or in another process that
// shares the store; compact() moves the floor and nothing else. Ranges are half-open at the left: records "after" a
// revision is above it.
//
// Keys. `<prefix>/<namespace>/<name>` or `<prefix>/<name>`; a range is a prefix plus everything after its slash.
//
//   commit ──► log: revision → record (bytes once)      current: key → (mod revision, create revision)
//   replay() gives, in revision order, the newest record at or below the floor of every key still alive then, and every
//   record above the floor: enough to rebuild both the state and the watch history.
//   watch(after) gives every record above `after`, once, in order, those of this process like those of others.
//
// Order. At most Engine.overlap calls of commit() and compact() are under way at once, and one compact() among them;
// replay() is alone. watch(), currentRevision(), listAt() and close() may be called beside them. Within one commit() the
// changes of a key are made in their order; between commits under way at once there is no order but that of expected
// revisions. A change is durable, and was delivered to every watcher of this store, before the commit() that made it
// resolves.
//
// Sharing (Engine.isShared). Other processes write the same data. What they commit is delivered some time later:
// `revision` may be behind currentRevision(), and a Mismatch may name a revision that was not delivered yet. `revision`
// reaches every revision currentRevision() gave, also where what moved it is no record: then none is delivered with it.
// Changes that another process made in one transaction have one revision, and are delivered together.
//
// Errors. A refusal concerns its own call (Refusal, StoreError "full", "compacted", "unavailable"); StoreError
// "in-doubt", and any other error of commit() or compact(), says that the result of that call is unknown: it can be read
// by a replay() of the store opened anew. The result of a single change may be unknown, too, to a store that can be used
// on: its refusal is `in-doubt`.

import type { Clock } from "../base/clock.ts";
import type { TraceSpans } from "../observe/spans.ts";
import type { Values } from "./values.ts";

/** Types of changes. */
export const changeTypes = { create: 1, update: 2, delete: 3 } as const;
/** One of changeTypes. */
export type ChangeType = (typeof changeTypes)[keyof typeof changeTypes];

/** A requested change. */
export interface Change {
  /** Resource prefix, `/registry/pods`. */
  readonly prefix: string;
  /** Full key: the prefix, a slash, and the key relative to it. */
  readonly key: string;
  /** Mod revision the key must have; 0: must not exist. A create expects 0, the others do not. */
  readonly expected: number;
  readonly type: ChangeType;
  /** Another key, and the mod revision it must have; left out: the change depends on its own key alone. */
  readonly guard?: Guard | undefined;
  /** Labels and selectable fields as laid out by cache/selection.ts; opaque here, stored with the record. */
  readonly selection: Uint8Array;
  /**
   * The object's JSON with an empty resourceVersion (`"resourceVersion":""`); the last state for a delete.
   * The revision's digits are spliced in at `versionAt` when the change commits.
   */
  readonly body: Uint8Array;
  /** Byte offset in `body` between the two quotes of metadata.resourceVersion. */
  readonly versionAt: number;
  /**
   * What is stored instead of the body where it is encrypted (encryption/). The record of this commit tells the body; one
   * that is read again tells these bytes (Record.isSealed).
   */
  readonly sealed?: Uint8Array;
  /** The trace of the request that makes it, on the thread that has the change; left out: it is not sampled. */
  readonly spans?: TraceSpans | undefined;
}

/** A key that must be at a revision when a change is made: the namespace of an object that is created. */
export interface Guard {
  /** Full key. */
  readonly key: string;
  /** Its mod revision; 0: it does not exist. */
  readonly revision: number;
}

/** A committed change: the record of the durable log, with which the shared log is fed. */
export interface Record {
  readonly revision: number;
  readonly createRevision: number;
  /**
   * Revision of the same key's record before this one; 0: none. A create points to the delete before it as long as
   * that is remembered. It may point at or below the floor, to a record that is forgotten.
   */
  readonly previous: number;
  readonly type: ChangeType;
  readonly prefix: string;
  readonly key: string;
  readonly selection: Uint8Array;
  /** The object's JSON with the revision's digits in it, at `versionAt`. */
  readonly body: Uint8Array;
  readonly versionAt: number;
  /** The body is Change.sealed, without digits: `versionAt` is the offset in what it is decrypted to. Left out: it is not. */
  readonly isSealed?: true;
  /** It would be stored otherwise now: the next write of the object is stored even without a change. Left out: as it is. */
  readonly isStale?: true;
}

/** What a record without a place holds, and where that was. */
export type LastRecord = Pick<Record, "revision" | "createRevision" | "selection" | "body" | "versionAt">;

/** The newest record of a key that lives; undefined: there is none, or it is not known. */
export type LastOf = (prefix: string, key: string) => LastRecord | undefined;

/** The change was made. */
export interface Committed {
  /** Its revision. */
  readonly revision: number;
}

/** The key was not at the expected revision; nothing changed. */
export interface Mismatch {
  /** The key's mod revision: 0 when it does not exist. */
  readonly actual: number;
}

/** The key was at the expected revision, but its guard was not; nothing changed. */
export interface Unguarded {
  /** The guard's mod revision: 0 when it does not exist. */
  readonly guarded: number;
}

/**
 * The store does not take this change; but for `in-doubt` nothing changed. `full`: the disk or the store's own limit
 * (deletes are still taken at the limit), `too-large`: the object (413), `invalid-key`: a key that is no UTF-8 text or not
 * below its prefix, `not-encrypted`: it must not be stored plain, and cannot be encrypted now (500), `busy`: the queue to the store is full (429), `unavailable`: the store is going away, or a shared one
 * cannot be reached, `no-log`: its kind is not served any more (404). `in-doubt`: a shared store did not say whether the
 * change was made; it may also be made later. Engines never return `busy` or `no-log`: their callers do; `unavailable`
 * and `in-doubt` are for shared ones.
 */
export interface Refusal {
  readonly refused:
    | "full"
    | "too-large"
    | "invalid-key"
    | "not-encrypted"
    | "busy"
    | "unavailable"
    | "no-log"
    | "in-doubt";
  readonly message: string;
}

/** The result of a change. */
export type Outcome = Committed | Mismatch | Unguarded | Refusal;

/** Why a store fails as a whole: a full disk is the operator's to mend, not a bug. */
export class StoreError extends Error {
  override name = "StoreError";
  readonly kind: "full" | "identity" | "locked" | "corrupt" | "unavailable" | "compacted" | "in-doubt";
  /** Of kind "identity": the one the store was created with. */
  holds = "";
  constructor(kind: StoreError["kind"], message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

/** Whether `bytes` of at most `bytesMax` make a store Store.nearlyFull. */
export function isNearlyFull(bytes: number, bytesMax: number): boolean {
  return bytes > 0.875 * bytesMax;
}

/** How to open a store. */
export interface OpenOptions {
  /** Directory, created when missing; nothing else belongs in it. */
  readonly path: string;
  /** Name of the identity the objects are spelled in; a store keeps the one it was created with. */
  readonly identity: string;
  readonly clock: Clock;
  /** Bytes of live and remembered records beyond which nothing but deletes is taken; default limits.storeBytesMax. */
  readonly mapBytesMax?: number;
  /** Revision a new store begins after; its history has nothing at or below it. Default 0. */
  readonly firstRevision?: number;
  /** Of an engine that several servers share: the cluster and what is stored in it. */
  readonly cluster?: Cluster;
}

/** The cluster of an engine that several servers share. */
export interface Cluster {
  readonly endpoints: Endpoints;
  /** What keys begin with in it. */
  readonly prefix: string;
  readonly values: Values;
  /** Time for which keys that end are given one lease, s. */
  readonly leaseSharedSeconds: number;
  /** How often it is asked for the size of its data, ms; 0: never. */
  readonly sizePollMs: number;
  /** How often it is asked whether it is there, ms; default: once a second. 0: never, for tests of what notices a fault else. */
  readonly beatMs?: number;
  /**
   * Reads the state in one answer, and no history: for a cluster that is compacted faster than pages of one revision can be
   * read. Takes twice the memory of what is stored.
   */
  readonly atOnce?: boolean;
  /** Reads the state alone. */
  readonly withoutHistory?: boolean;
  /** It is opened by who moves objects to it (etcd/filling.ts). */
  readonly isFilling?: boolean;
}

/** How the members of a cluster are reached. */
export interface Endpoints {
  /** `http://host:port` or `https://host:port` of each. */
  readonly urls: readonly string[];
  /** PEM: whom they are verified by (absent: the machine's authorities), and who we are. */
  readonly authority?: Buffer | undefined;
  readonly certificate?: Buffer | undefined;
  readonly key?: Buffer | undefined;
}

/** What callers of a store have to know of its engine. */
export interface EngineTraits {
  /** Commits that may be under way at once: 1 where a commit holds the thread, more where it waits for an answer. */
  readonly overlap: number;
  /** Other processes write the same data: the newest revision has to be asked for. */
  readonly isShared: boolean;
  /** It ends objects by itself when their time is over (Values.ttlSecondsOf). */
  readonly endsObjects?: boolean;
}

/** An engine, as storage/table.ts lists it. */
export interface Engine extends EngineTraits {
  /** Its name for --storage-backend. */
  readonly name: string;
  /**
   * Opens or creates a store. Rejects with StoreError "identity" when it belongs to another identity, "locked" when a
   * process has it open, "corrupt" when it cannot be read.
   */
  readonly open: (options: OpenOptions) => Promise<Store>;
  /** The file it keeps its data in, below its directory; undefined: none. */
  readonly file?: string;
  /** A note that is logged at the start. */
  readonly note?: string;
}

/** A durable log. One thread owns it; see the head of this file for what holds for all calls. */
export interface Store {
  /** Bytes of its data. */
  readonly sizeBytes: number;
  /** Live and remembered records are seven eighths of what it takes: history has to go before changes are refused. */
  readonly nearlyFull: boolean;
  /** Newest revision this store has received; watchers have received all up to it. */
  readonly revision: number;
  /** State and history are exact above this revision; below it is compacted. */
  readonly floor: number;
  /**
   * Newest committed revision of any server, as of some time after the call: a read of the most recent state has to
   * include it. Rejects with StoreError "unavailable" when a shared store does not say. `spans`: the trace of what is asked.
   */
  currentRevision(spans?: TraceSpans): Promise<number>;
  /**
   * Commits a batch in one durable transaction, in order: a change is checked against the ones before it. A mismatch
   * or a refusal concerns its own change only. An empty batch changes nothing: it is an engine's occasion to note the
   * time (see revisionAged), and to write what it put off.
   * Rejects with StoreError "full" (nothing of the batch is committed, and the store can be used on) or, when the disk
   * failed or lied, with "in-doubt" or another error: then nothing is known about the batch and the process must end.
   */
  commit(changes: readonly Change[]): Promise<readonly Outcome[]>;
  /**
   * Feeds every record replay is for (see above) to `take`, some at a time, and checks that nothing is missing or
   * altered on the way: rejects with StoreError "corrupt" else, possibly after some records. Resolves with the newest
   * revision there was, from which a watch continues. Rejects with StoreError "compacted", possibly after some records,
   * when the floor had to rise meanwhile: what was taken is void, and another replay() is to be asked for.
   */
  replay(take: Take): Promise<number>;
  /**
   * Delivers every record above `after`, in batches. Resolves when the existing ones were delivered, with a function
   * that ends the watch; later ones are delivered as they are committed. Rejects with StoreError "compacted" when
   * `after` is below the floor, or rises above it before its records were delivered. `last`: what was delivered last of a
   * key; it is asked where a store that is shared tells of a change and not of what that replaced.
   */
  watch(after: number, take: Deliver, last?: LastOf): Promise<() => void>;
  /**
   * Reads a page of the state at a revision of the past that is no longer in memory. Left out: this engine has no past
   * beyond what replay() gave. Rejects with StoreError "compacted" when the revision is below the floor of the data,
   * with "unavailable" when it cannot be read. `spans`: the trace of what is asked.
   */
  listAt?(request: PastRequest, spans?: TraceSpans): Promise<PastPage>;
  /**
   * Nearly the newest of the revisions that were committed `ageMs` ago or earlier: every record above it is younger,
   * give or take ten seconds. Goes on evenly when the wall clock is set; survives a restart. 0: none is known.
   */
  revisionAged(ageMs: number): number;
  /**
   * Raises the floor to `revision` (at most the newest) and forgets records that cannot be requested any more; bounded
   * work per call, `false` while more is left. Rejects as commit() does.
   */
  compact(revision: number): Promise<boolean>;
  close(): Promise<void>;
}

/**
 * Takes records in revision order. An error it throws ends the call that feeds it. Where it answers a promise, the next
 * records come when that has resolved; for records of a commit under way it must not.
 */
export type Take = (records: readonly Record[]) => unknown;

/** The same of a watch. `revision`: everything at or below it has been delivered, these records included. */
export type Deliver = (records: readonly Record[], revision: number) => unknown;

/** A page of the past: live records in key order. */
export interface PastRequest {
  /** At most Store.revision. */
  readonly revision: number;
  readonly prefix: string;
  /** Empty: of all namespaces, or cluster-scoped. */
  readonly namespace: string;
  /** Key relative to the prefix that the page begins after; empty: the start. */
  readonly after: string;
  /** Records of the page, at most: at least one. */
  readonly limit: number;
}

/** What was found. */
export interface PastPage {
  /** As of the revision asked for: no deletes. At least one unless there is none. */
  readonly records: readonly Record[];
  /** Records behind these, in the range asked for; 0: this was the last page. */
  readonly remaining: number;
}
