// The contract between the server and the durable log. Two engines pass one test suite (test/contract/).
//
// A revision is a positive integer that grows by at least one with every committed change and is never handed out
// twice, not even after a crash. A change is durable before commit() returns it. Keys are `<prefix>/<namespace>/<name>`
// or `<prefix>/<name>`; a range is a prefix plus everything after its slash.
//
//   commit ──► log: revision → record (bytes once)      current: key → (mod revision, create revision)
//   replay(from) yields, in revision order, the newest record at or below the floor of every key still alive then,
//   and every record above the floor: enough to rebuild both the state and the watch history.

/** What a change does to its key. */
export const changeTypes = { create: 1, update: 2, delete: 3 } as const;
/** One of changeTypes. */
export type ChangeType = (typeof changeTypes)[keyof typeof changeTypes];

/** A change somebody asks for. */
export interface Change {
  /** Resource prefix, `/registry/pods`. */
  readonly prefix: string;
  /** Full key. */
  readonly key: string;
  /** Mod revision the key must have; 0: must not exist. */
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
  /** Revision of the same key's record before this one; 0: none. */
  readonly previous: number;
  readonly type: ChangeType;
  readonly prefix: string;
  readonly key: string;
  readonly selection: Uint8Array;
  readonly body: Uint8Array;
  readonly versionAt: number;
}

/** The key was not at the expected revision; nothing changed. */
export interface Mismatch {
  /** What the key's mod revision is: 0 when it does not exist. */
  readonly actual: number;
}

/** Why a store refuses: a full disk and an oversized value are the operator's and the client's to mend, not bugs. */
export class StoreError extends Error {
  override name = "StoreError";
  readonly kind: "full" | "too-large" | "identity" | "corrupt" | "unavailable";
  constructor(kind: StoreError["kind"], message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

/** A durable log. One thread owns it. */
export interface Store {
  /** Newest committed revision. */
  readonly revision: number;
  /** State and history are exact above this revision; below it is compacted. */
  readonly floor: number;
  /**
   * Commits a batch in one durable transaction, in order; a mismatch refuses its own change only.
   * Throws StoreError (nothing of the batch is committed then).
   */
  commit(changes: readonly Change[]): (Record | Mismatch)[];
  /** Feeds every record of the doc comment above to `take`, in revision order. */
  replay(take: (record: Record) => void): void;
  /** Raises the floor to `revision` and forgets what nobody can ask for any more; bounded work per call, `false` while more is left. */
  compact(revision: number): boolean;
  close(): Promise<void>;
}
