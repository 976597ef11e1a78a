// How long a front waits for the store, by the name upstream gives to what it asks of its own.
import type { Scheme } from "../api/scheme.ts";
import type { Clock } from "../base/clock.ts";
import type { Owner } from "../base/shares.ts";
import { definedAt } from "../kinds/custom/prefix.ts";
import type { Family, Registry } from "../observe/metrics.ts";
import type { StoreClient } from "../storage/client.ts";
import { type Change, changeTypes, type Outcome } from "../storage/store.ts";

/** Upper bounds in seconds, upstream's. */
const secondBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 15, 30, 60];

const operations = new Map<number, string>([
  [changeTypes.create, "create"],
  [changeTypes.update, "update"],
  [changeTypes.delete, "delete"],
]);

/** What custom resources are, all of them. */
const untyped = "*unstructured.Unstructured";

/** A store client that counts. */
export class TimedStore implements StoreClient {
  readonly recent: StoreClient["recent"];
  readonly past: StoreClient["past"];
  readonly #client: StoreClient;
  readonly #clock: Clock;
  readonly #seconds: Family;
  /** The built-in kind stored below a prefix, as upstream names its type; what is no object shares the empty name. */
  readonly #types = new Map<string, string>();

  constructor(client: StoreClient, clock: Clock, registry: Registry, scheme: Scheme) {
    this.#client = client;
    this.recent = client.recent;
    this.past = client.past;
    this.#clock = clock;
    const help = "Seconds from a change to its end on the disk, its wait for its turn included.";
    this.#seconds = registry.histogram("etcd_request_duration_seconds", help, secondBuckets, "operation", "type");
    for (const { prefix, group, kind } of scheme.resources) {
      if (prefix !== undefined) this.#types.set(prefix, `*${group === "" ? "core" : group.split(".")[0]}.${kind}`);
    }
  }

  async commit(change: Change, owner?: Owner): Promise<Outcome> {
    const startMs = this.#clock.monotonic();
    const outcome = await this.#client.commit(change, owner);
    const key = `${operations.get(change.type) ?? ""}\0${this.#types.get(change.prefix) ?? (definedAt(change.prefix) === undefined ? "" : untyped)}`;
    this.#seconds.observe(key, (this.#clock.monotonic() - startMs) / 1000);
    return outcome;
  }
}
