// Services, endpoints and endpoint slices. Cluster addresses and node ports are given out later, when a service is
// known to be sound (request/allocate.ts); here is what a change of a service keeps and drops of them.
import type { EndpointAddress, EndpointPort, EndpointSubset, Endpoints, Service } from "../api/gen/core_v1.ts";
import type { Endpoint, EndpointSlice } from "../api/gen/discovery_v1.ts";
import { compareBytes } from "../api/gotext.ts";
import type { Identity } from "../api/identity.ts";
import type { Resource } from "../api/scheme.ts";
import { limits } from "../config/limits.ts";
import { parseAddress } from "./address.ts";
import { countUp, differs, fieldOf, strategyFor } from "./generic.ts";
import type { Strategy } from "./strategy.ts";
import { validateEndpointSlice, validateEndpointSliceUpdate } from "./validation/discovery.ts";
import { validateEndpoints, validateEndpointsUpdate } from "./validation/endpoints.ts";
import { equalStrings } from "./validation/equal.ts";
import { validateService, validateServiceStatusUpdate, validateServiceUpdate } from "./validation/service.ts";

/** Services. */
export function serviceStrategy(resource: Resource): Strategy<Service> {
  return strategyFor<Service>(resource, {
    nameFormat: "dns1035-label",
    allowCreateOnUpdate: true,
    returnsDeletedObject: true,
    holdsAddresses: true,
    removesToo: "endpoints",
    prepareForCreate(_context, service) {
      syncClusterIps(service, undefined);
    },
    prepareForUpdate(_context, service, old) {
      keepAllocated(service, old);
      syncClusterIps(service, old.spec);
      dropUnused(service, old);
      trimFamilies(service, old);
      if (service.spec.type !== "LoadBalancer") service.status = { ...service.status, loadBalancer: {} };
    },
    validate: validateService,
    validateUpdate: validateServiceUpdate,
    validateStatus: validateServiceStatusUpdate,
  });
}

/** A client that knows one of the two fields for addresses means both (reference: NormalizeClusterIPs). */
function syncClusterIps({ spec }: Service, old: Service["spec"] | undefined): void {
  if (old === undefined) {
    if (spec.clusterIP && !spec.clusterIPs?.length) spec.clusterIPs = [spec.clusterIP];
    return;
  }
  if (spec.clusterIP === old.clusterIP || !same(spec.clusterIPs, old.clusterIPs)) return;
  if (!spec.clusterIP) delete spec.clusterIPs;
  else spec.clusterIPs = [spec.clusterIP, ...(spec.clusterIPs ?? []).slice(1)];
}

function same(a: readonly string[] | undefined, b: readonly string[] | undefined): boolean {
  return (a ?? []).join() === (b ?? []).join();
}

type Spec = Service["spec"];

const hasIp = ({ type }: Spec): boolean => type !== "ExternalName";
const isOutside = ({ type }: Spec): boolean => type === "NodePort" || type === "LoadBalancer";
const isBalancer = ({ type }: Spec): boolean => type === "LoadBalancer";
const isHealthChecked = (spec: Spec): boolean => isBalancer(spec) && spec.externalTrafficPolicy === "Local";

/** What a replacement leaves out keeps its value while the type still has a use for it. */
function keepAllocated({ spec }: Service, { spec: old }: Service): void {
  if (hasIp(spec) && hasIp(old)) {
    spec.clusterIP ||= old.clusterIP;
    if (!spec.clusterIPs?.length && spec.clusterIP === old.clusterIP) spec.clusterIPs = old.clusterIPs;
    spec.ipFamilies ??= old.ipFamilies;
    spec.ipFamilyPolicy ??= old.ipFamilyPolicy;
  }
  if (isOutside(spec) && isOutside(old)) {
    const known = new Map(old.ports?.map((port) => [`${port.protocol} ${port.port}`, port.nodePort]));
    const used = new Set(spec.ports?.map(({ nodePort }) => nodePort));
    for (const port of spec.ports ?? []) {
      const before = known.get(`${port.protocol} ${port.port}`);
      if (!port.nodePort && !used.has(before)) port.nodePort = before;
    }
  }
  if (isHealthChecked(spec) && isHealthChecked(old)) spec.healthCheckNodePort ||= old.healthCheckNodePort;
}

