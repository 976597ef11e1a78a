// Events are kept for a while only: one that nobody wrote to for the time to live is removed, as upstream's store
// does with a lease. The log tells of every write; each is a note of when to look again, and a look removes the event
// if that write was still its last one. One instance per server.
import type { Event } from "../api/gen/core/v1.ts";
import type { Resource } from "../api/scheme.ts";
import { isStatus } from "../api/status.ts";
import { assert } from "../base/assert.ts";
import { nextTurn } from "../base/turn.ts";
import { type Location, recordTypes } from "../cache/shared/record.ts";
import { eachChange } from "../cache/view/changes.ts";
import type { LogView } from "../cache/view/view.ts";
import { decodeStored } from "../codec/engine/stored.ts";
import { limits } from "../config/limits.ts";
import { changed, commitRemoval, type StoredState } from "../request/commit/objectstore.ts";
import type { WriteServices } from "../request/commit/writerequest.ts";
import { Actor } from "./actor.ts";

/** A write of an event, by key (relative to the prefix) and revision. */
interface Note {
  readonly key: string;
  readonly revision: number;
}

/** How fast it works; tests choose their own. */
export interface ExpiryPace {
  /** Between two looks, in milliseconds. */
  readonly lookMs: number;
  readonly removalsPerLook: number;
  readonly notesMax: number;
  /** Events of the start that are read in one turn of the loop. */
  readonly recordsPerTurn: number;
}

const usualPace: ExpiryPace = {
  lookMs: limits.eventLookMs,
  removalsPerLook: limits.eventRemovalsPerLookMax,
  notesMax: limits.eventNotesMax,
  recordsPerTurn: limits.eventsReadPerTurnMax,
};

/** Runs from start() to stop(). */
export class EventExpirer {
  readonly #writers: WriteServices;
  readonly #actor: Actor;
  readonly #ttlMs: number;
  readonly #pace: ExpiryPace;
  readonly #events: Resource;
  readonly #view: LogView;
  readonly #notes: Notes;
  /** Notes the store refused to act on; first in the next look. */
  #refused: Note[] = [];
  #position = 0;
  /** Raised by everything that makes a reading of all events worthless. */
  #reading = 0;
  /** Not every event has a note: all must be read again, once there is room. */
  #incomplete = false;
  #unfollow: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #looking = false;

  constructor(writers: WriteServices, ttlMs: number, pace: ExpiryPace = usualPace) {
    this.#writers = writers;
    this.#actor = new Actor(writers, "kube-controller-manager");
    this.#ttlMs = ttlMs;
    this.#pace = pace;
    this.#notes = new Notes(ttlMs);
    const events = writers.scheme.find("", "v1", "events")?.stored;
    assert(events?.prefix !== undefined, "Events are stored");
    this.#events = events;
    this.#view = writers.views.log(events.prefix);
  }

