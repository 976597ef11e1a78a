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
import { Reconciler, type Report } from "./reconciler.ts";

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

/** Runs from start() to stop(). */
export class OwnService {
  readonly #writers: WriteServices;
  readonly #address: OwnAddress;
  readonly #actor: Actor;
  readonly #report: Report;
  readonly #passes: Reconciler;
  readonly #name: string;
  /** What was reported and still is so. */
  readonly #failing = new Set<string>();

  constructor(writers: WriteServices, address: OwnAddress, report: Report) {
    this.#writers = writers;
    this.#address = address;
    this.#actor = new Actor(writers, "kube-apiserver");
    this.#report = report;
    this.#name = writers.scheme.identity.spell("kubernetes");
    this.#passes = new Reconciler(
      () => this.#pass(),
      (error) => report("The server's own service failed", error),
    );
  }

  start(): void {
    void this.look();
  }

  /** Nothing is written after this but what is under way. */
  stop(): void {
    this.#passes.stop();
  }

  /** Puts right what is not, now and then again. */
  look(): Promise<void> {
    return this.#passes.ask();
  }

  async #pass(): Promise<void> {
    await this.#keepService();
    await this.#keepEndpoints();
    await this.#keepSlice();
    this.#passes.askIn(limits.ownServiceLookMs);
  }

  async #keepService(): Promise<void> {
    const ports: ServicePort[] = [
      { name: "https", protocol: "TCP", port: 443, targetPort: this.#address.port } as ServicePort,
    ];
    const metadata = this.#metadata([
      ["component", "apiserver"],
      ["provider", this.#name],
    ]);
    const clusterIP = ownServiceAddress(this.#writers.ranges);
    await this.#keep<Service>(
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

  async #keepEndpoints(): Promise<void> {
    const { ip, port } = this.#address;
    if (ip === undefined) return;
    const subsets = [{ addresses: [{ ip }], ports: [{ name: "https", port, protocol: "TCP" }] }] as EndpointSubset[];
    // The slice below is our own: nobody is to make one of these.
    const { spell } = this.#writers.scheme.identity;
    const metadata = this.#metadata([[spell("endpointslice.kubernetes.io/skip-mirror"), "true"]]);
    await this.#keep<Endpoints>("", "endpoints", metadata, { subsets }, (endpoints) => {
      endpoints.subsets = subsets;
    });
  }

  async #keepSlice(): Promise<void> {
    const { ip, port } = this.#address;
    if (ip === undefined) return;
    const { spell } = this.#writers.scheme.identity;
    const metadata = this.#metadata([[spell("kubernetes.io/service-name"), this.#name]]);
    const addressType = ip.includes(":") ? "IPv6" : "IPv4";
    const endpoints = [{ addresses: [ip], conditions: { ready: true } }];
    const ports = [{ name: "https", port, protocol: "TCP" }];
    const content = { addressType, endpoints, ports };
    await this.#keep<EndpointSlice>("discovery.k8s.io", "endpointslices", metadata, content, (slice) => {
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
  ): Promise<void> {
    const { scheme } = this.#writers;
    const { spell } = scheme.identity;
    const resource = scheme.find(group === "" ? "" : spell(group), "v1", plural);
    if (resource === undefined) return;
    const target: Target = { resource, namespace: spell("default"), name: this.#name };
    let done: Written | Status = await this.#actor.update<ApiObject & T>(target, (object) => {
      change(object);
      return undefined;
    });
    if (isStatus(done) && done.reason === "NotFound") {
      done = await this.#actor.create(target, documentOf(resource, { metadata, ...content }));
    }
    if (!isStatus(done) || done.reason === "AlreadyExists") return void this.#failing.delete(plural);
    if (!this.#failing.has(plural)) this.#report(`The server's own ${plural} cannot be written`, done);
    this.#failing.add(plural);
  }
}

function documentOf({ message }: Resource, object: object): Value {
  return toValue(message, object);
}
