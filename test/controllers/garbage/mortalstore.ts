// A store between a collector and the server's, which ends with the collector: between any two commits, or between a commit
// and its answer.
import type { StoreClient } from "../../../src/storage/client.ts";
import type { Change, Outcome } from "../../../src/storage/store.ts";

/** What a collector writes to until it is killed: then nothing it asks for is done, and nothing is answered. */
export class MortalStore implements StoreClient {
  readonly #store: StoreClient;
  readonly #check: (change: Change) => void;
  /** Called before and after each commit; true: this is the end. */
  readonly #ends: () => boolean;
  /** Lasts as long as a commit is under way before the store has it. */
  readonly #way: (change: Change) => Promise<void>;
  #isDead = false;

  constructor(
    store: StoreClient,
    check: (change: Change) => void,
    ends: () => boolean,
    way: (change: Change) => Promise<void>,
  ) {
    this.#way = way;
    this.#store = store;
    this.#check = check;
    this.#ends = ends;
  }

  async commit(change: Change): Promise<Outcome> {
    await this.#way(change);
    this.#look();
    if (this.#isDead) return never();
    this.#check(change);
    const outcome = await this.#store.commit(change);
    this.#look();
    return this.#isDead ? never() : outcome;
  }

  #look(): void {
    if (!this.#isDead) this.#isDead = this.#ends();
  }
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}
