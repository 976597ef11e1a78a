// The store thread's loop: take the queued changes, commit them in one call, publish, acknowledge, repeat. Published
// records come from the store's watch only; the store delivers them before a commit resolves. There is no timer between
// commits: while one waits for the disk, or as many as the engine takes wait for their answers, the next batch gathers by
// itself.
import type { MessagePort } from "node:worker_threads";
import { assertShared } from "../base/assert.ts";
import { failpoint } from "../base/failpoint.ts";
import { limits } from "../config/limits.ts";
import type { Tracer } from "../observe/spans.ts";
import { type PackedPage, packPage } from "./past.ts";
import { RecentRevision } from "./recent.ts";
import {
  type Change,
  type Deliver,
  type EngineTraits,
  type LastOf,
  type Outcome,
  type Store,
  StoreError,
} from "./store.ts";
import { type Question, type Reply, ReplyWriter, type Request, readRequest } from "./wire.ts";

/** One commit, for metrics. */
export interface BatchSeen {
  /** Changes asked for, mismatches and refusals included. */
  readonly changes: number;
  readonly records: number;
  /** From the start of the call until its records are durable and were published. */
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
  /** Of its engine; left out: one call at a time, of a store no other process has open. */
  readonly traits?: EngineTraits;
  /** Takes every record above `after`, in order, before any client is told: the shared log. */
  readonly publish: Deliver;
  /** What was published last of a key. */
  readonly last?: LastOf;
  /** Newest published revision. */
  readonly after: number;
  /** Age from which records are compacted; default limits.historyMsMin. */
  readonly historyMs?: number;
  /** Time between looks for it; default limits.compactionMs. */
  readonly compactionMs?: number;
  readonly observe?: (batch: BatchSeen) => void;
  /** Changes of prefixes it does not expect are refused; left out: none are. */
  readonly prefixes?: Prefixes;
  /** Takes spans of changes and questions of requests that are sampled; left out: nothing is traced. */
  readonly tracer?: Tracer | undefined;
}

interface Asker {
  readonly port: MessagePort;
  /** Of its request. */
  readonly number: number;
  readonly reply: ReplyWriter;
}

interface Queued {
  readonly change: Change;
  readonly asker: Asker;
  /** Among the changes of the request. */
  readonly index: number;
  /** When it came, on the monotonic clock; 0: nothing is traced. */
  readonly queuedMs: number;
}

/**
 * Starts the loop on this thread. Add the fronts' ports to it. A failing disk throws out of the thread and ends it.
 * Rejects as Store.watch() does.
 */
export async function serveStore(options: ServeOptions): Promise<StoreLoop> {
  const loop = new StoreLoop(options);
  const end = await options.store.watch(
    options.after,
    (records, revision) => loop.publish(records, revision),
    options.last,
  );
  loop.start(end);
  return loop;
}

/** The running loop. */
export class StoreLoop {
  readonly #store: Store;
  readonly #traits: EngineTraits;
  readonly #options: ServeOptions;
  readonly #ports = new Set<MessagePort>();
  #timer: NodeJS.Timeout | undefined;
  /** Ends the watch that publishes. */
  #unwatch: () => void = () => undefined;
  /** Oldest first from #head on; the fronts bound it, each its share. */
  #queue: Queued[] = [];
  #head = 0;
  #compactTo = 0;
  #compacting = false;
  /** A look for old records is due. */
  #due = false;
  /** A turn is to come. */
  #scheduled = false;
  /** Turns under way: one call of the store each. */
  #underWay = 0;
  readonly #recent: RecentRevision;
  /** Set while stopping: called when nothing is queued. */
  #stopped: (() => void) | undefined;

  constructor(options: ServeOptions) {
    this.#store = options.store;
    this.#traits = options.traits ?? { overlap: 1, isShared: false };
    this.#options = options;
    this.#recent = new RecentRevision(options.store, options.after);
  }

  /** Takes what the store's watch delivers. */
  publish: Deliver = (records, revision) => {
    this.#options.publish(records, revision);
    this.#recent.published(revision);
  };

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
    if (request.kind !== "changes") return this.#answer(port, request);
    const asker = { port, number: request.number, reply: new ReplyWriter(request.count) };
    const { tracer } = this.#options;
    const queuedMs = tracer === undefined ? 0 : performance.now();
    const changes = readRequest(request, tracer && ((parent) => tracer.within(parent)));
    changes.forEach((change, index) => this.#queue.push({ change, asker, index, queuedMs }));
    this.#schedule();
  }

