// Main's side of the other threads: it starts them, hears from them, starts a front that crashed again, and ends the
// process when the store thread dies, because what it held of the log is gone with it.
import type { MessagePort } from "node:worker_threads";
import { assert } from "../base/assert.ts";
import { within } from "../base/within.ts";
import type { Config } from "../config/config.ts";
import { limits } from "../config/limits.ts";
import type { SeatBoard } from "../flowcontrol/board.ts";
import type { Gathered, GatheredPage } from "../observe/gathered.ts";
import type { Logger } from "../observe/log.ts";
import type { FlameNode } from "../observe/profile.ts";
import type { EncryptionConfig } from "../storage/encryption/configuration.ts";
import { Beats } from "./beats.ts";
import { FlowBoard, frontNumber } from "./flow/board.ts";
import { type KeptCrash, KeptThreads, type KindOf } from "./keptthreads.ts";
import type {
  AuditData,
  Collected,
  FrontAudit,
  FrontData,
  ListenerPlan,
  OfAudit,
  OfFront,
  OfStore,
  StoreData,
  ToAudit,
  ToFront,
  ToStore,
} from "./messages.ts";
import { endsProcess, type Failed, portPair, type SpanTaker, Thread } from "./thread.ts";

/** The store thread. */
export class StoreThread {
  readonly #thread: Thread<ToStore, OfStore>;
  /** Waits for the answer to "encrypt"; there is one question at a time. */
  #encrypts: (fault: string | undefined) => void = () => undefined;

  /** `failed` hears of its death once it was open; `spans` exports its spans. */
  constructor(script: URL, data: StoreData, failed: Failed, spans?: SpanTaker) {
    const take = (message: OfStore): void => {
      if (message.kind === "encrypts") this.#encrypts(message.fault);
    };
    this.#thread = new Thread({
      name: "store",
      script,
      data,
      youngMiBMax: limits.storeYoungMiBMax,
      opens: "opened",
      take,
      spans,
      ...endsProcess("store", failed),
    });
  }

  /** Resolves with LogWriter.control, and what the store is like, when it is open. Rejects with BootFault when it cannot be. */
  async opened(): Promise<Pick<FrontData, "control" | "store">> {
    const message = await this.#thread.opened;
    assert(message.kind === "opened", "The store thread opens with another message");
    return { control: message.control, store: message.traits };
  }

  /** Has it encrypt by another configuration. Resolves with an error message when it stays with the former one. */
  encrypt(config: EncryptionConfig): Promise<string | undefined> {
    return new Promise((resolve) => {
      this.#encrypts = resolve;
      this.#thread.tell({ kind: "encrypt", config });
    });
  }

  /** Connects a front: its two ports go to it. */
  connect(storePort: MessagePort, logPort: MessagePort): void {
    this.#thread.tell({ kind: "front", storePort, logPort }, [storePort, logPort]);
  }

  collect(): Promise<Collected> {
    return this.#thread.collect();
  }

  /** Where its time goes. */
  profile(seconds: number): Promise<FlameNode | undefined> {
    return this.#thread.profile(seconds);
  }

  /** Commits what is queued and ends the thread. */
  close(): Promise<void> {
    return this.#thread.close();
  }
}

/** The thread that writes audit events. */
export class AuditThread {
  readonly #thread: Thread<ToAudit, OfAudit>;
  readonly #policy: Uint8Array;

  /** `failed` hears of its death once it was open; `spans` exports its spans. */
  constructor(script: URL, data: AuditData, policy: Uint8Array, failed: Failed, spans?: SpanTaker) {
    this.#policy = policy;
    this.#thread = new Thread({ name: "audit", script, data, opens: "opened", spans, ...endsProcess("audit", failed) });
  }

  /** Resolves when its backends are open. Rejects with BootFault when one cannot be. */
  async opened(): Promise<void> {
    await this.#thread.opened;
  }

