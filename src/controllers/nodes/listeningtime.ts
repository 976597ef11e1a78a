// The clock that silence of nodes is measured on: it runs while the server listens to heartbeats, and not while its process
// is stopped, starved or suspended. Measured on any other clock, a server that continues after a minute would find every
// node silent.
import type { Clock } from "../../base/clock.ts";

/** A monotonic clock that is to be read now and then; of a longer pause between two readings it counts a part. */
export class ListeningTime {
  readonly #clock: Clock;
  readonly #pauseMsMax: number;
  #readMs: number;
  #totalMs = 0;

  /** `pauseMsMax`: what counts at most of the time between two readings. */
  constructor(clock: Clock, pauseMsMax: number) {
    this.#clock = clock;
    this.#pauseMsMax = pauseMsMax;
    this.#readMs = clock.monotonic();
  }

  /** Milliseconds of listening. */
  get nowMs(): number {
    const readMs = this.#clock.monotonic();
    this.#totalMs += Math.min(readMs - this.#readMs, this.#pauseMsMax);
    this.#readMs = readMs;
    return this.#totalMs;
  }
}
