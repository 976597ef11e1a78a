// Threads for work that would hold up a front: started when they are first needed, ended when nobody needed them for a
// while. The queue is bounded; a task that takes too long is ended with its thread, one that fails fails alone.
import { Worker } from "node:worker_threads";

/** Why a task has no result. */
export type PoolFault =
  /** Too many wait. */
  | { readonly fault: "full" }
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
  /** Tasks that wait. */
  readonly queueMax: number;
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
  readonly settle: (result: Result | PoolFault) => void;
}

interface Thread<Task, Result> {
  readonly worker: Worker;
  /** Undefined: it has nothing to do. */
  job: Job<Task, Result> | undefined;
}

/** A pool of threads that all do the same, each one task at a time. */
export class Pool<Task, Result extends object> {
  readonly #options: PoolOptions;
  readonly #threads = new Set<Thread<Task, Result>>();
  readonly #queue: Job<Task, Result>[] = [];
  #idle: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Whether there are threads. */
  get isStarted(): boolean {
    return this.#threads.size > 0;
  }

  /** Does a task on another thread, in `msMax` milliseconds at most. `transfer`: buffers that may be handed over. */
  run(task: Task, transfer: readonly ArrayBuffer[], msMax: number): Promise<Result | PoolFault> {
    if (this.#closed) return Promise.resolve(closedFault);
    if (this.#queue.length >= this.#options.queueMax) return Promise.resolve({ fault: "full" });
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#giveUp(job), Math.max(0, msMax));
      const settle = (result: Result | PoolFault): void => {
        clearTimeout(timer);
        resolve(result);
      };
      const job: Job<Task, Result> = { task, transfer, settle };
      this.#queue.push(job);
      this.#assign();
    });
  }

  /** Gives what waits to threads that have nothing to do, and starts some while there may be more. */
  #assign(): void {
    clearTimeout(this.#idle);
    while (this.#queue.length > 0 && !this.#closed) {
      const thread = [...this.#threads].find(({ job }) => job === undefined) ?? this.#start();
      if (thread === undefined) return;
      const job = this.#queue.shift() as Job<Task, Result>;
      thread.job = job;
      thread.worker.ref();
      thread.worker.postMessage(job.task, job.transfer);
    }
    const isIdle = [...this.#threads].every(({ job }) => job === undefined);
    if (isIdle && this.#threads.size > 0) {
      this.#idle = setTimeout(() => void this.#endAll(), this.#options.idleMs).unref();
    }
  }

  /** Another thread; undefined where there are as many as may be. */
  #start(): Thread<Task, Result> | undefined {
    const { script, setup, threadsMax, heapMiBMax } = this.#options;
    if (this.#threads.size >= threadsMax) return undefined;
    const resourceLimits = { maxOldGenerationSizeMb: heapMiBMax };
    // Without the loaders of whoever started this process, which would not fit into a small heap.
    const worker = new Worker(script, { workerData: setup, resourceLimits, execArgv: [], name: "pool" });
    const thread: Thread<Task, Result> = { worker, job: undefined };
    this.#threads.add(thread);
    worker.on("message", (answer: Answer<Result>) => {
      const { job } = thread;
      thread.job = undefined;
      worker.unref();
      job?.settle(answer.result ?? { fault: "failed", error: "error" in answer ? answer.error : undefined });
      this.#assign();
    });
    worker.on("error", (error) => this.#lose(thread, error));
    worker.on("exit", (code) => this.#lose(thread, new Error(`A thread of the pool ended with code ${code}`)));
    return thread;
  }

  /** A thread has ended by itself: so has its task. */
  #lose(thread: Thread<Task, Result>, error: unknown): void {
    if (!this.#threads.delete(thread)) return;
    thread.job?.settle({ fault: "failed", error });
    this.#assign();
  }

  /** The time of a task is over. What runs cannot be stopped but with its thread. */
  #giveUp(job: Job<Task, Result>): void {
    const at = this.#queue.indexOf(job);
    if (at >= 0) this.#queue.splice(at, 1);
    for (const thread of this.#threads) {
      if (thread.job !== job) continue;
      this.#threads.delete(thread);
      void thread.worker.terminate();
    }
    job.settle({ fault: "late" });
    this.#assign();
  }

  #endAll(): Promise<unknown> {
    const threads = [...this.#threads];
    this.#threads.clear();
    for (const { job } of threads) job?.settle(closedFault);
    return Promise.all(threads.map(({ worker }) => worker.terminate()));
  }

  /** Ends the threads; tasks under way fail. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#idle);
    for (const job of this.#queue.splice(0)) job.settle(closedFault);
    await this.#endAll();
  }
}

const closedFault: PoolFault = { fault: "failed", error: new Error("The pool is closed") };
