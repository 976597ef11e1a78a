// The one way a long piece of work lets the thread do something else in between.

/** Resolves in the next turn of the loop, after pending reads, wake-ups and timers. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Does work step by step, at most so many milliseconds of it in a turn; resolves with what the steps come to. */
export async function inSlices<T>(steps: Iterator<unknown, T>, msMax: number): Promise<T> {
  const turn = new Turn(msMax);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (turn.isOver) await nextTurn();
  }
}

/** Limits the time of long work in one turn of the loop; one instance for all such work of a thread. */
export class Turn {
  readonly #msMax: number;
  #endMs = 0;
  /** The loop is still in the turn that was looked at last. */
  #isRunning = false;

  /** `msMax`: time of all such work together in one turn, in milliseconds. */
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

  /** Resolves at once, or in the next turn if this one is over: each waiting caller gets one step in each turn. */
  async giveWay(): Promise<void> {
    if (this.isOver) await nextTurn();
  }
}
