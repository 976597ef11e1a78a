// What waits, in a lane for each owner. Lanes take turns, and an owner of whom nothing was taken lately is before the
// others: one who asks for little does not wait for one who asks for much (as sparse flows of fair queueing, RFC 8290).

/** Queues by owner. */
export class Lanes<Item> {
  /** Of owners whose last turn is over, in the order they came. */
  readonly #fresh = new Map<string, Item[]>();
  /** Of others, in the order of their turns; empty where nothing waits since the last one. */
  readonly #others = new Map<string, Item[]>();
  #size = 0;

  /** Items that wait. */
  get size(): number {
    return this.#size;
  }

  /** Lets an item wait, behind those of its owner. */
  add(owner: string, item: Item): void {
    const lane = this.#others.get(owner) ?? this.#fresh.get(owner);
    if (lane === undefined) this.#fresh.set(owner, [item]);
    else lane.push(item);
    this.#size += 1;
  }

  /** The item whose turn it is; undefined when none waits. */
  take(): Item | undefined {
    for (const lanes of [this.#fresh, this.#others]) {
      for (const [owner, lane] of lanes) {
        lanes.delete(owner);
        const item = lane.shift();
        if (item === undefined) continue;
        this.#size -= 1;
        // With nothing left as well: what comes before its next turn waits for that.
        if (this.#size > 0) this.#others.set(owner, lane);
        else if (this.#others.size > 0) this.#others.clear();
        return item;
      }
    }
    return undefined;
  }
}
