// Services, endpoints and endpoint slices. Cluster addresses and node ports are given out later, when a service is
// known to be sound (request/allocate.ts); here is what a change of a service keeps and drops of them.
import type { Endpoints, Service } from "../api/gen/core/v1.ts";
import type { Endpoint, EndpointSlice } from "../api/gen/discovery/v1.ts";
import type { Identity } from "../api/identity.ts";
import type { Resource } from "../api/scheme.ts";
import { sliceConversions } from "./conversions/others.ts";
import { cutEndpoints } from "./endpoints.ts";
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
    // A port is known by its name, whatever else of it changed.
    const known = new Map(old.ports?.map(({ name = "", nodePort }) => [name, nodePort]));
    const used = new Set(spec.ports?.map(({ nodePort }) => nodePort));
    for (const port of spec.ports ?? []) {
      const before = known.get(port.name ?? "");
      if (!port.nodePort && before && !used.has(before)) port.nodePort = before;
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
  if (isOutside(old) && !isOutside(spec)) {
    const known = new Set(old.ports?.map(({ nodePort }) => nodePort));
    // Ports may come and go; a node port the client asks for anew is meant.
    if (spec.ports?.every(({ nodePort }) => !nodePort || known.has(nodePort)))
      for (const port of spec.ports) delete port.nodePort;
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

/** Endpoints: kept as they are sent (the reference packs and sorts no longer, so that controllers see what they wrote). */
export function endpointsStrategy(resource: Resource, identity: Identity): Strategy<Endpoints> {
  return strategyFor<Endpoints>(resource, {
    canonicalize: cutEndpoints(identity),
    allowCreateOnUpdate: true,
    validate: validateEndpoints,
    validateUpdate: validateEndpointsUpdate,
  });
}

/** Endpoint slices: changes of labels count too; the current version has no room for the topology of the old one. */
export function endpointSliceStrategy(resource: Resource, identity: Identity): Strategy<EndpointSlice> {
  const endpoints = fieldOf(resource, "endpoints");
  const content = ["addressType", "endpoints", "ports"].map((name) => fieldOf(resource, name));
  const hostname = identity.spell("kubernetes.io/hostname");
  const dropsTopology = resource.version === "v1";
  const { fromOld, toOld } = sliceConversions(identity);
  return strategyFor<EndpointSlice>(resource, {
    canonicalize(slice) {
      // What the old version says of nodes and zones it says twice.
      if (!dropsTopology) Object.assign(slice, toOld(fromOld(slice as never)));
    },
    prepareForCreate({ gates }, slice) {
      slice.metadata.generation = 1;
      for (const endpoint of slice.endpoints ?? []) {
        if (!gates.has("TopologyAwareHints")) endpoint.hints = undefined;
        if (dropsTopology) endpoint.deprecatedTopology = undefined;
      }
    },
    prepareForUpdate({ gates }, slice, old) {
      const changed = content.some((field) => differs(field, slice, old));
      if (changed || !equalStrings(slice.metadata.labels, old.metadata.labels)) countUp(slice, old);
      if (!gates.has("TopologyAwareHints") && !old.endpoints?.some((endpoint) => endpoint.hints !== undefined)) {
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
