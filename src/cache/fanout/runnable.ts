// Watchers with something to do: those that read the state they start from, and those that lag. They take turns by owner
// (base/lanes.ts), a slice each: a hundred watches of one user do not hold up the first events of another's.
import { Lanes } from "../../base/lanes.ts";
import type { Watcher } from "./watcher.ts";

/** A set of watchers that gives them their turns. */
export class Runnable implements Iterable<Watcher> {
  readonly #all = new Set<Watcher>();
  #turns = new Lanes<Watcher>();
  /** Those of #turns: each is there once, and also when it left, until its turn comes. */
  readonly #queued = new Set<Watcher>();

  get size(): number {
    return this.#all.size;
  }

  [Symbol.iterator](): IterableIterator<Watcher> {
    return this.#all.values();
  }

  add(watcher: Watcher): void {
    this.#all.add(watcher);
    this.#queue(watcher);
  }

  /** Takes a watcher out; one that is not in changes nothing. */
  delete(watcher: Watcher): void {
    if (!this.#all.delete(watcher) || this.#all.size > 0) return;
    // Whoever left is not kept for a turn that does not come.
    this.#turns = new Lanes();
    this.#queued.clear();
  }

  /** The watcher whose turn it is; it stays, behind those of its owner. Undefined: there is none. */
  take(): Watcher | undefined {
    while (this.#all.size > 0) {
      const watcher = this.#turns.take();
      if (watcher === undefined) return undefined;
      this.#queued.delete(watcher);
      if (!this.#all.has(watcher)) continue;
      this.#queue(watcher);
      return watcher;
    }
    return undefined;
  }

  #queue(watcher: Watcher): void {
    if (this.#queued.has(watcher)) return;
    this.#queued.add(watcher);
    this.#turns.add(watcher.user, watcher);
  }
}
