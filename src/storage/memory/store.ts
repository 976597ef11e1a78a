// The engine in memory: the contract without a disk, for tests and trials. Its data lives as long as the process.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { assertShared } from "../../base/assert.ts";
import type { Clock } from "../../base/clock.ts";
import { nextTurn } from "../../base/turn.ts";
import { limits } from "../../config/limits.ts";
import { Ages, type Sample } from "../ages.ts";
import { type Current, checkChange, checkGuard } from "../check.ts";
import { Feed } from "../feed.ts";
import { takeLock } from "../lock.ts";
import {
  type Change,
  type Committed,
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
} from "../store.ts";

/** Records delivered at once. */
const recordsAtOnce = 1000;
/** Bytes a record takes besides its own, roughly. */
const recordBytesMin = 256;

/** The data of a store, kept while it is closed. */
interface Held {
  readonly identity: string;
  revision: number;
  floor: number;
  bytes: number;
  /** By revision, in its order. */
  readonly records: Map<number, Record>;
  /** By key; deleted ones until their delete is compacted. */
  readonly current: Map<string, Current>;
  samples: readonly Sample[];
}

/** Stores of this process by their directory. */
const places = new Map<string, Held>();

/**
 * Opens the store of this process at a directory, or begins it. The directory holds nothing but the lock. Throws
 * StoreError "identity" when it belongs to another identity, "locked" when a process has it open.
 */
export function openMemory(options: OpenOptions): Store {
  const { path, identity, firstRevision = 0 } = options;
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const unlock = takeLock(join(path, "owner"));
  const held = places.get(path) ?? newHeld(identity, firstRevision);
  if (held.identity !== identity) {
    unlock();
    const what = `The store at ${path} was created with --identity=${held.identity}, not ${identity}`;
    throw Object.assign(new StoreError("identity", what), { holds: held.identity });
  }
  places.set(path, held);
  return new MemoryStore(held, options.mapBytesMax ?? limits.storeBytesMax, options.clock, unlock);
}

function newHeld(identity: string, revision: number): Held {
  return { identity, revision, floor: revision, bytes: 0, records: new Map(), current: new Map(), samples: [] };
}

class MemoryStore implements Store {
  readonly #held: Held;
  readonly #bytesMax: number;
  readonly #ages: Ages;
  readonly #unlock: () => void;
  readonly #feed: Feed = new Feed(this, (after) => this.#after(after));

  constructor(held: Held, bytesMax: number, clock: Clock, unlock: () => void) {
    this.#held = held;
    this.#bytesMax = bytesMax;
    this.#ages = new Ages(clock, held.samples);
    this.#unlock = unlock;
  }

  get revision(): number {
    return this.#held.revision;
  }

  get floor(): number {
    return this.#held.floor;
  }

  get sizeBytes(): number {
    return this.#held.bytes;
  }

