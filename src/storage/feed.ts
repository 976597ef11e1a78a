// Delivery of committed records to watchers: the part of Store.watch() that engines of one process share.
import { assertShared } from "../base/assert.ts";
import { nextTurn } from "../base/turn.ts";
import { type Deliver, type Record, StoreError } from "./store.ts";

/** The part of a store that a feed reads. */
export interface Fed {
  readonly revision: number;
  readonly floor: number;
}

/** The watchers of one store. */
export class Feed {
  readonly #store: Fed;
  /** Some of the records above a revision, in order; none: there is none. */
  readonly #read: (after: number) => readonly Record[];
  readonly #takers = new Set<Deliver>();
  /** Newest revision delivered as committed. */
  #told = 0;

  constructor(store: Fed, read: (after: number) => readonly Record[]) {
    this.#store = store;
    this.#read = read;
  }

  /** Store.watch(). */
  async watch(after: number, take: Deliver): Promise<() => void> {
    let position = after;
    for (;;) {
      const { floor } = this.#store;
      if (position < floor) throw new StoreError("compacted", `Revision ${position} is below the floor of ${floor}`);
      const records = position < this.#store.revision ? this.#read(position) : [];
      const last = records.at(-1);
      if (last === undefined) break;
      assertShared((records[0] as Record).revision > position, `Records after ${position} begin before it`);
      assertShared(last.revision > position, `Records after ${position} end before it`);
      await take(records, last.revision);
      position = last.revision;
      await nextTurn();
    }
    // Each call is a watch of its own, whatever function it brings.
    const own: Deliver = (records, revision) => take(records, revision);
    this.#takers.add(own);
    return () => void this.#takers.delete(own);
  }

  /** Delivers newly committed records; called before the commit resolves. */
  tell(records: readonly Record[]): void {
    const last = records.at(-1);
    if (last === undefined) return;
    const first = (records[0] as Record).revision;
    assertShared(first > this.#told, `Revision ${first} is told after ${this.#told}`);
    assertShared(
      last.revision === this.#store.revision,
      `Revision ${last.revision} is told of ${this.#store.revision}`,
    );
    this.#told = last.revision;
    for (const take of this.#takers) {
      assertShared(!(take(records, last.revision) instanceof Promise), "A watcher puts records of a commit off");
    }
  }
}
