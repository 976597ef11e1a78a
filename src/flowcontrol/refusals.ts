// A client that asks again as soon as it is refused costs a front as much as one that is served little: thousands of
// refusals a second. Who is refused often gets its refusals late, so that a connection asks about once a second.
import type { Clock } from "../base/clock.ts";
import type { Owner } from "../base/shares.ts";
import { limits } from "../config/limits.ts";

/** Refusals of one front: how often each owner was refused in this second, and how many are held back. */
export class Refusals {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #delayed: () => void;
  readonly #counts = new Map<string, number>();
  #second = 0;
  #held = 0;

  /** `random`: 0 to 1; `delayed` is called for each refusal that is held back. */
  constructor(clock: Clock, random: () => number = Math.random, delayed: () => void = () => {}) {
    this.#clock = clock;
    this.#random = random;
    this.#delayed = delayed;
  }

  /** Refusals held back now. */
  get held(): number {
    return this.#held;
  }

  /**
   * Counts a refusal. Undefined: it is answered at once; else it is to be answered when the promise resolves, after about
   * the time its client is told to wait. The time differs, so that clients that ask together do not go on to.
   */
  hold({ name, level }: Owner): Promise<void> | undefined {
    if (level !== "ordinary") return undefined;
    const second = Math.floor(this.#clock.monotonic() / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#counts.clear();
    }
    const count = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, count);
    if (count <= limits.refusalsPerSecond || this.#held >= limits.refusalsHeldMax) return undefined;
    this.#held++;
    this.#delayed();
    const [least, most] = limits.refusalHeldMs;
    return new Promise((resolve) => {
      setTimeout(
        () => {
          this.#held--;
          resolve();
        },
        least + (most - least) * this.#random(),
      );
    });
  }
}
