// Paces writes that put something right which another program keeps changing back: the first few follow at once, and
// then each waits twice as long as the one before. Without that, two programs that disagree write without end.
import { limits } from "../config/limits.ts";

interface Correction {
  /** What was written. */
  readonly wanted: string;
  readonly atMs: number;
  /** How often in a row. */
  readonly count: number;
}

/** What one controller put right lately, by key. */
export class Corrections {
  /** Oldest first. */
  readonly #last = new Map<string, Correction>();

  /**
   * Milliseconds until `key` may be written; 0: now, and the write counts. `wanted` names the outcome: another one than
   * before disagrees with no other writer yet.
   */
  take(key: string, wanted: string, nowMs: number): number {
    const last = this.#last.get(key);
    let count = 1;
    if (last !== undefined && last.wanted === wanted) {
      const pauseMs = pauseOf(last.count);
      const waitedMs = nowMs - last.atMs;
      if (waitedMs < pauseMs) return pauseMs - waitedMs;
      if (waitedMs < pauseMs + limits.correctionForgetMs) count = last.count + 1;
    }
    this.#last.delete(key);
    this.#last.set(key, { wanted, atMs: nowMs, count });
    this.#forget(nowMs);
    return 0;
  }

  #forget(nowMs: number): void {
    for (const [key, { atMs }] of this.#last) {
      const isKept = nowMs - atMs < limits.correctionMsMax + limits.correctionForgetMs;
      if (isKept && this.#last.size <= limits.correctionsMax) break;
      this.#last.delete(key);
    }
  }
}

function pauseOf(count: number): number {
  if (count < limits.correctionsFree) return 0;
  return Math.min(limits.correctionMsMax, limits.correctionMsMin * 2 ** (count - limits.correctionsFree));
}
