// The keys of one log on one front: a Map for lookups and sorted chunks for scans, both pointing at the same entries.
// A deleted key keeps its entry until its last record leaves the window, so that older states stay readable.
// @hot
//
//   chunks  [ a… f ] [ g… m ] [ n… z ]      each sorted, at most chunkCountMax entries; a full one is split in two
//             5        9        3           live entries: what a page leaves is counted chunk by chunk
//
// Keys are byte keys: one character per UTF-8 byte, so that JavaScript's comparison is the order of bytes that clients
// and stores use (UTF-16 order differs from it beyond U+D7FF).
import { assertShared } from "../../base/assert.ts";
import type { Location } from "../shared/record.ts";

/** One key. */
export interface KeyEntry {
  /** Byte key relative to the prefix. */
  readonly key: string;
  /** The key as text. */
  readonly text: string;
  /** Its newest record. */
  at: Location;
  /** False when that record is a delete. Set by KeyIndex.setLive(). */
  live: boolean;
}

interface Chunk {
  readonly entries: KeyEntry[];
  live: number;
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
  readonly #chunks: Chunk[] = [];

  /** Keys, deleted ones of the window included. */
  get size(): number {
    return this.#entries.size;
  }

  find(key: string): KeyEntry | undefined {
    return this.#entries.get(key);
  }

  /** Adds a key that is not there. */
  insert(key: string): KeyEntry {
    const entry: KeyEntry = { key, text: fromByteKey(key), at: 0, live: false };
    assertShared(!this.#entries.has(key), "A key is inserted twice");
    this.#entries.set(key, entry);
    const last = this.#chunks.length - 1;
    if (last < 0) {
      this.#chunks.push({ entries: [entry], live: 0 });
      return entry;
    }
    const at = Math.max(0, this.#chunkOf(key));
    const chunk = this.#chunk(at);
    const { entries } = chunk;
    const place = firstAfter(entries, key);
    assertShared(entries[place - 1]?.key !== key, "A chunk holds a key that the index has not");
    entries.splice(place, 0, entry);
    if (entries.length > chunkCountMax) {
      // Keys that arrive in order fill chunks completely instead of leaving them half empty.
      const ascending = at === last && entries[entries.length - 1] === entry;
      const moved = entries.splice(ascending ? chunkCountMax : chunkCountMax >> 1);
      const live = moved.reduce((count, each) => count + (each.live ? 1 : 0), 0);
      chunk.live -= live;
      this.#chunks.splice(at + 1, 0, { entries: moved, live });
    }
    return entry;
  }

  /** Notes whether an entry that is there is live; true: that has changed. */
  setLive(entry: KeyEntry, live: boolean): boolean {
    if (entry.live === live) return false;
    entry.live = live;
    this.#chunk(this.#chunkOf(entry.key)).live += live ? 1 : -1;
    return true;
  }

  /** Removes an entry that is there. */
  remove(entry: KeyEntry): void {
    const removed = this.#entries.delete(entry.key);
    assertShared(removed, "A removed key is not in the index");
    const at = this.#chunkOf(entry.key);
    const chunk = this.#chunk(at);
    const { entries } = chunk;
    const index = firstAfter(entries, entry.key) - 1;
    assertShared(entries[index] === entry, "A chunk does not hold the entry of its key");
    entries.splice(index, 1);
    if (entry.live) chunk.live -= 1;
    if (entries.length === 0) this.#chunks.splice(at, 1);
  }

  /** Live entries from the first key after `after` on, below `end` (empty: all). */
  countLive(after: string, end: string): number {
    const last = end === "" ? this.#chunks.length - 1 : this.#chunkOf(end);
    let count = 0;
    for (let at = Math.max(0, this.#chunkOf(after)); at <= last; at++) {
      const { entries, live } = this.#chunk(at);
      const isInside = (entries[0]?.key ?? "") > after && (at < last || end === "");
      count += isInside ? live : liveWithin(entries, after, end);
    }
    assertShared(count <= this.size, "There are more live entries than entries");
    return count;
  }

  /**
   * Calls `take` with the entries from the first key after `after` on, in order, until it returns false.
   * The index must not change meanwhile.
   */
  scan(after: string, take: (entry: KeyEntry) => boolean): void {
    let at = Math.max(0, this.#chunkOf(after));
    if (at >= this.#chunks.length) return;
    let index = firstAfter(this.#chunk(at).entries, after);
    for (; at < this.#chunks.length; at++) {
      const { entries } = this.#chunk(at);
      for (; index < entries.length; index++) {
        const entry = entries[index];
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
      const first = this.#chunk(middle).entries[0];
      assertShared(first !== undefined, "A chunk of the index is empty");
      if (first.key <= key) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  #chunk(at: number): Chunk {
    const chunk = this.#chunks[at];
    assertShared(chunk !== undefined, "The index has no such chunk");
    return chunk;
  }
}

/** Live entries whose keys are after `after` and below `end` (empty: whatever follows). */
function liveWithin(entries: readonly KeyEntry[], after: string, end: string): number {
  let count = 0;
  for (let at = firstAfter(entries, after); at < entries.length; at++) {
    const entry = entries[at];
    assertShared(entry !== undefined, "A chunk of the index has a hole");
    if (end !== "" && entry.key >= end) break;
    if (entry.live) count++;
  }
  return count;
}

/** Index of the first entry whose key is greater. */
function firstAfter(entries: readonly KeyEntry[], key: string): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const entry = entries[middle];
    assertShared(entry !== undefined, "A chunk of the index has a hole");
    if (entry.key <= key) low = middle + 1;
    else high = middle;
  }
  return low;
}
