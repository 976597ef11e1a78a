// How often something may be done: so many at once, and so many per second in the long run.

/** A token bucket. */
export class Allowance {
  readonly #perSecond: number;
  readonly #max: number;
  #left: number;
  #countedMs = Number.NEGATIVE_INFINITY;

  /** `max`: at once, after a pause; at least 1. */
  constructor(perSecond: number, max: number) {
    this.#perSecond = perSecond;
    this.#max = max;
    this.#left = max;
  }

  /** Whether it may be done now, on a clock of milliseconds that never goes back; true counts. */
  take(nowMs: number): boolean {
    if (this.nextMs > nowMs) return false;
    this.#refill(nowMs);
    this.#left -= 1;
    return true;
  }

  /** From when on take() says yes. */
  get nextMs(): number {
    return this.#left >= 1 ? this.#countedMs : this.#countedMs + ((1 - this.#left) * 1000) / this.#perSecond;
  }

  #refill(nowMs: number): void {
    const more = Math.max(0, ((nowMs - this.#countedMs) * this.#perSecond) / 1000);
    this.#left = Math.min(this.#max, this.#left + more);
    this.#countedMs = nowMs;
  }
}
