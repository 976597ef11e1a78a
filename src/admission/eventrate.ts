// EventRateLimit: events are nice to have; beyond so many a second, in all, of a namespace, of a user or about one
// object, they are refused. Buckets are kept per key, those used longest ago forgotten; each front has its share.
import { createHash } from "node:crypto";
import type { Event } from "../api/gen/core/v1.ts";
import type { Event as NewEvent } from "../api/gen/events/v1.ts";
import type { ApiObject } from "../api/object.ts";
import { refuse, type Status } from "../api/status.ts";
import { Recent } from "../base/recent.ts";
import type { EventRateSettings } from "../config/files/plugins.ts";
import { limits } from "../config/limits.ts";
import type { AdmissionPlugin, Attributes, Environment } from "./plugin.ts";

type Limit = Required<EventRateSettings["limits"][number]>;

/** Characters of a key from which it is not kept as it is. */
const longMin = 256;

/** What is left of a burst, and when that was. */
interface Bucket {
  tokens: number;
  atMs: number;
}

/** Builds the plugin. */
export function eventRate({ settings, identity, clock, config }: Environment): AdmissionPlugin {
  const read = readEventLimits(settings);
  const fronts = config.fronts;
  const found = typeof read === "string" ? [] : read;
  const enforcers = found.map((limit) => new Enforcer(limit, fronts));
  const groups = ["", identity.spell("events.k8s.io")];
  return {
    validate(attributes) {
      const { operation, resource, dryRun } = attributes;
      if (dryRun || (operation !== "create" && operation !== "update")) return undefined;
      if (resource.resource !== "events" || !groups.includes(resource.group)) return undefined;
      let refused: Status | undefined;
      // Each of them counts the event, whatever the others say (upstream).
      for (const enforcer of enforcers) refused = enforcer.take(attributes, clock.monotonic()) ?? refused;
      return refused;
    },
  };
}

class Enforcer {
  readonly #limit: Limit;
  readonly #perMs: number;
  readonly #burst: number;
  readonly #buckets: Recent<string, Bucket>;

  constructor(limit: Limit, fronts: number) {
    this.#limit = limit;
    this.#perMs = limit.qps / fronts / 1000;
    this.#burst = Math.max(1, Math.floor(limit.burst / fronts));
    // The younger half of what is kept is what cacheSize promises.
    this.#buckets = new Recent(2 * limit.cacheSize);
  }

  /** Takes a token for an event; 429 when there is none. */
  take(attributes: Attributes, nowMs: number): Status | undefined {
    const shown = keyOf(this.#limit.type, attributes);
    // What a client made long is kept by its digest.
    const key = shown.length > longMin ? createHash("sha256").update(shown).digest("base64") : shown;
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      bucket = { tokens: this.#burst, atMs: nowMs };
      this.#buckets.set(key, bucket);
    }
    bucket.tokens = Math.min(this.#burst, bucket.tokens + (nowMs - bucket.atMs) * this.#perMs);
    bucket.atMs = nowMs;
    const allowed = bucket.tokens >= 1;
    if (allowed) bucket.tokens -= 1;
    if (allowed) return undefined;
    return refuse("TooManyRequests", `Too many requests: limit reached on type ${this.#limit.type} for key ${shown}`);
  }
}

function keyOf(type: Limit["type"], { namespace, user, object }: Attributes): string {
  if (type === "Server") return "";
  if (type === "Namespace") return namespace;
  if (type === "User") return user.name;
  const event = object as ApiObject & Partial<Event> & Partial<NewEvent>;
  const source = event.source ?? event.deprecatedSource;
  const about = event.involvedObject ?? event.regarding;
  const { kind, namespace: within, name, uid, apiVersion } = about ?? {};
  return [source?.component, source?.host, kind, within, name, uid, apiVersion].map((part) => part ?? "").join("");
}

/** Reads the settings, JSON text that main checked; a text says why there must be some. */
export function readEventLimits(settings: string | undefined): Limit[] | string {
  if (settings === undefined) return "limits: must be a list that is not empty";
  const { limits: found } = JSON.parse(settings) as EventRateSettings;
  return found.map(({ cacheSize = 0, ...limit }) => ({ ...limit, cacheSize: cacheSize || limits.eventBuckets }));
}