/** What only the old type had a use for goes with it, unless the client changed it and so means it. */
function dropUnused({ spec }: Service, { spec: old }: Service): void {
  if (hasIp(old) && !hasIp(spec)) {
    if (spec.clusterIP === old.clusterIP && same(spec.clusterIPs, old.clusterIPs)) {
      delete spec.clusterIP;
      delete spec.clusterIPs;
    }
    if (same(spec.ipFamilies, old.ipFamilies)) delete spec.ipFamilies;
    if (spec.ipFamilyPolicy === old.ipFamilyPolicy) delete spec.ipFamilyPolicy;
  }
  if (!hasIp(old) && hasIp(spec) && spec.externalName === old.externalName) delete spec.externalName;
  if (isOutside(old) && !isOutside(spec)) {
    const unchanged = spec.ports?.every(({ nodePort }, index) => nodePort === old.ports?.[index]?.nodePort);
    if (unchanged && spec.ports?.length === old.ports?.length)
      for (const port of spec.ports ?? []) delete port.nodePort;
    if (spec.externalTrafficPolicy === old.externalTrafficPolicy) delete spec.externalTrafficPolicy;
  }
  if (isHealthChecked(old) && !isHealthChecked(spec) && spec.healthCheckNodePort === old.healthCheckNodePort) {
    delete spec.healthCheckNodePort;
  }
  if (!isBalancer(old) || isBalancer(spec)) return;
  if (spec.allocateLoadBalancerNodePorts === old.allocateLoadBalancerNodePorts) {
    delete spec.allocateLoadBalancerNodePorts;
  }
  if (spec.loadBalancerClass === old.loadBalancerClass) delete spec.loadBalancerClass;
}

/** A service that goes back to one family gives up its second address without having to say which. */
function trimFamilies({ spec }: Service, { spec: old }: Service): void {
  if (!hasIp(spec) || !hasIp(old)) return;
  if (spec.ipFamilyPolicy !== "SingleStack" || old.ipFamilyPolicy === "SingleStack") return;
  if (same(spec.clusterIPs, old.clusterIPs)) spec.clusterIPs = spec.clusterIPs?.slice(0, 1);
  if (same(spec.ipFamilies, old.ipFamilies)) spec.ipFamilies = spec.ipFamilies?.slice(0, 1);
}

/** Endpoints: kept in one canonical form however they are written. */
export function endpointsStrategy(resource: Resource): Strategy<Endpoints> {
  const repack = (endpoints: Endpoints) => {
    const subsets = endpoints.subsets ?? [];
    const pairs = subsets.reduce(
      (sum, subset) => sum + Math.max(1, subset.ports?.length ?? 0) * addressCount(subset),
      0,
    );
    // Beyond any real service the form stays as sent: it means the same, and packing would hold up everybody.
    if (subsets.length > 0 && pairs <= limits.endpointPairsMax) endpoints.subsets = repackSubsets(subsets);
  };
  return strategyFor<Endpoints>(resource, {
    allowCreateOnUpdate: true,
    prepareForCreate: (_context, endpoints) => repack(endpoints),
    prepareForUpdate: (_context, endpoints) => repack(endpoints),
    validate: validateEndpoints,
    validateUpdate: validateEndpointsUpdate,
  });
}

function addressCount({ addresses, notReadyAddresses }: EndpointSubset): number {
  return (addresses?.length ?? 0) + (notReadyAddresses?.length ?? 0);
}

interface Member {
  readonly address: EndpointAddress;
  ready: boolean;
}

