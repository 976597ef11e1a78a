// The keys one controller has to work on. A key is in one place at a time, however often it is asked for:
//
//     add ───────────────► ready ──take──► in work ──done──► (forgotten)
//     addAfter ─► later ─────▲   ◄──asked for meanwhile──┤
//                retries ────┘   ◄──failed───────────────┘
//
// It holds keys and times, nothing of what they stand for. Whoever owns it calls wake() at nextMs.
import { Allowance } from "../base/allowance.ts";
import { assert } from "../base/assert.ts";
import { DueQueue } from "../base/duequeue.ts";
import type { QueueCounts } from "../observe/workqueues.ts";
import { ReadyKeys } from "./readykeys.ts";

/** How a queue treats its keys. */
export interface QueuePace {
  /** Pause before a key that failed once is tried again, in milliseconds; doubled with each further failure. */
  readonly retryMsMin: number;
  readonly retryMsMax: number;
  /** Keys that failed and are tried again per second, all together; a second's worth may come at once. */
  readonly retriesPerSecond: number;
  /** Keys it takes; it refuses others. */
  readonly keysMax: number;
  /** Keys that are due later are taken this often, so many at once: for many small pieces of work. 0: each at its time. */
  readonly gatherMs: number;
  readonly gatheredMax: number;
  /** What lane a key is ready in: lanes take turns. Left out: all are in one. */
  readonly laneOf?: (key: string) => string;
}

/** The keys of one controller. */
export class WorkQueue {
  readonly #pace: QueuePace;
  readonly #random: () => number;
  readonly #counts: QueueCounts;
  /** Since when each key is ready; monotonic ms, as all times here. */
  readonly #ready: ReadyKeys;
  /** Since when each key is in work. */
  readonly #working = new Map<string, number>();
  /** Keys in work that were asked for meanwhile, and when. */
  readonly #asked = new Map<string, number>();
  readonly #later = new DueQueue();
  readonly #retries = new DueQueue();
  /** How often each key failed in a row. */
  readonly #failures = new Map<string, number>();
  /** Of retries. */
  readonly #allowance: Allowance;
  /** When keys of later may be taken again. */
  #gatherFromMs = Number.NEGATIVE_INFINITY;

  /** `random`: at least 0, less than 1. */
  constructor(pace: QueuePace, random: () => number, counts: QueueCounts) {
    assert(pace.retryMsMin > 0 && pace.retryMsMin <= pace.retryMsMax, "The first pause is not longer than the last");
    assert(pace.retriesPerSecond >= 1, "Some retries are allowed");
    this.#pace = pace;
    this.#random = random;
    this.#counts = counts;
    this.#ready = new ReadyKeys(pace.laneOf);
    this.#allowance = new Allowance(pace.retriesPerSecond, pace.retriesPerSecond);
  }

  /** Keys that wait to be worked on now, those asked for while they are in work among them. */
  get readyCount(): number {
    return this.#ready.size + this.#asked.size;
  }

  get workingCount(): number {
    return this.#working.size;
  }

  /** Keys that wait for their time. */
  get laterCount(): number {
    return this.#later.size + this.#retries.size;
  }

  /** Keys that wait, now or for their time. */
  get size(): number {
    return this.#ready.size + this.#later.size + this.#retries.size;
  }

  /** When each key in work was begun. */
  get begun(): Iterable<number> {
    return this.#working.values();
  }

  /** Whether a key waits, now or for its time. */
  has(key: string): boolean {
    return this.#ready.has(key) || this.#asked.has(key) || this.#later.has(key) || this.#retries.has(key);
  }

