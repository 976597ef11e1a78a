// Tells clients in Event objects what controllers did and could not do, as upstream's do by client-go's recorder. A
// controller hands over what happened and goes on: events are correlated at once (correlation.ts) and written later,
// through the ordinary path and as the controller, as far as they can be; what cannot be written is dropped.
import type { Event, ObjectReference } from "../../api/gen/core/v1.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import { isStatus, type Status } from "../../api/status.ts";
import { formatTime } from "../../api/time.ts";
import { within } from "../../base/within.ts";
import { toValue } from "../../codec/engine/json.ts";
import { limits } from "../../config/limits.ts";
import type { EventMeter } from "../../observe/recordedevents.ts";
import type { WriteServices, Written } from "../../request/commit/writerequest.ts";
import { Actor, isOfEndingNamespace } from "../actor.ts";
import {
  type Controller,
  type Pace,
  type Queue,
  Reconciler,
  type ReconcilerParts,
  type Result,
} from "../reconciler.ts";
import { type CorrelatedEvent, Correlation, type Occurrence } from "./correlation.ts";

/** Tells of something that happened to an object. Takes microseconds, never fails, and what it is told may be dropped. */
export type Recorder = (about: ObjectReference, type: Occurrence["type"], reason: string, message: string) => void;

/** Where controllers get their recorder from. */
export interface Recorders {
  /** `component`: the controller, as its events name it. `userName`: that of its Actor; left out for the server itself. */
  recorder(component: string, userName?: string): Recorder;
}

/** What an event names an object by, as it is now. */
export function referenceTo({ kind, apiVersion }: Resource, { metadata }: ApiObject): ObjectReference {
  const { namespace, name, uid, resourceVersion } = metadata;
  return { kind, apiVersion, namespace, name, uid, resourceVersion };
}

interface Pending {
  readonly actor: Actor;
  readonly occurrence: Occurrence;
  readonly event: CorrelatedEvent;
  tries: number;
}

type Kept = ApiObject & Event;

/** Writes the events of all controllers of a thread. Works on events that changed; each key is one event. */
export class EventWriter implements Controller, Recorders {
  readonly pace: Pace = { workers: limits.eventWritesMax, keysMax: limits.eventsPendingMax + 1 };
  readonly #writers: WriteServices;
  readonly #meter: EventMeter;
  readonly #events: Resource | undefined;
  readonly #reconciler: Reconciler;
  readonly #correlation: Correlation;
  /** The newest state of each event that is to be written. */
  readonly #pending = new Map<string, Pending>();

  constructor(writers: WriteServices, parts: ReconcilerParts, meter: EventMeter) {
    this.#writers = writers;
    this.#meter = meter;
    this.#events = writers.scheme.find("", "v1", "events");
    this.#reconciler = new Reconciler("event-recorder", this, parts);
    this.#correlation = new Correlation(parts.clock, parts.random);
  }

  recorder(component: string, userName?: string): Recorder {
    const manager = userName === undefined ? "kube-apiserver" : "kube-controller-manager";
    const actor = new Actor(this.#writers, manager, userName);
    this.#meter.open(component);
    return (about, type, reason, message) => this.#take(actor, { component, about, type, reason, message });
  }

  /** Forgets what was told, and what of it is not written yet: another server tells from now on. */
  forget(): void {
    this.#pending.clear();
    this.#correlation.forget();
  }

  /** Takes nothing any more. Resolves when what was told is written, or takes too long. */
  async stop(): Promise<void> {
    await within(this.#reconciler.idle(), limits.eventsEndMs);
    this.forget();
    void this.#reconciler.stop();
  }

  all(): void {
    // What was not told of is not known.
  }

  async work(key: string, queue: Queue): Promise<Result> {
    const pending = this.#pending.get(key);
    if (pending === undefined) return undefined;
    this.#pending.delete(key);
    const { component } = pending.occurrence;
    const done = await this.#write(pending);
    if (!isStatus(done)) {
      this.#meter.count(component, "written");
      return undefined;
    }
    const message = `Event ${pending.event.namespace}/${pending.event.name} cannot be written`;
    pending.tries += 1;
    if (isPassing(done) && pending.tries < limits.eventTriesMax) {
      // What was told meanwhile is newer.
      if (!this.#pending.has(key)) this.#pending.set(key, pending);
      return { cause: done, message };
    }
    this.#meter.count(component, "dropped");
    if (!hasNoPlace(done)) queue.report(key, message, done);
    return undefined;
  }

  #take(actor: Actor, occurrence: Occurrence): void {
    if (this.#reconciler.signal.aborted || this.#events === undefined) return;
    const event = this.#correlation.take(occurrence);
    if (event === undefined) return this.#meter.count(occurrence.component, "limited");
    if (this.#pending.size >= limits.eventsPendingMax && !this.#pending.has(event.key))
      return this.#meter.count(occurrence.component, "dropped");
    this.#pending.set(event.key, { actor, occurrence, event, tries: 0 });
    this.#reconciler.add(event.key);
  }

  async #write({ actor, occurrence, event }: Pending): Promise<Written | Status> {
    const resource = this.#events as Resource;
    const { namespace, name, count, message } = event;
    const lastTimestamp = formatTime(event.lastMs);
    if (count > 1) {
      const done = await actor.update<Kept>({ resource, namespace, name }, (kept) => {
        Object.assign(kept, { count, lastTimestamp, message });
        return undefined;
      });
      // It was not written yet, or its time to live is over.
      if (!isStatus(done) || done.reason !== "NotFound") return done;
    }
    const { component, about, type, reason } = occurrence;
    const created: Kept = {
      metadata: { name },
      involvedObject: about,
      reason,
      message,
      source: { component },
      firstTimestamp: formatTime(event.firstMs),
      lastTimestamp,
      count,
      type,
      // Set by recorders of events.k8s.io only.
      reportingComponent: "",
      reportingInstance: "",
    };
    return actor.create({ resource, namespace }, toValue(resource.message, created));
  }
}

/** Whether a refusal may be over in a while. Others say that the event is not wanted as it is. */
function isPassing({ code }: Status): boolean {
  return code === 429 || code >= 500;
}

/** Whether an event has nowhere to be, since its namespace goes or is gone. */
function hasNoPlace(status: Status): boolean {
  return status.reason === "NotFound" || isOfEndingNamespace(status);
}