/** Groups the ports that share exactly the same addresses into one subset each, and sorts; not ready trumps ready. */
function repackSubsets(subsets: readonly EndpointSubset[]): EndpointSubset[] {
  const byPort = new Map<string, { port: EndpointPort | undefined; members: Map<string, Member> }>();
  const seen = new Map<string, EndpointAddress>();
  for (const subset of subsets) {
    for (const port of subset.ports?.length ? subset.ports : [undefined]) {
      const key = port === undefined ? "" : [port.name, port.port, port.protocol, port.appProtocol].join("\n");
      const entry = byPort.get(key) ?? { port, members: new Map<string, Member>() };
      byPort.set(key, entry);
      const join = (address: EndpointAddress, ready: boolean) => {
        const id = `${address.ip}\n${address.targetRef?.uid ?? ""}`;
        if (!seen.has(id)) seen.set(id, address);
        const member = entry.members.get(id) ?? { address: seen.get(id) ?? address, ready };
        entry.members.set(id, member);
        if (!ready) member.ready = false;
      };
      for (const address of subset.addresses ?? []) join(address, true);
      for (const address of subset.notReadyAddresses ?? []) join(address, false);
    }
  }
  const packed = new Map<string, { subset: EndpointSubset; ports: EndpointPort[] }>();
  for (const { port, members } of byPort.values()) {
    const sorted = [...members.values()].sort((a, b) => compareAddresses(a.address, b.address));
    const key = sorted.map((m) => `${m.address.ip} ${m.address.targetRef?.uid ?? ""} ${m.ready}`).join("\n");
    const entry = packed.get(key) ?? { subset: subsetOf(sorted), ports: [] };
    packed.set(key, entry);
    if (port !== undefined) entry.ports.push(port);
  }
  return [...packed.entries()]
    .sort(([a], [b]) => compareBytes(a, b))
    .map(([, { subset, ports }]) => ({ ...subset, ports: ports.length > 0 ? ports.sort(comparePorts) : undefined }));
}

function subsetOf(members: readonly Member[]): EndpointSubset {
  const some = (ready: boolean) => {
    const addresses = members.filter((member) => member.ready === ready).map((member) => member.address);
    return addresses.length > 0 ? addresses : undefined;
  };
  return { addresses: some(true), notReadyAddresses: some(false) };
}

function compareAddresses(a: EndpointAddress, b: EndpointAddress): number {
  const [left, right] = [parseAddress(a.ip), parseAddress(b.ip)];
  const order = left && right ? Buffer.compare(left, right) : compareBytes(a.ip, b.ip);
  return order || compareBytes(a.targetRef?.uid ?? "", b.targetRef?.uid ?? "");
}

function comparePorts(a: EndpointPort, b: EndpointPort): number {
  return (
    compareBytes(a.name ?? "", b.name ?? "") || a.port - b.port || compareBytes(a.protocol ?? "", b.protocol ?? "")
  );
}

/** Endpoint slices: changes of labels count too; the current version has no room for the topology of the old one. */
export function endpointSliceStrategy(resource: Resource, identity: Identity): Strategy<EndpointSlice> {
  const endpoints = fieldOf(resource, "endpoints");
  const content = ["addressType", "endpoints", "ports"].map((name) => fieldOf(resource, name));
  const hostname = identity.spell("kubernetes.io/hostname");
  const dropsTopology = resource.version === "v1";
  return strategyFor<EndpointSlice>(resource, {
    prepareForCreate(_context, slice) {
      slice.metadata.generation = 1;
      for (const endpoint of slice.endpoints ?? []) {
        endpoint.hints = undefined;
        if (dropsTopology) endpoint.deprecatedTopology = undefined;
      }
    },
    prepareForUpdate(_context, slice, old) {
      const changed = content.some((field) => differs(field, slice, old));
      if (changed || !equalStrings(slice.metadata.labels, old.metadata.labels)) countUp(slice, old);
      // Gate TopologyAwareHints is off.
      if (!old.endpoints?.some((endpoint) => endpoint.hints !== undefined)) {
        for (const endpoint of slice.endpoints ?? []) endpoint.hints = undefined;
      }
      if (dropsTopology && differs(endpoints, slice, old)) dropTopology(slice, old, hostname);
    },
    validate: validateEndpointSlice,
    validateUpdate: validateEndpointSliceUpdate,
  });
}

/** A client that reads and writes back what the old version stored must not lose the nodes' names with the topology. */
function dropTopology(slice: EndpointSlice, old: EndpointSlice, hostname: string): void {
  const nodeOf = (endpoint: Endpoint) => endpoint.deprecatedTopology?.get(hostname);
  const known = new Set(old.endpoints?.map(nodeOf));
  for (const endpoint of slice.endpoints ?? []) {
    const node = nodeOf(endpoint);
    if (endpoint.nodeName === undefined && node && known.has(node)) endpoint.nodeName = node;
    endpoint.deprecatedTopology = undefined;
  }
}
