// Which records supersede others, noted as they are written: a compaction need not read what it leaves alone, and most
// records are the only one of their key.
import { assertShared } from "../../base/assert.ts";
import type { ChangeType } from "../store.ts";

/** A record that has one before it. */
export interface Superseding {
  readonly revision: number;
  readonly previous: number;
  readonly type: ChangeType;
}

const numbersEach = 3;
/** Notes kept together: 24 KiB. */
const chunkCount = 1024;

/** The notes of one store, in order of revision; each takes 24 bytes until its record is compacted. */
export class SupersedingRecords {
  /** Chunks of revision, previous and type, one record after the other. */
  readonly #chunks: Float64Array[] = [];
  /** Notes taken out of the first chunk. */
  #taken = 0;
  /** Notes in the last chunk. */
  #added = chunkCount;

  /** Notes a record if it supersedes one; its revision is above all noted ones. */
  note({ revision, previous, type }: Superseding): void {
    if (previous === 0) return;
    if (this.#added === chunkCount) {
      this.#chunks.push(new Float64Array(chunkCount * numbersEach));
      this.#added = 0;
    }
    const last = this.#chunks.at(-1) as Float64Array;
    assertShared(previous < revision, `Revision ${revision} supersedes ${previous}`);
    last.set([revision, previous, type], this.#added * numbersEach);
    this.#added += 1;
  }

  /** Takes the first note out, if its revision is at most `target`. */
  take(target: number): Superseding | undefined {
    const first = this.#chunks[0];
    if (first === undefined || (this.#chunks.length === 1 && this.#taken === this.#added)) return undefined;
    const at = this.#taken * numbersEach;
    const revision = first[at] as number;
    if (revision > target) return undefined;
    const found = { revision, previous: first[at + 1] as number, type: first[at + 2] as ChangeType };
    this.#taken += 1;
    if (this.#taken === chunkCount) {
      this.#chunks.shift();
      this.#taken = 0;
    }
    return found;
  }
}
