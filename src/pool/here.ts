// A pool without threads: orders are carried out on the thread that gives them, each in a turn of its own. What runs cannot
// be ended, and holds up everything else of its thread for as long as it takes.
import { nextTurn } from "../base/turn.ts";
import type { Answer, Order } from "./task.ts";

/** What carries orders out in place of threads. */
export class Here {
  readonly #work: (order: Order) => Promise<Answer>;
  readonly #begun: (id: number) => void;

  /** `begun` is told of an order before it is carried out. */
  constructor(work: (order: Order) => Promise<Answer>, begun: (id: number) => void) {
    this.#work = work;
    this.#begun = begun;
  }

  /** Has an order carried out, after what the loop has to do first. */
  async run(order: Order): Promise<Answer> {
    await nextTurn();
    this.#begun(order.id);
    return this.#work(order);
  }

  /** There is nothing to end. */
  end(): Promise<void> {
    return Promise.resolve();
  }
}
