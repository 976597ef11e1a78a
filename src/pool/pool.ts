// Threads for work that would hold up a front: started when they are first needed, ended when there was no work for a
// while. Tasks wait by owner and owners take turns; one owner never has all threads, nor all places of the queue.
//
// A task whose time is over is answered at once, but its thread finishes it: what runs cannot be stopped but with its
// thread, and to start one costs more than most tasks. The thread stays charged to the owner until then. Only a task
// that runs longer than any should ends its thread; its owner's further tasks are refused for a while.
import { Worker } from "node:worker_threads";
import { type Owner, Shares } from "../base/shares.ts";
import { ready } from "./thread.ts";

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
export interface PoolOptions {
  /** What a thread runs; it hands its tasks to serveTasks(). */
  readonly script: URL;
  /** What every thread knows from its start. */
  readonly setup: unknown;
  readonly threadsMax: number;
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
  /** Heap of one thread; a task that needs more fails. */
  readonly heapMiBMax: number;
}

/** What a thread says of a task. */
export type Answer<Result> = { readonly result: Result } | { readonly result?: undefined; readonly error: unknown };

interface Job<Task, Result> {
  readonly task: Task;
  readonly transfer: readonly ArrayBuffer[];
  readonly owner: string;
  /** Gives its place in the queue back. */
  readonly leave: () => void;
  /** Answers the caller; only the first call counts. */
  readonly settle: (result: Result | PoolFault) => void;
}

interface Thread<Task, Result> {
  readonly worker: Worker;
  /** Undefined: it has nothing to do. */
  job: Job<Task, Result> | undefined;
  /** It has started; a task it was given before waits for that. */
  isReady: boolean;
  /** Ends the thread when it takes too long to start, or its task runs too long. */
  guard: NodeJS.Timeout | undefined;
}

