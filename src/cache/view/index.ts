// The keys of one log on one front: a Map for lookups and chunks for scans, both pointing at the same entries.
// A deleted key keeps its entry until its last record leaves the window, so that older states stay readable.
// @hot
//
//   chunks  [ c a f d ] [ g… m ] [ z n ]      at most chunkCountMax entries each; a full one is split in two
//   firsts    a           g        n          no key of a chunk is before its first one, or after the next one's
//   live      5           9        3          live entries: what a page leaves is counted chunk by chunk
//
// A chunk is sorted when it is read: a search for the place of a key among cold entries costs more than all else of an
// insertion, and most chunks of a log that is written to are read seldom, or never.
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
  /** Where it stands: for the index. */
  chunk: Chunk;
}

interface Chunk {
  readonly entries: KeyEntry[];
  /** So many of the first entries are in order. */
  sorted: number;
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

/** Keys in byte order. An insertion searches among chunks, a removal looks through one, a scan sorts those it comes to. */
export class KeyIndex {
  readonly #entries = new Map<string, KeyEntry>();
  readonly #chunks: Chunk[] = [];
  /** Where each chunk begins: a search looks at nothing else of those it passes. */
  readonly #firsts: string[] = [];

  /** Keys, deleted ones of the window included. */
  get size(): number {
    return this.#entries.size;
  }

  find(key: string): KeyEntry | undefined {
    return this.#entries.get(key);
  }

  /** The entry of a key, which is added when it is not there. */
  enter(key: string): KeyEntry {
    return this.#entries.get(key) ?? this.#insert(key);
  }

  #insert(key: string): KeyEntry {
    const at = Math.max(0, this.#chunkOf(key));
    const chunk = this.#chunks[at] ?? this.#begin(key);
    const { entries } = chunk;
    const entry: KeyEntry = { key, text: fromByteKey(key), at: 0, live: false, chunk };
    this.#entries.set(key, entry);
    const { sorted: count } = chunk;
    if (count === entries.length && (count === 0 || (entries[count - 1] as KeyEntry).key < key)) chunk.sorted += 1;
    entries.push(entry);
    if (at === 0 && key < (this.#firsts[0] as string)) this.#firsts[0] = key;
    if (entries.length > chunkCountMax) this.#split(at);
    return entry;
  }

  /** The first chunk of all. */
  #begin(key: string): Chunk {
    const chunk: Chunk = { entries: [], sorted: 0, live: 0 };
    this.#chunks.push(chunk);
    this.#firsts.push(key);
    return chunk;
  }

  /** Keys that arrive in order fill chunks completely instead of leaving them half empty. */
  #split(at: number): void {
    const chunk = this.#chunk(at);
    const isAscending = chunk.sorted > chunkCountMax && at === this.#chunks.length - 1;
    const entries = sorted(chunk).splice(isAscending ? chunkCountMax : chunkCountMax >> 1);
    chunk.sorted = chunk.entries.length;
    const moved: Chunk = { entries, sorted: entries.length, live: 0 };
    for (const entry of entries) {
      entry.chunk = moved;
      if (entry.live) moved.live += 1;
    }
    chunk.live -= moved.live;
    this.#chunks.splice(at + 1, 0, moved);
    this.#firsts.splice(at + 1, 0, (entries[0] as KeyEntry).key);
  }

  /** Notes whether an entry that is there is live; true: that has changed. */
  setLive(entry: KeyEntry, live: boolean): boolean {
    if (entry.live === live) return false;
    entry.live = live;
    entry.chunk.live += live ? 1 : -1;
    return true;
  }

  /** Removes an entry that is there. */
  remove(entry: KeyEntry): void {
    const { key, chunk } = entry;
    assertShared(this.#entries.get(key) === entry, "A removed key is not in the index");
    this.#entries.delete(key);
    const { entries } = chunk;
    const index = entries.indexOf(entry);
    assertShared(index >= 0, "A chunk does not hold the entry of its key");
    entries.splice(index, 1);
    if (index < chunk.sorted) chunk.sorted -= 1;
    if (entry.live) chunk.live -= 1;
    if (entries.length > 0) return;
    const at = this.#chunkOf(key);
    assertShared(this.#chunks[at] === chunk, "A key is in another chunk than its own");
    this.#chunks.splice(at, 1);
    this.#firsts.splice(at, 1);
  }

  /** Live entries from the first key after `after` on, below `end` (empty: all). */
  countLive(after: string, end: string): number {
    const last = end === "" ? this.#chunks.length - 1 : this.#chunkOf(end);
    let count = 0;
    for (let at = Math.max(0, this.#chunkOf(after)); at <= last; at++) {
      const { entries, live } = this.#chunk(at);
      const isInside = (this.#firsts[at] as string) > after && (at < last || end === "");
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
    let index = firstAfter(sorted(this.#chunk(at)), after);
    for (; at < this.#chunks.length; at++) {
      const entries = sorted(this.#chunk(at));
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
      const first = this.#firsts[middle];
      assertShared(first !== undefined, "A chunk of the index is empty");
      if (first <= key) low = middle + 1;
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

/** The entries of a chunk, in order: what came since the last time is sorted, and merged with the others from the end on. */
function sorted(chunk: Chunk): KeyEntry[] {
  const { entries } = chunk;
  if (chunk.sorted === entries.length) return entries;
  const came = entries.slice(chunk.sorted).sort((a, b) => (a.key < b.key ? -1 : 1));
  let from = chunk.sorted - 1;
  for (let to = entries.length - 1, next = came.pop(); next !== undefined; to -= 1) {
    const before = entries[from];
    if (before !== undefined && before.key > next.key) {
      entries[to] = before;
      from -= 1;
    } else {
      entries[to] = next;
      next = came.pop();
    }
  }
  chunk.sorted = entries.length;
  return entries;
}

/** Live entries whose keys are after `after` and below `end` (empty: whatever follows). */
function liveWithin(entries: readonly KeyEntry[], after: string, end: string): number {
  let count = 0;
  for (const { key, live } of entries) if (live && key > after && (end === "" || key < end)) count++;
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
