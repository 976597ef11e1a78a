// Endpoint slices of services that select pods: what Endpoints say, in parts that change one by one, and for each family
// of addresses (upstream: its endpoint slice controller). Hints of zones are not made: their gate is off by default.
import type { Service } from "../../api/gen/core/v1.ts";
import type { Endpoint } from "../../api/gen/discovery/v1.ts";
import type { ApiObject, OwnerReference } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import { isStatus } from "../../api/status.ts";
import { recordTypes } from "../../cache/shared/record.ts";
import { findLabel, type SelectionText, selectionText, valueText } from "../../cache/shared/selection.ts";
import type { LogView } from "../../cache/view/view.ts";
import { limits } from "../../config/limits.ts";
import { equalStrings } from "../../kinds/validation/equal.ts";
import type { SliceMeter } from "../../observe/endpointslices.ts";
import type { WriteServices } from "../../request/commit/writerequest.ts";
import { Actor } from "../actor.ts";
import type { Controller, Follows, Pace, Queue, Result } from "../reconciler.ts";
import { type Recorder, type Recorders, referenceTo } from "../recording/eventwriter.ts";
import { findStored } from "../storedkind.ts";
import type { Backend } from "./backends.ts";
import { OwnSlices, ownerOf, type Slice } from "./ownslices.ts";
import { portsAt, portText, slicePorts } from "./ports.ts";
import { nameOf, namespaceOf, ServicePods } from "./servicepods.ts";
import {
  byPorts,
  type EndpointGroup,
  type EndpointTally,
  endpointKey,
  planGroup,
  reuse,
  type SlicePlan,
  slicesKey,
} from "./sliceplan.ts";
import { hasHostname, isHeadless } from "./subsets.ts";
import { type LabelNames, labelNames } from "./words.ts";

/** Works on services. Follows their log, those of pods and of slices. */
export class EndpointSliceController implements Controller {
  readonly follows: Follows;
  readonly pace: Pace = { workers: limits.endpointsWritesMax, laneOf: namespaceOf };
  readonly #writers: WriteServices;
  readonly #pods: ServicePods;
  readonly #services: Resource;
  readonly #record: Recorder;
  readonly #slices: OwnSlices;
  readonly #nodes: LogView;
  readonly #zone: SelectionText;
  readonly #words: LabelNames;
  readonly #endpointsMax: number;
  readonly #meter: SliceMeter | undefined;
  readonly #tellsTermination: boolean;
  /** Services with a pod whose node is not there. */
  readonly #incomplete = new Set<string>();

  /** Undefined: what it looks after is not served. `endpointsMax`: of one slice. */
  static open(
    writers: WriteServices,
    recorders: Recorders,
    endpointsMax: number,
    meter?: SliceMeter,
  ): EndpointSliceController | undefined {
    const { scheme } = writers;
    const slices = scheme.find(scheme.identity.spell("discovery.k8s.io"), "v1", "endpointslices");
    const [services, pods, nodes] = ["services", "pods", "nodes"].map((name) => findStored(writers, "", "v1", name));
    if (slices === undefined || services === undefined || pods === undefined || nodes === undefined) return undefined;
    return new EndpointSliceController(
      writers,
      recorders,
      new ServicePods(writers, services, pods),
      { services: services.resource, slices, nodes: nodes.view },
      endpointsMax,
      meter,
    );
  }

  private constructor(
    writers: WriteServices,
    recorders: Recorders,
    pods: ServicePods,
    { services, slices, nodes }: { readonly services: Resource; readonly slices: Resource; readonly nodes: LogView },
    endpointsMax: number,
    meter: SliceMeter | undefined,
  ) {
    this.#meter = meter;
    const { identity, gates } = writers.scheme;
    this.#writers = writers;
    this.#pods = pods;
    this.#services = services;
    this.#nodes = nodes;
    this.#words = labelNames(identity);
    this.#zone = selectionText(this.#words.zone);
    this.#endpointsMax = endpointsMax;
    this.#tellsTermination = gates.has("EndpointSliceTerminatingCondition");
    const user = "system:serviceaccount:kube-system:endpointslice-controller";
    const actor = new Actor(writers, "kube-controller-manager", user);
    this.#record = recorders.recorder("endpoint-slice-controller", user);
    this.#slices = new OwnSlices(
      writers,
      slices,
      this.#words,
      identity.spell("endpointslice-controller.k8s.io"),
      actor,
      meter?.changed,
    );
    this.follows = [
      ...pods.follows(),
      ...this.#slices.follows(),
      [this.#nodes, (queue, _at, type) => this.#noteNode(queue, type)],
    ];
  }

