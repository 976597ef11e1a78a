// Leases that end keys: one for many, as a lease costs the cluster more than a key. A key lives at least as long as it should,
// and at most a little longer.
import type { EtcdClient } from "./client.ts";
import { type Lease, leaseAnswer, leaseRequest } from "./messages.ts";

/** A lease is given to further keys for this share of the time they live, at most. */
const sharedShare = 0.05;
/** Keys of one lease: the cluster deletes them in one revision. */
const keysMax = 1000;

interface Shared {
  readonly lease: Promise<Lease>;
  readonly untilMs: number;
  keys: number;
}

/** The leases of one server. */
export class Leases {
  readonly #client: EtcdClient;
  readonly #timeoutMs: number;
  readonly #sharedSecondsMax: number;
  readonly #shared = new Map<number, Shared>();

  /** `sharedSecondsMax`: for how long a lease is given to further keys. */
  constructor(client: EtcdClient, timeoutMs: number, sharedSecondsMax: number) {
    this.#sharedSecondsMax = sharedSecondsMax;
    this.#client = client;
    this.#timeoutMs = timeoutMs;
  }

  /** A lease for one more key that is to live so many seconds. Rejects with CallError. */
  of(seconds: number): Promise<Lease> {
    const nowMs = performance.now();
    const known = this.#shared.get(seconds);
    if (known !== undefined && nowMs < known.untilMs && known.keys < keysMax) {
      known.keys += 1;
      return known.lease;
    }
    const sharedSeconds = Math.min(this.#sharedSecondsMax, Math.ceil(seconds * sharedShare));
    const lease = this.#client.call({
      path: "/etcdserverpb.Lease/LeaseGrant",
      request: leaseRequest(seconds + sharedSeconds),
      read: leaseAnswer,
      // A lease that is not used ends by itself.
      isRead: true,
      timeoutMs: this.#timeoutMs,
    });
    const made: Shared = { lease, untilMs: nowMs + sharedSeconds * 1000, keys: 1 };
    this.#shared.set(seconds, made);
    lease.catch(() => {
      if (this.#shared.get(seconds) === made) this.#shared.delete(seconds);
    });
    return lease;
  }
}
