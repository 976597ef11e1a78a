// The service pods find this server by: `kubernetes` in the namespace `default`, at the first address of the range, and
// where it leads when the server listens where others can reach it (upstream: the API server's bootstrap controller).
import type { EndpointSubset, Endpoints, Service, ServicePort } from "../api/gen/core/v1.ts";
import type { EndpointSlice } from "../api/gen/discovery/v1.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { isStatus, type Status } from "../api/status.ts";
import type { Value } from "../api/value.ts";
import { toValue } from "../codec/engine/json.ts";
import { limits } from "../config/limits.ts";
import { addressAt, addressText, type ServiceRanges } from "../kinds/ranges.ts";
import { equal } from "../kinds/validation/equal.ts";
import type { WriteServices, Written } from "../request/commit/writerequest.ts";
import { Actor, type Target } from "./actor.ts";
import type { Controller, Failure, Queue, Result } from "./reconciler.ts";

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

/** Works on kinds: services, endpoints, endpointslices. Follows nothing, and looks every few seconds. */
export class OwnService implements Controller {
  readonly #writers: WriteServices;
  readonly #address: OwnAddress;
  readonly #actor: Actor;
  readonly #name: string;
  readonly #kinds: Readonly<Record<string, () => Promise<Failure | undefined>>> = {
    services: () => this.#keepService(),
    endpoints: () => this.#keepEndpoints(),
    endpointslices: () => this.#keepSlice(),
  };

  constructor(writers: WriteServices, address: OwnAddress) {
    this.#writers = writers;
    this.#address = address;
    this.#actor = new Actor(writers, "kube-apiserver");
    this.#name = writers.scheme.identity.spell("kubernetes");
  }

  all(queue: Queue): void {
    for (const kind of Object.keys(this.#kinds)) queue.add(kind);
  }

  /** Puts right what is not. */
  async work(kind: string): Promise<Result> {
    return (await this.#kinds[kind]?.()) ?? { againMs: limits.ownServiceLookMs };
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

  async #keepEndpoints(): Promise<Failure | undefined> {
    const { ip, port } = this.#address;
    if (ip === undefined) return undefined;
    const subsets = [{ addresses: [{ ip }], ports: [{ name: "https", port, protocol: "TCP" }] }] as EndpointSubset[];
    // The slice below is our own: nobody is to make one of these.
    const { spell } = this.#writers.scheme.identity;
    const metadata = this.#metadata([[spell("endpointslice.kubernetes.io/skip-mirror"), "true"]]);
    return this.#keep<Endpoints>("", "endpoints", metadata, { subsets }, (endpoints) => {
      endpoints.subsets = subsets;
    });
  }

  async #keepSlice(): Promise<Failure | undefined> {
    const { ip, port } = this.#address;
    if (ip === undefined) return undefined;
    const { spell } = this.#writers.scheme.identity;
    const metadata = this.#metadata([[spell("kubernetes.io/service-name"), this.#name]]);
    const addressType = ip.includes(":") ? "IPv6" : "IPv4";
    const endpoints = [{ addresses: [ip], conditions: { ready: true } }];
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
