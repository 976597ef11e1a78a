// Events are kept for a while only: one that nobody wrote to for the time to live is removed, as the reference's store
// does with a lease. The log tells of every write; each is a note of when to look again, and a look removes the event
// if that write was still its last one. One instance per server.
import type { Event } from "../api/gen/core_v1.ts";
import type { Resource } from "../api/scheme.ts";
import { isStatus } from "../api/status.ts";
import { assert } from "../base/assert.ts";
import type { LogView } from "../cache/view.ts";
import { recordTypes } from "../cache/view.ts";
import { limits } from "../config/limits.ts";
import { noTrace } from "../observe/trace.ts";
import { changed, commitRemoval, readCurrent, type WriteRequest, type Writers } from "../request/persist.ts";
import { decodeStored } from "../request/represent.ts";
import { systemUser } from "./bootstrap.ts";

/** When a write of an event is so old that the event goes. */
interface Note {
  /** Key relative to the prefix. */
  readonly key: string;
  readonly revision: number;
  /** On the wall clock. */
  readonly dueMs: number;
}

/** Runs from start() to stop(). */
export class EventExpirer {
  readonly #writers: Writers;
  readonly #ttlMs: number;
  readonly #lookMs: number;
  readonly #events: Resource;
  readonly #view: LogView;
  /** Of events that were there at the start, and of removals the store refused. */
  #before = new NoteQueue([]);
  /** Removals the store refused in this pass. */
  #refused: Note[] = [];
  /** Of writes since the start. */
  #since = new NoteQueue([]);
  #position = 0;
  #unfollow: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #running = false;

  constructor(writers: Writers, ttlMs: number, lookMs: number = limits.eventExpiryMs) {
    this.#writers = writers;
    this.#ttlMs = ttlMs;
    this.#lookMs = lookMs;
    const events = writers.scheme.find("", "v1", "events")?.stored;
    assert(events?.prefix !== undefined, "Events are stored");
    this.#events = events;
    this.#view = writers.views.log(events.prefix);
  }

  /** Takes note of what is there, and follows the log. A time to live of 0 keeps events forever. */
  start(): void {
    if (this.#ttlMs <= 0) return;
    this.#takeAll();
    this.#unfollow = this.#view.onNews(() => this.#follow());
    this.#timer = setInterval(() => void this.#pass(), this.#lookMs);
    this.#timer.unref();
  }

  /** No pass starts after this. */
  stop(): void {
    clearInterval(this.#timer);
    this.#unfollow?.();
  }

  /** Events that were there before: their own words tell when they were written last. */
  #takeAll(): void {
    this.#view.drain();
    this.#position = this.#view.head;
    const notes: Note[] = [];
    const nowMs = this.#writers.clock.now();
    this.#view.scan("", "", 0, (at, key) => {
      const event = decodeStored(this.#events, this.#view.object(at)) as Event;
      notes.push({ key, revision: this.#view.revisionOf(at), dueMs: lastWriteMs(event, nowMs) + this.#ttlMs });
      return true;
    });
    this.#before = new NoteQueue(notes);
    this.#since = new NoteQueue([]);
  }

  /** Writes it keeps in mind. */
  get noted(): number {
    return this.#before.size + this.#since.size;
  }

  #follow(): void {
    this.#view.drain();
    const dueMs = this.#writers.clock.now() + this.#ttlMs;
    for (; this.#position < this.#view.head; this.#position++) {
      const at = this.#view.at(this.#position);
      // Too late for this stretch of the log: what is alive says all there is to know.
      if (at === 0) return this.#takeAll();
      const type = this.#view.typeOf(at);
      if (type !== recordTypes.create && type !== recordTypes.update) continue;
      this.#since.push({ key: this.#view.keyOf(at), revision: this.#view.revisionOf(at), dueMs });
    }
  }

  async #pass(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    try {
      this.#follow();
      const work = async (): Promise<void> => {
        for (let note = this.#next(); note !== undefined; note = this.#next()) await this.#remove(note);
      };
      await Promise.all(Array.from({ length: limits.collectionDeletesMax }, work));
      if (this.#refused.length > 0) this.#before = this.#before.with(this.#refused);
    } finally {
      this.#refused = [];
      this.#running = false;
    }
  }

  /** The next note that is due and still the last word on its event. */
  #next(): Note | undefined {
    // A store that takes nothing now will later.
    while (this.#refused.length === 0) {
      const nowMs = this.#writers.clock.now();
      const note = this.#before.take(nowMs) ?? this.#since.take(nowMs);
      if (note === undefined) return undefined;
      const [namespace = "", name = ""] = note.key.split("/");
      const at = this.#view.get(namespace, name);
      if (at !== 0 && this.#view.revisionOf(at) === note.revision) return note;
    }
    return undefined;
  }

  async #remove(note: Note): Promise<void> {
    const [namespace = "", name = ""] = note.key.split("/");
    const { clock, scheme } = this.#writers;
    const current = readCurrent(this.#writers, this.#events, namespace, name);
    if (current === undefined || current.revision !== note.revision) return;
    const request: WriteRequest = {
      resource: this.#events,
      subresource: "",
      namespace,
      name,
      user: systemUser(scheme.identity.spell),
      dryRun: false,
      deadline: clock.monotonic() + limits.requestMsMax,
      trace: noTrace,
    };
    const done = await commitRemoval(this.#writers, request, current);
    // Another write has a note of its own.
    if (isStatus(done)) this.#refused.push(note);
    else assert(done === changed || done > 0, "A removal has a revision");
  }
}

/** Notes in the order they are due. */
class NoteQueue {
  /** Oldest first from #oldest on. */
  #notes: Note[];
  #oldest = 0;

  constructor(notes: Note[]) {
    this.#notes = notes.sort((a, b) => a.dueMs - b.dueMs);
  }

  get size(): number {
    return this.#notes.length - this.#oldest;
  }

  /** Adds a note that is due after all others. */
  push(note: Note): void {
    this.#notes.push(note);
  }

  /** The same notes and some more. */
  with(notes: readonly Note[]): NoteQueue {
    return new NoteQueue([...notes, ...this.#notes.slice(this.#oldest)]);
  }

  /** Takes the first note if it is due. */
  take(nowMs: number): Note | undefined {
    const note = this.#notes[this.#oldest];
    if (note === undefined || note.dueMs > nowMs) return undefined;
    this.#oldest++;
    // Amortised: half of what is kept is still to come.
    if (2 * this.#oldest >= this.#notes.length) {
      this.#notes = this.#notes.slice(this.#oldest);
      this.#oldest = 0;
    }
    return note;
  }
}

/** When an event was written last, as far as it says; a client may say anything, but not that it is yet to come. */
function lastWriteMs(event: Event, nowMs: number): number {
  const { lastTimestamp, eventTime, series, metadata } = event;
  const times = [lastTimestamp, eventTime, series?.lastObservedTime, metadata.creationTimestamp];
  const said = Math.max(0, ...times.map((time) => (time === undefined ? 0 : Date.parse(time))));
  return Math.min(said, nowMs);
}
