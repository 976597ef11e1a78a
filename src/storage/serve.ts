// The store thread's loop: take the queued changes, commit them in one transaction, publish, acknowledge, repeat.
// Published records come from the store's watch only; the store delivers them before a commit resolves. One call of the
// store follows the other, and there is no timer between them: while a transaction waits for the disk the next batch
// gathers by itself.
import type { MessagePort } from "node:worker_threads";
import { assertShared } from "../base/assert.ts";
import { failpoint } from "../base/failpoint.ts";
import { limits } from "../config/limits.ts";
import { type Change, type Outcome, type Record, type Store, StoreError } from "./store.ts";
import { ReplyWriter, type Request, readRequest } from "./wire.ts";

/** One commit, for metrics. */
export interface BatchSeen {
  /** Changes asked for, mismatches and refusals included. */
  readonly changes: number;
  readonly records: number;
  /** From the start of the transaction until its records are on the disk and were published. */
  readonly commitMs: number;
}

/** The publisher, asked about each change. */
export interface Prefixes {
  /** Whether what is committed below a prefix can be published; if so, that stays true until settled(). */
  expect(prefix: string): boolean;
  /** The change is published, or was not made. */
  settled(prefix: string): void;
}

/** Dependencies and settings of the loop. */
export interface ServeOptions {
  readonly store: Store;
  /** Takes every record above `after`, in order, before anybody hears of it: the shared log. */
  readonly publish: (records: readonly Record[]) => void;
  /** Newest published revision. */
  readonly after: number;
  /** Age from which records are compacted; default limits.historyMsMin. */
  readonly historyMs?: number;
  /** Time between looks for it; default limits.compactionMs. */
  readonly compactionMs?: number;
  readonly observe?: (batch: BatchSeen) => void;
  /** Changes of prefixes it does not expect are refused; left out: none are. */
  readonly prefixes?: Prefixes;
}

interface Asker {
  readonly port: MessagePort;
  readonly reply: ReplyWriter;
}

interface Queued {
  readonly change: Change;
  readonly asker: Asker;
}

/**
 * Starts the loop on this thread. Add the fronts' ports to it. A failing disk throws out of the thread and ends it.
 * Rejects as Store.watch() does.
 */
export async function serveStore(options: ServeOptions): Promise<StoreLoop> {
  const loop = new StoreLoop(options);
  const end = await options.store.watch(options.after, (records) => options.publish(records));
  loop.start(end);
  return loop;
}

/** The running loop. */
export class StoreLoop {
  readonly #store: Store;
  readonly #options: ServeOptions;
  readonly #ports = new Set<MessagePort>();
  #timer: NodeJS.Timeout | undefined;
  /** Ends the watch that publishes. */
  #unwatch: () => void = () => undefined;
  /** Oldest first from #head on; the fronts bound it, each its share. */
  #queue: Queued[] = [];
  #head = 0;
  #compactTo = 0;
  /** A look for old records is due. */
  #due = false;
  /** A turn is to come or under way. */
  #scheduled = false;
  /** Set while stopping: called when nothing is queued. */
  #stopped: (() => void) | undefined;

  constructor(options: ServeOptions) {
    this.#store = options.store;
    this.#options = options;
  }

  /** Called once, by serveStore(). */
  start(unwatch: () => void): void {
    assertShared(this.#timer === undefined, "A store loop is started twice");
    this.#unwatch = unwatch;
    this.#timer = setInterval(() => {
      this.#due = true;
      this.#schedule();
    }, this.#options.compactionMs ?? limits.compactionMs);
  }

  /** Changes that wait for a transaction. */
  get queued(): number {
    return this.#queue.length - this.#head;
  }

