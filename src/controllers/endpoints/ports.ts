// The ports of a service as a pod behind it has them, and their order. The order is that of upstream's controllers, by
// the MD5 sum of how a Go program prints a port (pkg/util/hash of upstream): with an order of our own, each of the two
// would rewrite what the other wrote when one takes over from the other.
import { createHash } from "node:crypto";
import type { EndpointPort, Service } from "../../api/gen/core/v1.ts";
import type { EndpointPort as SlicePort } from "../../api/gen/discovery/v1.ts";
import type { Backend, NamedPort } from "./backends.ts";

/** A port that leads to a pod. */
export interface ServedPort {
  readonly name: string;
  readonly protocol: string;
  readonly number: number;
  readonly appProtocol: string | undefined;
}

/** A service's ports at one pod; those it names and the pod has not are left out. */
export function portsAt({ spec }: Service, { ports }: Backend): ServedPort[] {
  const found: ServedPort[] = [];
  // Made for the first port that is named, and not looked through for each: service and pod may have thousands.
  let named: ReadonlyMap<string, number> | undefined;
  for (const { name = "", protocol = "TCP", appProtocol, targetPort } of spec.ports ?? []) {
    const number =
      typeof targetPort === "number" ? targetPort : (named ??= byName(ports)).get(`${protocol} ${targetPort}`);
    if (number !== undefined) found.push({ name, protocol, number, appProtocol });
  }
  return found;
}

/** Numbers of ports by protocol and name; of several the first. */
function byName(ports: readonly NamedPort[]): Map<string, number> {
  const found = new Map<string, number>();
  for (const { name, protocol, number } of ports) {
    const key = `${protocol} ${name}`;
    if (!found.has(key)) found.set(key, number);
  }
  return found;
}

/** Equal for equal ports. */
export function portText({ name, protocol, number, appProtocol }: ServedPort): string {
  return `${name} ${protocol} ${number} ${appProtocol ?? ""}`;
}

/** Ports as Endpoints have them. */
export function endpointPorts(ports: readonly ServedPort[]): EndpointPort[] {
  const print = ({ name, protocol, number, appProtocol }: ServedPort): string =>
    `(v1.EndpointPort){Name:(string)${name} Port:(int32)${number} Protocol:(v1.Protocol)${protocol} AppProtocol:(*string)${appProtocol ?? "<nil>"}}`;
  return sorted(ports, print).map(({ name, protocol, number, appProtocol }) => ({
    ...(name === "" ? {} : { name }),
    port: number,
    protocol,
    ...(appProtocol === undefined ? {} : { appProtocol }),
  }));
}

/** Ports as slices have them. */
export function slicePorts(ports: readonly ServedPort[]): SlicePort[] {
  const print = ({ name, protocol, number, appProtocol }: ServedPort): string =>
    `(v1.EndpointPort){Name:(*string)${name} Protocol:(*v1.Protocol)${protocol} Port:(*int32)${number} AppProtocol:(*string)${appProtocol ?? "<nil>"}}`;
  return sorted(ports, print).map(({ name, protocol, number, appProtocol }) => ({
    name,
    protocol,
    port: number,
    ...(appProtocol === undefined ? {} : { appProtocol }),
  }));
}

/** Equal for ports of slices that are the same, in whatever order. */
export function slicePortsText(ports: readonly SlicePort[] = []): string {
  return ports
    .map(({ name, protocol, port, appProtocol }) => JSON.stringify([name, protocol, port, appProtocol]))
    .sort()
    .join();
}

function sorted(ports: readonly ServedPort[], print: (port: ServedPort) => string): ServedPort[] {
  if (ports.length < 2) return [...ports];
  const keyed = ports.map((port) => ({ port, sum: createHash("md5").update(print(port)).digest("hex") }));
  return keyed.sort((a, b) => (a.sum < b.sum ? -1 : 1)).map(({ port }) => port);
}