  /** Slices whose service went while no controller ran are found by their labels. */
  async all(queue: Queue): Promise<void> {
    await this.#slices.rebuild(queue);
    await this.#pods.rebuild(queue);
    await queue.scan(this.#pods.services, (_at, key) => queue.add(key));
    for (const key of this.#slices.keys()) queue.add(key);
  }

  /** Writes what a service leads to. */
  async work(key: string, queue: Queue): Promise<Result> {
    if (!this.#pods.isComplete || !this.#slices.isComplete) return undefined;
    // Slices that were made a moment ago have to be known, or they are made again.
    if (!queue.catchUp()) {
      this.#meter?.ended("stale");
      return { againMs: 0 };
    }
    const done = await this.#work(key, queue);
    this.#meter?.ended(done !== undefined && "cause" in done ? "error" : "success");
    return done;
  }

  async #work(key: string, queue: Queue): Promise<Result> {
    const found = await this.#pods.find(key, queue);
    if (found?.selecting === undefined) this.#meter?.gone(key);
    if (found === undefined) return this.#removeAll(key, queue);
    const { service, selecting } = found;
    if (selecting === undefined) return undefined;
    const backends = await this.#pods.backends(selecting, queue);
    const trigger = selecting.triggers.next(service.metadata.creationTimestamp, backends);
    const groups = await this.#groups(key, service, backends, queue);
    const present = await this.#slices.read(key, queue);
    if (queue.signal.aborted) return undefined;
    const endpoints = groups.map((group) => group.endpoints.size);
    const tally: EndpointTally = { added: 0, removed: 0 };
    const plan = this.#plan(key, service, present, groups, tally);
    const changes = plan.create.length + plan.update.length + plan.remove.length;
    this.#meter?.passed(key, {
      ...tally,
      endpoints: endpoints.reduce((sum, count) => sum + count, 0),
      slices: present.length + plan.create.length - plan.remove.length,
      slicesMin: endpoints.reduce((sum, count) => sum + Math.ceil(count / this.#endpointsMax), 0),
      changes,
    });
    if (changes === 0) return undefined;
    selecting.wroteMs = this.#writers.clock.monotonic();
    const done = await this.#slices.write(queue, key, plan, ownerOf("Service", service), trigger);
    if (done !== undefined && "cause" in done && isStatus(done.cause)) {
      const what = done.message?.replace(/^F/, "f");
      this.#tell(key, service, `${what}: ${done.cause.message}`);
    }
    return done;
  }

  #tell(key: string, service: ApiObject & Service, cause: string): void {
    const message = `Error updating Endpoint Slices for Service ${key}: ${cause}`;
    this.#record(referenceTo(this.#services, service), "Warning", "FailedToUpdateEndpointSlices", message);
  }

  #noteNode(queue: Queue, type: number): void {
    if (type !== recordTypes.create) return;
    for (const key of this.#incomplete) queue.addAfter(key, limits.endpointsGatherMs);
    this.#incomplete.clear();
  }

  /** What there should be, by kind of addresses and ports. A pod whose node is not there is left out until it is. */
  async #groups(
    key: string,
    service: ApiObject & Service,
    backends: readonly Backend[],
    queue: Queue,
  ): Promise<EndpointGroup[]> {
    const byText = new Map<string, EndpointGroup>();
    const namespace = namespaceOf(key);
    this.#incomplete.delete(key);
    this.#nodes.drain();
    const publishes = service.spec.publishNotReadyAddresses === true;
    for (const backend of backends) {
      await queue.giveWay();
      const { isOver, isTerminating, nodeName, ips, name } = backend;
      if (isOver || ips.length === 0 || (isTerminating && !publishes && !this.#tellsTermination)) continue;
      const node = this.#nodes.get("", nodeName);
      if (node === 0) {
        if (!this.#incomplete.has(key)) {
          const cause = new Error(`There is no node ${JSON.stringify(nodeName)}`);
          queue.report(key, `Pod ${name} is missing in the endpoint slices of service ${key}`, cause);
          this.#tell(key, service, `node ${JSON.stringify(nodeName)} not found`);
        }
        this.#incomplete.add(key);
        continue;
      }
      const ports = portsAt(service, backend);
      const text = ports.map(portText).join();
      for (const addressType of addressTypesOf(service)) {
        const addresses = ips.filter((ip) => ip.includes(":") === (addressType === "IPv6"));
        if (addresses.length === 0) continue;
        let group = byText.get(`${addressType} ${text}`);
        if (group === undefined) {
          group = { addressType, ports: slicePorts(ports), endpoints: new Map() };
          byText.set(`${addressType} ${text}`, group);
        }
        const endpoint = this.#endpoint(service, namespace, backend, node, addresses);
        group.endpoints.set(endpointKey(endpoint), endpoint);
      }
    }
    return [...byText.values()];
  }

  #endpoint(service: Service, namespace: string, backend: Backend, node: number, addresses: string[]): Endpoint {
    const { name, uid, resourceVersion, nodeName, hostname, isReady: serving, isTerminating: terminating } = backend;
    const ready = service.spec.publishNotReadyAddresses === true || (serving && !terminating);
    const zone = this.#zoneOf(node);
    return {
      addresses,
      conditions: this.#tellsTermination ? { ready, serving, terminating } : { ready },
      ...(hasHostname(service, backend) ? { hostname } : {}),
      targetRef: { kind: "Pod", namespace, name, uid, resourceVersion },
      nodeName,
      ...(zone === "" ? {} : { zone }),
    };
  }

  #zoneOf(node: number): string {
    const source = this.#nodes.selectionSource(node);
    const table = this.#nodes.selectionAt(node);
    const label = findLabel(source, table, this.#zone);
    return label < 0 ? "" : valueText(source, table, label);
  }

  #plan(
    key: string,
    service: ApiObject & Service,
    present: readonly Slice[],
    groups: EndpointGroup[],
    tally: EndpointTally,
  ): SlicePlan<Slice> {
    const labels = this.#labels(key, service);
    const types = addressTypesOf(service);
    const whole: SlicePlan<Slice> = { create: [], update: [], remove: [] };
    // Those of an earlier service of the name are not written over: their owner is gone, and they go with it.
    const foreign = new Set(present.filter((slice) => !isOwned(slice, service) || !types.includes(slice.addressType)));
    for (const addressType of types) {
      const own = present.filter((slice) => slice.addressType === addressType && !foreign.has(slice));
      const plan = this.#planType(addressType, own, groups, labels, tally);
      whole.create.push(...plan.create);
      whole.update.push(...plan.update);
      whole.remove.push(...plan.remove);
    }
    whole.remove.push(...foreign);
    return service.metadata.deletionTimestamp === undefined ? whole : { ...whole, create: [] };
  }