  /** Serves one more front. */
  add(port: MessagePort): void {
    this.#ports.add(port);
    port.on("message", (request: Request) => this.#enqueue(port, request));
    port.on("close", () => this.#ports.delete(port));
  }

  /** Commits the queue, takes no more changes, closes the ports and then the store. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await new Promise<void>((resolve) => {
      this.#stopped = resolve;
      this.#schedule();
    });
    for (const port of this.#ports) {
      port.removeAllListeners("message");
      port.close();
    }
    this.#unwatch();
    await this.#store.close();
  }

  #enqueue(port: MessagePort, request: Request): void {
    if (request.count === 0) {
      port.postMessage(new ReplyWriter(0).take());
      return;
    }
    const asker = { port, reply: new ReplyWriter(request.count) };
    for (const change of readRequest(request)) this.#queue.push({ change, asker });
    this.#schedule();
  }

  /** The messages of every port that has some are taken in before the immediate runs. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#turn().catch((error: unknown) => {
        // Out of the thread: nothing is known about the store any more.
        setImmediate(() => {
          throw error;
        });
      });
    });
  }

  async #turn(): Promise<void> {
    const batch = this.#take();
    if (batch.length > 0) await this.#commit(batch);
    if (this.#due) await this.#look();
    await this.#compact(batch.length);
    this.#scheduled = false;
    const queued = this.#head < this.#queue.length;
    if (!queued && this.#stopped !== undefined) this.#stopped();
    else if (queued || this.#due || this.#compactTo > this.#store.floor) this.#schedule();
  }

  #take(): Queued[] {
    const start = this.#head;
    let bytes = 0;
    while (
      this.#head < this.#queue.length &&
      this.#head - start < limits.commitChangesMax &&
      bytes < limits.commitBytesMax
    ) {
      bytes += (this.#queue[this.#head] as Queued).change.body.length;
      this.#head++;
    }
    assertShared(this.#head <= this.#queue.length, "More changes are taken than are queued");
    const batch = this.#queue.slice(start, this.#head);
    if (2 * this.#head >= this.#queue.length) {
      this.#queue = this.#queue.slice(this.#head);
      this.#head = 0;
    }
    return batch;
  }

  async #commit(batch: readonly Queued[]): Promise<void> {
    const start = performance.now();
    const outcomes = await this.#outcomes(batch.map(({ change }) => change));
    const commitMs = performance.now() - start;
    assertShared(outcomes.length === batch.length, `${outcomes.length} outcomes for ${batch.length} changes`);
    // On a full disk history is dropped first: it only serves watches across a restart, the logs in memory keep theirs.
    if (outcomes.some((outcome) => "refused" in outcome && outcome.refused === "full"))
      this.#compactTo = this.#store.revision;
    failpoint("after-publish");
    let last = 0;
    outcomes.forEach((outcome, i) => {
      if ("revision" in outcome) {
        assertShared(outcome.revision > last, `Revision ${outcome.revision} is acknowledged after ${last}`);
        last = outcome.revision;
      }
      const { port, reply } = (batch[i] as Queued).asker;
      reply.add(outcome);
      if (!reply.complete) return;
      const message = reply.take();
      port.postMessage(message, [message.outcomes.buffer]);
    });
    assertShared(last <= this.#store.revision, `Revision ${last} is acknowledged of ${this.#store.revision}`);
    const records = outcomes.filter((outcome) => "revision" in outcome).length;
    this.#options.observe?.({ changes: batch.length, records, commitMs });
  }

  /**
   * Commits the changes that can be published. A kind that was given up between a request's resolution and this has no
   * log any more, and a commit would make it again.
   */
  async #outcomes(changes: readonly Change[]): Promise<readonly Outcome[]> {
    const { prefixes } = this.#options;
    if (prefixes === undefined) return this.#ask(changes);
    const expected = changes.filter(({ prefix }) => prefixes.expect(prefix));
    const outcomes = expected.length === 0 ? [] : await this.#ask(expected);
    for (const { prefix } of expected) prefixes.settled(prefix);
    if (expected.length === changes.length) return outcomes;
    let made = 0;
    return changes.map((change) => {
      if (change === expected[made]) return outcomes[made++] as Outcome;
      return { refused: "no-log", message: `Nothing is served from ${change.prefix}` };
    });
  }

  /** A full disk refuses the batch; whatever else the store throws ends the thread. */
  async #ask(changes: readonly Change[]): Promise<readonly Outcome[]> {
    try {
      return await this.#store.commit(changes);
    } catch (error) {
      if (!(error instanceof StoreError) || error.kind !== "full") throw error;
      const refusal = { refused: "full", message: error.message } as const;
      return changes.map(() => refusal);
    }
  }

  /** Looks for old records. The empty commit notes the time when changes have stopped. */
  async #look(): Promise<void> {
    this.#due = false;
    await this.#ask([]);
    this.#compactTo = this.#store.revisionAged(this.#options.historyMs ?? limits.historyMsMin);
  }

  /** Keeps pace with the changes of a busy store, and does one step per turn for the rest. */
  async #compact(changes: number): Promise<void> {
    try {
      for (let done = 0; this.#compactTo > this.#store.floor && done <= changes; done += limits.compactRecordsMax) {
        const { floor } = this.#store;
        await this.#store.compact(this.#compactTo);
        assertShared(this.#store.floor > floor, `A compaction leaves the floor at ${floor}`);
        assertShared(this.#store.floor <= this.#store.revision, "The floor is above the newest revision");
      }
    } catch (error) {
      if (!(error instanceof StoreError) || error.kind !== "full") throw error;
      this.#compactTo = 0;
    }
  }
}