  get nearlyFull(): boolean {
    return isNearlyFull(this.#held.bytes, this.#bytesMax);
  }

  currentRevision(): Promise<number> {
    return Promise.resolve(this.#held.revision);
  }

  watch(after: number, take: Deliver): Promise<() => void> {
    return this.#feed.watch(after, take);
  }

  async commit(changes: readonly Change[]): Promise<Outcome[]> {
    const now = this.#ages.now();
    // Of the newest revision before this batch: that one is at least this old.
    if (this.#ages.isDue(now, this.revision)) this.#ages.note(now, this.revision);
    const made = changes.map((change) => this.#make(change));
    this.#feed.tell(made.filter((outcome) => "body" in outcome));
    return made.map((outcome) => ("body" in outcome ? { revision: outcome.revision } : outcome));
  }

  async replay(take: Take): Promise<number> {
    let last = 0;
    for (const [revision] of this.#held.records) {
      assertShared(revision > last, `Revision ${revision} after ${last}`);
      last = revision;
    }
    const records = [...this.#held.records.values()];
    for (let at = 0; at < records.length; at += recordsAtOnce) {
      await take(records.slice(at, at + recordsAtOnce));
      await nextTurn();
    }
    return this.#held.revision;
  }

  /** Records above a revision: every one above the floor is there. */
  #after(revision: number): Record[] {
    const found: Record[] = [];
    for (let at = revision + 1; at <= this.#held.revision && found.length < recordsAtOnce; at += 1) {
      const record = this.#held.records.get(at);
      assertShared(record !== undefined, `Revision ${at} above the floor is gone`);
      found.push(record);
    }
    return found;
  }

  revisionAged(ageMs: number): number {
    return this.#ages.revisionAged(ageMs);
  }

  async compact(revision: number): Promise<boolean> {
    const held = this.#held;
    const target = Math.min(revision, held.revision);
    if (target <= held.floor) return true;
    const end = Math.min(target, held.floor + limits.compactRecordsMax);
    for (let at = held.floor + 1; at <= end; at += 1) this.#forget(at);
    held.floor = end;
    this.#ages.drop(end);
    return end === target;
  }

  close(): Promise<void> {
    this.#held.samples = this.#ages.samples;
    this.#unlock();
    return Promise.resolve();
  }

  #make(change: Change): Record | Exclude<Outcome, Committed> {
    const held = this.#held;
    const { guard } = change;
    const current = this.#currentOf(change.key);
    const refused =
      checkChange(change, Buffer.from(change.key), current) ??
      (guard && checkGuard(guard, this.#currentOf(guard.key))) ??
      this.#checkRoom(change);
    if (refused !== undefined) return refused;
    const revision = held.revision + 1;
    const createRevision = current.create || revision;
    const record = recordOf(change, { revision, createRevision, previous: current.mod });
    assertShared(!held.records.has(revision), `Revision ${revision} is given out twice`);
    assertShared(current.mod < revision, `Revision ${revision} follows ${current.mod}`);
    const kept = keptOf(record, change);
    held.records.set(revision, kept);
    held.current.set(change.key, {
      mod: revision,
      create: change.type === changeTypes.delete ? 0 : createRevision,
    });
    held.revision = revision;
    held.bytes += sizeOf(kept);
    return record;
  }

  #currentOf(key: string): Current {
    return this.#held.current.get(key) ?? { mod: 0, create: 0 };
  }

  #checkRoom(change: Change): Refusal | undefined {
    const { type, sealed, body } = change;
    const bytes = this.#held.bytes + sizeOf({ ...change, body: sealed ?? body });
    if (type === changeTypes.delete || bytes <= this.#bytesMax) return undefined;
    return { refused: "full", message: `The store holds ${this.#held.bytes} of at most ${this.#bytesMax} bytes` };
  }

  /** Compacts the record of a revision: its predecessor, and itself when it is a delete. */
  #forget(revision: number): void {
    const record = this.#held.records.get(revision);
    assertShared(record !== undefined, `Revision ${revision} above the floor is gone`);
    this.#remove(record.previous);
    if (record.type !== changeTypes.delete) return;
    if (this.#held.current.get(record.key)?.mod === revision) this.#held.current.delete(record.key);
    this.#remove(revision);
  }

  #remove(revision: number): void {
    const record = this.#held.records.get(revision);
    if (record === undefined) return;
    this.#held.records.delete(revision);
    this.#held.bytes -= sizeOf(record);
    assertShared(this.#held.bytes >= 0, "More bytes are forgotten than were stored");
  }
}

/** What is kept of a record: where it is encrypted, that. */
function keptOf(record: Record, { sealed }: Change): Record {
  return sealed === undefined ? record : { ...record, body: sealed, isSealed: true };
}

function sizeOf({ key, selection, body }: Pick<Change, "key" | "selection" | "body">): number {
  return recordBytesMin + key.length + selection.length + body.length;
}

/** The record of a change: its bytes copied, with the revision's digits in them. */
function recordOf(change: Change, place: Pick<Record, "revision" | "createRevision" | "previous">): Record {
  const { type, prefix, key, selection, body, versionAt } = change;
  assertShared(versionAt > 0 && versionAt < body.length, `Version offset ${versionAt} of ${body.length} bytes`);
  assertShared(body[versionAt - 1] === 0x22 && body[versionAt] === 0x22, "No quotes around the version digits");
  const bytes = Buffer.concat([
    selection,
    body.subarray(0, versionAt),
    Buffer.from(String(place.revision), "latin1"),
    body.subarray(versionAt),
  ]);
  const { length } = selection;
  return { ...place, type, prefix, key, selection: bytes.subarray(0, length), body: bytes.subarray(length), versionAt };
}