/** A pool of threads that all do the same, each one task at a time. */
export class Pool<Task, Result extends object> {
  /** Tasks that wait, by owner. */
  readonly waiting: Shares;
  readonly #options: PoolOptions;
  readonly #threads = new Set<Thread<Task, Result>>();
  /** Owners in the order of their turns. */
  readonly #queues = new Map<string, Job<Task, Result>[]>();
  readonly #running = new Map<string, number>();
  /** Owners whose task ended a thread. */
  readonly #paused = new Map<string, NodeJS.Timeout>();
  /** Threads one owner has at most: one is left for the others. */
  readonly #ownerThreadsMax: number;
  #idle: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#ownerThreadsMax = Math.max(1, options.threadsMax - 1);
    this.waiting = new Shares("large writes waiting", options.queueMax);
  }

  /** Whether there are threads. */
  get isStarted(): boolean {
    return this.#threads.size > 0;
  }

  /** Does a task on another thread and answers in `msMax` milliseconds. `transfer`: buffers that may be handed over. */
  run(task: Task, transfer: readonly ArrayBuffer[], owner: Owner, msMax: number): Promise<Result | PoolFault> {
    if (this.#closed) return Promise.resolve(closedFault);
    if (this.#paused.has(owner.name)) return Promise.resolve({ fault: "paused" });
    const leave = this.waiting.take(owner);
    if (leave === undefined) return Promise.resolve({ fault: "full" });
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#giveUp(job), Math.max(0, msMax));
      const settle = (result: Result | PoolFault): void => {
        clearTimeout(timer);
        resolve(result);
      };
      const job: Job<Task, Result> = { task, transfer, owner: owner.name, leave, settle };
      const queue = this.#queues.get(owner.name);
      if (queue === undefined) this.#queues.set(owner.name, [job]);
      else queue.push(job);
      this.#assign();
    });
  }

  /** Gives what waits to threads that have nothing to do, and starts some while there may be more. */
  #assign(): void {
    clearTimeout(this.#idle);
    for (let owner = this.#next(); owner !== undefined; owner = this.#next()) {
      const thread = [...this.#threads].find(({ job }) => job === undefined) ?? this.#start();
      if (thread === undefined) return;
      this.#give(thread, this.#take(owner));
    }
    const isIdle = [...this.#threads].every(({ job }) => job === undefined);
    if (isIdle && this.#threads.size > 0) {
      this.#idle = setTimeout(() => void this.#endAll(), this.#options.idleMs).unref();
    }
  }

  /** The first owner in turn that may have one more thread. */
  #next(): string | undefined {
    if (this.#closed) return undefined;
    for (const owner of this.#queues.keys()) {
      if ((this.#running.get(owner) ?? 0) < this.#ownerThreadsMax) return owner;
    }
    return undefined;
  }

  /** The oldest task of an owner, which goes to the end of the turns. */
  #take(owner: string): Job<Task, Result> {
    const job = this.#queues.get(owner)?.shift() as Job<Task, Result>;
    this.#putLast(owner);
    job.leave();
    return job;
  }

  /** An owner has had its turn: others that came meanwhile are before it. */
  #putLast(owner: string): void {
    const queue = this.#queues.get(owner);
    this.#queues.delete(owner);
    if (queue !== undefined && queue.length > 0) this.#queues.set(owner, queue);
  }

  #give(thread: Thread<Task, Result>, job: Job<Task, Result>): void {
    thread.job = job;
    this.#running.set(job.owner, (this.#running.get(job.owner) ?? 0) + 1);
    const { taskMsMax, startMsMax } = this.#options;
    this.#guard(thread, thread.isReady ? taskMsMax : startMsMax);
    thread.worker.ref();
    thread.worker.postMessage(job.task, job.transfer);
  }

  /** Ends the thread unless it tells something within `ms`. */
  #guard(thread: Thread<Task, Result>, ms: number): void {
    clearTimeout(thread.guard);
    thread.guard = setTimeout(() => this.#stop(thread), ms);
  }

  /** A thread has started: the time of the task that waited for it begins. */
  #begin(thread: Thread<Task, Result>): void {
    thread.isReady = true;
    if (thread.job !== undefined) this.#guard(thread, this.#options.taskMsMax);
  }

  /** A thread is done with its task, or is no more. */
  #free(thread: Thread<Task, Result>): Job<Task, Result> | undefined {
    const { job } = thread;
    clearTimeout(thread.guard);
    thread.job = undefined;
    if (job === undefined) return undefined;
    const left = (this.#running.get(job.owner) ?? 0) - 1;
    if (left > 0) this.#running.set(job.owner, left);
    else this.#running.delete(job.owner);
    this.#putLast(job.owner);
    return job;
  }

  /** Another thread; undefined where there are as many as may be. */
  #start(): Thread<Task, Result> | undefined {
    const { script, setup, threadsMax, heapMiBMax } = this.#options;
    if (this.#threads.size >= threadsMax) return undefined;
    const resourceLimits = { maxOldGenerationSizeMb: heapMiBMax };
    // Without the loaders this process was started with, which would not fit into a small heap.
    const worker = new Worker(script, { workerData: setup, resourceLimits, execArgv: [], name: "pool" });
    const thread: Thread<Task, Result> = { worker, job: undefined, isReady: false, guard: undefined };
    this.#threads.add(thread);
    worker.on("message", (answer: Answer<Result> | typeof ready) => {
      if (answer === ready) return this.#begin(thread);
      const job = this.#free(thread);
      worker.unref();
      job?.settle(answer.result ?? { fault: "failed", error: "error" in answer ? answer.error : undefined });
      this.#assign();
    });
    worker.on("error", (error) => this.#lose(thread, { fault: "failed", error }));
    worker.on("exit", (code) => {
      this.#lose(thread, { fault: "failed", error: new Error(`A thread of the pool ended with code ${code}`) });
    });
    return thread;
  }

  /** A task has run for too long, or its thread has not started. */
  #stop(thread: Thread<Task, Result>): void {
    void thread.worker.terminate();
    this.#lose(thread, { fault: "late" });
  }

  /** A thread has ended: so has its task, and its owner waits for what the next thread costs. */
  #lose(thread: Thread<Task, Result>, fault: PoolFault): void {
    if (!this.#threads.delete(thread)) return;
    const job = this.#free(thread);
    if (job !== undefined) {
      this.#pause(job.owner);
      job.settle(fault);
    }
    this.#assign();
  }

  #pause(owner: string): void {
    const { pauseMs } = this.#options;
    clearTimeout(this.#paused.get(owner));
    this.#paused.set(owner, setTimeout(() => this.#paused.delete(owner), pauseMs).unref());
    for (const job of this.#queues.get(owner) ?? []) {
      job.leave();
      job.settle({ fault: "paused" });
    }
    this.#queues.delete(owner);
  }

  /** The time of a task is over. What waits is forgotten; what runs goes on for nothing. */
  #giveUp(job: Job<Task, Result>): void {
    const queue = this.#queues.get(job.owner);
    const at = queue?.indexOf(job) ?? -1;
    if (queue !== undefined && at >= 0) {
      queue.splice(at, 1);
      if (queue.length === 0) this.#queues.delete(job.owner);
      job.leave();
    }
    job.settle({ fault: "late" });
  }

  #endAll(): Promise<unknown> {
    const threads = [...this.#threads];
    this.#threads.clear();
    for (const thread of threads) this.#free(thread)?.settle(closedFault);
    return Promise.all(threads.map(({ worker }) => worker.terminate()));
  }

  /** Ends the threads; tasks under way fail. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#idle);
    for (const timer of this.#paused.values()) clearTimeout(timer);
    for (const job of [...this.#queues.values()].flat()) {
      job.leave();
      job.settle(closedFault);
    }
    this.#queues.clear();
    await this.#endAll();
  }
}

const closedFault: PoolFault = { fault: "failed", error: new Error("The pool is closed") };
