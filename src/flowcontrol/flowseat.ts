// What a request does about its seats, whatever its level says.
import type { Level } from "./level.ts";
import { type Asking, type Flow, HeldSeats, Rejection } from "./ticket.ts";

/** A request at its level: it takes its seats, may lend them, and gives them back. */
export class FlowSeat {
  readonly #level: Level;
  readonly #flow: Flow;
  readonly #width: number;
  readonly #asking: Asking;
  readonly #kind: { executing: number; waiting: number };
  #held: HeldSeats | undefined;
  #isOver = false;

  constructor(level: Level, flow: Flow, width: number, asking: Asking, kind: { executing: number; waiting: number }) {
    this.#level = level;
    this.#flow = flow;
    this.#width = width;
    this.#asking = asking;
    this.#kind = kind;
  }

  /**
   * Takes the seats, at once or when they are free; false: the request is rejected. `onGone` is given what is to be called
   * when its client goes away while it waits.
   */
  take(onGone: (cancel: () => void) => void): boolean | Promise<boolean> {
    if (this.#held !== undefined) return true;
    const outcome = this.#level.enter(this.#flow, this.#width, this.#asking);
    if (outcome instanceof HeldSeats) return this.#hold(outcome);
    if (outcome instanceof Rejection) return false;
    onGone(() => outcome.cancel());
    this.#kind.waiting++;
    return outcome.outcome.then((held) => {
      this.#kind.waiting--;
      return held instanceof HeldSeats && this.#hold(held);
    });
  }

  /** Gives the seats back; take() takes them again. */
  pause(): void {
    if (this.#held === undefined) return;
    this.#kind.executing--;
    this.#held.release();
    this.#held = undefined;
  }

  /** Gives them back for good. */
  release(): void {
    this.pause();
    this.#isOver = true;
  }

  #hold(held: HeldSeats): boolean {
    this.#held = held;
    this.#kind.executing++;
    if (!this.#isOver) return true;
    this.pause();
    return false;
  }
}
