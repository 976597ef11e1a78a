// Threads for work that would hold up a front: started when they are first needed, ended when there was no work for a
// while. Threads are Piscina's (threads.ts). What it has not is here: tasks wait by owner and owners take turns; one
// owner never has all threads, nor all places of the queue.
//
// A task whose time is over is answered at once, but its thread finishes it: what runs cannot be stopped but with its
// thread, and to start one costs more than most tasks. The thread stays charged to the owner until then. Only a task
// that runs longer than any should ends its thread; its owner's further tasks are refused for a while.
import { assert, assertShared } from "../base/assert.ts";
import { type Owner, Shares } from "../base/shares.ts";
import { Here } from "./here.ts";
import type { Answer, Order, Task } from "./task.ts";
import { Threads, type ThreadsOptions } from "./threads.ts";
import { Turns } from "./turns.ts";

/** Why a task has no result. */
export type PoolFault =
  /** Too many of its owner's tasks wait. */
  | { readonly fault: "full" }
  /** A task of its owner ended a thread a moment ago. */
  | { readonly fault: "paused" }
  /** Its time was over, waiting or running. */
  | { readonly fault: "late" }
  /** It threw, or its thread ended. */
  | { readonly fault: "failed"; readonly error: unknown };

/** How a pool is made. */
export interface PoolOptions extends ThreadsOptions {
  /** What waits, as messages name it. */
  readonly what: string;
  /** Tasks that wait, of all owners. */
  readonly queueMax: number;
  /** A task that runs longer ends with its thread, milliseconds; the start of the thread is none of it. */
  readonly taskMsMax: number;
  /** A thread that takes longer to start is ended, with the task it was started for, milliseconds. */
  readonly startMsMax: number;
  /** An owner whose task ended a thread gets none for this long, milliseconds. */
  readonly pauseMs: number;
  /** Threads that had nothing to do for this long end, milliseconds. */
  readonly idleMs: number;
  /** Does tasks on this thread, where there are to be no threads (`threadsMax` 0). */
  readonly here?: ((order: Order) => Promise<Answer>) | undefined;
}

/** For whom a task is done, and until when. */
export interface TaskTerms {
  /** What it counts against. */
  readonly owner: Owner;
  /** It is answered in so many milliseconds. */
  readonly msMax: number;
  /** Buffers of the input that may be handed over. */
  readonly transfer?: readonly ArrayBuffer[];
}

interface Job {
  readonly id: number;
  readonly task: string;
  readonly input: unknown;
  readonly transfer: readonly ArrayBuffer[];
  readonly owner: string;
  /** Gives its place in the queue back. */
  readonly leave: () => void;
  /** Answers the caller; only the first call counts. */
  readonly settle: (result: object) => void;
  /** Ends its thread. */
  readonly ending: AbortController;
  /** Ends its thread when that takes too long to start, or the task runs too long. */
  guard: NodeJS.Timeout | undefined;
  isBegun: boolean;
}

/**
 * A pool of threads that do any task of their script's table, each one at a time. Without threads the calling thread does
 * them, one in a turn; owners take turns all the same.
 */
