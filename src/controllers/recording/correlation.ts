// What becomes of what controllers tell: the same event again is counted in the event there is, many events that differ
// in their message only are told as one, and more than so many are not written (upstream: client-go's event correlator).
// Upstream bounds the events of one object; here those of one namespace and of all are bounded, too, since a client can
// make objects. What is remembered of an event is a hash of its words, so that clients do not decide on its size.
import { createHash } from "node:crypto";
import type { ObjectReference } from "../../api/gen/core/v1.ts";
import { Allowance } from "../../base/allowance.ts";
import type { Clock } from "../../base/clock.ts";
import { Recent } from "../../base/recent.ts";
import { limits } from "../../config/limits.ts";

/** Something that happened to an object, as a controller tells it. */
export interface Occurrence {
  /** The controller, as in `source.component`. */
  readonly component: string;
  readonly about: ObjectReference;
  readonly type: "Normal" | "Warning";
  /** One word. */
  readonly reason: string;
  readonly message: string;
}

/** The event an occurrence is told in, as it is to be from now on. */
export interface CorrelatedEvent {
  /** The same for all occurrences that are told in this event. */
  readonly key: string;
  readonly name: string;
  /** That of the object; the default one for objects in none. */
  readonly namespace: string;
  readonly message: string;
  /** Occurrences so far; more than one: there may be an object of this name. */
  readonly count: number;
  /** Milliseconds since 1970. */
  readonly firstMs: number;
  readonly lastMs: number;
}

interface Known {
  readonly name: string;
  readonly firstMs: number;
  count: number;
}

/** Occurrences of one controller about one object, with one reason. */
interface Similar {
  readonly messages: Set<string>;
  lastMs: number;
}

/** What is remembered, by hashes. Only what was written is: what there is too much of takes no other's place. */
interface Memory {
  readonly known: Recent<string, Known>;
  readonly similar: Recent<string, Similar>;
  /** What may be written: of one controller about one object, in one namespace, at all. */
  readonly objects: Recent<string, Allowance>;
  readonly namespaces: Recent<string, Allowance>;
  readonly all: Allowance;
}

/** Finds the events of one thread's controllers. An event of another thread is not known, and told in a new one. */
export class Correlation {
  readonly #clock: Clock;
  readonly #random: () => number;
  #memory = newMemory();
  /** Of the newest name: no two events of one object have the same. */
  #namedNs = 0n;

  /** `random`: at least 0, less than 1. */
  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Forgets all events. */
  forget(): void {
    this.#memory = newMemory();
  }

  /**
   * The event that tells of an occurrence; undefined: there were too many. One that is not written is counted in the
   * event there is.
   */
  take(occurrence: Occurrence): CorrelatedEvent | undefined {
    const { component, about, type, reason, message } = occurrence;
    const { kind = "", namespace: of = "", name: object = "", uid = "", apiVersion = "", fieldPath = "" } = about;
    const namespace = of === "" ? "default" : of;
    const source = hash(component, kind, of, object, uid, apiVersion);
    const group = hash(source, type, reason);
    const own = hash(message);
    const similar = this.#similar(group);
    const isOneOfMany = similar.messages.size >= limits.eventsSimilarMax - 1 && !similar.messages.has(own);
    const key = isOneOfMany ? group : hash(group, fieldPath, own);
    const lastMs = this.#clock.now();
    const known = this.#memory.known.get(key) ?? { name: this.#nameFor(object), firstMs: lastMs, count: 0 };
    known.count += 1;
    if (!this.#isAllowed(source, namespace)) return undefined;
    this.#memory.known.set(key, known);
    // The first messages keep events of their own.
    if (!isOneOfMany) similar.messages.add(own);
    this.#memory.similar.set(group, similar);
    const text = isOneOfMany ? `(combined from similar events): ${message}` : message;
    return { key, ...known, namespace, message: cut(text), lastMs };
  }

  /** What was told with the same reason; anew after a quiet while. */
  #similar(group: string): Similar {
    const nowMs = this.#clock.monotonic();
    const similar = this.#memory.similar.get(group);
    if (similar === undefined || nowMs - similar.lastMs > limits.eventsSimilarMs)
      return { messages: new Set(), lastMs: nowMs };
    similar.lastMs = nowMs;
    return similar;
  }

  #isAllowed(source: string, namespace: string): boolean {
    const { all, namespaces, objects } = this.#memory;
    const nowMs = this.#clock.monotonic();
    if (all.nextMs > nowMs) return false;
    const space = namespaces.get(namespace) ?? perNamespace();
    if (space.nextMs > nowMs) return false;
    const object = objects.get(source) ?? perObject();
    if (object.nextMs > nowMs) return false;
    namespaces.set(namespace, space);
    objects.set(source, object);
    for (const allowance of [all, space, object]) allowance.take(nowMs);
    return true;
  }

  /** The object's name and the time in nanoseconds, of which the clock knows the milliseconds. */
  #nameFor(object: string): string {
    const nowNs = BigInt(this.#clock.now()) * 1_000_000n + BigInt(Math.floor(this.#random() * 1e6));
    this.#namedNs = nowNs > this.#namedNs ? nowNs : this.#namedNs + 1n;
    return `${object}.${this.#namedNs.toString(16)}`;
  }
}

function newMemory(): Memory {
  const countMax = limits.eventsRememberedMax;
  return {
    known: new Recent(countMax),
    similar: new Recent(countMax),
    objects: new Recent(countMax),
    namespaces: new Recent(countMax),
    all: new Allowance(limits.eventsPerSecond, limits.eventsAtOnceMax),
  };
}

function perNamespace(): Allowance {
  return new Allowance(limits.eventsPerNamespacePerSecond, limits.eventsPerNamespaceMax);
}

function perObject(): Allowance {
  return new Allowance(limits.eventsPerObjectPerSecond, limits.eventsPerObjectMax);
}

function hash(...words: readonly string[]): string {
  // No word but a message has a zero byte, and that is hashed alone.
  return createHash("sha256").update(words.join("\0")).digest("base64");
}

/** As many whole characters of a message as are kept. */
function cut(message: string): string {
  const bytes = Buffer.from(message);
  if (bytes.length <= limits.eventMessageBytesMax) return message;
  let end = limits.eventMessageBytesMax;
  // Not in the middle of a character.
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString("utf8", 0, end);
}
