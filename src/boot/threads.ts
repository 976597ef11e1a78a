// Main's side of the other threads: it starts them, hears from them, starts a front that crashed again, and ends the
// process when the store thread dies, because what it held of the log is gone with it.

import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import { within } from "../base/within.ts";
import type { Config } from "../config/config.ts";
import { limits } from "../config/limits.ts";
import type { Logger } from "../observe/log.ts";
import type { FamilySnapshot } from "../observe/metrics.ts";
import { Beats } from "./beats.ts";
import { BootFault } from "./fault.ts";
import type {
  AuditData,
  FromAudit,
  FromFront,
  FromStore,
  FrontAudit,
  FrontData,
  ListenerPlan,
  StoreData,
  ToAudit,
  ToFront,
  ToStore,
} from "./messages.ts";
import { Restarts } from "./restarts.ts";

/** Told once, and why, when the process cannot go on. */
export type Failed = (message: string) => void;

/** The store thread. */
export class StoreThread {
  readonly #worker: Worker;
  readonly #scrapes = new Scrapes();
  readonly #failed: Failed;
  #closing = false;

  /** `failed` hears of its death once it was open. */
  constructor(script: URL, data: StoreData, failed: Failed) {
    this.#failed = failed;
    this.#worker = new Worker(script, { workerData: data, name: "store" });
  }

  /** Resolves with LogWriter.control when the store is open. Rejects with BootFault when it cannot be. */
  opened(): Promise<SharedArrayBuffer> {
    return new Promise((resolve, reject) => {
      let open = false;
      this.#worker.on("message", (message: FromStore) => {
        if (message.kind === "collected") this.#scrapes.settle(message.id, message.families);
        else if (message.kind === "failed") reject(new BootFault(message.message));
        else {
          open = true;
          resolve(message.control);
        }
      });
      this.#worker.on("error", (error) => {
        if (open) this.#failed(`the store thread failed: ${error.stack ?? error.message}`);
        else reject(error);
      });
      this.#worker.on("exit", () => {
        if (open && !this.#closing) this.#failed("the store thread ended");
      });
    });
  }

  /** Connects a front: its two ports go to it. */
  connect(storePort: MessagePort, logPort: MessagePort): void {
    this.#tell({ kind: "front", storePort, logPort }, [storePort, logPort]);
  }

  collect(): Promise<readonly FamilySnapshot[]> {
    return this.#scrapes.ask((id) => this.#tell({ kind: "collect", id }));
  }

  /** Commits what is queued and ends the thread. */
  close(): Promise<void> {
    this.#closing = true;
    return new Promise((resolve) => {
      this.#worker.once("exit", () => resolve());
      this.#tell({ kind: "close" });
    });
  }

  #tell(message: ToStore, transfer: MessagePort[] = []): void {
    this.#worker.postMessage(message, transfer);
  }
}

/** The thread that writes audit events. */
export class AuditThread {
  readonly #worker: Worker;
  readonly #scrapes = new Scrapes();
  readonly #failed: Failed;
  readonly #policy: Uint8Array;
  #closing = false;

  /** `failed` hears of its death once it was open. */
  constructor(script: URL, data: AuditData, policy: Uint8Array, failed: Failed) {
    this.#failed = failed;
    this.#policy = policy;
    this.#worker = new Worker(script, { workerData: data, name: "audit" });
  }

  /** Resolves when its backends are open. Rejects with BootFault when one cannot be. */
  opened(): Promise<void> {
    return new Promise((resolve, reject) => {
      let open = false;
      this.#worker.on("message", (message: FromAudit) => {
        if (message.kind === "collected") this.#scrapes.settle(message.id, message.families);
        else if (message.kind === "failed") reject(new BootFault(message.message));
        else {
          open = true;
          resolve();
        }
      });
      this.#worker.on("error", (error) => {
        if (open) this.#failed(`the audit thread failed: ${error.stack ?? error.message}`);
        else reject(error);
      });
      this.#worker.on("exit", () => {
        if (open && !this.#closing) this.#failed("the audit thread ended");
      });
    });
  }

  /** What a front that is about to start gets. */
  connect(): FrontAudit {
    const [here, there] = portPair();
    this.#tell({ kind: "front", port: here }, [here]);
    return { policy: this.#policy, port: there };
  }

  /** From now on it logs at this level. */
  logAt(level: string): void {
    this.#tell({ kind: "level", level });
  }

  collect(): Promise<readonly FamilySnapshot[]> {
    return this.#scrapes.ask((id) => this.#tell({ kind: "collect", id }));
  }

  /** Writes what waits and ends the thread. False: it hangs, in a write to an output nobody reads. */
  async close(): Promise<boolean> {
    this.#closing = true;
    let ended = false;
    const exit = new Promise<void>((resolve) => this.#worker.once("exit", () => resolve())).then(() => {
      ended = true;
    });
    this.#tell({ kind: "close" });
    await within(exit, 2 * limits.auditEndMsMax);
    return ended;
  }

  #tell(message: ToAudit, transfer: MessagePort[] = []): void {
    this.#worker.postMessage(message, transfer);
  }
}

