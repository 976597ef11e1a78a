// The two ways events go to a backend. In turn: the sender is notified when they are written, and events that arrive in
// the meantime are next. In batches: they wait in a bounded buffer, which is divided among users, leave when a batch is
// full or old enough and not too many left before, and an event beyond its user's share of the buffer is dropped and
// counted.
import { assert } from "../base/assert.ts";
import { type Owner, Shares, takeBoth } from "../base/shares.ts";
import type { AuditDelivery } from "../config/auditflags.ts";
import { limits } from "../config/limits.ts";
import {
  countOf,
  type Delivery,
  type Destination,
  eventsOf,
  type Losses,
  linesOf,
  parts,
  truncated,
} from "./destination.ts";

/** Dependencies of both ways. */
export interface DeliveryOptions {
  readonly to: Destination;
  readonly config: AuditDelivery;
  readonly losses: Losses;
  /** Key of the annotation of events that were cut. */
  readonly annotation: string;
}

/** Makes the way a backend's mode asks for. */
export function createDelivery(options: DeliveryOptions): Delivery {
  return options.config.mode === "batch" ? new Batches(options) : new Turns(options);
}

/** Writes events; those that fail are lost. True: all were written. Synchronous where the backend is. */
function send(options: DeliveryOptions, lines: string): boolean | Promise<boolean> {
  const { to, config, losses, annotation } = options;
  const { truncate } = config;
  if (truncate !== undefined) {
    const fitting = truncated(eventsOf(lines), truncate, annotation, losses);
    return sendParts(options, parts(fitting, truncate.batchBytesMax));
  }
  // When a peer rejects a batch as too large, only the large events are lost, not the whole batch.
  if (lines.length > limits.auditWriteBytesMax) {
    return sendParts(options, parts(eventsOf(lines), limits.auditWriteBytesMax));
  }
  const done = to.write(lines);
  return done instanceof Promise ? done.then((why) => settle(options, lines, why)) : settle(options, lines, done);
}

async function sendParts(options: DeliveryOptions, each: readonly string[]): Promise<boolean> {
  let stored = true;
  for (const lines of each) stored = settle(options, lines, await options.to.write(lines)) && stored;
  return stored;
}

function settle({ to, losses }: DeliveryOptions, lines: string, why: string | undefined): boolean {
  if (why === undefined) return true;
  losses.lost(to.name, countOf(lines), why);
  return false;
}

/** Modes blocking and blocking-strict. */
class Turns implements Delivery {
  readonly #options: DeliveryOptions;
  #waiting: { readonly lines: string; readonly tell: (stored: boolean) => void }[] = [];
  #running: Promise<void> | undefined;

  constructor(options: DeliveryOptions) {
    this.#options = options;
  }

  take(lines: string): boolean | Promise<boolean> {
    // Only in strict mode does a failed write fail a request (upstream).
    const lenient = this.#options.config.mode === "blocking";
    if (this.#running === undefined) {
      const done = send(this.#options, lines);
      if (!(done instanceof Promise)) return done || lenient;
      this.#running = done.then(() => this.#run());
      return done.then((stored) => stored || lenient);
    }
    return new Promise((resolve) => this.#waiting.push({ lines, tell: (stored) => resolve(stored || lenient) }));
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const waiting = this.#waiting;
      this.#waiting = [];
      while (waiting.length > 0) {
        const together = waiting.splice(0, this.#fitting(waiting));
        const stored = await send(this.#options, together.map(({ lines }) => lines).join(""));
        for (const { tell } of together) tell(stored);
      }
    }
    this.#running = undefined;
  }

  /** How many of those that wait are written together: one at least. */
  #fitting(waiting: readonly { readonly lines: string }[]): number {
    let chars = 0;
    const first = waiting.findIndex(({ lines }, index) => {
      chars += lines.length;
      return index > 0 && chars > limits.auditWriteBytesMax;
    });
    return first < 0 ? waiting.length : first;
  }

  async finish(): Promise<void> {
    await this.#running;
  }
}

/** An event in the buffer. */
interface Buffered {
  readonly event: string;
  /** Gives its place back. */
  readonly leave: () => void;
}

/** Mode batch. */
class Batches implements Delivery {
  readonly #options: DeliveryOptions;
  #buffer: Buffered[] = [];
  readonly #places: Shares;
  readonly #chars = new Shares("characters of buffered audit events", limits.auditBufferCharsMax);
  /** When the oldest event of the buffer came. */
  #sinceMs = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #posts = new Set<Promise<unknown>>();
  /** Batches that may leave at once; refilled by time. */
  #tokens: number;
  #refilledMs = performance.now();
  #finishing = false;

  constructor(options: DeliveryOptions) {
    this.#options = options;
    this.#places = new Shares("buffered audit events", options.config.bufferSize);
    this.#tokens = options.config.throttle?.burst ?? 0;
  }

  take(lines: string, owners: readonly Owner[]): boolean {
    const { losses } = this.#options;
    let dropped = 0;
    for (const [index, event] of eventsOf(lines).entries()) {
      const leave = this.#place(event, owners[index]);
      if (leave === undefined) {
        dropped += 1;
        continue;
      }
      if (this.#buffer.length === 0) this.#sinceMs = performance.now();
      this.#buffer.push({ event, leave });
    }
    if (dropped > 0) losses.lost("buffered", dropped, "audit buffer is full");
    this.#move();
    return true;
  }

  /** A place for an event; undefined: its owner has as many as it may. */
  #place({ length }: string, owner: Owner | undefined): (() => void) | undefined {
    assert(owner !== undefined, "An event has an owner");
    return takeBoth(this.#places, this.#chars, owner, length);
  }

  /** Sends due events, and schedules the next call. */
  #move(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    while (this.#buffer.length > 0 && this.#posts.size < limits.auditPostsMax) {
      const waitMs = this.#waitMs();
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.#move(), waitMs);
        return;
      }
      this.#post();
    }
  }

  /** Until the next batch may leave. */
  #waitMs(): number {
    if (this.#finishing) return 0;
    const { batchMax, batchWaitMs, throttle } = this.#options.config;
    const now = performance.now();
    const due = this.#buffer.length >= batchMax ? 0 : Math.max(0, this.#sinceMs + batchWaitMs - now);
    if (throttle === undefined) return due;
    const { perSecond, burst } = throttle;
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#refilledMs) * perSecond) / 1000);
    this.#refilledMs = now;
    const allowed = this.#tokens >= 1 ? 0 : Math.ceil(((1 - this.#tokens) * 1000) / perSecond);
    return Math.max(due, allowed);
  }

  #post(): void {
    const batch = this.#buffer.splice(0, this.#options.config.batchMax);
    for (const { leave } of batch) leave();
    this.#sinceMs = performance.now();
    this.#tokens -= 1;
    const sent = send(this.#options, linesOf(batch.map(({ event }) => event)));
    if (!(sent instanceof Promise)) return;
    const done = sent.then(() => {
      this.#posts.delete(done);
      this.#move();
    });
    this.#posts.add(done);
  }

  async finish(): Promise<void> {
    this.#finishing = true;
    this.#move();
    while (this.#posts.size > 0) await Promise.race(this.#posts);
  }
}
