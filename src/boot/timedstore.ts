// How long a front waits for the store, by the name upstream gives to what it asks of its own.
import type { Scheme } from "../api/scheme.ts";
import type { Clock } from "../base/clock.ts";
import type { Owner } from "../base/shares.ts";
import { definedAt } from "../kinds/custom/prefix.ts";
import type { Family, Registry } from "../observe/metrics.ts";
import type { StoreClient } from "../storage/client.ts";
import { type Change, type ChangeType, changeTypes, type Outcome } from "../storage/store.ts";

/** Upper bounds in seconds, upstream's. */
const secondBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 15, 30, 60];

/** What changes of one type of object are counted by, by their ChangeType. */
type Keys = Readonly<Record<ChangeType, string>>;

function keysOf(type: string): Keys {
  return {
    [changeTypes.create]: `create\0${type}`,
    [changeTypes.update]: `update\0${type}`,
    [changeTypes.delete]: `delete\0${type}`,
  };
}

/** Of custom resources, all of them. */
const untyped = keysOf("*unstructured.Unstructured");
/** Of what is no object. */
const nameless = keysOf("");

/** A store client that counts. */
export class TimedStore implements StoreClient {
  readonly recent: StoreClient["recent"];
  readonly past: StoreClient["past"];
  readonly #client: StoreClient;
  readonly #clock: Clock;
  readonly #seconds: Family;
  /** Of the built-in kind stored below a prefix, as upstream names its type. */
  readonly #keys = new Map<string, Keys>();

  constructor(client: StoreClient, clock: Clock, registry: Registry, scheme: Scheme) {
    this.#client = client;
    this.recent = client.recent;
    this.past = client.past;
    this.#clock = clock;
    const help = "Seconds from a change to its end on the disk, its wait for its turn included.";
    this.#seconds = registry.histogram("etcd_request_duration_seconds", help, secondBuckets, "operation", "type");
    for (const { prefix, group, kind } of scheme.resources) {
      if (prefix === undefined) continue;
      this.#keys.set(prefix, keysOf(`*${group === "" ? "core" : group.split(".")[0]}.${kind}`));
    }
  }

  commit(change: Change, owner?: Owner): Promise<Outcome> {
    const startMs = this.#clock.monotonic();
    return this.#client.commit(change, owner).then((outcome) => {
      const { type, prefix } = change;
      const keys = this.#keys.get(prefix) ?? (definedAt(prefix) === undefined ? nameless : untyped);
      this.#seconds.observe(keys[type], (this.#clock.monotonic() - startMs) / 1000);
      return outcome;
    });
  }
}
