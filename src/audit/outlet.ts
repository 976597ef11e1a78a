// A front's way to the one thread that writes events. Events of a turn travel as one message, in order; what is not
// written yet is bounded. When the bound is reached, requests wait (a backend blocks) or events are dropped (none does).
import type { MessagePort } from "node:worker_threads";
import { assert } from "../base/assert.ts";
import { limits } from "../config/limits.ts";
import type { FromWriter, ToWriter } from "./messages.ts";

/** What requests do about events that are not written yet. */
export type Pressure =
  /** Nothing: events are dropped. */
  | "drops"
  /** They wait while there are too many. */
  | "waits"
  /** They wait for the event of their own arrival, and fail with it. */
  | "stores";

/** One message under way. */
interface Sent {
  readonly events: number;
  readonly chars: number;
  readonly waiting: readonly ((stored: boolean) => void)[];
}

/** The front's end of the port. */
export class Outlet {
  readonly pressure: Pressure;
  readonly #port: MessagePort;
  readonly #dropped: (events: number) => void;
  /** Gathered in this turn. */
  #lines = "";
  #events = 0;
  #waiting: ((stored: boolean) => void)[] = [];
  readonly #sent: Sent[] = [];
  /** Not written yet, those gathered included. */
  #openEvents = 0;
  #openChars = 0;
  /** Requests that wait for room, first come first served. */
  readonly #queue: ((room: boolean) => void)[] = [];

  constructor(port: MessagePort, pressure: Pressure, dropped: (events: number) => void) {
    this.#port = port;
    this.pressure = pressure;
    this.#dropped = dropped;
    port.on("message", (message: FromWriter) => this.#settle(message.stored));
  }

  /** Takes an event; it leaves at the end of this turn. */
  put(event: string): void {
    if (this.pressure === "drops" && this.#full) return this.#dropped(1);
    if (this.#events === 0) setImmediate(() => this.flush());
    this.#lines += `${event}\n`;
    this.#events += 1;
    this.#openEvents += 1;
    this.#openChars += event.length;
  }

  /** Waits for what put() took before; false: it could not be stored. */
  stored(): Promise<boolean> {
    assert(this.#events > 0, "There is nothing to wait for");
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Undefined: there is room. Else a wait for some; false: it took too long, or too many wait. */
  room(): Promise<boolean> | undefined {
    if (this.pressure === "drops" || (!this.#full && this.#queue.length === 0)) return undefined;
    if (this.#queue.length >= limits.auditWaitersMax) return Promise.resolve(false);
    return new Promise((resolve) => {
      const settle = (room: boolean): void => {
        clearTimeout(timer);
        resolve(room);
      };
      const timer = setTimeout(() => {
        const at = this.#queue.indexOf(settle);
        if (at >= 0) this.#queue.splice(at, 1);
        resolve(false);
      }, limits.auditWaitMsMax);
      this.#queue.push(settle);
    });
  }

  /** Sends what was gathered. */
  flush(): void {
    if (this.#events === 0) return;
    const message: ToWriter = { lines: this.#lines };
    // A line is an event and its end.
    const chars = this.#lines.length - this.#events;
    this.#sent.push({ events: this.#events, chars, waiting: this.#waiting });
    this.#lines = "";
    this.#events = 0;
    this.#waiting = [];
    this.#port.postMessage(message);
  }

  /** Sends what was gathered and lets the thread end. */
  close(): void {
    this.flush();
    this.#port.unref();
  }

  /** Events that are not written yet. */
  get unwritten(): number {
    return this.#openEvents;
  }

  get #full(): boolean {
    return this.#openEvents >= limits.auditEventsMax || this.#openChars >= limits.auditCharsMax;
  }

  /** The oldest message was dealt with. */
  #settle(stored: boolean): void {
    const sent = this.#sent.shift();
    assert(sent !== undefined, "Nothing was sent that could be written");
    this.#openEvents -= sent.events;
    this.#openChars -= sent.chars;
    for (const settle of sent.waiting) settle(stored);
    // As many as may be: each is about to add one event or two.
    for (let room = limits.auditEventsMax - this.#openEvents; room > 0 && !this.#full; room -= 2) {
      const next = this.#queue.shift();
      if (next === undefined) return;
      next(true);
    }
  }
}
