// The contract between the server and the durable log. Two engines pass one test suite (test/contract/): lmdb/, and
// memory/, which keeps it for as long as the process lives.
//
// A revision is a positive integer that grows by at least one with every committed change and is never handed out
// twice, not even after a crash. A change is durable before commit() returns it. Keys are `<prefix>/<namespace>/<name>`
// or `<prefix>/<name>`; a range is a prefix plus everything after its slash.
//
//   commit ──► log: revision → record (bytes once)      current: key → (mod revision, create revision)
//   replay(from) yields, in revision order, the newest record at or below the floor of every key still alive then,
//   and every record above the floor: enough to rebuild both the state and the watch history.

import type { Clock } from "../base/clock.ts";

/** What a change does to its key. */
export const changeTypes = { create: 1, update: 2, delete: 3 } as const;
/** One of changeTypes. */
export type ChangeType = (typeof changeTypes)[keyof typeof changeTypes];

/** A change somebody asks for. */
export interface Change {
  /** Resource prefix, `/registry/pods`. */
  readonly prefix: string;
  /** Full key: the prefix, a slash, and what is below it. */
  readonly key: string;
  /** Mod revision the key must have; 0: must not exist. A create expects 0, the others do not. */
  readonly expected: number;
  readonly type: ChangeType;
  /** Labels and selectable fields as laid out by cache/selection.ts; opaque here, stored with the record. */
  readonly selection: Uint8Array;
  /**
   * The object's JSON with an empty resourceVersion (`"resourceVersion":""`); the last state for a delete.
   * The revision's digits are spliced in at `versionAt` when the change commits.
   */
  readonly body: Uint8Array;
  /** Byte offset in `body` between the two quotes of metadata.resourceVersion. */
  readonly versionAt: number;
}

/** A committed change: what the durable log holds and what the shared log is fed with. */
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
}

/** The key was not at the expected revision; nothing changed. */
export interface Mismatch {
  /** What the key's mod revision is: 0 when it does not exist. */
  readonly actual: number;
}

/**
 * The store does not take this change; nothing changed. `full`: the disk or the store's own limit (deletes are still
 * taken at the limit), `too-large`: the object (413), `invalid-key`: a key that is no UTF-8 text or not below its
 * prefix, `busy`: the queue to the store is full (429), `unavailable`: the store is going away.
 */
export interface Refusal {
  readonly refused: "full" | "too-large" | "invalid-key" | "busy" | "unavailable";
  readonly message: string;
}

/** Why a store fails as a whole: a full disk is the operator's to mend, not a bug. */
export class StoreError extends Error {
  override name = "StoreError";
  readonly kind: "full" | "identity" | "locked" | "corrupt" | "unavailable";
  /** Of kind "identity": the one the store was created with. */
  holds = "";
  constructor(kind: StoreError["kind"], message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
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
}

/** An engine, as storage/table.ts lists it. */
export interface Engine {
  /** What --storage-backend calls it. */
  readonly name: string;
  /**
   * Opens or creates a store. Throws StoreError "identity" when it belongs to another identity, "locked" when a process
   * has it open, "corrupt" when it cannot be read.
   */
  readonly open: (options: OpenOptions) => Store;
  /** The file it keeps its data in, below its directory; undefined: none. */
  readonly file?: string;
  /** What an operator should hear at the start. */
  readonly note?: string;
}

/** A durable log. One thread owns it. */
export interface Store {
  /** Bytes of what it keeps its data in. */
  readonly sizeBytes: number;
  /** Newest committed revision. */
  readonly revision: number;
  /** State and history are exact above this revision; below it is compacted. */
  readonly floor: number;
  /**
   * Commits a batch in one durable transaction, in order: a change is checked against the ones before it. A mismatch
   * or a refusal concerns its own change only. An empty batch at most notes the time (see revisionAged).
   * Throws StoreError "full" (nothing of the batch is committed, and the store can be used on) or, when the disk
   * failed or lied, another kind or error: then nothing is known about the batch and the process must end.
   */
  commit(changes: readonly Change[]): (Record | Mismatch | Refusal)[];
  /**
   * Feeds every record of the doc comment above to `take`, in revision order, and checks that nothing is missing or
   * altered on the way: throws StoreError "corrupt" else, possibly after some records.
   */
  replay(take: (record: Record) => void): void;
  /**
   * Nearly the newest of the revisions that were committed `ageMs` ago or earlier: every record above it is younger,
   * give or take ten seconds. Goes on evenly when the wall clock is set; survives a restart. 0: none is known.
   */
  revisionAged(ageMs: number): number;
  /**
   * Raises the floor to `revision` and forgets what nobody can ask for any more; bounded work per call, `false` while
   * more is left. Throws as commit() does.
   */
  compact(revision: number): boolean;
  close(): Promise<void>;
}
