// Endpoint slices of Endpoints that clients write for services without a selector: network proxies look at slices only
// (upstream: its endpoint slice mirroring controller). A slice for each set of ports and family of addresses.
import type { EndpointAddress, Endpoints, Service } from "../../api/gen/core/v1.ts";
import type { Endpoint } from "../../api/gen/discovery/v1.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import { decodeStored } from "../../codec/engine/stored.ts";
import { limits } from "../../config/limits.ts";
import { equalStrings } from "../../kinds/validation/equal.ts";
import type { WriteServices } from "../../request/commit/writerequest.ts";
import { Actor } from "../actor.ts";
import type { Controller, Follows, Pace, Queue, Result } from "../reconciler.ts";
import { findStored, type StoredKind } from "../storedkind.ts";
import { OwnSlices, ownerOf, type Slice } from "./ownslices.ts";
import { type ServedPort, slicePorts, slicePortsText } from "./ports.ts";
import { nameOf, namespaceOf } from "./servicepods.ts";
import {
  byPorts,
  type EndpointGroup,
  endpointKey,
  isSameEndpoint,
  reuse,
  type SlicePlan,
  slicesKey,
} from "./sliceplan.ts";
import { type LabelNames, labelNames } from "./words.ts";

type Kept = ApiObject & Endpoints;

/** Works on Endpoints. Follows their log, those of services and of slices. */
export class SliceMirroringController implements Controller {
  readonly follows: Follows;
  readonly pace: Pace = { workers: limits.endpointsWritesMax, laneOf: namespaceOf };
  readonly #endpoints: StoredKind;
  readonly #services: StoredKind;
  readonly #slices: OwnSlices;
  readonly #words: LabelNames;

  /** Undefined: what it looks after is not served. */
  static open(writers: WriteServices): SliceMirroringController | undefined {
    const { scheme } = writers;
    const slices = scheme.find(scheme.identity.spell("discovery.k8s.io"), "v1", "endpointslices");
    const [services, endpoints] = ["services", "endpoints"].map((name) => findStored(writers, "", "v1", name));
    if (slices === undefined || services === undefined || endpoints === undefined) return undefined;
    return new SliceMirroringController(writers, slices, endpoints, services);
  }