export class Pool {
  /** Tasks that wait, by owner. */
  readonly waiting: Shares;
  readonly #options: PoolOptions;
  /** What waits; one thread is left for other owners. */
  readonly #turns: Turns<Job>;
  /** Given to threads, by id. */
  readonly #running = new Map<number, Job>();
  /** Owners whose task ended a thread. */
  readonly #paused = new Map<string, NodeJS.Timeout>();
  /** How many tasks are done at a time. */
  readonly #lanes: number;
  /** Undefined: none are needed. */
  #threads: Threads | Here | undefined;
  /** A thread did not start: the threads are given up as soon as the tasks they work on are over. */
  #isSpent = false;
  #lastId = 0;
  #refused = 0;
  #idle: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#lanes = Math.max(1, options.threadsMax);
    this.#turns = new Turns(Math.max(1, options.threadsMax - 1));
    this.waiting = new Shares(options.what, options.queueMax);
  }

  /** Tasks that threads work on. */
  get running(): number {
    return this.#turns.running;
  }

  /** Tasks that were refused because too many of their owner's wait. */
  get refused(): number {
    return this.#refused;
  }

  /** Whether there are threads. */
  get isStarted(): boolean {
    return this.#threads !== undefined;
  }

  /** Does a task on another thread. */
  run<Input, Output extends object>(
    { name }: Task<Input, Output, never>,
    input: Input,
    { owner, msMax, transfer = [] }: TaskTerms,
  ): Promise<Output | PoolFault> {
    if (this.#closed) return Promise.resolve(closedFault);
    if (this.#paused.has(owner.name)) return Promise.resolve({ fault: "paused" });
    const leave = this.waiting.take(owner);
    if (leave === undefined) {
      this.#refused += 1;
      return Promise.resolve({ fault: "full" });
    }
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#giveUp(job), Math.max(0, msMax));
      const settle = (result: object): void => {
        clearTimeout(timer);
        resolve(result as Output | PoolFault);
      };
      const id = ++this.#lastId;
      const rest = { ending: new AbortController(), guard: undefined, isBegun: false };
      const job: Job = { id, task: name, input, transfer, owner: owner.name, leave, settle, ...rest };
      this.#turns.add(job);
      this.#assign();
    });
  }

  /** Gives what waits to threads that have nothing to do. */
  #assign(): void {
    clearTimeout(this.#idle);
    if (this.#closed) return;
    if (this.#isSpent) {
      if (this.#turns.running > 0) return;
      void this.#endThreads();
    }
    while (this.#turns.running < this.#lanes) {
      const job = this.#turns.take();
      if (job === undefined) break;
      job.leave();
      this.#give(job);
    }
    if (this.#turns.running === 0 && this.#threads !== undefined) {
      this.#idle = setTimeout(() => void this.#endThreads(), this.#options.idleMs).unref();
    }
  }

  #give(job: Job): void {
    this.#threads ??= this.#open();
    const { id, task, input, transfer, ending } = job;
    this.#running.set(id, job);
    this.#guard(job, this.#options.startMsMax);
    this.#threads.run({ id, task, input }, transfer, ending.signal).then(
      (answer) => this.#finish(job, answer),
      (error: unknown) => this.#lose(job, { fault: "failed", error }),
    );
  }

  #open(): Threads | Here {
    const begun = (id: number): void => this.#begin(id);
    const { threadsMax, here } = this.#options;
    if (threadsMax > 0) return new Threads(this.#options, { begun, failed: (error) => this.#fail(error) });
    assert(here !== undefined, "A pool without threads cannot do its tasks");
    return new Here(here, begun);
  }

  /** Ends the thread of a job unless something is heard of it within `ms`. */
  #guard(job: Job, ms: number): void {
    clearTimeout(job.guard);
    job.guard = setTimeout(() => this.#stop(job), ms);
  }

  /** A thread works on a task: its time begins. */
  #begin(id: number): void {
    const job = this.#running.get(id);
    // Its answer was heard of first.
    if (job === undefined) return;
    job.isBegun = true;
    this.#guard(job, this.#options.taskMsMax);
  }

  #finish(job: Job, answer: Answer): void {
    if (!this.#free(job)) return;
    job.settle(answer.output ?? { fault: "failed", error: "error" in answer ? answer.error : undefined });
    this.#assign();
  }

  /** No thread works for a job any more. False: none did. */
  #free(job: Job): boolean {
    clearTimeout(job.guard);
    if (!this.#running.delete(job.id)) return false;
    this.#turns.done(job.owner);
    assertShared(this.#turns.running === this.#running.size, "The pool counts other tasks than it has");
    return true;
  }

  /** A task has run for too long, or its thread has not started. */
  #stop(job: Job): void {
    if (!job.isBegun) this.#isSpent = true;
    job.ending.abort();
    this.#lose(job, { fault: "late" });
  }

  /** A thread cannot start: tasks that wait for one fail. */
  #fail(error: Error): void {
    this.#isSpent = true;
    for (const job of [...this.#running.values()]) {
      if (!job.isBegun) this.#lose(job, { fault: "failed", error });
    }
    this.#assign();
  }

  /** A thread has ended: so has its task, and its owner waits for what the next thread costs. */
  #lose(job: Job, fault: PoolFault): void {
    if (!this.#free(job)) return;
    this.#pause(job.owner);
    job.settle(fault);
    this.#assign();
  }

  #pause(owner: string): void {
    clearTimeout(this.#paused.get(owner));
    this.#paused.set(owner, setTimeout(() => this.#paused.delete(owner), this.#options.pauseMs).unref());
    this.#refuse(this.#turns.removeAll(owner), { fault: "paused" });
  }

  #refuse(jobs: readonly Job[], fault: PoolFault): void {
    for (const job of jobs) {
      job.leave();
      job.settle(fault);
    }
  }

  /** The time of a task is over. What waits is forgotten; what runs goes on for nothing. */
  #giveUp(job: Job): void {
    if (this.#turns.remove(job)) job.leave();
    job.settle({ fault: "late" });
  }

  #endThreads(): Promise<void> {
    const threads = this.#threads;
    this.#threads = undefined;
    this.#isSpent = false;
    for (const job of [...this.#running.values()]) if (this.#free(job)) job.settle(closedFault);
    return threads?.end() ?? Promise.resolve();
  }

  /** Ends the threads; tasks under way fail. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#idle);
    for (const timer of this.#paused.values()) clearTimeout(timer);
    this.#refuse(this.#turns.removeAll(), closedFault);
    await this.#endThreads();
  }
}

const closedFault: PoolFault = { fault: "failed", error: new Error("The pool is closed") };
