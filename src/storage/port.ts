// A front's StoreClient over a message port: all changes of a turn go as one message, outcomes come back in order. The
// queue is divided among users: deletes of many large objects leave room for another user's write.
import type { MessagePort } from "node:worker_threads";
import { assert, assertShared } from "../base/assert.ts";
import { type Owner, Shares, takeBoth } from "../base/shares.ts";
import { limits } from "../config/limits.ts";
import type { StoreClient } from "./client.ts";
import { type Change, changeTypes, type Outcome, StoreError } from "./store.ts";
import { type Reply, type Request, RequestWriter, readReply } from "./wire.ts";

/** Bounds of one front's queue to the store. */
export interface QueueLimits {
  readonly storeQueueMax: number;
  readonly storeQueueBytesMax: number;
}

/** Changes the server makes for itself. */
const ownChanges: Owner = { name: "", level: "masters" };

interface Waiting {
  /** Releases its share of the queue. */
  readonly leave: () => void;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: Error) => void;
}

/** The front's end of `port`; the other end belongs to serveStore(). */
export class PortClient implements StoreClient {
  readonly #port: MessagePort;
  readonly #places: Shares;
  readonly #bytes: Shares;
  readonly #writer = new RequestWriter();
  /** Changes posted or about to be, oldest first from #oldest on. */
  #waiting: Waiting[] = [];
  #oldest = 0;
  readonly #probes: { readonly resolve: () => void; readonly reject: (error: Error) => void }[] = [];
  #dead = false;

  constructor(port: MessagePort, queue: QueueLimits = limits) {
    this.#port = port;
    this.#places = new Shares("changes waiting for the store", queue.storeQueueMax);
    this.#bytes = new Shares("bytes of changes waiting for the store", queue.storeQueueBytesMax);
    port.on("message", (reply: Reply) => {
      // The answer to a probe, which names no change; probes are answered in order.
      if (reply.outcomes.length > 0) return this.#settle(readReply(reply));
      const probe = this.#probes.shift();
      assertShared(probe !== undefined || this.#dead, "The store answers a probe that was not sent");
      probe?.resolve();
    });
    port.on("close", () => this.#die());
  }

  /** Changes without an outcome yet. */
  get queued(): number {
    return this.#waiting.length - this.#oldest;
  }

  commit(change: Change, owner: Owner = ownChanges): Promise<Outcome> {
    assert(
      (change.type === changeTypes.create) === (change.expected === 0),
      `Type ${change.type} expects ${change.expected}`,
    );
    if (this.#dead) return Promise.resolve({ refused: "unavailable", message: "The store thread has ended" });
    const leave = takeBoth(this.#places, this.#bytes, owner, change.body.length + change.selection.length);
    if (leave === undefined) {
      const { name } = owner;
      const held = `${this.#places.heldBy(name)} of ${this.queued} changes, ${this.#bytes.heldBy(name)} of ${this.#bytes.used} bytes`;
      return Promise.resolve({
        refused: "busy",
        message: `of the changes that wait for the store, the user has ${held}`,
      });
    }
    if (this.#writer.count === 0) setImmediate(() => this.#flush());
    this.#writer.add(change);
    return new Promise((resolve, reject) => this.#waiting.push({ leave, resolve, reject }));
  }

  /** Checks that the store thread runs: resolves when its loop handles the probe, rejects when the thread ended. */
  probe(): Promise<void> {
    if (this.#dead) return Promise.reject(new StoreError("unavailable", "The store thread has ended"));
    return new Promise((resolve, reject) => {
      this.#probes.push({ resolve, reject });
      this.#port.postMessage({ count: 0, bytes: new ArrayBuffer(0) } satisfies Request);
    });
  }

  /** Ends the connection; waiting changes are rejected. */
  close(): void {
    this.#port.close();
  }

  #flush(): void {
    if (this.#dead) return;
    const request = this.#writer.take();
    assertShared(request.count > 0, "A request without changes");
    assertShared(request.count <= this.queued, "A request has more changes than wait for their outcome");
    this.#port.postMessage(request, [request.bytes]);
  }

  #settle(outcomes: Outcome[]): void {
    for (const outcome of outcomes) {
      const waiting = this.#waiting[this.#oldest++];
      assertShared(waiting !== undefined, "Outcome without a change");
      waiting.leave();
      waiting.resolve(outcome);
    }
    // Amortised: half of the kept entries are still waiting.
    if (2 * this.#oldest >= this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#oldest);
      this.#oldest = 0;
    }
  }

  #die(): void {
    if (this.#dead) return;
    this.#dead = true;
    const error = new StoreError("unavailable", "The store went away before it answered");
    for (const { leave, reject } of this.#waiting.slice(this.#oldest)) {
      leave();
      reject(error);
    }
    for (const probe of this.#probes.splice(0)) probe.reject(error);
    this.#waiting = [];
    this.#oldest = 0;
  }
}
