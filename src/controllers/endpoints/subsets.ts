// What Endpoints say of a service's pods: each address once for every set of ports it has (upstream:
// endpoints_controller.go, and RepackSubsets for how addresses share a subset).
import type { EndpointAddress, EndpointSubset, Service } from "../../api/gen/core/v1.ts";
import type { Backend } from "./backends.ts";
import { endpointPorts, portsAt, portText, type ServedPort } from "./ports.ts";

interface Address {
  readonly isReady: boolean;
  readonly address: EndpointAddress;
}

interface PortGroup {
  readonly ports: ServedPort[];
  readonly addresses: readonly Address[];
}

/** The subsets of a service, in an order that depends on nothing but what they say; `giveWay`: between pods, and between ports. */
export async function subsetsOf(
  service: Service,
  namespace: string,
  backends: readonly Backend[],
  toleratesUnready: boolean,
  giveWay: () => Promise<void>,
): Promise<EndpointSubset[]> {
  const isPortless = (service.spec.ports?.length ?? 0) === 0;
  // Only a headless service without ports leads somewhere.
  if (isPortless && !isWithoutAddress(service)) return [];
  const byPort = new Map<string, { readonly port: ServedPort | undefined; readonly addresses: Address[] }>();
  const put = (address: Address, port: ServedPort | undefined): void => {
    const text = port === undefined ? "" : portText(port);
    const known = byPort.get(text);
    if (known === undefined) byPort.set(text, { port, addresses: [address] });
    else known.addresses.push(address);
  };
  for (const { backend, ip } of serving(service, backends, toleratesUnready)) {
    const isReady = toleratesUnready || backend.isReady;
    const address = { isReady, address: addressOf(service, namespace, backend, ip) };
    if (isPortless) put(address, undefined);
    else for (const port of portsAt(service, backend)) put(address, port);
    await giveWay();
  }
  const groups = new Map<string, PortGroup>();
  for (const { port, addresses } of byPort.values()) {
    const text = addresses.map(({ address }) => address.targetRef?.uid).join();
    const known = groups.get(text);
    const own = port === undefined ? [] : [port];
    if (known === undefined) groups.set(text, { ports: own, addresses });
    else known.ports.push(...own);
    // A service may have thousands of ports, and each has all the pods.
    await giveWay();
  }
  return [...groups.values()].map(subsetOf).sort(byPorts);
}

/** Whether a service has no cluster address of its own: it is headless, or leads elsewhere. */
export function isHeadless({ spec: { clusterIP = "" } }: Service): boolean {
  return clusterIP === "" || clusterIP === "None";
}

/** Equal for subsets that say the same; versions of pods do not count, or each of their changes would. */
export function subsetsText(subsets: readonly EndpointSubset[] = []): string {
  const address = ({ ip, hostname = "", nodeName = "", targetRef: ref }: EndpointAddress): unknown[] => [
    ip,
    hostname,
    nodeName,
    ref && [ref.kind, ref.namespace, ref.name, ref.uid, ref.apiVersion, ref.fieldPath],
  ];
  return JSON.stringify(
    subsets.map(({ addresses = [], notReadyAddresses = [], ports = [] }) => [
      addresses.map(address),
      notReadyAddresses.map(address),
      ports.map(({ name = "", port, protocol, appProtocol }) => [name, port, protocol, appProtocol]),
    ]),
  );
}

function isWithoutAddress({ spec }: Service): boolean {
  return spec.clusterIP === "None";
}

/** Pods that count, with their address of the service's first family, ordered by it. */
function serving(
  service: Service,
  backends: readonly Backend[],
  toleratesUnready: boolean,
): { readonly backend: Backend; readonly ip: string }[] {
  const found: { readonly backend: Backend; readonly ip: string }[] = [];
  for (const backend of backends) {
    if (backend.isOver || (backend.isTerminating && !toleratesUnready)) continue;
    // Upstream fails at the whole service where one pod has an address and no node.
    if (backend.nodeName === "") continue;
    const isSix = isIpv6Service(service, backend);
    const ip = backend.ips.find((one) => one.includes(":") === isSix);
    if (ip !== undefined) found.push({ backend, ip });
  }
  return found.sort((a, b) => (a.ip === b.ip ? compare(a.backend.uid, b.backend.uid) : compare(a.ip, b.ip)));
}

function isIpv6Service({ spec }: Service, { ips }: Backend): boolean {
  const family = spec.ipFamilies?.[0];
  if (family !== undefined) return family === "IPv6";
  const { clusterIP = "" } = spec;
  return (clusterIP === "" || clusterIP === "None" ? (ips[0] ?? "") : clusterIP).includes(":");
}

function addressOf(service: Service, namespace: string, backend: Backend, ip: string): EndpointAddress {
  const { name, uid, resourceVersion, nodeName, hostname } = backend;
  return {
    ip,
    ...(hasHostname(service, backend) ? { hostname } : {}),
    nodeName,
    targetRef: { kind: "Pod", namespace, name, uid, resourceVersion },
  };
}

/** Whether a pod has a name of its own below the service's. */
export function hasHostname({ metadata }: Service, { hostname, subdomain }: Backend): boolean {
  return hostname !== "" && subdomain === metadata.name;
}

function subsetOf({ ports, addresses }: PortGroup): EndpointSubset {
  const ready = addresses.filter(({ isReady }) => isReady).map(({ address }) => address);
  const others = addresses.filter(({ isReady }) => !isReady).map(({ address }) => address);
  return {
    ...(ready.length === 0 ? {} : { addresses: ready }),
    ...(others.length === 0 ? {} : { notReadyAddresses: others }),
    ...(ports.length === 0 ? {} : { ports: endpointPorts(ports) }),
  };
}

function byPorts(a: EndpointSubset, b: EndpointSubset): number {
  return compare(JSON.stringify(a.ports), JSON.stringify(b.ports));
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
