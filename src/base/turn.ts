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

/**
 * Does pieces of many long works in the order they come, at most so many milliseconds of all of them in a turn of the
 * loop, and one piece at least; one instance for all such work of a thread. However many works there are, what else the
 * loop has to do waits for no more than that.
 */
export class Pieces {
  readonly #msMax: number;
  #waiting: (() => void)[] = [];

  /** `msMax`: after how many milliseconds of pieces no further one is begun in a turn. */
  constructor(msMax: number) {
    this.#msMax = msMax;
  }

  /** Does a piece in a later turn; resolves with what it comes to, rejects with what it throws. */
  do<T>(piece: () => T | Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => this.#turn());
      this.#waiting.push(() => {
        try {
          resolve(piece());
        } catch (error) {
          reject(error as Error);
        }
      });
    });
  }

  #turn(): void {
    const begunMs = performance.now();
    let done = 0;
    do (this.#waiting[done++] as () => void)();
    while (done < this.#waiting.length && performance.now() - begunMs < this.#msMax);
    this.#waiting = this.#waiting.slice(done);
    if (this.#waiting.length > 0) setImmediate(() => this.#turn());
  }
}
