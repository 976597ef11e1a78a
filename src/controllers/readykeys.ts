// Keys that are ready to be worked on, in lanes that take turns: a lane of ten thousand keys holds another one up by a key
// at a time. Within a lane the key that is ready the longest is first. A queue without lanes has one.

/** The keys of one lane, and since when each is ready. */
class Lane {
  readonly keys = new Map<string, number>();
  /** Goes on where it was: to begin at the front each time costs as much as all that were taken before. */
  #order = this.keys.keys();

  /** Takes the first key of a lane that has some. */
  take(): [key: string, sinceMs: number] | undefined {
    let next = this.#order.next();
    if (next.done) {
      this.#order = this.keys.keys();
      next = this.#order.next();
    }
    const key = next.value;
    if (key === undefined) return undefined;
    const sinceMs = this.keys.get(key) ?? 0;
    this.keys.delete(key);
    return [key, sinceMs];
  }
}

/** Keys by lane; each key at most once. */
export class ReadyKeys {
  readonly #laneOf: (key: string) => string;
  /** Lanes with keys, in the order of their turns. */
  readonly #lanes = new Map<string, Lane>();
  #order = this.#lanes.entries();
  #size = 0;

  constructor(laneOf: (key: string) => string = () => "") {
    this.#laneOf = laneOf;
  }

  get size(): number {
    return this.#size;
  }

  has(key: string): boolean {
    return this.#lanes.get(this.#laneOf(key))?.keys.has(key) === true;
  }

  /** Adds a key at the end of its lane; a lane that had none comes after the others. */
  set(key: string, sinceMs: number): void {
    const name = this.#laneOf(key);
    let lane = this.#lanes.get(name);
    if (lane === undefined) {
      lane = new Lane();
      this.#lanes.set(name, lane);
    }
    if (!lane.keys.has(key)) this.#size += 1;
    lane.keys.set(key, sinceMs);
  }

  delete(key: string): boolean {
    const name = this.#laneOf(key);
    const lane = this.#lanes.get(name);
    if (lane?.keys.delete(key) !== true) return false;
    this.#size -= 1;
    if (lane.keys.size === 0) this.#lanes.delete(name);
    return true;
  }

  /** Takes the first key of the lane whose turn it is; undefined when there is none. */
  take(): [key: string, sinceMs: number] | undefined {
    if (this.#size === 0) return undefined;
    let next = this.#order.next();
    if (next.done) {
      this.#order = this.#lanes.entries();
      next = this.#order.next();
    }
    if (next.done) return undefined;
    const [name, lane] = next.value;
    const taken = lane.take();
    this.#size -= 1;
    // A lane without keys is not there, and the one whose turn it was is the last one now.
    this.#lanes.delete(name);
    if (lane.keys.size > 0) this.#lanes.set(name, lane);
    return taken;
  }

  clear(): void {
    this.#lanes.clear();
    this.#size = 0;
  }
}