  /** Takes note of what is there, a little per turn, and follows the log. A time to live of 0 keeps events forever. */
  start(): void {
    if (this.#ttlMs <= 0) return;
    void this.#readAll();
    this.#unfollow = this.#view.onNews(() => this.#follow());
    this.#timer = setInterval(() => void this.#look(), this.#pace.lookMs);
    this.#timer.unref();
  }

  /** No look starts after this. */
  stop(): void {
    clearInterval(this.#timer);
    this.#unfollow?.();
    this.#reading++;
  }

  /** Writes it keeps in mind. */
  get noted(): number {
    return this.#notes.count + this.#refused.length;
  }

  /** Events that are there: their own words tell when they were written last. What is written from now on, follow() sees. */
  async #readAll(): Promise<void> {
    const reading = ++this.#reading;
    this.#incomplete = false;
    this.#notes.clear();
    this.#refused = [];
    const upTo = this.#view.drain();
    this.#position = this.#view.head;
    for (let after: string | undefined = ""; after !== undefined && reading === this.#reading; ) {
      after = this.#readSome(after, upTo);
      await nextTurn();
    }
  }

  /** Reads events from the first after `after` on; the last one's key when there may be more. */
  #readSome(after: string, upTo: number): string | undefined {
    const nowMs = this.#writers.clock.now();
    let left = this.#pace.recordsPerTurn;
    let last: string | undefined;
    this.#view.scan("", after, 0, (at, key) => {
      const revision = this.#view.revisionOf(at);
      if (revision <= upTo) {
        const event = decodeStored(this.#events, this.#view.object(at)) as Event;
        this.#note({ key, revision }, lastWriteMs(event, nowMs) + this.#ttlMs);
      }
      last = --left > 0 ? undefined : key;
      return left > 0;
    });
    return last;
  }

  #note(note: Note, dueMs: number): void {
    if (this.noted < this.#pace.notesMax) this.#notes.add(note, dueMs);
    else this.#incomplete = true;
  }

  #follow(): void {
    this.#view.drain();
    const dueMs = this.#writers.clock.now() + this.#ttlMs;
    const known = eachChange(this.#view, this.#position, (at, type) => {
      if (type === recordTypes.delete) return;
      this.#note({ key: this.#view.keyOf(at), revision: this.#view.revisionOf(at) }, dueMs);
    });
    // Too late for this stretch of the log: what is alive says all there is to know.
    if (known) this.#position = this.#view.head;
    else void this.#readAll();
  }

  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      this.#follow();
      // What could not be noted is read again when half of the room is free; what is dropped here is read then, too.
      if (this.#incomplete && 2 * this.noted < this.#pace.notesMax) void this.#readAll();
      const due = [...this.#refused, ...this.#notes.take(this.#writers.clock.now(), this.#pace.removalsPerLook)];
      this.#refused = [];
      let next = 0;
      const work = async (): Promise<void> => {
        for (let note = due[next++]; note !== undefined; note = due[next++]) await this.#remove(note);
      };
      await Promise.all(Array.from({ length: Math.min(limits.eventRemovalsAtOnceMax, due.length) }, work));
    } finally {
      this.#looking = false;
    }
  }

  /** Removes the event if the write noted was its last one. */
  async #remove(note: Note): Promise<void> {
    // A store that takes nothing now will later.
    if (this.#refused.length > 0) return void this.#refused.push(note);
    const [namespace = "", name = ""] = note.key.split("/");
    this.#view.drain();
    const at = this.#view.get(namespace, name);
    if (at === 0 || this.#view.revisionOf(at) !== note.revision) return;
    // Past the rules of deletes: an event's end asks nobody.
    const request = this.#actor.request({ resource: this.#events, namespace, name });
    const done = await commitRemoval(this.#writers, request, this.#stateAt(at, note.revision), "delete");
    // Another write has a note of its own.
    if (isStatus(done)) this.#refused.push(note);
    else assert(done === changed || done > 0, "A removal has a revision");
  }

  /** Copies: the record may be recycled while the removal is under way. */
  #stateAt(at: Location, revision: number): StoredState {
    return {
      revision,
      body: Buffer.from(this.#view.object(at)),
      versionAt: this.#view.versionAt(at),
      selection: Uint8Array.from(this.#view.selection(at)),
    };
  }
}

/** A time to live is told apart in this many steps, an hour's in seconds. */
const stepsPerTtl = 3600;

/** Notes by the step they are due in. Adding one costs the same however many there are. */
class Notes {
  count = 0;
  readonly #stepMs: number;
  readonly #steps = new Map<number, Note[]>();

  constructor(ttlMs: number) {
    this.#stepMs = Math.max(1, ttlMs / stepsPerTtl);
  }

  clear(): void {
    this.#steps.clear();
    this.count = 0;
  }

  add(note: Note, dueMs: number): void {
    const step = Math.ceil(dueMs / this.#stepMs);
    const notes = this.#steps.get(step);
    if (notes === undefined) this.#steps.set(step, [note]);
    else notes.push(note);
    this.count++;
  }

  /** Takes notes that are due, at most `max`. */
  take(nowMs: number, max: number): Note[] {
    const taken: Note[] = [];
    for (const [step, notes] of this.#steps) {
      if (step * this.#stepMs > nowMs) continue;
      // From the end: taking some of many moves none of the others.
      taken.push(...notes.splice(Math.max(0, notes.length - (max - taken.length))));
      if (notes.length === 0) this.#steps.delete(step);
      if (taken.length === max) break;
    }
    this.count -= taken.length;
    return taken;
  }
}

/** When an event was written last, as far as it says; a client may say anything, but not that it is yet to come. */
function lastWriteMs(event: Event, nowMs: number): number {
  const { lastTimestamp, eventTime, series, metadata } = event;
  const times = [lastTimestamp, eventTime, series?.lastObservedTime, metadata.creationTimestamp];
  const said = Math.max(0, ...times.map((time) => (time === undefined ? 0 : Date.parse(time))));
  return Math.min(said, nowMs);
}