  private constructor(writers: WriteServices, slices: Resource, endpoints: StoredKind, services: StoredKind) {
    const { identity } = writers.scheme;
    this.#endpoints = endpoints;
    this.#services = services;
    this.#words = labelNames(identity);
    const user = "system:serviceaccount:kube-system:endpointslicemirroring-controller";
    const actor = new Actor(writers, "kube-controller-manager", user);
    const manager = identity.spell("endpointslicemirroring-controller.k8s.io");
    this.#slices = new OwnSlices(writers, slices, this.#words, manager, actor);
    const note = ({ view }: StoredKind): Follows[number] => [view, (queue, at) => queue.add(view.keyOf(at))];
    this.follows = [note(endpoints), note(services), ...this.#slices.follows()];
  }

  /** Slices whose Endpoints went while no controller ran are found by their labels. */
  async all(queue: Queue): Promise<void> {
    await this.#slices.rebuild(queue);
    this.#endpoints.view.drain();
    await queue.scan(this.#endpoints.view, (_at, key) => queue.add(key));
    for (const key of this.#slices.keys()) queue.add(key);
  }

  /** Has slices say what Endpoints say, or removes them. */
  async work(key: string, queue: Queue): Promise<Result> {
    if (!this.#slices.isComplete) return undefined;
    // Slices that were made a moment ago have to be known, or they are made again.
    if (!queue.catchUp()) return { againMs: 0 };
    // Most services select pods, and their Endpoints need not be read.
    const endpoints = this.#isUnselecting(key) ? read<Kept>(this.#endpoints, key) : undefined;
    const present = this.#slices.has(key) ? await this.#slices.read(key, queue) : [];
    if (queue.signal.aborted) return undefined;
    if (endpoints === undefined || !this.#isMirrored(endpoints)) return this.#slices.remove(key, present);
    const { groups, isWhole } = await groupsOf(endpoints, queue);
    if (!isWhole) {
      const cause = new Error(`It has more than ${limits.mirroredSlicesMax} sets of ports and kinds of addresses`);
      queue.report(key, `Endpoints ${key} are not mirrored whole`, cause);
    }
    const plan = this.#plan(key, endpoints, present, groups);
    return this.#slices.write(queue, key, plan, ownerOf("Endpoints", endpoints));
  }

  #isUnselecting(key: string): boolean {
    const service = read<ApiObject & Service>(this.#services, key);
    return service !== undefined && (service.spec.selector?.size ?? 0) === 0;
  }

  #isMirrored({ metadata }: Kept): boolean {
    const { skipMirror, leader } = this.#words;
    return metadata.labels?.get(skipMirror) !== "true" && metadata.annotations?.has(leader) !== true;
  }

  /** One slice for each group; an earlier one of its ports is written over, further ones go. */
  #plan(key: string, endpoints: Kept, present: readonly Slice[], groups: readonly EndpointGroup[]): SlicePlan<Slice> {
    const { metadata } = endpoints;
    const labels = this.#slices.labels(key, metadata.labels);
    const annotations = new Map(metadata.annotations);
    for (const name of [this.#words.triggerTime, this.#words.lastApplied]) annotations.delete(name);
    const plan: SlicePlan<Slice> = { create: [], update: [], remove: [] };
    const others = new Set(present);
    const presentByPorts = byPorts(present);
    for (const { addressType, ports, endpoints } of groups) {
      const [first, ...more] = presentByPorts.get(slicesKey(addressType, ports)) ?? [];
      const wanted = { addressType, ports, endpoints: [...endpoints.values()], labels, annotations };
      plan.remove.push(...more);
      for (const slice of more) others.delete(slice);
      if (first === undefined) {
        plan.create.push(wanted);
        continue;
      }
      others.delete(first);
      const { metadata: own } = first;
      const isRight = equalStrings(own.labels, labels) && equalStrings(own.annotations, annotations);
      if (!isRight || !isSame(first, endpoints)) plan.update.push({ name: own.name ?? "", wanted });
    }
    plan.remove.push(...others);
    const whole = reuse(plan);
    return metadata.deletionTimestamp === undefined ? whole : { ...whole, create: [] };
  }
}

/** What slices are to say, by kind of addresses and ports; not whole: there would be too many, and some are left out. */
async function groupsOf(
  { subsets = [] }: Kept,
  queue: Queue,
): Promise<{ readonly groups: readonly EndpointGroup[]; readonly isWhole: boolean }> {
  let isWhole = true;
  const byText = new Map<string, EndpointGroup>();
  for (const { addresses = [], notReadyAddresses = [], ports = [] } of subsets) {
    const own = slicePorts(ports.map(servedPort));
    const text = slicePortsText(own);
    const put = (address: EndpointAddress, ready: boolean): void => {
      const addressType = address.ip.includes(":") ? "IPv6" : "IPv4";
      const key = `${addressType} ${text}`;
      let group = byText.get(key);
      if (group === undefined) {
        if (byText.size === limits.mirroredSlicesMax) {
          isWhole = false;
          return;
        }
        group = { addressType, ports: own, endpoints: new Map() };
        byText.set(key, group);
      }
      const endpoint = endpointOf(address, ready);
      if (group.endpoints.size < limits.mirroredEndpointsMax) group.endpoints.set(endpointKey(endpoint), endpoint);
    };
    let left = limits.mirroredEndpointsMax;
    for (const address of addresses) if (left-- > 0) put(address, true);
    for (const address of notReadyAddresses) if (left-- > 0) put(address, false);
    await queue.giveWay();
  }
  return { groups: [...byText.values()], isWhole };
}

function servedPort({
  name = "",
  protocol = "TCP",
  port,
  appProtocol,
}: {
  name?: string | undefined;
  protocol?: string | undefined;
  port: number;
  appProtocol?: string | undefined;
}): ServedPort {
  return { name, protocol, number: port, appProtocol };
}

function endpointOf({ ip, hostname, nodeName, targetRef }: EndpointAddress, ready: boolean): Endpoint {
  return {
    addresses: [ip],
    conditions: { ready },
    ...(hostname === undefined || hostname === "" ? {} : { hostname }),
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(targetRef === undefined ? {} : { targetRef }),
  };
}

/** Whether a slice says exactly this. */
function isSame({ endpoints = [] }: Slice, wanted: ReadonlyMap<string, Endpoint>): boolean {
  if (endpoints.length !== wanted.size) return false;
  return endpoints.every((endpoint) => {
    const one = wanted.get(endpointKey(endpoint));
    return one !== undefined && isSameEndpoint(endpoint, one);
  });
}

function read<T extends ApiObject>({ resource, view }: StoredKind, key: string): T | undefined {
  view.drain();
  const at = view.get(namespaceOf(key), nameOf(key));
  return at === 0 ? undefined : (decodeStored(resource, view.object(at)) as T);
}
