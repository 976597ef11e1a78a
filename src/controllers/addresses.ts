// Keeps claims and services in step: a crash between the two writes of a service's life can leave a claim without its
// service, and a store from before has services without claims. Looks at the start, and a minute after something changed
// or was not well. Other servers that write the same data have clocks of their own, and write what is not here yet: their
// claims are old when this server has known them for so long, and looks are at what is newest.
import type { Service } from "../api/gen/core/v1.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import type { LogView } from "../cache/view/view.ts";
import { decodeStored } from "../codec/engine/stored.ts";
import { limits } from "../config/limits.ts";
import { heldBy, ownerOf } from "../request/commit/allocate.ts";
import { catchUp } from "../request/commit/attempts.ts";
import {
  type Claim,
  type ClaimKind,
  claim,
  claimPrefixes,
  readClaim,
  release,
  taken,
} from "../request/commit/serviceallocations.ts";
import type { WriteServices } from "../request/commit/writerequest.ts";
import type { Controller, Follows, Queue, Result } from "./reconciler.ts";
import { type Recorder, type Recorders, referenceTo } from "./recording/eventwriter.ts";
import type { StoredKind } from "./storedkind.ts";

const kinds = Object.keys(claimPrefixes) as ClaimKind[];

/** What it works on: all claims together. */
const claimsKey = "claims";

/** Works on all claims as one. Follows the logs of services and of claims, and looks a while after something changed. */
export class AddressRepair implements Controller {
  readonly follows: Follows;
  readonly #writers: WriteServices;
  readonly #services: Resource;
  readonly #view: LogView;
  readonly #views: readonly LogView[];
  readonly #recorders: Readonly<Record<ClaimKind, Recorder>>;
  /** Claims without a service at the last look, by their kind and what they claim: of which revision, and since when. */
  #orphans = new Map<string, { readonly revision: number; readonly sinceMs: number }>();

  constructor(writers: WriteServices, services: StoredKind, recorders: Recorders) {
    this.#writers = writers;
    this.#services = services.resource;
    this.#recorders = {
      address: recorders.recorder("ipallocator-repair-controller"),
      port: recorders.recorder("portallocator-repair-controller"),
    };
    this.#view = services.view;
    this.#views = [this.#view, ...kinds.map((kind) => writers.views.log(claimPrefixes[kind]))];
    this.follows = this.#views.map((view) => [view, (queue) => queue.addAfter(claimsKey, limits.claimAgeMsMax)]);
  }

  all(queue: Queue): void {
    queue.add(claimsKey);
  }

  /** One look: what services have is claimed, what no service has is released once it is old enough. */
  async work(_key: string, queue: Queue): Promise<Result> {
    const late = await catchUp(this.#writers, Number.POSITIVE_INFINITY);
    if (late !== undefined) return { cause: late, message: "Addresses and ports cannot be looked at" };
    for (const view of this.#views) view.drain();
    const claimed = await this.#claimMissing(queue);
    const waiting = await this.#releaseOrphans(queue);
    return claimed && !waiting ? undefined : { againMs: limits.claimAgeMsMax };
  }

  /** Claims what services have; false when another service has it or the store does not take it. */
  async #claimMissing(queue: Queue): Promise<boolean> {
    let well = true;
    for (const key of await keysOf(this.#view, queue)) {
      await queue.giveWay();
      if (queue.signal.aborted) return false;
      const service = this.#service(key);
      if (service === undefined) continue;
      const owner = ownerOf(service);
      for (const [kind, what] of heldBy(service)) {
        const view = this.#writers.views.log(claimPrefixes[kind]);
        const found = readClaim(view, what);
        if (found?.uid === owner.uid) continue;
        const got = found === undefined ? await claim(this.#writers, kind, what, owner, false) : taken;
        if (got === undefined)
          this.#tell(kind, service, "NotAllocated", `${titleOf(kind, what)} is not allocated; repairing`);
        if (got === undefined || this.#service(key) === undefined) continue;
        well = false;
        const message = `${titleOf(kind, what)} was assigned to multiple services; please recreate service`;
        if (got === taken) this.#tell(kind, service, "AlreadyAllocated", message);
        queue.report(key, `A service has the ${kind} ${what}, which another one was given`, got);
      }
    }
    return well;
  }

  /** Releases what no service has; true when something is not old enough yet. */
  async #releaseOrphans(queue: Queue): Promise<boolean> {
    let waiting = false;
    const before = this.#orphans;
    this.#orphans = new Map();
    for (const kind of kinds) {
      const view = this.#writers.views.log(claimPrefixes[kind]);
      for (const what of await keysOf(view, queue)) {
        await queue.giveWay();
        if (queue.signal.aborted) return true;
        const found = readClaim(view, what);
        if (found === undefined) continue;
        this.#view.drain();
        const service = this.#service(`${found.namespace}/${found.name}`);
        const used = service?.metadata.uid === found.uid && heldBy(service).some(([k, w]) => k === kind && w === what);
        if (used) continue;
        // A write that has claimed and not committed yet is no orphan.
        const knownMs = this.#note(`${kind} ${what}`, found, before);
        if (Math.min(knownMs, this.#writers.clock.now() - found.sinceMs) < limits.claimAgeMsMax) waiting = true;
        else await release(this.#writers, kind, what, found);
      }
    }
    return waiting;
  }

  /** How long a claim has been known to be an orphan; for ever where no other server makes any. */
  #note(key: string, { revision }: Claim, before: ReadonlyMap<string, { revision: number; sinceMs: number }>): number {
    if (this.#writers.store.recent === undefined) return Number.POSITIVE_INFINITY;
    const nowMs = this.#writers.clock.monotonic();
    const known = before.get(key);
    const sinceMs = known?.revision === revision ? known.sinceMs : nowMs;
    this.#orphans.set(key, { revision, sinceMs });
    return nowMs - sinceMs;
  }

  #tell(kind: ClaimKind, service: ApiObject & Service, reason: string, message: string): void {
    const prefix = kind === "address" ? "ClusterIP" : "Port";
    this.#recorders[kind](referenceTo(this.#services, service), "Warning", prefix + reason, message);
  }

  #service(key: string): (ApiObject & Service) | undefined {
    const [namespace = "", name = ""] = key.split("/");
    const at = this.#view.get(namespace, name);
    if (at === 0) return undefined;
    return decodeStored(this.#services, this.#view.object(at)) as ApiObject & Service;
  }
}

/** An address or port as upstream's events call it. */
function titleOf(kind: ClaimKind, what: string): string {
  if (kind === "port") return `Port ${what}`;
  return `Cluster IP [${what.includes(":") ? "IPv6" : "IPv4"}]:${what}`;
}

async function keysOf(view: LogView, queue: Queue): Promise<string[]> {
  const keys: string[] = [];
  view.drain();
  await queue.scan(view, (_at, key) => keys.push(key));
  return keys;
}
