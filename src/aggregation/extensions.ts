// What a thread knows of extension servers: where each is now, and as whom it is asked.
import type { Endpoints, Service } from "../api/gen/core/v1.ts";
import type { ApiObject } from "../api/object.ts";
import type { Clock } from "../base/clock.ts";
import { inSlices } from "../base/turn.ts";
import type { Objects } from "../cache/view/objects.ts";
import type { AggregationConfig } from "../config/aggregationflags.ts";
import type { RequestHeaderConfig } from "../config/authnflags.ts";
import { limits } from "../config/limits.ts";
import { longWork } from "../config/longwork.ts";
import type { OpenApiMeter } from "../observe/openapi.ts";
import { type RemoteOpenApi, readRemoteOpenApi, readRemoteOpenApiV3 } from "../openapi/openapiremote.ts";
import { Backends } from "../outbound/backends.ts";
import { type Answer, type Call, CallFailure, type Connection, isWell } from "../outbound/client.ts";
import { reasonOf } from "../outbound/reason.ts";
import { ProxyCredentials } from "./credentials.ts";
import { type DocumentKind, type Refused, RemoteDocuments } from "./remotedocuments.ts";
import { type RemoteResources, readResourceList } from "./resourcelist.ts";
import { ServedNames } from "./servednames.ts";
import { isNoTarget, type NoTarget, type RemoteVersion, type TargetLookups, targetOf } from "./target.ts";

/** How long an extension server has to say what it serves (upstream: five seconds), in milliseconds. */
export const discoveryMsMax = 5_000;

/** Of the configuration, what concerns extension servers. */
export interface ExtensionOptions {
  readonly config: AggregationConfig;
  readonly users?: RequestHeaderConfig | undefined;
  readonly clock: Pick<Clock, "monotonic">;
  /** How many the front may have open; default: as many as there may ever be. */
  readonly connections?: number | undefined;
  /** Takes one of them (Backends). */
  readonly lend?: (() => (() => void) | undefined) | undefined;
  readonly refused?: Refused | undefined;
  /** Counts OpenAPI documents that contain theirs. */
  readonly meter?: OpenApiMeter | undefined;
}

/** Finds extension servers; one of each thread. */
export class Extensions {
  readonly credentials: ProxyCredentials;
  readonly backends: Backends;
  /** Names of their resources, for metrics. */
  readonly names = new ServedNames();
  /** Headers by which another server in front of this one names users, and prefixes of them, in lower case. */
  readonly userHeaders: { readonly names: ReadonlySet<string>; readonly prefixes: readonly string[] };
  /** The resources they have. */
  readonly lists: RemoteDocuments<RemoteResources>;
  /** What they say of it in OpenAPI; version 3 as it is sent. */
  readonly openApi: {
    readonly v2: RemoteDocuments<RemoteOpenApi>;
    readonly v3: RemoteDocuments<Uint8Array>;
    readonly meter: OpenApiMeter | undefined;
  };
  readonly #routing: AggregationConfig["routing"];
  readonly #lookups: TargetLookups;

  /** Throws where the certificate cannot be read. */
  constructor({ config, users, clock, connections, lend, refused, meter }: ExtensionOptions, objects: Objects) {
    const { certFile, keyFile, routing } = config;
    this.backends = new Backends(connections, lend);
    const lower = (list: readonly string[] | undefined): string[] => (list ?? []).map((name) => name.toLowerCase());
    this.userHeaders = {
      names: new Set([...lower(users?.username), ...lower(users?.group)]),
      prefixes: lower(users?.extraPrefix),
    };
    this.credentials = new ProxyCredentials(certFile, keyFile);
    this.#routing = routing;
    this.lists = new RemoteDocuments(resourceLists, this, clock, refused);
    this.openApi = {
      v2: new RemoteDocuments(openApiV2, this, clock, refused),
      v3: new RemoteDocuments(openApiV3, this, clock, refused),
      meter,
    };
    this.#lookups = {
      service: (namespace, name) => objects.read<ApiObject & Service>("", "v1", "services", namespace, name),
      endpoints: (namespace, name) => objects.read<ApiObject & Endpoints>("", "v1", "endpoints", namespace, name),
    };
  }

  /** How to connect to an extension server now, with the server's own certificate. */
  target(remote: RemoteVersion): Connection | NoTarget {
    const found = targetOf(remote, this.#lookups, this.#routing, (count) => Math.floor(Math.random() * count));
    return isNoTarget(found) ? found : { ...found, ...this.credentials.login };
  }

  /** The same for asking whether it is there: its certificate is not verified, whatever the API service says (upstream). */
  discoveryTarget(remote: RemoteVersion): Connection | NoTarget {
    const found = this.target(remote);
    return isNoTarget(found) ? found : { ...found, authorities: undefined, insecure: true };
  }
}

