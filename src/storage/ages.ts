// How old revisions are: samples of the time and of the newest revision then. Every engine keeps some, a durable one
// beside its data.
import { assertShared } from "../base/assert.ts";
import type { Clock } from "../base/clock.ts";

/** A time in milliseconds since 1970, and the newest revision then. */
export type Sample = readonly [timeMs: number, revision: number];

/** A sample per this much time with changes. */
const sampleMs = 10_000;

/** The samples of one store, oldest first. */
export class Ages {
  readonly #now: () => number;
  readonly #samples: Sample[];

  /** `samples`: those of before, by time. */
  constructor(clock: Clock, samples: readonly Sample[] = []) {
    // Time is monotonic while the process runs, whatever happens to the wall clock.
    const skew = clock.now() - clock.monotonic();
    this.#now = () => Math.round(clock.monotonic() + skew);
    this.#samples = [...samples];
  }

  /** The samples, for an engine that keeps them elsewhere. */
  get samples(): readonly Sample[] {
    return this.#samples;
  }

  /** Now, as samples count it. */
  now(): number {
    return this.#now();
  }

  /** Whether note() is due, for the newest revision before the changes of now. */
  isDue(now: number, revision: number): boolean {
    const last = this.#samples.at(-1);
    if (last === undefined) return true;
    return now < last[0] || (now >= last[0] + sampleMs && revision > last[1]);
  }

  /** Times of samples that note() drops: they are from a clock that was ahead. */
  aheadOf(now: number): number[] {
    return this.#samples.flatMap(([time]) => (time > now ? [time] : []));
  }

  /** Notes that `revision` is at least this old. */
  note(now: number, revision: number): void {
    while (this.#samples.length > 0 && (this.#samples.at(-1) as Sample)[0] >= now) this.#samples.pop();
    const last = this.#samples.at(-1);
    assertShared(last === undefined || last[1] <= revision, `Revision ${revision} is noted after ${last?.[1]}`);
    this.#samples.push([now, revision]);
  }

  /** Times of samples that say nothing any more above `floor`: all but the newest at or below it. */
  behind(floor: number): number[] {
    return this.#samples.flatMap(([time], i) => {
      const next = this.#samples[i + 1];
      return next !== undefined && next[1] <= floor ? [time] : [];
    });
  }

  /** Drops what behind() names. */
  drop(floor: number): void {
    while (this.#samples.length > 1 && (this.#samples[1] as Sample)[1] <= floor) this.#samples.shift();
  }

  /** The newest revision that is at least `ageMs` old: Store.revisionAged(). */
  revisionAged(ageMs: number): number {
    const timeMs = this.#now() - ageMs;
    let revision = 0;
    for (const [time, newest] of this.#samples) {
      if (time > timeMs) break;
      revision = newest;
    }
    return revision;
  }
}