  /** A key is to be worked on now. False: there are too many. */
  add(key: string, nowMs: number): boolean {
    if (this.#ready.has(key) || this.#asked.has(key)) return true;
    if (!this.#hasRoom(key)) return false;
    this.#put(key, nowMs);
    return true;
  }

  /** A key is to be worked on at `atMs`, or before if it waits for less. False: there are too many. */
  addAt(key: string, atMs: number): boolean {
    if (this.#ready.has(key) || this.#asked.has(key)) return true;
    if (!this.#hasRoom(key)) return false;
    if (atMs < this.#later.dueMs(key)) this.#later.set(key, atMs);
    return true;
  }

  /** A key is to be worked on at `atMs` and not before, whatever it waits for. False: there are too many. */
  postpone(key: string, atMs: number): boolean {
    if (!this.#hasRoom(key)) return false;
    this.#ready.delete(key);
    this.#asked.delete(key);
    this.#retries.delete(key);
    this.#later.set(key, atMs);
    return true;
  }

  /** Takes the key that is ready the longest, of the lane whose turn it is, into work; undefined when none is. */
  take(nowMs: number): string | undefined {
    const [key, readyMs] = this.#ready.take() ?? [];
    if (key === undefined || readyMs === undefined) return undefined;
    this.#counts.waited((nowMs - readyMs) / 1000);
    this.#working.set(key, nowMs);
    return key;
  }

  /** Work on a key ended well. It is looked at again at `againAtMs`, where that is given. */
  done(key: string, nowMs: number, againAtMs?: number): void {
    const askedMs = this.#end(key, nowMs);
    this.#failures.delete(key);
    if (askedMs !== undefined) this.#ready.set(key, askedMs);
    else if (againAtMs !== undefined) {
      this.#counts.retried();
      this.addAt(key, againAtMs);
    }
  }

  /** Work on a key failed, so often in a row now: it is tried again after a pause. */
  failed(key: string, nowMs: number): number {
    const { retryMsMin, retryMsMax } = this.#pace;
    const askedMs = this.#end(key, nowMs);
    const count = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, count);
    const pauseMs = Math.min(retryMsMax, retryMsMin * 2 ** Math.min(count - 1, 50)) * (0.5 + this.#random() / 2);
    this.#counts.retried();
    this.#retries.set(key, nowMs + pauseMs);
    // What failed may have asked for itself, by what it wrote: it waits for the first pause at least.
    if (askedMs !== undefined) this.addAt(key, nowMs + retryMsMin);
    return count;
  }

  /** Moves keys whose time came to where they are ready. */
  wake(nowMs: number): void {
    const { gatherMs, gatheredMax } = this.#pace;
    let left = gatherMs > 0 ? gatheredMax : Number.POSITIVE_INFINITY;
    if (nowMs >= this.#gatherFromMs && this.#later.firstMs <= nowMs) {
      this.#gatherFromMs = nowMs + gatherMs;
      for (let key = this.#later.take(nowMs); key !== undefined; ) {
        this.#put(key, nowMs);
        key = --left > 0 ? this.#later.take(nowMs) : undefined;
      }
    }
    while (this.#retries.firstMs <= nowMs && this.#allowance.take(nowMs)) {
      const key = this.#retries.take(nowMs);
      if (key !== undefined) this.#put(key, nowMs);
    }
  }

  /** When wake() has something to do; infinite when nothing waits for its time. */
  get nextMs(): number {
    const retryMs = Math.max(this.#retries.firstMs, this.#allowance.nextMs);
    return Math.min(retryMs, Math.max(this.#later.firstMs, this.#gatherFromMs));
  }

  /** Forgets all keys but those in work. */
  clear(): void {
    for (const keys of [this.#ready, this.#asked, this.#later, this.#retries, this.#failures]) keys.clear();
  }

  #put(key: string, nowMs: number): void {
    this.#later.delete(key);
    this.#retries.delete(key);
    if (this.#ready.has(key) || this.#asked.has(key)) return;
    this.#counts.added();
    (this.#working.has(key) ? this.#asked : this.#ready).set(key, nowMs);
  }

  #end(key: string, nowMs: number): number | undefined {
    const begunMs = this.#working.get(key);
    assert(begunMs !== undefined, "Work ends that never began");
    this.#working.delete(key);
    this.#counts.worked((nowMs - begunMs) / 1000);
    const askedMs = this.#asked.get(key);
    this.#asked.delete(key);
    return askedMs;
  }

  /** A key that is known already always has room. */
  #hasRoom(key: string): boolean {
    return this.size < this.#pace.keysMax || this.has(key) || this.#working.has(key);
  }
}
