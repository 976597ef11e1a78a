// One thread as main sees it, of whatever kind: started with its data and ports, open when it says so, asked for its
// metrics, and heard of once when it ends unasked. What follows from that end is the kind's policy: endsProcess() here,
// another start in keptthreads.ts.
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import { limits } from "../config/limits.ts";
import type { FlameNode } from "../observe/profile.ts";
import type { SpanExporter } from "../outbound/otlp.ts";
import { BootFault } from "./fault.ts";
import type { Collected, FromThread, ToThread } from "./messages.ts";

/** Told once, and why, when the process cannot go on. */
export type Failed = (message: string) => void;

/** A kind of thread: what is started, and what is done about what it tells. */
export interface ThreadKind<Own extends { readonly kind: string }> {
  /** Of the thread, in messages. */
  readonly name: string;
  readonly script: URL;
  /** Worker data. */
  readonly data: unknown;
  /** Ports inside the data, which go to it. */
  readonly ports?: readonly MessagePort[];
  /** Default: Node's own. */
  readonly heapMiBMax?: number;
  /** Memory of young objects, MiB; left out: V8's. */
  readonly youngMiBMax?: number;
  /** Which of its messages says that it is open. */
  readonly opens: Own["kind"];
  /** Hears what is the kind's own once it is open. */
  readonly take?: (message: Own) => void;
  /** Hears of its end, once, when it was open and was not told to end. */
  readonly ended: (crash: Crash) => void;
  /** What counts as its end: that it says it crashed, an error of its thread, or (default) that it is no more. */
  readonly endsAt?: "crashed" | "error" | "exit";
  /** How the reason of a start that fails begins; undefined: an error of its thread is told as it is. */
  readonly cannotStart?: string;
  /** Exports its spans; undefined: nothing is traced. */
  readonly spans?: SpanTaker | undefined;
}

/** Resolves when more spans may be sent. */
export type SpanTaker = Pick<SpanExporter, "take">;

/** Why a thread ended; undefined: nothing is known. */
export type Crash = { readonly text: string; readonly error?: Error } | undefined;

/** A thread that was started. It is told `To`, and tells `Own` besides what all threads tell. */
export class Thread<To, Own extends { readonly kind: string }> {
  readonly name: string;
  /** Resolves when the thread is no more. */
  readonly exited: Promise<void>;
  /** Resolves with what says so when it is open. Rejects when it ends before: with BootFault where it says why. */
  readonly opened: Promise<Own>;
  readonly #kind: ThreadKind<Own>;
  readonly #worker: Worker;
  readonly #scrapes = new Map<number, (collected: Collected) => void>();
  readonly #profiles = new Map<number, (tree: FlameNode | undefined) => void>();
  #lastScrape = 0;
  #crash: Crash;
  #isOpen = false;
  /** Nothing more is told of it: it was told to end, or its end was told. */
  #isOver = false;

  constructor(kind: ThreadKind<Own>) {
    const { name, script, data, ports = [], heapMiBMax, youngMiBMax } = kind;
    this.name = name;
    this.#kind = kind;
    this.#worker = new Worker(script, {
      workerData: data,
      transferList: [...ports],
      name,
      resourceLimits: {
        ...(heapMiBMax === undefined ? {} : { maxOldGenerationSizeMb: heapMiBMax }),
        ...(youngMiBMax === undefined ? {} : { maxYoungGenerationSizeMb: youngMiBMax }),
      },
    });
    this.exited = new Promise((resolve) => this.#worker.once("exit", () => resolve()));
    this.opened = new Promise((resolve, reject) => this.#listen(resolve, reject));
  }

  /** It has opened what it serves. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  #listen(opened: (message: Own) => void, refused: (error: Error) => void): void {
    this.#worker.on("message", (message: Own | FromThread) => {
      if (message.kind === this.#kind.opens) {
        this.#isOpen = true;
        opened(message as Own);
      } else this.#take(message, refused);
    });
    this.#worker.on("error", (error) => {
      this.#crash = { text: error.stack ?? error.message, error };
      if (this.#isOpen && this.#kind.endsAt === "error") this.#end();
    });
    this.#worker.on("exit", () => {
      if (this.#isOpen) this.#end();
      else refused(this.#refusal());
    });
  }

  #take(message: Own | FromThread, refused: (error: Error) => void): void {
    const told = message as FromThread;
    switch (told.kind) {
      case "collected":
        this.#settle(told.id, told);
        return;
      case "profiled":
        this.#profiles.get(told.id)?.(told.tree);
        return;
      case "spans":
        void this.#kind.spans?.take(told.spans).then(() => this.tell({ kind: "spansTaken" }));
        return;
      case "failed":
        refused(new BootFault(told.message));
        return;
      case "crashed":
        this.#crash = { text: told.error };
        if (!this.#isOpen) refused(this.#refusal());
        else if (this.#kind.endsAt === "crashed") this.#end();
        return;
      default:
        this.#kind.take?.(message as Own);
    }
  }

  /** Why it could not be opened. */
  #refusal(): Error {
    const { cannotStart } = this.#kind;
    const { text = "its thread ended", error } = this.#crash ?? {};
    if (cannotStart !== undefined) return new BootFault(`${cannotStart}: ${text.split("\n", 1)[0]}`);
    return error ?? new BootFault(`the ${this.name} thread cannot start: ${text}`);
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#kind.ended(this.#crash);
  }

  /** Sends it a message; ports and buffers go along. */
  tell(message: To | ToThread, ports: readonly (MessagePort | ArrayBuffer)[] = []): void {
    this.#worker.postMessage(message, [...ports]);
  }

  /** What it tells of itself; a thread that does not answer in time contributes nothing. */
  collect(detailed = false): Promise<Collected> {
    const id = ++this.#lastScrape;
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#settle(id, { families: [] }), limits.scrapeMsMax);
      this.#scrapes.set(id, (collected) => {
        clearTimeout(timer);
        resolve(collected);
      });
      this.tell({ kind: "collect", id, detailed });
    });
  }

  #settle(id: number, collected: Collected): void {
    this.#scrapes.get(id)?.(collected);
    this.#scrapes.delete(id);
  }

  /** Where its time goes, for so long; undefined: it ended, or did not answer. */
  profile(seconds: number): Promise<FlameNode | undefined> {
    const id = ++this.#lastScrape;
    return new Promise((resolve) => {
      const settle = (tree: FlameNode | undefined): void => {
        clearTimeout(timer);
        this.#profiles.delete(id);
        resolve(tree);
      };
      const timer = setTimeout(() => settle(undefined), 2000 * seconds + limits.profileLateMs);
      this.#profiles.set(id, settle);
      void this.exited.then(() => settle(undefined));
      this.tell({ kind: "profile", id, seconds });
    });
  }

  /** Its end is no news from here on. */
  expectEnd(): void {
    this.#isOver = true;
  }

  /** Has it end in order. Resolves when it has. */
  close(): Promise<void> {
    this.expectEnd();
    this.tell({ kind: "close" });
    return this.exited;
  }
}

/** The policy of a thread that the process cannot go on without. */
export function endsProcess(name: string, failed: Failed): Pick<ThreadKind<never>, "endsAt" | "ended"> {
  const ended = (crash: Crash): void =>
    failed(crash === undefined ? `the ${name} thread ended` : `the ${name} thread failed: ${crash.text}`);
  return { endsAt: "error", ended };
}

/** Both ends of a connection between two threads. */
export function portPair(): [MessagePort, MessagePort] {
  const { port1, port2 } = new MessageChannel();
  return [port1, port2];
}
