// Gives services their cluster addresses and node ports: what the client asked for if it is free, else any. The claims
// are made before the service is committed and undone when it was not; dry-run claims nothing, and shows
// stand-ins for what it would have claimed (upstream: the service registry's Allocators).
import { randomInt } from "node:crypto";
import { type FieldError, invalid, invalidObject, tooMany } from "../../api/fielderror.ts";
import type { Service, ServicePort } from "../../api/gen/core/v1.ts";
import type { ApiObject } from "../../api/object.ts";
import { isStatus, Status } from "../../api/status.ts";
import { limits } from "../../config/limits.ts";
import { parseAddress } from "../../kinds/address.ts";
import { settleFamilies } from "../../kinds/core/servicefamilies.ts";
import {
  addressAt,
  addressCount,
  addressText,
  canonicalAddress,
  holds,
  rangeOf,
  rangeText,
} from "../../kinds/ranges.ts";
import { goStringList } from "../../kinds/validation/gostruct.ts";
import { storeUnavailable } from "./attempts.ts";
import { type ClaimKind, claim, claimPrefixes, type Owner, release, taken } from "./serviceallocations.ts";
import type { WriteRequest, WriteServices } from "./writerequest.ts";

/** What became of a write's claims. */
export interface Allocation {
  /** Call once when the write is over: a failed one gives back what it claimed, a made one what it does not use now. */
  settle(committed: boolean): Promise<void>;
}

/** The first port a dry run shows where a service would get any. */
const standInPort = 32_769;

type Held = readonly [kind: ClaimKind, what: string];

/** Fills in what a service lacks, in place, and claims it. A Status when the client asked for what cannot be had. */
export async function allocate(
  writers: WriteServices,
  request: WriteRequest,
  object: ApiObject,
  old: ApiObject | undefined,
): Promise<Allocation | Status> {
  const service = object as ApiObject & Service;
  const errors = settleFamilies(
    service,
    writers.ranges.addresses.map(({ family }) => family),
  );
  if (errors.length > 0) return invalidService(service, errors);
  const had = old === undefined ? [] : heldBy(old as ApiObject & Service);
  const work = new Claims(writers, request, service, had);
  const refused =
    (await work.takeAddresses()) ?? (await work.takePorts(old === undefined)) ?? (await work.takeHealthPort());
  if (refused === undefined) return work;
  await work.settle(false);
  return refused;
}

/** Releases everything a service that is gone had. */
export async function releaseAll(writers: WriteServices, object: ApiObject): Promise<void> {
  const service = object as ApiObject & Service;
  const owner = ownerOf(service);
  for (const [kind, what] of heldBy(service)) await release(writers, kind, what, owner);
}

/** Who a service is to its claims. */
export function ownerOf({ metadata }: ApiObject): Owner {
  return { namespace: metadata.namespace ?? "", name: metadata.name ?? "", uid: metadata.uid ?? "" };
}

/** Every address and port a service has. */
export function heldBy({ spec }: Service): Held[] {
  const held = new Map<string, Held>();
  const add = (kind: ClaimKind, what: string | undefined): void => {
    if (what !== undefined) held.set(heldKey(kind, what), [kind, what]);
  };
  if (spec.type !== "ExternalName") for (const ip of spec.clusterIPs ?? []) add("address", canonicalAddress(ip));
  for (const { nodePort = 0 } of spec.ports ?? []) if (nodePort !== 0) add("port", String(nodePort));
  const health = spec.healthCheckNodePort ?? 0;
  if (health !== 0) add("port", String(health));
  return [...held.values()];
}

/** Tells claims apart. */
function heldKey(kind: ClaimKind, what: string): string {
  return `${kind} ${what}`;
}

function keysOf(held: readonly Held[]): Set<string> {
  return new Set(held.map(([kind, what]) => heldKey(kind, what)));
}

class Claims implements Allocation {
  readonly #writers: WriteServices;
  readonly #dryRun: boolean;
  readonly #service: ApiObject & Service;
  readonly #owner: Owner;
  readonly #had: readonly Held[];
  readonly #hadKeys: ReadonlySet<string>;
  readonly #made = new Map<string, Held>();
  /** The highest port of this write; 0: none yet. */
  #highestPort = 0;
  /** Where the next free one of each kind is looked for. */
  readonly #next = new Map<ClaimKind, number>();

  constructor(writers: WriteServices, request: WriteRequest, service: ApiObject & Service, had: readonly Held[]) {
    this.#writers = writers;
    this.#dryRun = request.dryRun;
    this.#service = service;
    this.#owner = ownerOf(service);
    this.#had = had;
    this.#hadKeys = keysOf(had);
  }

