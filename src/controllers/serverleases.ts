// Which servers live: each writes a Lease of its own into the system namespace, renews it, and removes it when it ends;
// it says where the server is. One that stands still for its time has expired, one that stands still for longer is removed
// by any server. Each server measures by its own clock what it sees stand still, so that clocks need not agree. (Upstream:
// the lease reconciler of endpoints, whose keys are outside the API, and the identity leases of APIServerIdentity.)
import { createHash } from "node:crypto";
import type { Lease as LeaseObject } from "../api/gen/coordination/v1.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { isStatus, type Status } from "../api/status.ts";
import { formatMicroTime } from "../api/time.ts";
import { assert } from "../base/assert.ts";
import type { Clock } from "../base/clock.ts";
import { hostPort } from "../base/network.ts";
import { compileSelector, type Match } from "../cache/fanout/select.ts";
import type { Location } from "../cache/shared/record.ts";
import type { LogView } from "../cache/view/view.ts";
import { toValue } from "../codec/engine/json.ts";
import { decodeStored } from "../codec/engine/stored.ts";
import { limits } from "../config/limits.ts";
import { isReachable } from "../kinds/address.ts";
import type { WriteServices, Written } from "../request/commit/writerequest.ts";
import { Actor, failureOf, type Target } from "./actor.ts";
import {
  type Controller,
  type Failure,
  type Queue,
  Reconciler,
  type ReconcilerParts,
  type Result,
} from "./reconciler.ts";
import { findStored, type StoredKind } from "./storedkind.ts";

type Lease = ApiObject & LeaseObject;

/** Where a server is. */
export interface ServerAddress {
  readonly ip: string;
  readonly port: number;
}

/** Of the labels upstream's identity leases have. */
const labelKey = "k8s.io/component";
const component = "kube-apiserver";
/** Where the server is, `ip:port` or `[ip]:port`. */
const addressKey = "apiserver.kubernetes.io/advertised-address";

/** A lease of a server, as it was last seen. */
interface Seen {
  /** Of the object: one made anew is another. */
  readonly uid: string;
  /** What its server last wrote. */
  readonly said: string;
  /** Since when that stands; monotonic ms. */
  readonly sinceMs: number;
  readonly address: ServerAddress | undefined;
}

/** Leases of servers, as they are stored. */
class LeaseLog {
  readonly resource: Resource;
  readonly view: LogView;
  readonly namespace: string;
  readonly #match: Match;
  readonly #addressKey: string;

  constructor({ resource, view }: StoredKind, spell: (canonical: string) => string) {
    this.resource = resource;
    this.view = view;
    this.namespace = spell("kube-system");
    this.#addressKey = spell(addressKey);
    const match = compileSelector({
      labels: [{ key: spell(labelKey), operator: "=", values: [component] }],
      fields: [],
    });
    assert(match !== undefined, "A selector of one label is no selector for everything");
    this.#match = match;
  }

  /** Undefined: leases are not served. */
  static open(writers: WriteServices): LeaseLog | undefined {
    const leases = findStored(writers, "coordination.k8s.io", "v1", "leases");
    return leases && new LeaseLog(leases, writers.scheme.identity.spell);
  }

  /** Whether a record is of a lease of a server. */
  has(at: Location): boolean {
    return this.view.keyOf(at).startsWith(`${this.namespace}/`) && this.#match(this.view, at);
  }

