// How many of something each name has. Names that have none stay for a while: those that come and go with each request
// cost no new entry each time, and what a Map was is not kept alive by what it is made of then (roster.ts).

/** Names without any that are known; beyond, all of those are forgotten. */
const idleMax = 64;

interface Count {
  value: number;
}

/** Counts by name, of those above zero. */
export class Tally {
  readonly #counts = new Map<string, Count>();
  #idle = 0;

  /** Names with a count. */
  get size(): number {
    return this.#counts.size - this.#idle;
  }

  /** Names that are remembered, those without a count among them. */
  get known(): number {
    return this.#counts.size;
  }

  /** The count of a name; 0: it has none. */
  of(name: string): number {
    return this.#counts.get(name)?.value ?? 0;
  }

  /** Adds to the count of a name, or takes from it what it has at most. */
  add(name: string, amount: number): void {
    let count = this.#counts.get(name);
    if (count === undefined) {
      count = { value: 0 };
      this.#counts.set(name, count);
      this.#idle += 1;
    }
    const before = count.value;
    count.value = Math.max(0, before + amount);
    this.#idle += Number(count.value === 0) - Number(before === 0);
    if (this.#idle > idleMax) this.#forget();
  }

  /** The names with a count. */
  *[Symbol.iterator](): Generator<readonly [name: string, count: number]> {
    for (const [name, { value }] of this.#counts) if (value > 0) yield [name, value];
  }

  #forget(): void {
    for (const [name, { value }] of this.#counts) if (value === 0) this.#counts.delete(name);
    this.#idle = 0;
  }
}
