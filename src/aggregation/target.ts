// Where an extension server is: from what an API service says, its Service and the Service's Endpoints to an address.
// Upstream's service resolvers, with their rules. No address is refused: who may write API services, services and
// endpoints decides what the server connects to.
import type { APIService, APIServiceSpec } from "../api/gen/apiregistration/v1.ts";
import type { Endpoints, Service, ServicePort } from "../api/gen/core/v1.ts";
import type { RemoteVersion } from "../api/scheme.ts";
import { hostPort } from "../base/network.ts";
import type { Connection } from "../outbound/client.ts";

export type { RemoteVersion } from "../api/scheme.ts";

/** The port of an API service that names none. */
const defaultPort = 443;

/** Whether requests go to the address of a service, or to one of its endpoints (`--enable-aggregator-routing`). */
export type Routing = "service" | "endpoints";

/** Objects as they are now; undefined: there is none. */
export interface TargetLookups {
  readonly service: (namespace: string, name: string) => Service | undefined;
  readonly endpoints: (namespace: string, name: string) => Endpoints | undefined;
}

/** Why an extension server has no address. */
export interface NoTarget {
  readonly reason: "no-service" | "no-port" | "no-address" | "no-endpoints";
  readonly message: string;
}

/** What an API service says of an extension server; undefined: it names no service, and this server answers. */
export function remoteVersionOf({ metadata, spec, status }: APIService): RemoteVersion | undefined {
  const { service, caBundle } = spec;
  if (service === undefined) return undefined;
  return {
    name: metadata.name ?? "",
    group: spec.group ?? "",
    version: spec.version ?? "",
    namespace: service.namespace ?? "",
    service: service.name ?? "",
    port: service.port ?? defaultPort,
    authorities: authoritiesOf(caBundle),
    insecure: spec.insecureSkipTLSVerify === true,
    available: status.conditions?.find(({ type }) => type === "Available")?.status === "True",
  };
}

/** Where an extension server is and what it serves, by its API service, as a text to compare. */
export function placeOf({ group, version, namespace, service, port }: RemoteVersion): string {
  return JSON.stringify([group, version, namespace, service, port]);
}

function authoritiesOf(bundle: APIServiceSpec["caBundle"]): string | undefined {
  return bundle === undefined || bundle === "" ? undefined : Buffer.from(bundle, "base64").toString();
}

/**
 * How to connect to an extension server now. `pick` chooses among `count` that are equally good: 0 to `count` - 1.
 * The certificate must be for `SERVICE.NAMESPACE.svc`, whatever address it is.
 */
export function targetOf(
  remote: RemoteVersion,
  lookups: TargetLookups,
  routing: Routing,
  pick: (count: number) => number,
): Connection | NoTarget {
  const { namespace, service: name, port, authorities, insecure } = remote;
  const service = lookups.service(namespace, name);
  if (service === undefined) return no("no-service", `service ${namespace}/${name} not found`);
  const address = routing === "service" ? clusterAddress(service, port) : readyAddress(remote, service, lookups, pick);
  if ("reason" in address) return address;
  return {
    url: `https://${hostPort(address.host, address.port)}`,
    address,
    serverName: `${name}.${namespace}.svc`,
    authorities,
    insecure,
  };
}

/** Tells a connection from a reason why there is none. */
export function isNoTarget(target: Connection | NoTarget): target is NoTarget {
  return "reason" in target;
}

interface Address {
  readonly host: string;
  readonly port: number;
}

function clusterAddress({ spec }: Service, port: number): Address | NoTarget {
  // An external name has no ports: the one of the API service is dialled.
  if (spec.type === "ExternalName") return { host: spec.externalName ?? "", port };
  const host = spec.clusterIP ?? "";
  if (host === "" || host === "None")
    return no("no-address", `cannot route to a service with the cluster IP "${host}"`);
  const found = portOf(spec.ports, port);
  return found === undefined ? noPort(port) : { host, port: found.port };
}

/** A ready address, of a subset that has the port by its name. */
function readyAddress(
  { namespace, service: name, port }: RemoteVersion,
  { spec }: Service,
  lookups: TargetLookups,
  pick: (count: number) => number,
): Address | NoTarget {
  if (spec.type === "ExternalName") return no("no-address", `unsupported service type "ExternalName"`);
  const found = portOf(spec.ports, port);
  if (found === undefined) return noPort(port);
  const endpoints = lookups.endpoints(namespace, name);
  const ready = (endpoints?.subsets ?? []).flatMap(({ addresses = [], ports = [] }) => {
    const named = ports.find((one) => (one.name ?? "") === (found.name ?? ""));
    return named === undefined || addresses.length === 0 ? [] : [{ addresses, port: named.port }];
  });
  const count = ready.reduce((sum, { addresses }) => sum + addresses.length, 0);
  if (count === 0) return no("no-endpoints", `no endpoints available for service ${JSON.stringify(name)}`);
  let at = pick(count);
  for (const subset of ready) {
    const address = subset.addresses[at];
    if (address !== undefined) return { host: address.ip, port: subset.port };
    at -= subset.addresses.length;
  }
  return no("no-endpoints", `no endpoints available for service ${JSON.stringify(name)}`);
}

function portOf(ports: readonly ServicePort[] | undefined, port: number): ServicePort | undefined {
  return (ports ?? []).find((one) => one.port === port);
}

function noPort(port: number): NoTarget {
  return no("no-port", `no service port ${port} found`);
}

function no(reason: NoTarget["reason"], message: string): NoTarget {
  return { reason, message };
}
