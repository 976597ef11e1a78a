// Who is next: what waits stands in one queue per owner, owners take turns, and each has a bound of what runs.

/** What waits for its turn. */
interface Waiting {
  readonly owner: string;
}

/** Queues by owner, and how much of each owner is under way. */
export class Turns<Item extends Waiting> {
  /** In the order of the turns. */
  readonly #queues = new Map<string, Item[]>();
  readonly #running = new Map<string, number>();
  readonly #ownerMax: number;
  #runningAll = 0;

  /** One owner has at most `ownerMax` under way. */
  constructor(ownerMax: number) {
    this.#ownerMax = ownerMax;
  }

  /** Under way, of all owners. */
  get running(): number {
    return this.#runningAll;
  }

  /** Lets an item wait. */
  add(item: Item): void {
    const queue = this.#queues.get(item.owner);
    if (queue === undefined) this.#queues.set(item.owner, [item]);
    else queue.push(item);
  }

  /** The oldest item of the first owner that may have one more under way, where it is from now on. */
  take(): Item | undefined {
    for (const [owner, queue] of this.#queues) {
      const running = this.#running.get(owner) ?? 0;
      if (running >= this.#ownerMax) continue;
      this.#running.set(owner, running + 1);
      this.#runningAll += 1;
      const item = queue.shift();
      this.#putLast(owner);
      return item;
    }
    return undefined;
  }

  /** Something of an owner is over; those that came meanwhile are before it. */
  done(owner: string): void {
    const left = (this.#running.get(owner) ?? 0) - 1;
    if (left > 0) this.#running.set(owner, left);
    else this.#running.delete(owner);
    this.#runningAll -= 1;
    this.#putLast(owner);
  }

  /** Forgets an item. False: it does not wait. */
  remove(item: Item): boolean {
    const queue = this.#queues.get(item.owner);
    const at = queue?.indexOf(item) ?? -1;
    if (queue === undefined || at < 0) return false;
    queue.splice(at, 1);
    if (queue.length === 0) this.#queues.delete(item.owner);
    return true;
  }

  /** Forgets what waits, of one owner or of all, and returns it. */
  removeAll(owner?: string): Item[] {
    if (owner === undefined) {
      const items = [...this.#queues.values()].flat();
      this.#queues.clear();
      return items;
    }
    const items = this.#queues.get(owner) ?? [];
    this.#queues.delete(owner);
    return items;
  }

  #putLast(owner: string): void {
    const queue = this.#queues.get(owner);
    this.#queues.delete(owner);
    if (queue !== undefined && queue.length > 0) this.#queues.set(owner, queue);
  }
}
