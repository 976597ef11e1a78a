// Who is told of what is committed: the part of Store.watch() that engines of one process share.
import { nextTurn } from "../base/turn.ts";
import { type Record, StoreError, type Take } from "./store.ts";

/** What a feed looks at of its store. */
export interface Fed {
  readonly revision: number;
  readonly floor: number;
}

/** The watchers of one store. */
export class Feed {
  readonly #store: Fed;
  /** Some of the records above a revision, in order; none: there is none. */
  readonly #read: (after: number) => readonly Record[];
  readonly #takers = new Set<Take>();

  constructor(store: Fed, read: (after: number) => readonly Record[]) {
    this.#store = store;
    this.#read = read;
  }

  /** Store.watch(). */
  async watch(after: number, take: Take): Promise<() => void> {
    let position = after;
    for (;;) {
      const { floor } = this.#store;
      if (position < floor) throw new StoreError("compacted", `Revision ${position} is below the floor of ${floor}`);
      const records = position < this.#store.revision ? this.#read(position) : [];
      const last = records.at(-1);
      if (last === undefined) break;
      take(records);
      position = last.revision;
      await nextTurn();
    }
    // Each call is a watch of its own, whatever function it brings.
    const own: Take = (records) => take(records);
    this.#takers.add(own);
    return () => void this.#takers.delete(own);
  }

  /** Tells what was committed just now; called before the commit resolves. */
  tell(records: readonly Record[]): void {
    if (records.length === 0) return;
    for (const take of this.#takers) take(records);
  }
}
