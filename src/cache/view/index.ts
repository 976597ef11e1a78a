// The keys of one log on one front: a Map for lookups and sorted chunks for scans, both pointing at the same entries.
// A deleted key keeps its entry until its last record leaves the window, so that older states stay readable.
// @hot
//
//   chunks  [ a… f ] [ g… m ] [ n… z ]      each sorted, at most chunkCountMax entries; a full one is split in two
//
// Keys are byte keys: one character per UTF-8 byte, so that JavaScript's comparison is the order of bytes that clients
// and stores use (UTF-16 order differs from it beyond U+D7FF).
import { assertShared } from "../../base/assert.ts";
import type { Location } from "../shared/record.ts";

/** One key. */
export interface KeyEntry {
  /** Byte key relative to the prefix. */
  readonly key: string;
  /** Its newest record. */
  at: Location;
  /** False when that record is a delete. */
  live: boolean;
}

const chunkCountMax = 512;

/** Turns text into a byte key; ASCII is its own. */
export function toByteKey(text: string): string {
  for (let i = 0; i < text.length; i++) {
    if (text.charCodeAt(i) > 0x7f) return Buffer.from(text, "utf8").toString("latin1");
  }
  return text;
}

/** Turns a byte key back into text. */
export function fromByteKey(key: string): string {
  for (let i = 0; i < key.length; i++) {
    if (key.charCodeAt(i) > 0x7f) return Buffer.from(key, "latin1").toString("utf8");
  }
  return key;
}

/** Keys in byte order. Insertion and removal cost a binary search and a move within one chunk. */
export class KeyIndex {
  readonly #entries = new Map<string, KeyEntry>();
  readonly #chunks: KeyEntry[][] = [];

  /** Keys, deleted ones of the window included. */
  get size(): number {
    return this.#entries.size;
  }

  find(key: string): KeyEntry | undefined {
    return this.#entries.get(key);
  }

  /** Adds a key that is not there. */
  insert(key: string): KeyEntry {
    const entry: KeyEntry = { key, at: 0, live: false };
    assertShared(!this.#entries.has(key), "A key is inserted twice");
    this.#entries.set(key, entry);
    const last = this.#chunks.length - 1;
    if (last < 0) {
      this.#chunks.push([entry]);
      return entry;
    }
    const at = Math.max(0, this.#chunkOf(key));
    const chunk = this.#chunk(at);
    const place = firstAfter(chunk, key);
    assertShared(chunk[place - 1]?.key !== key, "A chunk holds a key that the index has not");
    chunk.splice(place, 0, entry);
    if (chunk.length > chunkCountMax) {
      // Keys that arrive in order fill chunks completely instead of leaving them half empty.
      const ascending = at === last && chunk[chunk.length - 1] === entry;
      this.#chunks.splice(at + 1, 0, chunk.splice(ascending ? chunkCountMax : chunkCountMax >> 1));
    }
    return entry;
  }

  /** Removes an entry that is there. */
  remove(entry: KeyEntry): void {
    const removed = this.#entries.delete(entry.key);
    assertShared(removed, "A removed key is not in the index");
    const at = this.#chunkOf(entry.key);
    const chunk = this.#chunk(at);
    const index = firstAfter(chunk, entry.key) - 1;
    assertShared(chunk[index] === entry, "A chunk does not hold the entry of its key");
    chunk.splice(index, 1);
    if (chunk.length === 0) this.#chunks.splice(at, 1);
  }

  /**
   * Calls `take` with the entries from the first key after `after` on, in order, until it returns false.
   * The index must not change meanwhile.
   */
  scan(after: string, take: (entry: KeyEntry) => boolean): void {
    let at = Math.max(0, this.#chunkOf(after));
    if (at >= this.#chunks.length) return;
    let index = firstAfter(this.#chunk(at), after);
    for (; at < this.#chunks.length; at++) {
      const chunk = this.#chunk(at);
      for (; index < chunk.length; index++) {
        const entry = chunk[index];
        assertShared(entry !== undefined, "The index changed during a scan");
        if (!take(entry)) return;
      }
      index = 0;
    }
  }

  /** The last chunk that starts at or before the key; -1 when all start after it. */
  #chunkOf(key: string): number {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const first = this.#chunk(middle)[0];
      assertShared(first !== undefined, "A chunk of the index is empty");
      if (first.key <= key) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  #chunk(at: number): KeyEntry[] {
    const chunk = this.#chunks[at];
    assertShared(chunk !== undefined, "The index has no such chunk");
    return chunk;
  }
}

/** Index of the first entry whose key is greater. */
function firstAfter(chunk: readonly KeyEntry[], key: string): number {
  let low = 0;
  let high = chunk.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const entry = chunk[middle];
    assertShared(entry !== undefined, "A chunk of the index has a hole");
    if (entry.key <= key) low = middle + 1;
    else high = middle;
  }
  return low;
}
