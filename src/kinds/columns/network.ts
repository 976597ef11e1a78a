// How services, endpoints, ingresses and network policies are shown.
import type { Endpoints, LoadBalancerStatus, Service, ServicePort } from "../../api/gen/core/v1.ts";
import type { EndpointSlice } from "../../api/gen/discovery/v1beta1.ts";
import type { Ingress, IngressClass, NetworkPolicy } from "../../api/gen/networking/v1.ts";
import { compareBytes } from "../../codec/json/write.ts";
import {
  ageColumn,
  type Columns,
  column,
  firstThree,
  labels,
  nameColumn,
  none,
  selector,
  unknown,
  unset,
} from "./cells.ts";

/** Columns of services. */
export function serviceColumns(): Columns<Service> {
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

/** Addresses, or names, of load balancers: sorted, each once. */
function balancerAddresses({ ingress }: LoadBalancerStatus): string[] {
  const all = (ingress ?? []).map(({ ip, hostname }) => ip || (hostname ?? ""));
  return [...new Set(all.filter((address) => address !== ""))].sort(compareBytes);
}

/** Columns of endpoints. */
export function endpointsColumns(): Columns<Endpoints> {
  return {
    columns: [
      nameColumn,
      column("Endpoints", "First addresses that are ready", ({ subsets = [] }) => {
        const first: string[] = [];
        let count = 0;
        // Each port with each address; three of them are shown, so that no more are made.
        for (const { addresses = [], ports = [] } of subsets) {
          count += addresses.length * Math.max(1, ports.length);
          for (const { port } of ports.length === 0 ? [{ port: undefined }] : ports.slice(0, 3)) {
            for (const { ip } of addresses.slice(0, 3)) first.push(port === undefined ? ip : hostPort(ip, port));
          }
        }
        return firstThree(first, subsets.length === 0 ? none : "", count);
      }),
      ageColumn,
    ],
  };
}

function hostPort(ip: string, port: number): string {
  return ip.includes(":") ? `[${ip}]:${port}` : `${ip}:${port}`;
}

/** Columns of endpoint slices. */
export function endpointSliceColumns(): Columns<EndpointSlice> {
  return {
    columns: [
      nameColumn,
      column("AddressType", "Kind of its addresses", ({ addressType }) => addressType),
      column(
        "Ports",
        "First ports of the endpoints",
        ({ ports = [] }) =>
          // A port with neither a number nor a name leaves nothing to show.
          firstThree(
            ports.map(({ port, name }) => (port === undefined ? (name ?? "*") : String(port))),
            unset,
          ) || unset,
      ),
      column("Endpoints", "First addresses of the endpoints", ({ endpoints = [] }) =>
        firstThree(
          endpoints.flatMap(({ addresses = [] }) => addresses),
          unset,
        ),
      ),
      ageColumn,
    ],
  };
}

/** Columns of ingresses. */
export function ingressColumns(): Columns<Ingress> {
  return {
    columns: [
      nameColumn,
      column("Class", "Class that serves the ingress", ({ spec }) => spec.ingressClassName ?? none),
      column("Hosts", "Hosts the rules are for", hosts),
      column("Address", "Addresses of the load balancer", ({ status }) =>
        balancerAddresses(status.loadBalancer).join(","),
      ),
      column("Ports", "Ports requests come in at", ({ spec }) => ((spec.tls ?? []).length > 0 ? "80, 443" : "80")),
      ageColumn,
    ],
  };
}

/** Rules without a host count as more, once three hosts are shown. */
function hosts({ spec: { rules = [] } }: Ingress): string {
  const shown: string[] = [];
  let more = false;
  for (const { host = "" } of rules) {
    if (shown.length === 3) more = true;
    else if (host !== "") shown.push(host);
  }
  if (shown.length === 0) return "*";
  return more ? `${shown.join(",")} + ${rules.length - 3} more...` : shown.join(",");
}

/** Columns of ingress classes. */
export function ingressClassColumns(): Columns<IngressClass> {
  return {
    columns: [
      nameColumn,
      column("Controller", "Controller that serves the class", ({ spec }) => spec.controller ?? ""),
      column("Parameters", "Object with the controller's settings", ({ spec: { parameters } }) => {
        if (parameters === undefined) return none;
        const group = parameters.apiGroup ? `.${parameters.apiGroup}` : "";
        return `${parameters.kind}${group}/${parameters.name}`;
      }),
      ageColumn,
    ],
  };
}

/** Columns of network policies. */
export function networkPolicyColumns(): Columns<NetworkPolicy> {
  return {
    columns: [
      nameColumn,
      column("Pod-Selector", "Labels of the pods the policy is for", ({ spec }) => selector(spec.podSelector)),
      ageColumn,
    ],
  };
}
