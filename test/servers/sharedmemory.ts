// An engine whose data other servers write, too, in the hands of a test: several stores over one in memory. Each has
// changes delivered at its own time, and fails when it is told to.
import { assert } from "../../src/base/assert.ts";
import { Feed } from "../../src/storage/feed.ts";
import { openMemory } from "../../src/storage/memory/store.ts";
import {
  type Change,
  changeTypes,
  type Deliver,
  type EngineTraits,
  type OpenOptions,
  type Outcome,
  type PastPage,
  type PastRequest,
  type Record,
  type Store,
  StoreError,
  type Take,
} from "../../src/storage/store.ts";

/** How its stores are served. */
export const sharedTraits: EngineTraits = { overlap: 8, isShared: true };

/** What becomes of a change: it is made; it is not, and the caller is told so; the caller is not told whether it was. */
export type Fate = "made" | "unavailable" | "made in doubt" | "lost in doubt";

/** The data of the stores at one place. */
class Common {
  /** By revision, in order; compacted ones as well. */
  readonly records: Record[] = [];
  readonly open = new Set<SharedStore>();
  #store: Store | undefined;
  #identity = "";

  get store(): Store {
    assert(this.#store !== undefined, "A store is used after its end");
    return this.#store;
  }

  /** One more store opens. */
  begin(options: OpenOptions): void {
    // Another identity is refused by the engine that holds the data.
    if (this.#store !== undefined && options.identity === this.#identity) return;
    this.#store = openMemory(options);
    this.#identity = options.identity;
    void this.#store.watch(this.#store.revision, (some) => {
      this.records.push(...some);
      for (const one of this.open) one.hear();
    });
  }

  async end(): Promise<void> {
    const { store } = this;
    this.#store = undefined;
    await store.close();
  }
}

const places = new Map<string, Common>();

/** Opens one more store at a place. */
export function openShared(options: OpenOptions): SharedStore {
  const common = places.get(options.path) ?? new Common();
  common.begin(options);
  places.set(options.path, common);
  return new SharedStore(common);
}

/** One server's store. */
export class SharedStore implements Store {
  /** Delivered here. */
  revision: number;
  /** Decides about each change before it is made; waits when that is a promise. Undefined: it is made. */
  before: ((change: Change) => Fate | Promise<Fate>) | undefined;
  /** Waited for after a change is made or refused, before its outcome is given out. */
  after: ((change: Change, outcome: Outcome) => Promise<void> | undefined) | undefined;
  /** Questions and reads are not answered. */
  isAway = false;
  /** Waited for by questions for the newest revision after it was read. */
  answering: (() => Promise<void>) | undefined;
  /** Changes it was asked for, and questions. */
  readonly asked: Change[] = [];
  questions = 0;
  pages = 0;
  /** Records of a page of the past, at most. */
  pageMax = Number.POSITIVE_INFINITY;
  readonly #common: Common;
  readonly #feed: Feed;
  /** Delivers nothing above this; undefined: all. */
  #until: number | undefined;
  readonly #waiting = new Map<number, (() => void)[]>();

  constructor(common: Common) {
    this.#common = common;
    this.revision = common.store.revision;
    this.#feed = new Feed(this, (after) => this.#above(after));
    common.open.add(this);
  }

  get floor(): number {
    return this.#common.store.floor;
  }

  get nearlyFull(): boolean {
    return this.#common.store.nearlyFull;
  }

  get sizeBytes(): number {
    return this.#common.store.sizeBytes;
  }

  /** Delivers nothing more for now. */
  pause(): void {
    this.#until = this.revision;
  }

  /** Delivers so many further revisions. */
  step(count = 1): void {
    this.#until = this.revision + count;
    this.hear();
  }

  /** Delivers everything, now and from now on. */
  resume(): void {
    this.#until = undefined;
    this.hear();
  }

