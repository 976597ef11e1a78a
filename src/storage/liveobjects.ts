// What is stored, object by object, without its history: what moves from one store to another, and into snapshots.
import { assertShared } from "../base/assert.ts";
import { limits } from "../config/limits.ts";
import { type Change, changeTypes, type Record, type Store, StoreError } from "./store.ts";

/** An object as it is now. */
export interface LiveObject {
  /** Of its last change. No two objects of a store have one. */
  readonly revision: number;
  readonly createRevision: number;
  readonly prefix: string;
  readonly key: string;
  readonly selection: Uint8Array;
  /** The object's JSON without the digits of its revision, which belong at `versionAt`. */
  readonly body: Uint8Array;
  readonly versionAt: number;
}

/** All objects of a store, as they were when it was looked at. */
export interface LiveObjects {
  /** Newest revision of the store. */
  readonly revision: number;
  readonly count: number;
  /**
   * Hands out every object once, some at a time, in no order of keys. Rejects with StoreError "unavailable" when the
   * store was written to meanwhile, "corrupt" when it is damaged.
   */
  each(take: (some: readonly LiveObject[]) => Promise<void>): Promise<void>;
}

/** Told how many objects are done. */
export type Told = (done: number) => void;

const quote = 0x22;

/** The object of a record whose body is plain JSON. */
export function liveObject(record: Record, revision = record.revision): LiveObject {
  const { createRevision, prefix, key, selection, body, versionAt } = record;
  const end = body.indexOf(quote, versionAt);
  assertShared(end > versionAt, `No digits at ${versionAt} of ${key}`);
  const plain = Buffer.concat([body.subarray(0, versionAt), body.subarray(end)]);
  return { revision, createRevision, prefix, key, selection, body: plain, versionAt };
}

/**
 * Looks for the objects of a store that is not written to. Its records are read twice, and only numbers and keys are kept in
 * between. Rejects as Store.replay().
 */
export async function liveObjects(store: Store): Promise<LiveObjects> {
  const heads = new Map<string, number>();
  const revision = await store.replay((records) => {
    for (const { key, revision: at, type } of records) {
      if (type === changeTypes.delete) heads.delete(key);
      else heads.set(key, at);
    }
  });
  const foreign = await foreignWrites(store, revision);
  const own = ownRevisions(heads, revision);
  return {
    revision,
    count: heads.size,
    each: async (take) => {
      let left = heads.size;
      try {
        await store.replay(async (records) => {
          const live = records.filter(({ key, revision: at }) => heads.get(key) === at);
          left -= live.length;
          await take(live.map((record) => liveObject(record, own.get(record.key))));
        });
        await store.currentRevision();
      } finally {
        foreign.end();
      }
      if (foreign.any() || left !== 0) {
        throw new StoreError("unavailable", "The store was written to meanwhile: stop every server that uses it");
      }
    },
  };
}

/** Looks whether a store is written to after a revision. */
async function foreignWrites(store: Store, after: number): Promise<{ any(): boolean; end(): void }> {
  let count = 0;
  const end = await store.watch(after, (records) => {
    count += records.length;
  });
  return { any: () => count > 0, end };
}

/** Revisions of their own for objects that were written in one transaction: above all others. By key. */
function ownRevisions(heads: ReadonlyMap<string, number>, revision: number): ReadonlyMap<string, number> {
  const used = new Set<number>();
  const own = new Map<string, number>();
  let next = revision;
  for (const [key, at] of heads) {
    if (used.has(at)) own.set(key, ++next);
    used.add(at);
  }
  return own;
}

/** Creates objects in a store. Returns their number. Rejects with StoreError "full" where one is not taken. */
export async function fillStore(
  store: Store,
  each: LiveObjects["each"],
  told: Told = () => undefined,
): Promise<number> {
  let done = 0;
  await each(async (some) => {
    for (let at = 0; at < some.length; at += limits.movedAtOnceMax) {
      const changes = some.slice(at, at + limits.movedAtOnceMax).map(createOf);
      const outcomes = await store.commit(changes);
      for (const [index, outcome] of outcomes.entries()) {
        if ("revision" in outcome) continue;
        const why = "refused" in outcome ? outcome.message : "it is there already";
        throw new StoreError("full", `${changes[index]?.key} is not taken: ${why}`);
      }
      done += changes.length;
      told(done);
    }
  });
  return done;
}

function createOf({ prefix, key, selection, body, versionAt }: LiveObject): Change {
  return { prefix, key, expected: 0, type: changeTypes.create, selection, body, versionAt };
}
