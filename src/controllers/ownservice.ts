// The service pods find this server by: `kubernetes` in the namespace `default`, at the first address of the range, and
// where it leads: to every live server that listens where others can reach it (upstream: the API server's bootstrap
// controller and its lease reconciler).
import type { EndpointAddress, EndpointSubset, Endpoints, Service, ServicePort } from "../api/gen/core/v1.ts";
import type { EndpointSlice } from "../api/gen/discovery/v1.ts";
import { compareBytes } from "../api/gotext.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { isStatus, type Status } from "../api/status.ts";
import type { Value } from "../api/value.ts";
import { toValue } from "../codec/engine/json.ts";
import type { Config } from "../config/config.ts";
import { limits } from "../config/limits.ts";
import { addressAt, addressText, type ServiceRanges } from "../kinds/ranges.ts";
import { equal } from "../kinds/validation/equal.ts";
import type { WriteServices, Written } from "../request/commit/writerequest.ts";
import { Actor, type Target } from "./actor.ts";
import type { Controller, Failure, Follows, Queue, Result } from "./reconciler.ts";
import { LiveServers, type ServerAddress } from "./serverleases.ts";

/** Where the server is. */
export interface OwnAddress {
  /** Undefined: nowhere others can reach it, and the service leads nowhere. */
  readonly ip: string | undefined;
  readonly port: number;
}

/** The address a server's service has: it is in the serving certificate. */
export function ownServiceAddress({ addresses: [range] }: ServiceRanges): string | undefined {
  return range && addressText(addressAt(range, 0));
}

/**
 * Works on kinds: services, endpoints, endpointslices. Follows the leases of servers, and looks every few seconds. This
 * server counts as live: it would not say so otherwise.
 */
export class OwnService implements Controller {
  readonly follows: Follows;
  readonly #writers: WriteServices;
  readonly #address: OwnAddress;
  readonly #actor: Actor;
  readonly #name: string;
  /** Undefined: endpoints are left alone. */
  readonly #live: LiveServers | undefined;

  constructor(writers: WriteServices, address: OwnAddress, reconciler: Config["endpointReconciler"] = "lease") {
    this.#writers = writers;
    this.#address = address;
    this.#actor = new Actor(writers, "kube-apiserver");
    this.#name = writers.scheme.identity.spell("kubernetes");
    this.#live = reconciler === "lease" ? LiveServers.open(writers) : undefined;
    const changed = (queue: Queue): void => queue.add("endpoints");
    this.follows = this.#live === undefined ? [] : [this.#live.follow(changed)];
  }

  all(queue: Queue): void {
    queue.add("services");
    if (this.#live !== undefined) queue.add("endpoints");
  }

  /** Puts right what is not. */
  async work(kind: string, queue: Queue): Promise<Result> {
    if (kind === "services") return (await this.#keepService()) ?? { againMs: limits.ownServiceLookMs };
    const live = this.#live;
    if (live === undefined) return undefined;
    await live.look(queue);
    if (queue.signal.aborted) return undefined;
    const addresses = this.#addresses(live);
    const failed = (await this.#keepEndpoints(addresses)) ?? (await this.#keepSlice(addresses));
    return failed ?? { againMs: Math.max(1, Math.min(limits.ownServiceLookMs, live.nextMs())) };
  }

  /** Of all live servers, each once, in order. */
  #addresses(live: LiveServers): ServerAddress[] {
    const { ip, port } = this.#address;
    const all = [...live.addresses(), ...(ip === undefined ? [] : [{ ip, port }])];
    const byText = new Map(all.map((one) => [`${one.ip} ${one.port}`, one]));
    return [...byText.values()].sort((a, b) => a.port - b.port || compareBytes(a.ip, b.ip));
  }

  #keepService(): Promise<Failure | undefined> {
    const ports: ServicePort[] = [
      { name: "https", protocol: "TCP", port: 443, targetPort: this.#address.port } as ServicePort,
    ];
    const metadata = this.#metadata([
      ["component", "apiserver"],
      ["provider", this.#name],
    ]);
    const clusterIP = ownServiceAddress(this.#writers.ranges);
    return this.#keep<Service>(
      "",
      "services",
      metadata,
      { spec: { ports, clusterIP, type: "ClusterIP" } },
      (service) => {
        const { nodePort, ...port } = service.spec.ports?.[0] ?? ({} as ServicePort);
        if (service.spec.ports?.length === 1 && equal("core/v1.ServicePort", port, ports[0])) return;
        service.spec.ports = ports;
      },
    );
  }

  /** One subset for each port. Without any server they stay as they are (upstream). */
  async #keepEndpoints(servers: readonly ServerAddress[]): Promise<Failure | undefined> {
    if (servers.length === 0) return undefined;
    const subsets = [...new Set(servers.map(({ port }) => port))].map((port): EndpointSubset => {
      const addresses = servers.filter((one) => one.port === port).map(({ ip }) => ({ ip }) as EndpointAddress);
      return { addresses, ports: [{ name: "https", port, protocol: "TCP" }] };
    });
    // The slice below is our own: none is made of these.
    const { spell } = this.#writers.scheme.identity;
    const metadata = this.#metadata([[spell("endpointslice.kubernetes.io/skip-mirror"), "true"]]);
    return this.#keep<Endpoints>("", "endpoints", metadata, { subsets }, (endpoints) => {
      endpoints.subsets = subsets;
    });
  }

  /** A slice has one family and one port: those of this server, else of the first one. */
  async #keepSlice(servers: readonly ServerAddress[]): Promise<Failure | undefined> {
    const [first] = servers;
    if (first === undefined) return undefined;
    const { ip, port } = { ...first, ...(this.#address.ip === undefined ? {} : (this.#address as ServerAddress)) };
    const { spell } = this.#writers.scheme.identity;
    const metadata = this.#metadata([[spell("kubernetes.io/service-name"), this.#name]]);
    const family = (text: string): string => (text.includes(":") ? "IPv6" : "IPv4");
    const addressType = family(ip);
    const endpoints = servers
      .filter((one) => one.port === port && family(one.ip) === addressType)
      .map((one) => ({ addresses: [one.ip], conditions: { ready: true } }));
    const ports = [{ name: "https", port, protocol: "TCP" }];
    const content = { addressType, endpoints, ports };
    return this.#keep<EndpointSlice>("discovery.k8s.io", "endpointslices", metadata, content, (slice) => {
      slice.endpoints = endpoints;
      slice.ports = ports;
    });
  }

  #metadata(labels: readonly (readonly [string, string])[]): object {
    return { name: this.#name, labels: new Map(labels) };
  }

  /** Creates an object, or has `change` put the present one right; a kind that is not served is left out. */
  async #keep<T>(
    group: string,
    plural: string,
    metadata: object,
    content: object,
    change: (object: ApiObject & T) => void,
  ): Promise<Failure | undefined> {
    const { scheme } = this.#writers;
    const { spell } = scheme.identity;
    const resource = scheme.find(group === "" ? "" : spell(group), "v1", plural);
    if (resource === undefined) return undefined;
    const target: Target = { resource, namespace: spell("default"), name: this.#name };
    let done: Written | Status = await this.#actor.update<ApiObject & T>(target, (object) => {
      change(object);
      return undefined;
    });
    if (isStatus(done) && done.reason === "NotFound") {
      done = await this.#actor.create(target, documentOf(resource, { metadata, ...content }));
    }
    if (!isStatus(done) || done.reason === "AlreadyExists") return undefined;
    return { cause: done, message: `The server's own ${plural} cannot be written` };
  }
}

function documentOf({ message }: Resource, object: object): Value {
  return toValue(message, object);
}
