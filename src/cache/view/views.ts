// One front's side of the shared logs as a whole: the port to the store thread, the views by prefix, the wake-up loop
// that tells followers of news, and the clean-up that must not happen in the middle of a reader's turn.
import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import { assertShared } from "../../base/assert.ts";
import { type Clock, systemClock } from "../../base/clock.ts";
import { nextTurn } from "../../base/turn.ts";
import { limits } from "../../config/limits.ts";
import type { ToFront, ToWriter } from "../shared/messages.ts";
import { ControlWords } from "../shared/words.ts";
import { Log } from "./log.ts";
import { UnknownLog, type Views } from "./view.ts";

/** Options a front gets from the thread that starts it. */
export interface ViewsOptions {
  /** LogWriter.control. */
  readonly control: SharedArrayBuffer;
  /** The other end went to LogWriter.connect(). */
  readonly port: MessagePort;
  readonly clock?: Clock;
  /** How long holds may keep a retired segment, ms. */
  readonly holdMs?: number;
  /** Least time between two looks at published records, ms, for fronts that may lag. Default: 0. */
  readonly paceMs?: number;
}

/** One log's figures on this front, for metrics. */
export interface ViewStats {
  readonly prefix: string;
  readonly objectCount: number;
  /** Keys in the index, deleted ones of the window included. */
  readonly keyCount: number;
  readonly segmentCount: number;
  /** Retired segments this front still keeps. */
  readonly heldCount: number;
  readonly floor: number;
  readonly head: number;
}

/** The views of one front, with what only its owner needs. */
export interface OpenViews extends Views {
  stats(): ViewStats[];
  /** Leaves: the store thread takes everything as released. No view may be used afterwards. */
  close(): void;
}

/** How often holds are looked at, and news in case a wake-up was lost; ms. */
const lookEveryMs = 500;

/** Resolves when everything the store thread has published so far is known here. One call per front. */
export async function openViews(options: ViewsOptions): Promise<OpenViews> {
  const views = new FrontViews(options);
  await views.welcomed;
  return views;
}

class FrontViews implements OpenViews {
  /** Resolves when all logs and segments of the beginning were announced. */
  readonly welcomed: Promise<void>;
  readonly #words: ControlWords;
  readonly #port: MessagePort;
  readonly #clock: Clock;
  readonly #holdMs: number;
  readonly #paceMs: number;
  readonly #logs = new Map<string, Log>();
  /** By their slot; those that are given up until this front let go of them. */
  readonly #bySlot: (Log | undefined)[] = [];
  readonly #wishes = new Map<number, (done: boolean) => void>();
  #nextWish = 1;
  /** ControlWords.logs when the port was last read for it. */
  #seenChanges = 0;
  readonly #sweeping = new Set<Log>();
  readonly #timer: NodeJS.Timeout;
  #welcome: () => void = () => undefined;
  #closed = false;

  constructor(options: ViewsOptions) {
    this.#words = new ControlWords(options.control);
    this.#port = options.port;
    this.#clock = options.clock ?? systemClock;
    this.#holdMs = options.holdMs ?? limits.holdMsMax;
    this.#paceMs = options.paceMs ?? 0;
    this.welcomed = new Promise((resolve) => {
      this.#welcome = resolve;
    });
    this.#port.on("message", (message: ToFront) => this.#take(message));
    this.#timer = setInterval(() => this.#look(), lookEveryMs);
    // Sockets keep a front alive, not these. The port stays referenced until the welcome is in.
    this.#timer.unref();
    void this.#listen();
  }

  get revision(): number {
    return this.#words.committed;
  }

  find(prefix: string): Log | undefined {
    const changes = this.#words.logs;
    if (changes !== this.#seenChanges) {
      this.#seenChanges = changes;
      this.receive();
    }
    return this.#logs.get(prefix);
  }

  log(prefix: string): Log {
    const log = this.find(prefix);
    if (log === undefined) throw new UnknownLog(`No log is registered for ${prefix}`);
    return log;
  }

