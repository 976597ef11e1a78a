// Events are kept for a while only: one that was not written for the time to live is removed, as upstream's store
// does with a lease. Each write puts off the end of its event; what an event of the start says of its last write counts.
import type { Event } from "../api/gen/core/v1.ts";
import type { Resource } from "../api/scheme.ts";
import { isStatus } from "../api/status.ts";
import { assert } from "../base/assert.ts";
import { copyOf } from "../base/copy.ts";
import { type Location, recordTypes } from "../cache/shared/record.ts";
import type { LogView } from "../cache/view/view.ts";
import { decodeStored } from "../codec/engine/stored.ts";
import { limits } from "../config/limits.ts";
import { changed } from "../request/commit/attempts.ts";
import { commitRemoval, type StoredState } from "../request/commit/objectstore.ts";
import type { WriteServices } from "../request/commit/writerequest.ts";
import { Actor } from "./actor.ts";
import type { Controller, Follows, Pace, Queue, Result } from "./reconciler.ts";
import { storedKind } from "./storedkind.ts";

/** Works on events. Follows their log; a time to live of 0 keeps them forever. */
export class EventExpirer implements Controller {
  readonly follows: Follows;
  readonly pace: Pace;
  readonly #writers: WriteServices;
  readonly #actor: Actor;
  readonly #ttlMs: number;
  readonly #events: Resource;
  readonly #view: LogView;

  /** `pace`: for tests, instead of the usual one. */
  constructor(writers: WriteServices, ttlMs: number, pace: Pace = {}) {
    this.#writers = writers;
    this.#actor = new Actor(writers, "kube-controller-manager");
    this.#ttlMs = ttlMs;
    // Those that end together are removed together: they share commits.
    this.pace = {
      workers: limits.eventRemovalsAtOnceMax,
      gatherMs: limits.eventLookMs,
      gatheredMax: limits.eventRemovalsPerLookMax,
      keysMax: limits.eventsKeptMax,
      ...pace,
    };
    const events = storedKind(writers, "", "v1", "events");
    this.#events = events.resource;
    this.#view = events.view;
    this.follows = ttlMs <= 0 ? [] : [[this.#view, (queue, at, type) => this.#note(queue, at, type)]];
  }

  /** Events that are there: their own words tell when they were written last. */
  async all(queue: Queue): Promise<void> {
    if (this.#ttlMs <= 0) return;
    // What is written from now on is news.
    const upTo = this.#view.drain();
    await queue.scan(this.#view, (at, key) => {
      if (this.#view.revisionOf(at) > upTo || queue.has(key)) return;
      const nowMs = this.#writers.clock.now();
      const event = decodeStored(this.#events, this.#view.object(at)) as Event;
      queue.postpone(key, lastWriteMs(event, nowMs) + this.#ttlMs - nowMs);
    });
  }

  /** Removes an event whose time is over. */
  async work(key: string, queue: Queue): Promise<Result> {
    // A write that is not known yet puts it off.
    if (!queue.catchUp()) return { againMs: 0 };
    if (queue.has(key)) return undefined;
    const [namespace = "", name = ""] = key.split("/");
    const at = this.#view.get(namespace, name);
    if (at === 0) return undefined;
    // Past the rules of deletes: an event's end is not admitted or authorized.
    const request = this.#actor.request({ resource: this.#events, namespace, name });
    const done = await commitRemoval(this.#writers, request, this.#stateAt(at), "delete");
    if (isStatus(done)) return { cause: done, message: `Event ${key} cannot be removed` };
    // Another write was faster, and put it off.
    assert(done === changed || done > 0, "A removal has a revision");
    return undefined;
  }

  #note(queue: Queue, at: Location, type: number): void {
    if (type !== recordTypes.delete) queue.postpone(this.#view.keyOf(at), this.#ttlMs);
  }

  /** Copies: the record may be recycled while the removal is under way. */
  #stateAt(at: Location): StoredState {
    return {
      revision: this.#view.revisionOf(at),
      body: Buffer.from(this.#view.object(at)),
      versionAt: this.#view.versionAt(at),
      selection: copyOf(this.#view.selection(at)),
    };
  }
}

/** When an event was written last, as far as it says; a client may say anything, but not that it is yet to come. */
function lastWriteMs(event: Event, nowMs: number): number {
  const { lastTimestamp, eventTime, series, metadata } = event;
  const times = [lastTimestamp, eventTime, series?.lastObservedTime, metadata.creationTimestamp];
  const said = Math.max(0, ...times.map((time) => (time === undefined ? 0 : Date.parse(time))));
  return Math.min(said, nowMs);
}
