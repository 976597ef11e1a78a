// Writes under way, by key: an event that comes back with the bytes of one is that write. Its record then needs no decoding,
// and a write whose answer was lost is known to have been made.
import type { Change } from "../store.ts";
import type { Sending } from "./client.ts";

/** A write that is sent, or will be when a member accepts a connection. */
export interface Pending extends Sending {
  readonly change: Change;
  /** The bytes sent; undefined: a delete. */
  readonly value: Uint8Array | undefined;
  /** Values.generation() from before they were made. */
  readonly generation: number;
  /** Newest revision the watch had told when it was sent: it comes after that one. */
  toldBefore: number;
  /** Its revision, once its event has come. */
  revision: number;
  /** Called when its answer may have been lost. */
  doubt: () => void;
}

/** The writes of one server. */
export class PendingWrites {
  readonly #byKey = new Map<string, Pending[]>();
  readonly #told: () => number;

  /** `told`: the newest revision the watch has told. */
  constructor(told: () => number) {
    this.#told = told;
  }

  /** Notes a write before it is sent. */
  add(change: Change, value: Uint8Array | undefined, generation: number): Pending {
    const pending: Pending = {
      change,
      value,
      generation,
      isSent: false,
      sends: () => {
        pending.toldBefore = this.#told();
      },
      toldBefore: 0,
      revision: 0,
      doubt: () => undefined,
    };
    const known = this.#byKey.get(change.key);
    if (known === undefined) this.#byKey.set(change.key, [pending]);
    else known.push(pending);
    return pending;
  }

  /** The write has ended. */
  remove(pending: Pending): void {
    const { key } = pending.change;
    const left = this.#byKey.get(key)?.filter((each) => each !== pending) ?? [];
    if (left.length === 0) this.#byKey.delete(key);
    else this.#byKey.set(key, left);
  }

  /** Answers of all writes that were sent may have been lost. */
  doubtAll(): void {
    for (const known of this.#byKey.values()) for (const { isSent, doubt } of known) if (isSent) doubt();
  }

  /** The write that put `value` at a key at a revision, over what was there at `before`; undefined: none of ours. */
  match(key: string, value: Uint8Array, before: number, revision: number): Pending | undefined {
    const known = this.#byKey.get(key);
    if (known === undefined) return undefined;
    for (const pending of known) {
      if (pending.value === undefined || pending.revision !== 0 || pending.change.expected !== before) continue;
      if (Buffer.compare(pending.value, value) !== 0) continue;
      pending.revision = revision;
      return pending;
    }
    return undefined;
  }
}