  stats(): ViewStats[] {
    return this.#all().map((log) => ({
      prefix: log.prefix,
      objectCount: log.count,
      keyCount: log.keyCount,
      segmentCount: log.segmentCount,
      heldCount: log.heldCount,
      floor: log.floor,
      head: log.head,
    }));
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#timer);
    this.#port.close();
    for (const settle of this.#wishes.values()) settle(false);
    this.#wishes.clear();
  }

  // Services for logs: see LogHost.

  receive(): void {
    for (;;) {
      const received = receiveMessageOnPort(this.#port);
      if (received === undefined) return;
      this.#take(received.message as ToFront);
    }
  }

  register(prefix: string): Promise<boolean> {
    return this.#ask("register", prefix);
  }

  giveUp(prefix: string): Promise<boolean> {
    return this.#ask("giveUp", prefix);
  }

  dropped(log: Log): void {
    assertShared(this.#bySlot[log.number] === log, "A log is let go of twice");
    this.#bySlot[log.number] = undefined;
    if (this.#closed) return;
    const message: ToWriter = { kind: "dropped", log: log.number };
    this.#port.postMessage(message);
  }

  released(log: number, number: number): void {
    if (this.#closed) return;
    const message: ToWriter = { kind: "released", log, number };
    this.#port.postMessage(message);
  }

  sweepLater(log: Log): void {
    if (this.#sweeping.size === 0) setImmediate(() => this.#sweep());
    this.#sweeping.add(log);
  }

  now(): number {
    return this.#clock.monotonic();
  }

  #take(message: ToFront): void {
    if (message.kind === "welcome") {
      this.#port.unref();
      this.#welcome();
      return;
    }
    if (message.kind === "answered") {
      const settle = this.#wishes.get(message.id);
      this.#wishes.delete(message.id);
      assertShared(settle !== undefined || this.#closed, "An answer comes to no request");
      settle?.(message.done);
      return;
    }
    if (message.kind === "log") {
      assertShared(this.#bySlot[message.log] === undefined, "A log is announced in a slot that is taken");
      assertShared(!this.#logs.has(message.prefix), "A prefix has two logs");
      const log = new Log(message.prefix, message.log, this.#words, this);
      this.#logs.set(message.prefix, log);
      this.#bySlot[message.log] = log;
      return;
    }
    const log = this.#bySlot[message.log];
    assertShared(log !== undefined, "A segment is announced for no log");
    if (message.kind === "segment") log.announce(message);
    else if (message.kind === "retire") log.retire(message.number, message.urgent);
    else {
      // Another one may have its prefix already.
      if (this.#logs.get(log.prefix) === log) this.#logs.delete(log.prefix);
      log.leave();
    }
  }

  #ask(kind: "register" | "giveUp", prefix: string): Promise<boolean> {
    if (this.#closed) return Promise.resolve(false);
    const id = this.#nextWish++;
    const message: ToWriter = { kind, prefix, id };
    this.#port.postMessage(message);
    // A thread without sockets would end while it waits.
    this.#port.ref();
    return new Promise((resolve) => {
      this.#wishes.set(id, (done) => {
        if (this.#wishes.size === 0) this.#port.unref();
        resolve(done);
      });
    });
  }

  #all(): Log[] {
    return this.#bySlot.filter((log) => log !== undefined);
  }

  #sweep(): void {
    const logs = [...this.#sweeping];
    this.#sweeping.clear();
    if (this.#closed) return;
    for (const log of logs) log.sweep();
    this.#tell();
  }

  #look(): void {
    const retiredMs = this.now() - this.#holdMs;
    for (const log of this.#all()) log.expire(retiredMs);
    this.#tell();
  }

  #tell(): void {
    for (const log of this.#bySlot) log?.tell();
  }

  /**
   * Sleeps until the store thread rings, calls tell(), and starts over. A ring during tell() is not lost: `seen` is
   * older.
   */
  async #listen(): Promise<void> {
    while (!this.#closed) {
      const seen = this.#words.wake;
      this.#tell();
      const rung = this.#words.waitForRing(seen);
      // Rung already: others get their turn first.
      if (rung === undefined) await nextTurn();
      else await rung;
      if (this.#paceMs > 0) await new Promise((resolve) => setTimeout(resolve, this.#paceMs).unref());
    }
  }
}