  #answer(port: MessagePort, question: Question): void {
    const { number } = question;
    const value = this.#valueOf(question);
    if (value === undefined) return port.postMessage({ kind: "answer", number, value } satisfies Reply);
    const failed = (error: unknown): void => {
      if (!(error instanceof StoreError)) return fail(error);
      port.postMessage({ kind: "failed", number, error: error.kind, message: error.message } satisfies Reply);
    };
    value.then((answer) => {
      const transferred = typeof answer === "number" ? [] : [answer.bytes, answer.numbers.buffer];
      port.postMessage({ kind: "answer", number, value: answer } satisfies Reply, transferred);
    }, failed);
  }

  /** Undefined: the answer is that there is one. */
  #valueOf(question: Question): Promise<number | PackedPage> | undefined {
    if (question.kind === "probe") return undefined;
    const spans = question.parent && this.#options.tracer?.within(question.parent);
    if (question.kind === "recent") return this.#recent.ask(spans);
    assertShared(this.#store.listAt !== undefined, "A page is asked of a store without a past");
    return this.#store.listAt(question.request, spans).then(packPage);
  }

  /** The messages of every port that has some are taken in before the immediate runs. */
  #schedule(): void {
    if (this.#scheduled || this.#underWay === this.#traits.overlap) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#underWay++;
      // Nothing is known about the store any more.
      this.#turn().catch(fail);
    });
  }

  /** One batch, and what is due besides; others may go on meanwhile. */
  async #turn(): Promise<void> {
    const batch = this.#take();
    if (this.queued > 0) this.#schedule();
    if (batch.length > 0) await this.#commit(batch);
    if (this.#due) await this.#look();
    if (!this.#compacting) await this.#compact(batch.length);
    this.#underWay--;
    if (this.queued === 0 && this.#underWay === 0 && this.#stopped !== undefined) this.#stopped();
    else if (this.queued > 0 || this.#due || this.#hasOld) this.#schedule();
  }

  /** There is something to compact, and it is not being done. */
  get #hasOld(): boolean {
    return !this.#compacting && this.#compactTo > this.#store.floor;
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
    const end = performance.now();
    const commitMs = end - start;
    if (this.#options.tracer !== undefined) traceCommit(batch, start, end);
    assertShared(outcomes.length === batch.length, `${outcomes.length} outcomes for ${batch.length} changes`);
    const { overlap, isShared } = this.#traits;
    // On a full disk history is dropped first: it only serves watches across a restart, the logs in memory keep theirs.
    // Other servers may still read it.
    if (!isShared && outcomes.some((outcome) => "refused" in outcome && outcome.refused === "full"))
      this.#compactTo = this.#store.revision;
    failpoint("after-publish");
    let last = 0;
    outcomes.forEach((outcome, i) => {
      if ("revision" in outcome) {
        const { revision } = outcome;
        assertShared(revision > last || overlap > 1, `Revision ${revision} is acknowledged after ${last}`);
        last = Math.max(last, revision);
      }
      const { asker, index } = batch[i] as Queued;
      const { port, number, reply } = asker;
      reply.put(index, outcome);
      if (!reply.complete) return;
      const message = reply.take(number);
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

  /** Looks for old records. The empty commit notes the time when changes have stopped, and takes a journal to its tree. */
  async #look(): Promise<void> {
    this.#due = false;
    await this.#ask([]);
    const { floor, revision, nearlyFull } = this.#store;
    const old = this.#store.revisionAged(this.#options.historyMs ?? limits.historyMsMin);
    // Half of it, and half of that at the next look if need be: what is left serves watches across a restart.
    this.#compactTo = nearlyFull ? Math.max(old, Math.ceil((floor + revision) / 2)) : old;
  }

  /** Keeps pace with the changes of a busy store, and does one step per turn for the rest. */
  async #compact(changes: number): Promise<void> {
    this.#compacting = true;
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
    } finally {
      this.#compacting = false;
    }
  }
}

/** The spans of what a batch has of sampled requests: the wait for a turn, and the commit with all it was made with. */
function traceCommit(batch: readonly Queued[], startMs: number, endMs: number): void {
  for (const { change, queuedMs } of batch) {
    change.spans?.stage("store queue", queuedMs, startMs);
    change.spans?.stage("store commit", startMs, endMs, [["store.changes", batch.length]]);
  }
}

/** Out of the thread. */
function fail(error: unknown): void {
  setImmediate(() => {
    throw error;
  });
}
