// A front's way to the one thread that writes events. Events of a turn travel as one message, in order; what is not
// written yet is bounded, and divided among users. When a user's share is used up, its requests wait (a backend blocks)
// or its events are dropped (none does).
import type { MessagePort } from "node:worker_threads";
import { assert } from "../base/assert.ts";
import { type Owner, Shares } from "../base/shares.ts";
import { limits } from "../config/limits.ts";
import type { FromWriter, ToWriter } from "./messages.ts";

/** How requests treat events that are not written yet. */
export type Pressure =
  /** Nothing: events are dropped. */
  | "drops"
  /** They wait while there are too many. */
  | "waits"
  /** They wait for the event of their own arrival, and fail with it. */
  | "stores";

/** One message under way. */
interface Sent {
  /** Releases the shares of its events. */
  readonly leave: readonly (() => void)[];
  readonly waiting: readonly ((stored: boolean) => void)[];
}

/** Events of a request: its arrival, and its answer. */
const eventsEach = 2;

/** The front's end of the port. */
export class Outlet {
  readonly pressure: Pressure;
  readonly #port: MessagePort;
  readonly #dropped: (events: number) => void;
  /** Gathered in this turn. */
  #lines = "";
  #owners: Owner[] = [];
  #leave: (() => void)[] = [];
  #waiting: ((stored: boolean) => void)[] = [];
  readonly #sent: Sent[] = [];
  /** Not written yet, those gathered included. */
  readonly #events = new Shares("audit events that are not written", limits.auditEventsMax);
  readonly #chars = new Shares("characters of audit events that are not written", limits.auditCharsMax);
  /** Requests that wait for room. */
  readonly #places = new Shares("requests waiting for audit events", limits.auditWaitersMax);
  /** By owner, first come first served. */
  readonly #queues = new Map<string, { readonly owner: Owner; readonly waiting: Set<(room: boolean) => void> }>();

  constructor(port: MessagePort, pressure: Pressure, dropped: (events: number) => void) {
    this.#port = port;
    this.pressure = pressure;
    this.#dropped = dropped;
    port.on("message", (message: FromWriter) => this.#settle(message.stored));
  }

  /** Takes an event; it leaves at the end of this turn. */
  put(event: string, owner: Owner): void {
    if (this.pressure === "drops" && !this.#has(owner, 1, event.length)) return this.#dropped(1);
    if (this.#owners.length === 0) setImmediate(() => this.flush());
    this.#lines += `${event}\n`;
    this.#owners.push(owner);
    // Events of running requests are accepted in any case.
    this.#leave.push(this.#events.charge(owner), this.#chars.charge(owner, event.length));
  }

  /** Waits for the events of earlier put() calls; false: they could not be stored. */
  stored(): Promise<boolean> {
    assert(this.#owners.length > 0, "There is nothing to wait for");
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Undefined: there is room for a request's events. Else a wait for some; false: it took too long, or too many wait. */
  room(owner: Owner): Promise<boolean> | undefined {
    const key = keyOf(owner);
    if (this.pressure === "drops" || (this.#has(owner, 1, 1) && !this.#queues.has(key))) return undefined;
    const leave = this.#places.take(owner);
    if (leave === undefined) return Promise.resolve(false);
    const queue = this.#queues.get(key) ?? { owner, waiting: new Set() };
    this.#queues.set(key, queue);
    return new Promise((resolve) => {
      const settle = (room: boolean): void => {
        clearTimeout(timer);
        leave();
        queue.waiting.delete(settle);
        if (queue.waiting.size === 0) this.#queues.delete(key);
        resolve(room);
      };
      const timer = setTimeout(settle, limits.auditWaitMsMax, false);
      queue.waiting.add(settle);
    });
  }

  /** Sends the gathered events. */
  flush(): void {
    if (this.#owners.length === 0) return;
    const message: ToWriter = { lines: this.#lines, owners: this.#owners };
    this.#sent.push({ leave: this.#leave, waiting: this.#waiting });
    this.#lines = "";
    this.#owners = [];
    this.#leave = [];
    this.#waiting = [];
    this.#port.postMessage(message);
  }

  /** Sends the gathered events and lets the thread end. */
  close(): void {
    this.flush();
    this.#port.unref();
  }

  /** Events that are not written yet. */
  get unwritten(): number {
    return this.#events.used;
  }

  #has(owner: Owner, events: number, chars: number): boolean {
    return this.#events.has(owner, events) && this.#chars.has(owner, chars);
  }

  /** The oldest message was dealt with. */
  #settle(stored: boolean): void {
    const sent = this.#sent.shift();
    assert(sent !== undefined, "Nothing was sent that could be written");
    for (const leave of sent.leave) leave();
    for (const settle of sent.waiting) settle(stored);
    this.#admit();
  }

  /**
   * Resumes waiting requests while there is room; each is about to add events, and its place is reserved until then.
   */
  #admit(): void {
    const kept: (() => void)[] = [];
    for (const { owner, waiting } of [...this.#queues.values()]) {
      for (const go of [...waiting]) {
        if (!this.#has(owner, eventsEach, 1)) break;
        kept.push(this.#events.charge(owner, eventsEach));
        go(true);
      }
    }
    if (kept.length === 0) return;
    setImmediate(() => {
      for (const leave of kept) leave();
      this.#admit();
    });
  }
}

/** Owners of one name may be of two levels: a node's, with and without its leases. */
function keyOf({ name, level }: Owner): string {
  return `${level} ${name}`;
}
