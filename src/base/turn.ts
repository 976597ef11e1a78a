// The one way a long piece of work lets the thread do something else in between.
import { Lanes } from "./lanes.ts";

/** Resolves in the next turn of the loop, after pending reads, wake-ups and timers. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

const { nodeTiming } = performance as {
  readonly nodeTiming: { readonly uvMetricsInfo?: { readonly loopCount: number } };
};

/** A number that another turn does not have: where the runtime counts them (Node 20.18 and 22.8), that costs nothing. */
const turnNumber = nodeTiming.uvMetricsInfo === undefined ? counting() : () => nodeTiming.uvMetricsInfo?.loopCount ?? 0;

function counting(): () => number {
  let turns = 0;
  let isCounted = false;
  return () => {
    if (!isCounted) {
      isCounted = true;
      setImmediate(() => {
        isCounted = false;
        turns += 1;
      });
    }
    return turns;
  };
}

/** Does work step by step, in as many turns as `turn` gives its owner; resolves with what the steps come to. */
export async function inSlices<T>(steps: Iterator<unknown, T>, turn: Turn, owner = ""): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (turn.isOver) await turn.later(owner);
  }
}

/** Parts of a turn's time, of which each of those that wait has one before the next has its own. */
const sharesPerTurn = 4;

/**
 * Limits the time of long work in one turn of the loop; one instance for all such work of a thread, however many works
 * there are. Those that wait take turns by owner (lanes.ts). In each turn of the loop they have the whole time, whatever went
 * before, and one of them goes on at least.
 */
export class Turn {
  readonly #msMax: number;
  #endMs = 0;
  /** When what goes on gives way to others that wait. */
  #shareEndMs = 0;
  /** The turn that was looked at last. */
  #number = -1;
  /** What waits, by owner. */
  readonly #waiting = new Lanes<() => void>();
  /** One turn after the other lets some of those that wait go on. */
  #isDriven = false;

  /** `msMax`: time of all such work together in one turn, in milliseconds. */
  constructor(msMax: number) {
    this.#msMax = msMax;
  }

  /** Whether this turn has lasted long enough, or others wait for long enough; it begins with the first look. */
  get isOver(): boolean {
    const now = performance.now();
    if (turnNumber() !== this.#number) this.#begin(now);
    return now >= this.#endMs || (this.#isDriven && now >= this.#shareEndMs);
  }

  /** Before work begins: undefined when it may at once, else resolves when others that wait already have gone on. */
  enter(owner: string): Promise<void> | undefined {
    return this.#isDriven || this.isOver ? this.later(owner) : undefined;
  }

  /** Resolves at once, or as later() does if this turn is over. */
  async giveWay(owner = ""): Promise<void> {
    if (this.isOver) await this.later(owner);
  }

  /** Resolves in a later turn, when it is the owner's. */
  later(owner = ""): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.add(owner, resolve);
      if (this.#isDriven) return;
      this.#isDriven = true;
      setImmediate(() => this.#drive());
    });
  }

  #begin(now: number): void {
    this.#number = turnNumber();
    this.#endMs = now + this.#msMax;
  }

  #drive(): void {
    const now = performance.now();
    this.#begin(now);
    this.#step(now);
  }

  /** Lets one go on, and the next one when that has done what it can without waiting: ticks come after microtasks. */
  #step(now: number): void {
    this.#shareEndMs = now + this.#msMax / sharesPerTurn;
    this.#waiting.take()?.();
    this.#isDriven = this.#waiting.size > 0;
    if (!this.#isDriven) return;
    queueMicrotask(() => {
      process.nextTick(() => {
        const after = performance.now();
        if (after >= this.#endMs) setImmediate(() => this.#drive());
        else this.#step(after);
      });
    });
  }
}

/**
 * Does pieces of many long works, at most so many milliseconds of all of them in a turn of the loop, and one piece at
 * least; one instance for all such work of a thread. However many works there are, what else the loop has to do waits for
 * no more than that; and however many are one owner's, those of others take turns with it (lanes.ts).
 */
export class Pieces {
  readonly #msMax: number;
  readonly #waiting = new Lanes<() => void>();

  /** `msMax`: after how many milliseconds of pieces no further one is begun in a turn. */
  constructor(msMax: number) {
    this.#msMax = msMax;
  }

  /** Does a piece in a later turn, when it is the owner's; resolves with what it comes to, rejects with what it throws. */
  do<T>(piece: () => T | Promise<T>, owner = ""): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.size === 0) setImmediate(() => this.#turn());
      this.#waiting.add(owner, () => {
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
    do this.#waiting.take()?.();
    while (this.#waiting.size > 0 && performance.now() - begunMs < this.#msMax);
    if (this.#waiting.size > 0) setImmediate(() => this.#turn());
  }
}