  async settle(committed: boolean): Promise<void> {
    if (this.#dryRun) return;
    const now = keysOf(committed ? heldBy(this.#service) : []);
    const over = committed
      ? this.#had.filter(([kind, what]) => !now.has(heldKey(kind, what)))
      : [...this.#made.values()];
    for (const [kind, what] of over) await release(this.#writers, kind, what, this.#owner);
  }

  async takeAddresses(): Promise<Status | undefined> {
    const { spec } = this.#service;
    const given = spec.clusterIPs ?? [];
    if (spec.type === "ExternalName" || given[0] === "None") return undefined;
    const ips: string[] = [];
    for (const [index, family] of (spec.ipFamilies ?? []).entries()) {
      const wanted = given[index];
      const got = wanted === undefined ? await this.#anyAddress(family) : await this.#address(family, wanted);
      if (isStatus(got)) return got;
      ips.push(got);
    }
    spec.clusterIPs = ips;
    spec.clusterIP = ips[0];
    return undefined;
  }

  async #address(family: string, text: string): Promise<string | Status> {
    const what = canonicalAddress(text) ?? text;
    if (this.#has("address", what)) return text;
    const range = rangeOf(this.#writers.ranges, family);
    const address = parseAddress(text);
    if (range === undefined || address === undefined || !holds(range, address)) {
      const valid = range === undefined ? "" : rangeText(range);
      if (range !== undefined) this.#asked(valid, false);
      return this.#badAddress(text, `provided IP is not in the valid range. The range of valid IPs is ${valid}`);
    }
    const got = await this.#claim("address", what);
    if (got === undefined || got === taken) this.#asked(rangeText(range), got === undefined);
    if (got === taken) return this.#badAddress(text, "provided IP is already allocated");
    return got ?? text;
  }

  #badAddress(ip: string, why: string): Status {
    const shown = goStringList(this.#service.spec.clusterIPs);
    return invalidService(this.#service, [invalid("spec.clusterIPs", shown, `failed to allocate IP ${ip}: ${why}`)]);
  }

  async #anyAddress(family: string): Promise<string | Status> {
    const range = rangeOf(this.#writers.ranges, family);
    if (this.#dryRun && range !== undefined) return addressText(range.network);
    const count = range === undefined ? 0 : addressCount(range);
    const found = await this.#any("address", count, (index) => (range ? addressText(addressAt(range, index)) : ""));
    if (range !== undefined && !isStatus(found)) this.#asked(rangeText(range), found !== undefined);
    return found ?? exhausted("a serviceIP");
  }

  /** Counts what came of an address that was asked for; a dry run asks for none (upstream). */
  #asked(range: string, isGiven: boolean): void {
    const { allocations } = this.#writers;
    if (this.#dryRun || allocations === undefined) return;
    if (isGiven) allocations.allocated(range);
    else allocations.failed(range);
  }

  /** Ports of one number in a new service share a node port: they are one in several protocols. Later each gets its own (upstream). */
  async takePorts(isNew: boolean): Promise<Status | undefined> {
    const { spec } = this.#service;
    const outside = spec.type === "NodePort" || spec.type === "LoadBalancer";
    const ports = outside ? (spec.ports ?? []) : [];
    const fills = spec.type === "NodePort" || spec.allocateLoadBalancerNodePorts !== false;
    const requested = isNew ? requestedPorts(ports) : new Map<number, number | undefined>();
    const { first, last } = this.#writers.ranges.ports;
    const wants = wantedPorts(ports, requested, fills);
    // Counted before anything is claimed: what cannot fit is not tried one by one.
    if (wants > last - first + 1) {
      return invalidService(this.#service, [tooMany("spec.ports", wants, last - first + 1)]);
    }
    const byNumber = new Map<number, number>();
    const given = new Set<number>();
    for (const [index, port] of ports.entries()) {
      const path = `spec.ports[${index}].nodePort`;
      const wanted = port.nodePort ?? 0;
      const shared = isNew ? byNumber.get(port.port) : undefined;
      if (wanted !== 0 && wanted !== shared && !given.has(wanted)) {
        const refused = await this.#port(path, wanted);
        if (refused !== undefined) return refused;
      }
      // Ports of a changed service may be given one between them.
      if (!isNew && wanted !== 0) given.add(wanted);
      if (wanted === 0) {
        if (!fills) continue;
        const got = shared ?? (await this.#portFor(path, requested.get(port.port)));
        if (isStatus(got)) return got;
        port.nodePort = got;
      }
      if (shared === undefined) byNumber.set(port.port, port.nodePort ?? 0);
    }
    return undefined;
  }

  async #portFor(path: string, requested: number | undefined): Promise<number | Status> {
    if (requested === undefined) return this.#anyPort();
    return (await this.#port(path, requested)) ?? requested;
  }

  async takeHealthPort(): Promise<Status | undefined> {
    const { spec } = this.#service;
    if (spec.type !== "LoadBalancer" || spec.externalTrafficPolicy !== "Local") return undefined;
    const wanted = spec.healthCheckNodePort ?? 0;
    if (wanted !== 0) return this.#port("spec.healthCheckNodePort", wanted);
    const any = await this.#anyPort();
    if (isStatus(any)) return any;
    spec.healthCheckNodePort = any;
    return undefined;
  }

  async #port(path: string, port: number): Promise<Status | undefined> {
    if (this.#has("port", String(port))) return undefined;
    const { first, last } = this.#writers.ranges.ports;
    if (port < first || port > last) {
      const why = `provided port is not in the valid range. The range of valid ports is ${first}-${last}`;
      return invalidService(this.#service, [invalid(path, port, why)]);
    }
    const got = await this.#claim("port", String(port));
    if (got !== taken) return got;
    return invalidService(this.#service, [invalid(path, port, "provided port is already allocated")]);
  }

  async #anyPort(): Promise<number | Status> {
    if (this.#dryRun) return this.#standInPort();
    const { first, last } = this.#writers.ranges.ports;
    const found = await this.#any("port", last - first + 1, (index) => String(first + index));
    if (found === undefined) return exhausted("a nodePort");
    return isStatus(found) ? found : Number(found);
  }

  /** What a dry run shows for any port: one that no service gets, and each time another (upstream). */
  #standInPort(): number {
    this.#highestPort = this.#highestPort === 0 ? standInPort : this.#highestPort + 1;
    return this.#highestPort;
  }

  /** Claims the first free one of `count` after a random start; undefined when none was found. */
  async #any(kind: ClaimKind, count: number, nameOf: (index: number) => string): Promise<string | Status | undefined> {
    if (count <= 0) return undefined;
    const view = this.#writers.views.log(claimPrefixes[kind]);
    // On from the last one found, so that all of a service's claims together look at each number once.
    const start = this.#next.get(kind) ?? randomInt(count);
    view.drain();
    for (let step = 0; step < Math.min(count, limits.claimProbesMax); step++) {
      const what = nameOf((start + step) % count);
      this.#next.set(kind, start + step + 1);
      if (view.get("", what) !== 0 || this.#made.has(heldKey(kind, what))) continue;
      const got = await this.#claim(kind, what);
      if (got !== taken) return got ?? what;
    }
    return undefined;
  }

  /** Whether the service had it before this write: no other service can. */
  #has(kind: ClaimKind, what: string): boolean {
    return this.#hadKeys.has(heldKey(kind, what));
  }

  async #claim(kind: ClaimKind, what: string): Promise<Status | typeof taken | undefined> {
    if (this.#made.has(heldKey(kind, what))) return taken;
    const got = await claim(this.#writers, kind, what, this.#owner, this.#dryRun);
    if (got === taken) return taken;
    // One in doubt may have been made: it is given back with the others.
    if (got === undefined || got.refused === "in-doubt") this.#made.set(heldKey(kind, what), [kind, what]);
    if (got !== undefined) {
      const { reason, message, code, details } = storeUnavailable;
      return new Status(code, reason, message, details, got.message);
    }
    if (kind === "port") this.#highestPort = Math.max(this.#highestPort, Number(what));
    return undefined;
  }
}

/** Numbers of ports, each with the node port a client gave to the first port of that number. */
function requestedPorts(ports: readonly ServicePort[]): Map<number, number | undefined> {
  const requested = new Map<number, number | undefined>();
  for (const { port, nodePort = 0 } of ports) {
    if (requested.get(port) === undefined) requested.set(port, nodePort === 0 ? undefined : nodePort);
  }
  return requested;
}

/** How many node ports a service takes. */
function wantedPorts(ports: readonly ServicePort[], shared: ReadonlyMap<number, unknown>, fills: boolean): number {
  if (shared.size > 0) return fills ? shared.size : [...shared.values()].filter((port) => port !== undefined).length;
  const given = ports.map(({ nodePort = 0 }) => nodePort).filter((port) => port !== 0);
  return new Set(given).size + (fills ? ports.length - given.length : 0);
}

function exhausted(what: string): Status {
  return new Status(500, "InternalError", `Internal error occurred: failed to allocate ${what}: range is full`, {
    causes: [{ message: `failed to allocate ${what}: range is full` }],
  });
}

function invalidService({ metadata }: ApiObject, errors: readonly FieldError[]): Status {
  return invalidObject("", "Service", metadata.name ?? "", errors);
}