  /** What a front that is about to start gets. */
  connect(): FrontAudit {
    const [here, there] = portPair();
    this.#thread.tell({ kind: "front", port: here }, [here]);
    return { policy: this.#policy, port: there };
  }

  /** From now on it logs at this level. */
  logAt(level: string): void {
    this.#thread.tell({ kind: "level", level });
  }

  collect(): Promise<Collected> {
    return this.#thread.collect();
  }

  /** Where its time goes. */
  profile(seconds: number): Promise<FlameNode | undefined> {
    return this.#thread.profile(seconds);
  }

  /** Writes what waits and ends the thread. False: it hangs, in a write to an output that is not read. */
  async close(): Promise<boolean> {
    return (await within(this.#thread.close(), 2 * limits.auditEndMsMax)) !== "late";
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
  readonly seats: SeatBoard;
  /** Exports spans; undefined: nothing is traced. */
  readonly spans?: SpanTaker | undefined;
  /** Heap of each; default limits.frontHeapMiBMax. */
  readonly heapMiBMax?: number;
}

/** Makes a page of what all threads tell, on the main thread. */
export type Gather = (page: GatheredPage, gzip: boolean) => Promise<Gathered>;

/** The thread that works on the server's own behalf. */
const controllers = "controllers";

/** The front threads, and that of the controllers, which is started, asked and ended like one. */
export class Fronts {
  readonly #options: FrontsOptions;
  readonly #threads = new KeptThreads<ToFront, OfFront>(
    (name) => this.#kindOf(name),
    (crash) => this.#crashed(crash),
  );
  readonly #flow: FlowBoard;
  /** Called when a front has nothing left, by name. */
  readonly #drained = new Map<string, () => void>();
  #crashes = 0;
  #lastCrash: string | undefined;
  /** What an administrator set while running. */
  #level: string | undefined;
  #gather: Gather = () => Promise.resolve({ code: 500, body: new Uint8Array(0), isGzipped: false });

  constructor(options: FrontsOptions) {
    this.#options = options;
    this.#flow = new FlowBoard(options.seats, {
      tell: (name, message) => this.#threads.get(name)?.tell(message),
      names: () => this.#threads.all.map(({ name }) => name).filter((name) => frontNumber(name) !== undefined),
    });
  }

  /** What the latest crash was; undefined: there was none. */
  get lastCrash(): string | undefined {
    return this.#lastCrash;
  }

  /** Fronts that crashed so far. */
  get crashes(): number {
    return this.#crashes;
  }

  /** Sets where pages of fronts about all threads come from. */
  gatherFrom(gather: Gather): void {
    this.#gather = gather;
  }

  /** Starts all. Rejects with BootFault when one cannot open its listeners. */
  async start(): Promise<void> {
    // What a server starts with is made while the first front opens; a port that it cannot open fails once.
    await Promise.all([this.#threads.start(controllers), this.#threads.start("front-0")]);
    const others = Array.from({ length: this.#options.config.frontWorkers - 1 }, (_, i) => `front-${i + 1}`);
    await Promise.all(others.map((name) => this.#threads.start(name)));
  }

  /** A front is about to start: the store and the audit thread hear of it. */
  #kindOf(name: string): ReturnType<KindOf<OfFront>> {
    const { script, config, store, heapMiBMax = limits.frontHeapMiBMax } = this.#options;
    const controls = name === controllers;
    const [storeHere, storeThere] = portPair();
    const [logHere, logThere] = portPair();
    store.connect(storeThere, logThere);
    const listeners = controls ? [] : this.#options.listeners;
    const now = this.#level === undefined ? config : { ...config, logLevel: this.#level };
    // No client asked for what controllers do.
    const audit = controls ? undefined : this.#options.audit?.connect();
    const ports = { storePort: storeHere, logPort: logHere, audit };
    const data: FrontData = { ...this.#options.data, config: now, name, controls, listeners, ...ports };
    return {
      name,
      script,
      data,
      ports: [storeHere, logHere, ...(audit === undefined ? [] : [audit.port])],
      heapMiBMax,
      youngMiBMax: limits.frontYoungMiBMax,
      opens: "listening",
      cannotStart: "a front cannot start",
      // One that has the port for itself is heard of again when it has ended; others need not be waited for.
      endsAt: this.#options.listeners[0]?.reusePort === true ? "crashed" : "exit",
      take: (message) => this.#take(name, message),
      spans: this.#options.spans,
    };
  }

  #take(name: string, message: OfFront): void {
    switch (message.kind) {
      case "listening":
        return;
      case "drained":
        this.#drained.get(name)?.();
        return;
      case "level":
        this.#logAt(message.level);
        return;
      case "slot":
        return this.#flow.slot(name, message);
      case "dumped":
        return this.#flow.dumped(message);
      case "dumps":
        return this.#flow.ask(name, message.id);
      case "gather":
        void this.#gather(message.page, message.gzip).then((answer) => {
          this.#threads.get(name)?.tell({ kind: "gathered", id: message.id, answer }, [answer.body.buffer]);
        });
        return;
    }
  }

  #logAt(level: string): void {
    this.#level = level;
    this.#options.log.level = level;
    this.#options.audit?.logAt(level);
    this.#tellAll({ kind: "level", level });
  }

  #tellAll(message: ToFront): void {
    for (const thread of this.#threads.all) thread.tell(message);
  }

  /** Whether the thread is started again. */
  #crashed({ name, text: crash, wasOpen, pauseMs, isHopeless }: KeptCrash): boolean {
    if (wasOpen) this.#crashes++;
    this.#lastCrash = crash;
    new Beats(this.#options.data.beats).clear(name);
    this.#flow.ended(name);
    this.#options.log.error({ front: name, crash, pauseMs }, "A front crashed");
    const serves = this.#threads.all.some((thread) => thread.isOpen && thread.name !== controllers);
    if (serves || name === controllers || !isHopeless) return true;
    this.#options.failed(`no front serves, and ${name} crashes again and again: ${crash.split("\n", 1)[0]}`);
    return false;
  }

  /** The thread of a name; undefined: there is none. */
  named(name: string): Pick<Thread<ToFront, OfFront>, "profile"> | undefined {
    return this.#threads.get(name);
  }

  /** Of each; `detailed`: with what fronts keep for the console. */
  collect(detailed: boolean): Promise<Collected>[] {
    return this.#threads.all.map((thread) => thread.collect(detailed));
  }

  /** From now on /readyz says no. */
  shutdown(): void {
    this.#threads.stopStarting();
    this.#tellAll({ kind: "shutdown" });
  }

  /** Takes no more connections and waits until requests and watches are done, at most `msMax`; then cuts the rest. */
  async drain(msMax: number): Promise<void> {
    const threads = this.#threads.all;
    const streamsPerSecond = Math.ceil(limits.streamsEndedPerSecond / Math.max(1, threads.length));
    const done = threads.map((thread) => {
      const drained = new Promise<void>((resolve) => this.#drained.set(thread.name, resolve));
      thread.tell({ kind: "drain", streamsPerSecond });
      return Promise.race([drained, thread.exited]);
    });
    await within(Promise.all(done), msMax);
    await this.close();
  }

  /** Cuts everything and ends the threads: an open connection of the uWS build would turn an exit into an abort. */
  async close(): Promise<void> {
    this.#threads.stopStarting();
    await within(Promise.all(this.#threads.all.map((thread) => thread.close())), limits.frontEndMsMax);
  }
}
