// Keeps claims and services in step: a crash between the two writes of a service's life can leave a claim without its
// service, and a store from before has services without claims. Looks at the start and every minute, unless nothing
// changed since a look that found all well.
import type { Service } from "../api/gen/core/v1.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { assert } from "../base/assert.ts";
import { nextTurn } from "../base/turn.ts";
import type { LogView } from "../cache/view/view.ts";
import { decodeStored } from "../codec/engine/stored.ts";
import { limits } from "../config/limits.ts";
import { heldBy, ownerOf } from "../request/commit/allocate.ts";
import {
  type ClaimKind,
  claim,
  claimPrefixes,
  readClaim,
  release,
  taken,
} from "../request/commit/serviceallocations.ts";
import type { WriteServices } from "../request/commit/writerequest.ts";

/** Told what cannot be put right. */
export type Report = (message: string, about: object) => void;

const kinds = Object.keys(claimPrefixes) as ClaimKind[];

/** Runs from start() to stop(). */
export class AddressRepair {
  readonly #writers: WriteServices;
  readonly #report: Report;
  readonly #services: Resource;
  readonly #view: LogView;
  #timer: NodeJS.Timeout | undefined;
  #running = false;
  #stopped = false;
  /** Positions of the logs when all was well. */
  #clean = "";

  constructor(writers: WriteServices, services: Resource, report: Report) {
    this.#writers = writers;
    this.#report = report;
    this.#services = services;
    assert(services.prefix !== undefined, "Services are stored");
    this.#view = writers.views.log(services.prefix);
  }

  start(): void {
    this.#timer = setInterval(() => void this.look(), limits.claimAgeMsMax);
    this.#timer.unref();
    void this.look();
  }

  stop(): void {
    this.#stopped = true;
    clearInterval(this.#timer);
  }

  /** One look: what services have is claimed, what nobody has is released once it is old enough. */
  async look(): Promise<void> {
    if (this.#running || this.#stopped) return;
    this.#running = true;
    const position = this.#position();
    try {
      if (position === this.#clean) return;
      const claimed = await this.#claimMissing();
      const waiting = await this.#releaseOrphans();
      if (claimed && !waiting) this.#clean = position;
    } catch (error) {
      this.#report("The claims of services could not be looked at", { err: error });
    } finally {
      this.#running = false;
    }
  }

  #position(): string {
    const views = [this.#view, ...kinds.map((kind) => this.#writers.views.log(claimPrefixes[kind]))];
    return views.map((view) => [view.drain(), view.head][1]).join();
  }

  /** Claims what services have; false when somebody else has it or the store does not take it. */
  async #claimMissing(): Promise<boolean> {
    let well = true;
    for (const [index, key] of keysOf(this.#view).entries()) {
      if (index % limits.claimsPerTurn === 0) await nextTurn();
      const service = this.#service(key);
      if (service === undefined) continue;
      const owner = ownerOf(service);
      for (const [kind, what] of heldBy(service)) {
        const view = this.#writers.views.log(claimPrefixes[kind]);
        const found = readClaim(view, what);
        if (found?.uid === owner.uid) continue;
        const got = found === undefined ? await claim(this.#writers, kind, what, owner, false) : taken;
        if (got === undefined || this.#service(key) === undefined) continue;
        well = false;
        this.#report("A service has what another one was given", { service: key, [kind]: what });
      }
    }
    return well;
  }

  /** Releases what no service has; true when something is not old enough yet. */
  async #releaseOrphans(): Promise<boolean> {
    let waiting = false;
    for (const kind of kinds) {
      const view = this.#writers.views.log(claimPrefixes[kind]);
      view.drain();
      for (const [index, what] of keysOf(view).entries()) {
        if (index % limits.claimsPerTurn === 0) await nextTurn();
        const found = readClaim(view, what);
        if (found === undefined) continue;
        this.#view.drain();
        const service = this.#service(`${found.namespace}/${found.name}`);
        const used = service?.metadata.uid === found.uid && heldBy(service).some(([k, w]) => k === kind && w === what);
        if (used) continue;
        // A write that has claimed and not committed yet is no orphan.
        if (this.#writers.clock.now() - found.sinceMs < limits.claimAgeMsMax) waiting = true;
        else await release(this.#writers, kind, what, found);
      }
    }
    return waiting;
  }

  #service(key: string): (ApiObject & Service) | undefined {
    const [namespace = "", name = ""] = key.split("/");
    const at = this.#view.get(namespace, name);
    if (at === 0) return undefined;
    return decodeStored(this.#services, this.#view.object(at)) as ApiObject & Service;
  }
}

function keysOf(view: LogView): string[] {
  const keys: string[] = [];
  view.scan("", "", 0, (_at, key) => keys.push(key) > 0);
  return keys;
}