  #planType(
    addressType: string,
    present: readonly Slice[],
    groups: readonly EndpointGroup[],
    labels: ReadonlyMap<string, string>,
    tally: EndpointTally,
  ): SlicePlan<Slice> {
    const others = new Set(present);
    const presentByPorts = byPorts(present);
    const whole: SlicePlan<Slice> = { create: [], update: [], remove: [] };
    for (const group of groups) {
      if (group.addressType !== addressType) continue;
      const alike = presentByPorts.get(slicesKey(addressType, group.ports)) ?? [];
      for (const slice of alike) others.delete(slice);
      const plan = planGroup(group, alike, labels, this.#endpointsMax, tally);
      whole.create.push(...plan.create);
      whole.update.push(...plan.update);
      whole.remove.push(...plan.remove);
    }
    for (const { endpoints = [] } of others) tally.removed += endpoints.length;
    // A service that leads nowhere has one slice that says so.
    const isEmpty = whole.create.length === 0 && whole.remove.length + others.size === present.length;
    const kept = isEmpty ? [...others].find((slice) => isEmptySlice(slice, labels)) : undefined;
    whole.remove.push(...[...others].filter((slice) => slice !== kept));
    if (isEmpty && kept === undefined) whole.create.push({ addressType, ports: [], endpoints: [], labels });
    return reuse(whole);
  }

  /** The service's own labels, but those that say what the slices are. */
  #labels(key: string, service: ApiObject & Service): Map<string, string> {
    const labels = this.#slices.labels(key, service.metadata.labels);
    if (isHeadless(service)) labels.set(this.#words.headless, "");
    else labels.delete(this.#words.headless);
    return labels;
  }

  /** What a service owned goes with it, also where no garbage is collected. */
  async #removeAll(key: string, queue: Queue): Promise<Result> {
    if (!this.#slices.has(key)) return undefined;
    const isOf = ({ kind, name }: OwnerReference): boolean => kind === "Service" && name === nameOf(key);
    const slices = await this.#slices.read(key, queue);
    return this.#slices.remove(
      key,
      slices.filter(({ metadata }) => metadata.ownerReferences?.some(isOf)),
    );
  }
}

/** Kinds of addresses a service has slices of. */
function addressTypesOf({ spec: { ipFamilies = [], clusterIP = "" } }: Service): string[] {
  if (ipFamilies.length > 0) return [...new Set(ipFamilies)];
  if (clusterIP === "" || clusterIP === "None") return ["IPv4", "IPv6"];
  return [clusterIP.includes(":") ? "IPv6" : "IPv4"];
}

function isOwned({ metadata }: Slice, service: ApiObject): boolean {
  const { uid } = service.metadata;
  return metadata.ownerReferences?.some((owner) => owner.uid === uid && owner.kind === "Service") === true;
}

function isEmptySlice({ metadata, endpoints = [], ports = [] }: Slice, labels: ReadonlyMap<string, string>): boolean {
  return endpoints.length === 0 && ports.length === 0 && equalStrings(metadata.labels, labels);
}