  /** For the common data: something was committed. */
  hear(): void {
    const { revision } = this.#common.store;
    const end = Math.min(this.#until ?? revision, revision);
    if (end <= this.revision) return;
    const records = this.#common.records.filter((record) => record.revision > this.revision && record.revision <= end);
    this.revision = end;
    this.#feed.tell(records);
    for (const [wanted, resolve] of [...this.#waiting]) {
      if (wanted > end) continue;
      this.#waiting.delete(wanted);
      for (const each of resolve) each();
    }
  }

  async currentRevision(): Promise<number> {
    this.questions += 1;
    if (this.isAway) throw new StoreError("unavailable", "The store is away");
    const { revision } = this.#common.store;
    await this.answering?.();
    return revision;
  }

  async commit(changes: readonly Change[]): Promise<readonly Outcome[]> {
    this.asked.push(...changes);
    if (this.before === undefined && this.after === undefined) {
      const outcomes = await this.#common.store.commit(changes);
      await Promise.all(outcomes.map((outcome) => this.#delivered(outcome)));
      return outcomes;
    }
    const keys = new Map<string, Promise<unknown>>();
    const outcomes = changes.map((change) => {
      // Changes of one key are made in order.
      const outcome = (keys.get(change.key) ?? Promise.resolve()).then(() => this.#make(change));
      keys.set(change.key, outcome);
      return outcome;
    });
    return Promise.all(outcomes);
  }

  async #make(change: Change): Promise<Outcome> {
    const fate = (await this.before?.(change)) ?? "made";
    if (fate === "unavailable") return { refused: "unavailable", message: "The store is away" };
    const doubt = { refused: "in-doubt", message: "The store did not answer" } as const;
    if (fate === "lost in doubt") return doubt;
    const [outcome = doubt] = await this.#common.store.commit([change]);
    await this.after?.(change, outcome);
    if (fate === "made in doubt") return doubt;
    await this.#delivered(outcome);
    return outcome;
  }

  #delivered(outcome: Outcome): Promise<void> | undefined {
    if (!("revision" in outcome) || outcome.revision <= this.revision) return undefined;
    return new Promise((resolve) => {
      this.#waiting.set(outcome.revision, [...(this.#waiting.get(outcome.revision) ?? []), resolve]);
    });
  }

  replay(take: Take): Promise<number> {
    return this.#common.store.replay(take);
  }

  watch(after: number, take: Deliver): Promise<() => void> {
    return this.#feed.watch(after, take);
  }

  #above(after: number): Record[] {
    return this.#common.records.filter(({ revision }) => revision > after && revision <= this.revision).slice(0, 1000);
  }

  async listAt({ revision, prefix, namespace, after, limit }: PastRequest): Promise<PastPage> {
    this.pages += 1;
    if (this.isAway) throw new StoreError("unavailable", "The store is away");
    if (revision < this.floor) throw new StoreError("compacted", `Revision ${revision} is below ${this.floor}`);
    const start = namespace === "" ? `${prefix}/` : `${prefix}/${namespace}/`;
    const newest = new Map<string, Record>();
    for (const record of this.#common.records) {
      if (record.prefix === prefix && record.revision <= revision) newest.set(record.key, record);
    }
    const found = [...newest.values()]
      .filter(({ key, type }) => type !== changeTypes.delete && key.startsWith(start))
      .filter(({ key }) => Buffer.compare(Buffer.from(key), Buffer.from(`${prefix}/${after}`)) > 0)
      .toSorted((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)));
    const records = found.slice(0, Math.min(limit, this.pageMax));
    return { records, remaining: found.length - records.length };
  }

  revisionAged(ageMs: number): number {
    return this.#common.store.revisionAged(ageMs);
  }

  compact(revision: number): Promise<boolean> {
    return this.#common.store.compact(revision);
  }

  async close(): Promise<void> {
    this.#common.open.delete(this);
    if (this.#common.open.size === 0) await this.#common.end();
  }
}