const resourceLists: DocumentKind<RemoteResources> = {
  title: "discovery",
  call: resourceListCall,
  bytesMax: limits.remoteListBytesMax,
  read: readResourceList,
};

/** As upstream's aggregator asks. */
function openApiCall({ url }: Connection, path: string): ReturnType<DocumentKind<unknown>["call"]> {
  const headers = {
    Accept: "application/json",
    "Accept-Encoding": "identity",
    "X-Remote-User": "system:aggregator",
    "X-Forwarded-Host": url.slice("https://".length),
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Uri": path,
  };
  return { method: "GET", path, headers };
}

const openApiV2: DocumentKind<RemoteOpenApi> = {
  title: "OpenAPI v2",
  call: (_remote, target) => openApiCall(target, "/openapi/v2"),
  bytesMax: limits.remoteOpenApiBytesMax,
  read: async (body, remote) => {
    const text = Buffer.from(body).toString();
    const reading = readRemoteOpenApi(text, remote.group, discoveryPath(remote), limits.remoteOpenApiBytesMax);
    return inSlices(reading, longWork);
  },
};

const openApiV3: DocumentKind<Uint8Array> = {
  title: "OpenAPI v3",
  call: (remote, target) => openApiCall(target, `/openapi/v3${discoveryPath(remote)}`),
  bytesMax: limits.remoteOpenApiBytesMax,
  read: (body, remote) => inSlices(readRemoteOpenApiV3(Buffer.from(body).toString(), discoveryPath(remote)), longWork),
};

/** Asks an extension server for the list of its resources. */
export function resourceListCall(remote: RemoteVersion): Call {
  const { headers, ...call } = discoveryCall(remote);
  return { ...call, headers: { ...headers, Accept: "application/json", "Accept-Encoding": "identity" } };
}

/** Asks an extension server what it serves, as upstream's availability controller does: any 2xx says it is there. */
export function discoveryCall(remote: RemoteVersion): Call {
  return {
    method: "GET",
    path: discoveryPath(remote),
    headers: {
      "Accept-Encoding": "gzip",
      "X-Remote-User": "system:kube-aggregator",
      "X-Remote-Group": "system:masters",
    },
    timeoutMs: discoveryMsMax,
  };
}

/** What the condition of an API service says about the outcome of a discoveryCall(); undefined: all is well. */
export function discoveryFault(
  remote: RemoteVersion,
  { url, address }: Connection,
  outcome: Answer | CallFailure,
): string | undefined {
  const asked = `${url}${discoveryPath(remote)}`;
  const fault = `failing or missing response from ${asked}:`;
  if (!(outcome instanceof CallFailure)) {
    return isWell(outcome) ? undefined : `${fault} bad status from ${asked}: ${outcome.code}`;
  }
  return `${fault} Get ${JSON.stringify(asked)}: ${whyNot(outcome, address)}`;
}

function whyNot({ failure, cause, message }: CallFailure, address: Connection["address"]): string {
  if (failure === "timeout") return "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
  return cause === undefined || address === undefined ? message : reasonOf(cause, address);
}

/** Where a group version is. */
export function discoveryPath({ group, version }: Pick<RemoteVersion, "group" | "version">): string {
  return group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
}
