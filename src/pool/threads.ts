// The threads of a pool, which Piscina owns: it starts them, gives each one order at a time, ends one whose order is
// aborted, and replaces it. This is the only file that knows Piscina.
import { Piscina } from "piscina";
import type { Answer, Order, PoolSetup } from "./task.ts";

const entry = new URL("entry.cjs", import.meta.url);

/** What the entry of a thread is told. */
export interface ThreadData {
  readonly script: string;
  readonly setup: PoolSetup;
}

/** How threads are made. */
export interface ThreadsOptions {
  /** What a thread runs: a PoolScript. */
  readonly script: URL;
  /** What every thread knows from its start. */
  readonly setup: PoolSetup;
  readonly threadsMax: number;
  /** Threads beyond the first one end after this time without an order, milliseconds. */
  readonly idleMs: number;
  /** Heap of one thread; an order that needs more ends it. */
  readonly heapMiBMax: number;
}

/** What is heard of threads. */
export interface ThreadsEvents {
  /** An order is begun. */
  readonly begun: (id: number) => void;
  /** A thread ended without an order, most likely because it cannot start: no more orders may be given. */
  readonly failed: (error: Error) => void;
}

/** Threads that all do the same, from the first order to end(). */
export class Threads {
  readonly #piscina: Piscina<Order, Answer>;
  #ended = false;

  /** The first thread is started, others are as orders come. */
  constructor(options: ThreadsOptions, { begun, failed }: ThreadsEvents) {
    const { script, setup, threadsMax, idleMs, heapMiBMax } = options;
    this.#piscina = new Piscina({
      filename: entry.href,
      name: "take",
      workerData: { script: script.href, setup } satisfies ThreadData,
      // With none, orders that wait are forgotten when the last thread ends.
      minThreads: 1,
      maxThreads: threadsMax,
      maxQueue: threadsMax,
      idleTimeout: idleMs,
      resourceLimits: { maxOldGenerationSizeMb: heapMiBMax },
      // Without the loaders this process was started with, which would not fit into a small heap.
      execArgv: [],
      recordTiming: false,
    });
    this.#piscina.on("message", (id: number) => begun(id));
    this.#piscina.on("error", (error: Error) => {
      if (!this.#ended) failed(error);
    });
    // A thread that was aborted and ends late is replaced even after the end of all.
    this.#piscina.on("workerCreate", () => {
      if (this.#ended) void this.#piscina.destroy();
    });
  }

  /** Has an order carried out. Rejects when its thread ends, which `signal` makes it do at once. */
  run(order: Order, transfer: readonly ArrayBuffer[], signal: AbortSignal): Promise<Answer> {
    return this.#piscina.run(order, { transferList: [...transfer], signal });
  }

  /** Ends all threads; orders under way are rejected. */
  end(): Promise<void> {
    this.#ended = true;
    return this.#piscina.destroy();
  }
}
