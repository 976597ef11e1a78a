// Whether the front threads turn: each leaves the time in a word of its own now and then, and every front reads them all,
// so that one that hangs shows in the health checks others answer.
import { limits } from "../config/limits.ts";

/** Words: one for each front there may be, and one for the thread of the controllers. */
const slots = 65;
const controllersSlot = 64;

/** Memory for the beats of a process; zero: the thread does not run. */
export function beatsMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(slots * Int32Array.BYTES_PER_ELEMENT);
}

/** The beats as one thread sees them. Times are seconds of the machine's monotonic clock, which threads share. */
export class Beats {
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #seconds: () => number;

  constructor(memory: SharedArrayBuffer, seconds: () => number = () => process.hrtime()[0] + 1) {
    this.#words = new Int32Array(memory);
    this.#seconds = seconds;
  }

  /** The thread of this name turns. */
  beat(name: string): void {
    Atomics.store(this.#words, slotOf(name), this.#seconds());
  }

  /** It does not run any more, or not yet again. */
  clear(name: string): void {
    Atomics.store(this.#words, slotOf(name), 0);
  }

  /** What is wrong, naming a thread that runs and has not turned for limits.frontHungSeconds; undefined: all turn. */
  hung(): string | undefined {
    const now = this.#seconds();
    for (let slot = 0; slot < slots; slot += 1) {
      const seen = Atomics.load(this.#words, slot);
      if (seen === 0 || now - seen <= limits.frontHungSeconds) continue;
      return `${slot === controllersSlot ? "controllers" : `front-${slot}`} has not turned for ${now - seen} s`;
    }
    return undefined;
  }
}

function slotOf(name: string): number {
  return name === "controllers" ? controllersSlot : Number(name.slice("front-".length));
}
