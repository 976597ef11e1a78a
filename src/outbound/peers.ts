// Peers that objects of the API name, by url or by service: webhooks of admission and of conversion. One client per
// peer, so many of them, and what a service stands for is looked up for each call.
import type { Service } from "../api/gen/core/v1.ts";
import { limits } from "../config/limits.ts";
import { clientCalls } from "../observe/clientcalls.ts";
import { type Connection, checkUrl, OutboundClient } from "./client.ts";
import type { Login } from "./connection.ts";

/** How objects of the API say where a webhook is. */
export interface PeerConfig {
  readonly url?: string | undefined;
  readonly service?:
    | {
        readonly namespace: string;
        readonly name: string;
        readonly path?: string | undefined;
        readonly port?: number | undefined;
      }
    | undefined;
  /** PEM bundle in base64. */
  readonly caBundle?: string | undefined;
}

/** A service as it is now; undefined: there is none. */
export type ServiceLookup = (namespace: string, name: string) => Service | undefined;

/** As whom a host is called. */
export type LoginLookup = (host: string, port: number) => Login | undefined;

/** Where a peer is; a text says why nowhere. */
export function connectionOf(
  { url, service, caBundle }: PeerConfig,
  serviceAt: ServiceLookup,
  loginFor: LoginLookup = () => undefined,
): Connection | string {
  const authorities =
    caBundle === undefined || caBundle === "" ? undefined : Buffer.from(caBundle, "base64").toString();
  if (url !== undefined) {
    const fault = checkUrl(url);
    if (fault !== undefined) return `its url ${fault}`;
    const { hostname, port } = new URL(url);
    return { url, authorities, ...loginFor(hostname, port === "" ? 443 : Number(port)) };
  }
  if (service === undefined) return "it names neither url nor service";
  const { namespace, name, path = "", port = 443 } = service;
  const found = serviceAt(namespace, name);
  if (found === undefined) return `service ${JSON.stringify(name)} not found`;
  const host = `${name}.${namespace}.svc`;
  const target = targetOf(found, port);
  if (typeof target === "string") return `service ${JSON.stringify(name)} ${target}`;
  return {
    url: `https://${host}:${port}${path.startsWith("/") ? path : `/${path}`}`,
    authorities,
    serverName: host,
    address: target,
    ...loginFor(host, port),
  };
}

/** The address a service is reached at; a text says why it has none. */
function targetOf({ spec }: Service, port: number): { host: string; port: number } | string {
  if (spec.type === "ExternalName") return { host: spec.externalName ?? "", port };
  if (!(spec.ports ?? []).some((one) => one.port === port)) return `has no port ${port}`;
  const ip = spec.clusterIP ?? "";
  return ip === "" || ip === "None" ? "has no cluster address" : { host: ip, port };
}

/** Clients of peers, the one used least lately given up first. */
export class Peers {
  /** By what a connection is made of; the one used last is last. */
  readonly #clients = new Map<string, OutboundClient>();

  /** The client of a peer. */
  clientOf(connection: Connection): OutboundClient {
    const { url, authorities, address } = connection;
    const key = `${url}\n${address?.host}:${address?.port}\n${authorities}`;
    let client = this.#clients.get(key);
    if (client === undefined) {
      client = new OutboundClient(connection, clientCalls);
      if (this.#clients.size >= limits.webhookClientsMax) this.#drop();
    } else this.#clients.delete(key);
    this.#clients.set(key, client);
    return client;
  }

  /** Ends all calls and connections. */
  close(): void {
    for (const client of this.#clients.values()) client.close();
    this.#clients.clear();
  }

  #drop(): void {
    const [oldest] = this.#clients;
    if (oldest === undefined) return;
    this.#clients.delete(oldest[0]);
    // Its last calls end by themselves.
    setTimeout(() => oldest[1].close(), limits.requestMsMax).unref();
  }
}
