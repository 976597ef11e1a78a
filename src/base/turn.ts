// The one way a long piece of work lets the thread do something else in between.

/** Resolves in the next turn of the loop: what waits for its turn (reads, wakes, timers) comes first. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Tells long work when its turn of the loop has lasted long enough; one for all who share a thread for such work. */
export class Turn {
  readonly #msMax: number;
  #endMs = 0;
  /** The loop is still in the turn that was looked at last. */
  #isRunning = false;

  /** `msMax`: what everybody together may take of one turn, in milliseconds. */
  constructor(msMax: number) {
    this.#msMax = msMax;
  }

  /** Whether this turn has lasted long enough; it begins with the first look. */
  get isOver(): boolean {
    const now = performance.now();
    if (!this.#isRunning) {
      this.#isRunning = true;
      this.#endMs = now + this.#msMax;
      setImmediate(() => {
        this.#isRunning = false;
      });
    }
    return now >= this.#endMs;
  }

  /** Resolves at once, or in the next turn if this one is over: whoever waits gets a step done in each turn. */
  async giveWay(): Promise<void> {
    if (this.isOver) await nextTurn();
  }
}