  read(at: Location): Omit<Seen, "sinceMs"> {
    const { metadata, spec } = decodeStored(this.resource, this.view.object(at)) as Lease;
    const said = `${spec.holderIdentity} ${spec.renewTime}`;
    return { uid: metadata.uid ?? "", said, address: readAddress(metadata.annotations?.get(this.#addressKey)) };
  }
}

/** What one server knows of all that live. */
export class LiveServers {
  readonly #leases: LeaseLog;
  readonly #clock: Clock;
  /** By the names of leases. */
  readonly #seen = new Map<string, Seen>();

  constructor(leases: LeaseLog, clock: Clock) {
    this.#leases = leases;
    this.#clock = clock;
  }

  /** Undefined: leases are not served. */
  static open(writers: WriteServices): LiveServers | undefined {
    const leases = LeaseLog.open(writers);
    return leases && new LiveServers(leases, writers.clock);
  }

  /** What is to be followed: news of servers. */
  follow(changed: (queue: Queue) => void): readonly [LogView, (queue: Queue, at: Location) => void] {
    return [
      this.#leases.view,
      (queue, at) => {
        if (this.#leases.has(at)) changed(queue);
      },
    ];
  }

  /** Takes in the leases there are now; of more than there may be servers, the first ones by name. */
  async look(queue: Queue): Promise<void> {
    const { view, namespace } = this.#leases;
    const found = new Map<string, Seen>();
    view.drain();
    const take = (at: Location, key: string): void => {
      if (found.size >= limits.serversMax || !this.#leases.has(at)) return;
      const name = key.slice(namespace.length + 1);
      const read = this.#leases.read(at);
      const known = this.#seen.get(name);
      const isSame = known !== undefined && known.said === read.said && known.uid === read.uid;
      found.set(name, { ...read, sinceMs: isSame ? known.sinceMs : this.#clock.monotonic() });
    };
    await queue.scan(view, take, { namespace });
    this.#seen.clear();
    for (const [name, seen] of found) this.#seen.set(name, seen);
  }

  /** Where the servers are whose leases have not expired. */
  addresses(): ServerAddress[] {
    return [...this.#seen.values()].flatMap(({ sinceMs, address }) =>
      address !== undefined && this.#clock.monotonic() - sinceMs < limits.serverLeaseMs ? address : [],
    );
  }

  /** Time to the next expiry; Infinity: there is none. */
  nextMs(): number {
    const left = [...this.#seen.values()].map(
      ({ sinceMs }) => sinceMs + limits.serverLeaseMs - this.#clock.monotonic(),
    );
    return Math.min(...left.filter((ms) => ms > 0));
  }

  /** Leases that were not renewed for so long that their servers will not come back. */
  gone(): (readonly [name: string, uid: string])[] {
    const isGone = ({ sinceMs }: Seen): boolean => this.#clock.monotonic() - sinceMs >= limits.serverLeaseGoneMs;
    return [...this.#seen].filter(([, seen]) => isGone(seen)).map(([name, { uid }]) => [name, uid]);
  }
}

/** What a server writes of itself. */
export interface ServerLeaseOptions {
  /** Names this process and no other, ever. */
  readonly holder: string;
  /** Undefined: nowhere others can reach it. */
  readonly address: ServerAddress | undefined;
}

/** What it works on: its lease, and those of servers that are gone. */
const [ownKey, goneKey] = ["own", "gone"];

/** The lease of this server, from start() to stop(). */
export class ServerLease implements Controller {
  readonly pace = { retryMsMax: limits.serverLeaseRenewMs };
  readonly #writers: WriteServices;
  readonly #options: ServerLeaseOptions;
  readonly #live: LiveServers;
  readonly #actor: Actor;
  readonly #target: Target;
  readonly #reconciler: Reconciler;
  #acquired: string | undefined;

  private constructor(writers: WriteServices, leases: LeaseLog, options: ServerLeaseOptions, parts: ReconcilerParts) {
    this.#writers = writers;
    this.#options = options;
    this.#live = new LiveServers(leases, writers.clock);
    this.#actor = new Actor(writers, "kube-apiserver");
    const { resource, namespace } = leases;
    const ending = createHash("sha256").update(options.holder).digest("hex").slice(0, 32);
    this.#target = { resource, namespace, name: `${component}-${ending}` };
    this.#reconciler = new Reconciler("server-lease", this, parts);
  }

  /** Undefined: leases are not served. */
  static open(writers: WriteServices, options: ServerLeaseOptions, parts: ReconcilerParts): ServerLease | undefined {
    const leases = LeaseLog.open(writers);
    return leases && new ServerLease(writers, leases, options, parts);
  }

  start(): void {
    this.#reconciler.start();
  }

  all(queue: Queue): void {
    queue.add(ownKey);
    queue.add(goneKey);
  }

  work(key: string, queue: Queue): Promise<Result> {
    return key === ownKey ? this.#renew() : this.#collect(queue);
  }

  /** Removes it: others need not wait for its end. Resolves when that is written or cannot be. */
  async stop(): Promise<void> {
    const hasBegun = this.#acquired !== undefined;
    await this.#reconciler.stop();
    if (hasBegun) await this.#actor.delete(this.#target);
  }

  async #renew(): Promise<Result> {
    const renewTime = formatMicroTime(this.#writers.clock.now());
    this.#acquired ??= renewTime;
    let done: Written | Status = await this.#actor.update<Lease>(this.#target, (lease) => {
      Object.assign(lease, this.#content(lease, renewTime));
      return undefined;
    });
    if (isStatus(done) && done.reason === "NotFound") {
      const metadata = { name: this.#target.name };
      const content = toValue(this.#target.resource.message, this.#content({ metadata }, renewTime));
      done = await this.#actor.create(this.#target, content);
      // The system's namespace is made at the first start.
      if (isStatus(done) && done.reason === "NotFound") return { againMs: limits.bootstrapRetryMs };
    }
    if (!isStatus(done) || done.reason === "AlreadyExists") return { againMs: limits.serverLeaseRenewMs };
    return { cause: done, message: `The lease ${this.#target.name} of this server cannot be written` };
  }

  #content({ metadata }: Pick<ApiObject, "metadata">, renewTime: string): Pick<Lease, "metadata" | "spec"> {
    const { spell } = this.#writers.scheme.identity;
    const { holder, address } = this.#options;
    const labels = new Map([...(metadata.labels ?? []), [spell(labelKey), component] as const]);
    const annotations = new Map(metadata.annotations ?? []);
    if (address !== undefined) annotations.set(spell(addressKey), hostPort(address.ip, address.port));
    return {
      metadata: { ...metadata, labels, ...(annotations.size > 0 ? { annotations } : {}) },
      spec: {
        holderIdentity: holder,
        leaseDurationSeconds: limits.serverLeaseMs / 1000,
        acquireTime: this.#acquired,
        renewTime,
      },
    };
  }

  /** Removes leases of servers that are gone. */
  async #collect(queue: Queue): Promise<Result> {
    await this.#live.look(queue);
    let failure: Failure | undefined;
    for (const [name, uid] of this.#live.gone()) {
      if (name === this.#target.name || queue.signal.aborted) continue;
      const done = await this.#actor.delete({ ...this.#target, name }, { preconditions: { uid } });
      failure = failureOf(done, `The lease ${name} of a server that is gone cannot be removed`) ?? failure;
    }
    return failure ?? { againMs: limits.serverLeaseRenewMs };
  }
}

/** Undefined: there is none, or none that can be an endpoint. */
function readAddress(text = ""): ServerAddress | undefined {
  const colon = text.lastIndexOf(":");
  const [ip, digits] = [text.slice(0, colon).replace(/^\[([^[\]]*)\]$/, "$1"), text.slice(colon + 1)];
  const port = /^[0-9]{1,5}$/.test(digits) ? Number(digits) : 0;
  return isReachable(ip) && port > 0 && port < 65_536 ? { ip, port } : undefined;
}
