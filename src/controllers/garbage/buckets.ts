// Where chains begin: a hash table that grows and shrinks by one chain at a time (linear hashing), so that no change
// takes longer with its size. The chains are kept by the caller.
//
//   bucket   0 … half - 1,  half … count - 1,  count … 2 · half - 1
//                           split off from     not there: its hashes are
//                           bucket - half      in bucket - half still
import { pageRows, Rows } from "./rows.ts";

/** Says that there is no number. */
export const none = -1;

const countMin = pageRows / 2;

/** For each hash the first number of the chain that it belongs to. */
export class Buckets {
  readonly #first = new Rows(1);
  /** 2 · half - 1: the bits of a hash that tell buckets from each other. */
  #mask = countMin - 1;

  constructor() {
    this.clear();
  }

  /** Memory it takes. */
  get bytes(): number {
    return this.#first.bytes;
  }

  clear(): void {
    this.#first.clear();
    this.#mask = countMin - 1;
    while (this.#first.count < countMin) this.#add();
  }

  /** The first number of the chain of a hash; none: it is empty. */
  first(hash: number): number {
    return this.#first.get(this.#bucketOf(hash), 0);
  }

  /** Has the chain of a hash begin with another number. */
  setFirst(hash: number, first: number): void {
    this.#first.set(this.#bucketOf(hash), 0, first);
  }

  /**
   * Makes as many buckets as there are numbers. `relink` is called with the first number of each chain that was taken
   * apart for that, and puts its numbers into the chains of their hashes.
   */
  fit(size: number, relink: (first: number) => void): void {
    while (this.#first.count < size) relink(this.#split());
    while (this.#first.count > Math.max(size, countMin)) relink(this.#merge());
  }

  /** Adds a bucket, and takes the chain apart that it gets its numbers from. */
  #split(): number {
    if (this.#first.count > this.#mask) this.#mask = 2 * this.#mask + 1;
    return this.#take(this.#add() & (this.#mask >>> 1));
  }

  /** Removes the last bucket. */
  #merge(): number {
    const first = this.#take(this.#first.count - 1);
    this.#first.pop();
    if (this.#first.count <= this.#mask >>> 1) this.#mask >>>= 1;
    return first;
  }

  #add(): number {
    const bucket = this.#first.push();
    this.#first.set(bucket, 0, none);
    return bucket;
  }

  #take(bucket: number): number {
    const first = this.#first.get(bucket, 0);
    this.#first.set(bucket, 0, none);
    return first;
  }

  #bucketOf(hash: number): number {
    const bucket = hash & this.#mask;
    return bucket < this.#first.count ? bucket : bucket & (this.#mask >>> 1);
  }
}