/** What every front gets. */
export interface FrontsOptions {
  readonly script: URL;
  readonly config: Config;
  readonly store: StoreThread;
  /** Undefined: nothing is audited. */
  readonly audit?: AuditThread | undefined;
  readonly log: Logger;
  readonly failed: Failed;
  /** Without what differs between fronts and starts. */
  readonly data: Omit<FrontData, "name" | "controls" | "listeners" | "storePort" | "logPort" | "audit">;
  readonly listeners: readonly ListenerPlan[];
  /** Heap of each; default limits.frontHeapMiBMax. */
  readonly heapMiBMax?: number;
}

interface FrontThread {
  readonly name: string;
  readonly worker: Worker;
  readonly scrapes: Scrapes;
  drained: () => void;
  crash: string | undefined;
  /** Its listeners are open. */
  open: boolean;
}

/** Where a scrape of all threads starts from, as main knows it. */
export type Gather = () => Promise<readonly (readonly FamilySnapshot[])[]>;

/** The thread that works on the server's own behalf. */
const controllers = "controllers";

/** The front threads, and that of the controllers, which is started, asked and ended like one. */
export class Fronts {
  readonly #options: FrontsOptions;
  readonly #threads = new Map<string, FrontThread>();
  readonly #restarts = new Restarts();
  readonly #timers = new Set<NodeJS.Timeout>();
  #crashes = 0;
  #lastCrash: string | undefined;
  #closing = false;
  /** What an administrator set while running. */
  #level: string | undefined;
  #gather: Gather = () => Promise.resolve([]);

  constructor(options: FrontsOptions) {
    this.#options = options;
  }

  /** What the latest crash was; undefined: there was none. */
  get lastCrash(): string | undefined {
    return this.#lastCrash;
  }

  /** Fronts that crashed so far. */
  get crashes(): number {
    return this.#crashes;
  }

  /** Sets where /metrics of a front comes from. */
  gatherFrom(gather: Gather): void {
    this.#gather = gather;
  }

