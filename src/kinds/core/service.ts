// Service. Cluster addresses and node ports are given out later, when a service is known to be sound
// (request/commit/allocate.ts); here is what a change of a service keeps and drops of them.
import type { Service, ServicePort } from "../../api/gen/core/v1.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, balancerAddresses, type Columns, column, labels, nameColumn, none, unknown } from "../columns.ts";
import { strategyFor } from "../generic.ts";
import { countOf } from "../quota/amounts.ts";
import type { Evaluator } from "../quota/evaluator.ts";
import type { Strategy } from "../strategy.ts";
import { restoreFamilies } from "./servicefamilies.ts";
import { validateService, validateServiceStatusUpdate, validateServiceUpdate } from "./validation/service.ts";

/** Behaviour of services. */
export function serviceBehaviour(resource: Resource): OwnBehaviour {
  return {
    strategy: serviceStrategy(resource),
    columns: serviceColumns(),
    evaluator: serviceEvaluator,
    metaRules: { update: [1, 1] },
  };
}

function serviceStrategy(resource: Resource): Strategy<Service> {
  return strategyFor<Service>(resource, {
    nameFormat: "dns1035-label",
    allowCreateOnUpdate: true,
    returnsDeletedObject: true,
    holdsAddresses: true,
    removesToo: "endpoints",
    restore(service, cluster) {
      syncClusterIps(service, undefined);
      restoreFamilies(service, cluster.family);
    },
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

/** A client that knows one of the two fields for addresses means both (upstream: NormalizeClusterIPs). */
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

/** Columns of services. */
function serviceColumns(): Columns<Service> {
  return {
    columns: [
      nameColumn,
      column("Type", "How the service is reached", ({ spec }) => spec.type ?? ""),
      column("Cluster-IP", "Address inside the cluster", ({ spec }) => spec.clusterIPs?.[0] ?? none),
      column("External-IP", "Addresses or name outside the cluster", externalAddress),
      column("Port(s)", "Ports of the service, with those on nodes", ({ spec }) => {
        const ports = spec.ports ?? [];
        return ports.length === 0 ? none : ports.map(portText).join(",");
      }),
      ageColumn,
      column("Selector", "Labels of the pods behind the service", ({ spec }) => labels(spec.selector), { wide: true }),
    ],
  };
}

function portText({ port, nodePort = 0, protocol = "" }: ServicePort): string {
  return nodePort > 0 ? `${port}:${nodePort}/${protocol}` : `${port}/${protocol}`;
}

function externalAddress({ spec, status }: Service): string {
  const own = spec.externalIPs ?? [];
  switch (spec.type) {
    case "ClusterIP":
    case "NodePort":
      return own.length === 0 ? none : own.join(",");
    case "LoadBalancer": {
      const all = [...balancerAddresses(status.loadBalancer), ...own];
      return all.length === 0 ? "<pending>" : all.join(",");
    }
    case "ExternalName":
      return spec.externalName ?? "";
    default:
      return unknown;
  }
}

const serviceNames = new Set(["count/services", "services", "services.nodeports", "services.loadbalancers"]);

/** How services are counted. */
const serviceEvaluator: Evaluator = {
  onUpdate: true,
  matching: (bounded) => [...bounded].filter((name) => serviceNames.has(name)),
  usage(object) {
    const { type, ports = [], allocateLoadBalancerNodePorts } = (object as ApiObject & Service).spec;
    let nodePorts = 0;
    if (type === "NodePort") nodePorts = ports.length;
    if (type === "LoadBalancer") {
      const given = ports.filter(({ nodePort = 0 }) => nodePort !== 0).length;
      nodePorts = allocateLoadBalancerNodePorts === false ? given : ports.length;
    }
    return new Map([
      ["count/services", countOf(1)],
      ["services", countOf(1)],
      ["services.nodeports", countOf(nodePorts)],
      ["services.loadbalancers", countOf(type === "LoadBalancer" ? 1 : 0)],
    ]);
  },
};
