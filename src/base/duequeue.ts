// Keys and when each is due: a binary heap of nodes that know their place, so that a key moves when its time changes and
// no entry is left behind. Adding, moving and removing cost the logarithm of the number of keys.

/** One key in the heap. */
interface Node {
  readonly key: string;
  atMs: number;
  /** Index in the heap. */
  place: number;
}

/** Each key at most once, in order of its time. */
export class DueQueue {
  readonly #heap: Node[] = [];
  readonly #nodes = new Map<string, Node>();

  /** Number of keys. */
  get size(): number {
    return this.#heap.length;
  }

  /** When the first key is due; infinite when there is none. */
  get firstMs(): number {
    return this.#heap[0]?.atMs ?? Number.POSITIVE_INFINITY;
  }

  has(key: string): boolean {
    return this.#nodes.has(key);
  }

  /** When a key is due; infinite when it is not in it. */
  dueMs(key: string): number {
    return this.#nodes.get(key)?.atMs ?? Number.POSITIVE_INFINITY;
  }

  /** Adds a key, or moves it to another time. */
  set(key: string, atMs: number): void {
    const known = this.#nodes.get(key);
    const node = known ?? { key, atMs, place: this.#heap.length };
    if (known === undefined) {
      this.#heap.push(node);
      this.#nodes.set(key, node);
    }
    node.atMs = atMs;
    this.#settle(node);
  }

  /** Removes a key; false when it was not in it. */
  delete(key: string): boolean {
    const node = this.#nodes.get(key);
    if (node === undefined) return false;
    this.#nodes.delete(key);
    const last = this.#heap.pop() as Node;
    if (last !== node) {
      last.place = node.place;
      this.#heap[last.place] = last;
      this.#settle(last);
    }
    return true;
  }

  /** Takes the first key that is due at `nowMs`; undefined when none is. */
  take(nowMs: number): string | undefined {
    const first = this.#heap[0];
    if (first === undefined || first.atMs > nowMs) return undefined;
    this.delete(first.key);
    return first.key;
  }

  clear(): void {
    this.#heap.length = 0;
    this.#nodes.clear();
  }

  /** Moves a node up or down to where its time belongs. */
  #settle(node: Node): void {
    const heap = this.#heap;
    for (let up = (node.place - 1) >> 1; node.place > 0; up = (node.place - 1) >> 1) {
      const parent = heap[up] as Node;
      if (parent.atMs <= node.atMs) break;
      this.#swap(parent, node);
    }
    for (;;) {
      const left = 2 * node.place + 1;
      const [a, b] = [heap[left], heap[left + 1]];
      const child = b !== undefined && a !== undefined && b.atMs < a.atMs ? b : a;
      if (child === undefined || child.atMs >= node.atMs) return;
      this.#swap(node, child);
    }
  }

  #swap(above: Node, below: Node): void {
    const { place } = above;
    above.place = below.place;
    below.place = place;
    this.#heap[above.place] = above;
    this.#heap[below.place] = below;
  }
}
