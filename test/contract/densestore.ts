// A store whose revisions are counted anew, 1, 2, 3, as records come: what a test says of revisions then holds for an
// engine that shares its counter with others. Changes are made one after the other.
import type { Change, Deliver, Outcome, Record, Store, Take } from "../../src/storage/store.ts";

/** The store's revisions in order; the first one is 1 outside. Keep it while the store is closed. */
export type Numbers = number[];

/** Wraps a store that has just been opened. */
export async function denseStore(inner: Store, numbers: Numbers): Promise<Store> {
  const store = new DenseStore(inner, numbers);
  await store.follow();
  return store;
}

class DenseStore implements Store {
  readonly #inner: Store;
  readonly #numbers: Numbers;

  constructor(inner: Store, numbers: Numbers) {
    this.#inner = inner;
    this.#numbers = numbers;
  }

  /** Counts records as they come, before any client is told. */
  async follow(): Promise<void> {
    await this.#inner.watch(this.#inner.revision, (records) => {
      for (const { revision } of records) this.#numbers.push(revision);
    });
  }

  get nearlyFull(): boolean {
    return this.#inner.nearlyFull;
  }

  get sizeBytes(): number {
    return this.#inner.sizeBytes;
  }

  get revision(): number {
    return this.#count(this.#inner.revision);
  }

  get floor(): number {
    return this.#count(this.#inner.floor);
  }

  async currentRevision(): Promise<number> {
    return this.#count(await this.#inner.currentRevision());
  }

  async commit(changes: readonly Change[]): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    if (changes.length === 0) await this.#inner.commit([]);
    for (const change of changes) {
      const { guard } = change;
      const inner = { ...change, expected: this.#revision(change.expected) };
      const guarded = guard && { guard: { ...guard, revision: this.#revision(guard.revision) } };
      const [outcome] = await this.#inner.commit([{ ...inner, ...guarded }]);
      if (outcome === undefined) throw new Error("A change has no outcome");
      if ("refused" in outcome) outcomes.push(outcome);
      else if ("guarded" in outcome) outcomes.push({ guarded: this.#count(outcome.guarded) });
      else if ("actual" in outcome) outcomes.push({ actual: this.#count(outcome.actual) });
      else outcomes.push({ revision: this.#count(outcome.revision) });
    }
    return outcomes;
  }

  async replay(take: Take): Promise<number> {
    const all: Record[] = [];
    const revision = await this.#inner.replay((records) => all.push(...records));
    await take(all.map((record) => this.#record(record)));
    return this.#count(revision);
  }

  watch(after: number, take: Deliver): Promise<() => void> {
    const number = after === 0 ? (this.#numbers[0] ?? this.#inner.revision + 1) - 1 : this.#numbers[after - 1];
    const from = number ?? Number.NaN;
    return this.#inner.watch(Math.max(from, after === this.floor ? this.#inner.floor : 0), (records, revision) =>
      take(
        records.map((record) => this.#record(record)),
        this.#count(revision),
      ),
    );
  }

  revisionAged(ageMs: number): number {
    return this.#count(this.#inner.revisionAged(ageMs));
  }

  compact(revision: number): Promise<boolean> {
    return this.#inner.compact(this.#numbers[revision - 1] ?? (revision === 0 ? 0 : this.#inner.revision));
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  /** The store's revision of one of a test; none it has where the test has none. */
  #revision(number: number): number {
    return number === 0 ? 0 : (this.#numbers[number - 1] ?? Number.MAX_SAFE_INTEGER);
  }

  /** How many records there are up to a revision. */
  #count(revision: number): number {
    let low = 0;
    let high = this.#numbers.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#numbers[middle] as number) <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #record(record: Record): Record {
    const { body, versionAt } = record;
    const bytes = Buffer.from(body);
    const digits = String(record.revision);
    if (bytes.toString("latin1", versionAt, versionAt + digits.length) !== digits) throw new Error("Other digits");
    const revision = this.#count(record.revision);
    return {
      ...record,
      revision,
      createRevision: this.#count(record.createRevision),
      previous: this.#count(record.previous),
      body: Buffer.concat([
        bytes.subarray(0, versionAt),
        Buffer.from(String(revision)),
        bytes.subarray(versionAt + digits.length),
      ]),
    };
  }
}