  /** Starts all. Rejects with BootFault when one cannot open its listeners. */
  async start(): Promise<void> {
    // What a server starts with is made while the first front opens; a port that it cannot open fails once.
    await Promise.all([this.#startOne(controllers), this.#startOne("front-0")]);
    const others = Array.from({ length: this.#options.config.frontWorkers - 1 }, (_, i) => `front-${i + 1}`);
    await Promise.all(others.map((name) => this.#startOne(name)));
  }

  #startOne(name: string): Promise<void> {
    const { script, config, store, data, heapMiBMax = limits.frontHeapMiBMax } = this.#options;
    const controls = name === controllers;
    const [storeHere, storeThere] = portPair();
    const [logHere, logThere] = portPair();
    store.connect(storeThere, logThere);
    const listeners = controls ? [] : this.#options.listeners;
    const now = this.#level === undefined ? config : { ...config, logLevel: this.#level };
    // No client asked for what controllers do.
    const audit = controls ? undefined : this.#options.audit?.connect();
    const ports = { storePort: storeHere, logPort: logHere, audit };
    const frontData: FrontData = { ...data, config: now, name, controls, listeners, ...ports };
    this.#restarts.started(name, performance.now());
    const worker = new Worker(script, {
      workerData: frontData,
      transferList: [storeHere, logHere, ...(audit === undefined ? [] : [audit.port])],
      name,
      resourceLimits: { maxOldGenerationSizeMb: heapMiBMax },
    });
    const thread: FrontThread = {
      name,
      worker,
      scrapes: new Scrapes(),
      drained: () => {},
      crash: undefined,
      open: false,
    };
    this.#threads.set(name, thread);
    return new Promise((resolve, reject) => {
      worker.on("message", (message: FromFront) => {
        if (message.kind === "listening") {
          thread.open = true;
          resolve();
        } else if (message.kind === "crashed" && !thread.open) {
          reject(new BootFault(`a front cannot start: ${message.error.split("\n", 1)[0]}`));
        } else this.#take(thread, message);
      });
      worker.on("error", (error) => {
        thread.crash = error.stack ?? error.message;
      });
      worker.on("exit", () => {
        if (thread.open) this.#ended(thread);
        else reject(new BootFault(`a front cannot start: ${thread.crash?.split("\n", 1)[0] ?? "its thread ended"}`));
      });
    });
  }

  #take(thread: FrontThread, message: Exclude<FromFront, { kind: "listening" }>): void {
    switch (message.kind) {
      case "drained":
        thread.drained();
        return;
      case "crashed":
        thread.crash = message.error;
        // One that has the port for itself is heard of again when it has ended; others need not be waited for.
        if (this.#options.listeners[0]?.reusePort === true) this.#ended(thread);
        return;
      case "collected":
        thread.scrapes.settle(message.id, message.families);
        return;
      case "level":
        this.#logAt(message.level);
        return;
      case "gather":
        void this.#gather().then((snapshots) => tell(thread, { kind: "gathered", id: message.id, snapshots }));
        return;
    }
  }

  #logAt(level: string): void {
    this.#level = level;
    this.#options.log.level = level;
    this.#options.audit?.logAt(level);
    for (const thread of this.#threads.values()) tell(thread, { kind: "level", level });
  }

  #ended(thread: FrontThread): void {
    if (this.#closing || this.#threads.get(thread.name) !== thread) return;
    this.#threads.delete(thread.name);
    this.#crashes++;
    this.#crashed(thread.name, thread.crash ?? "its thread ended");
  }

  /** Starts a thread again, after a pause where it crashed before; the others go on meanwhile. */
  #crashed(name: string, crash: string): void {
    this.#lastCrash = crash;
    new Beats(this.#options.data.beats).clear(name);
    const pauseMs = this.#restarts.pauseMs(name, performance.now());
    this.#options.log.error({ front: name, crash, pauseMs }, "A front crashed");
    const serves = [...this.#threads.values()].some((thread) => thread.open && thread.name !== controllers);
    if (!serves && name !== controllers && this.#restarts.isHopeless(name)) {
      return this.#options.failed(`no front serves, and ${name} crashes again and again: ${crash.split("\n", 1)[0]}`);
    }
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      if (this.#closing) return;
      this.#startOne(name).catch((error: Error) => {
        this.#threads.delete(name);
        if (!this.#closing) this.#crashed(name, error.message);
      });
    }, pauseMs);
    this.#timers.add(timer);
  }

  /** From here on no crash leads to a new thread. */
  #stopStarting(): void {
    this.#closing = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  collect(): Promise<readonly FamilySnapshot[]>[] {
    return [...this.#threads.values()].map((thread) =>
      thread.scrapes.ask((id) => tell(thread, { kind: "collect", id })),
    );
  }

  /** From now on /readyz says no. */
  shutdown(): void {
    this.#stopStarting();
    for (const thread of this.#threads.values()) tell(thread, { kind: "shutdown" });
  }

  /** Takes no more connections and waits until requests and watches are done, at most `msMax`; then cuts the rest. */
  async drain(msMax: number): Promise<void> {
    const threads = [...this.#threads.values()];
    const streamsPerSecond = Math.ceil(limits.streamsEndedPerSecond / Math.max(1, threads.length));
    const done = threads.map(
      (thread) =>
        new Promise<void>((resolve) => {
          thread.drained = resolve;
          thread.worker.once("exit", () => resolve());
          tell(thread, { kind: "drain", streamsPerSecond });
        }),
    );
    await within(Promise.all(done), msMax);
    await this.close();
  }

  /** Cuts everything and ends the threads: an open connection of the uWS build would turn an exit into an abort. */
  async close(): Promise<void> {
    this.#stopStarting();
    const threads = [...this.#threads.values()];
    const ended = threads.map((thread) => new Promise((resolve) => thread.worker.once("exit", resolve)));
    for (const thread of threads) tell(thread, { kind: "close" });
    await within(Promise.all(ended), limits.frontEndMsMax);
  }
}

function tell(thread: FrontThread, message: ToFront): void {
  thread.worker.postMessage(message);
}

function portPair(): [MessagePort, MessagePort] {
  const { port1, port2 } = new MessageChannel();
  return [port1, port2];
}

/** Questions for metrics that wait for an answer of one thread. */
class Scrapes {
  readonly #waiting = new Map<number, (families: readonly FamilySnapshot[]) => void>();
  #last = 0;

  /** Asks; a thread that does not answer in time contributes nothing. */
  ask(send: (id: number) => void): Promise<readonly FamilySnapshot[]> {
    const id = ++this.#last;
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.settle(id, []), limits.scrapeMsMax);
      this.#waiting.set(id, (families) => {
        clearTimeout(timer);
        resolve(families);
      });
      send(id);
    });
  }

  settle(id: number, families: readonly FamilySnapshot[]): void {
    this.#waiting.get(id)?.(families);
    this.#waiting.delete(id);
  }
}
