// Objects under way, which come and go thousands of times a second, in no order. Not a Set or a Map: V8 makes their table
// anew when as many have left it as it holds, and the old table, which still has what was in it, refers to the new one.
// Once one table has lived through two collections, all that follow, and all objects that were ever in them, live until
// the whole heap is collected: a third of what a front's collections cost.
import { assert } from "./assert.ts";

/** What a roster holds knows its place in it. */
export interface Listed {
  /** -1: in none. For the roster. */
  listedAt: number;
}

/** Objects, each at most once, and in one roster at a time. */
export class Roster<T extends Listed> implements Iterable<T> {
  readonly #members: T[] = [];

  get size(): number {
    return this.#members.length;
  }

  /** Adds an object that is in no roster. */
  add(member: T): void {
    assert(member.listedAt < 0, "An object is in two rosters");
    member.listedAt = this.#members.push(member) - 1;
  }

  /** Takes an object out; one that is not in it stays as it is. */
  delete(member: T): void {
    const { listedAt } = member;
    if (this.#members[listedAt] !== member) return;
    member.listedAt = -1;
    const last = this.#members.pop();
    if (last === undefined || last === member) return;
    this.#members[listedAt] = last;
    last.listedAt = listedAt;
  }

  /** Those that are in it, to be gone through while nobody comes or goes. */
  get members(): readonly T[] {
    return this.#members;
  }

  /** Those that are in it now: it may change meanwhile. */
  [Symbol.iterator](): Iterator<T> {
    return [...this.#members][Symbol.iterator]();
  }
}
