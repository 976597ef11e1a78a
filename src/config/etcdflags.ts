// The flags of a store on an etcd cluster. Names, defaults and rules are upstream's.
import { parseDuration } from "./duration.ts";
import type { Flag, FlagValues } from "./flag.ts";

const group = "Storage on etcd";

/** Flags that say which cluster, how it is reached, and how it is used. */
export const etcdFlags = [
  {
    name: "etcd-servers",
    group,
    type: "list",
    default: "",
    brief: "store on this etcd cluster, URLs",
    help: "URLs of the members of the etcd cluster that objects are stored in, https://host:2379,… Several servers may use one cluster. Implies --storage-backend=etcd3.",
  },
  {
    name: "etcd-prefix",
    group,
    type: "string",
    default: "/registry",
    help: "What all keys in etcd begin with.",
  },
  {
    name: "etcd-cafile",
    group,
    type: "string",
    default: "",
    help: "PEM file of the authorities that members of the etcd cluster are verified by. Empty: those of the machine.",
  },
  {
    name: "etcd-certfile",
    group,
    type: "string",
    default: "",
    help: "PEM file of the certificate shown to the etcd cluster.",
  },
  {
    name: "etcd-keyfile",
    group,
    type: "string",
    default: "",
    help: "PEM file of the private key of --etcd-certfile.",
  },
  {
    name: "etcd-compaction-interval",
    group,
    type: "duration",
    default: "5m0s",
    min: 0,
    max: 86_400_000,
    help: "How often history in etcd is compacted, and how old what is compacted is. One of all servers does it. 0: none does.",
  },
  {
    name: "etcd-count-metric-poll-period",
    group,
    type: "duration",
    default: "1m0s",
    min: 0,
    max: 86_400_000,
    help: "Accepted as upstream's flag: objects are counted as they are written. 0: their number is not in the metrics.",
  },
  {
    name: "etcd-db-metric-poll-interval",
    group,
    type: "duration",
    default: "30s",
    min: 0,
    max: 86_400_000,
    help: "How often etcd is asked for the size of its data. 0: it is not asked.",
  },
  {
    name: "etcd-healthcheck-timeout",
    group,
    type: "duration",
    default: "2s",
    min: 1,
    max: 60_000,
    help: "Time in which etcd must answer for the checks of its health to pass.",
  },
  {
    name: "lease-reuse-duration-seconds",
    group,
    type: "int",
    default: "60",
    min: 1,
    max: 86_400,
    help: "Time in seconds for which events share a lease, by which etcd removes them.",
  },
  {
    name: "storage-media-type",
    group,
    type: "string",
    default: "application/json",
    help: "What objects are stored as in etcd: application/json, or the protobuf media type of the API (upstream's default). Both are read. Custom resources are JSON in any case.",
  },
] as const satisfies readonly Flag[];

/** How a store on etcd is used. */
export interface EtcdConfig {
  /** URLs; empty: there is none. */
  readonly servers: readonly string[];
  readonly prefix: string;
  /** Files; empty: none. */
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
  /** 0: this server does not compact. */
  readonly compactionMs: number;
  readonly countsObjects: boolean;
  /** 0: never. */
  readonly sizePollMs: number;
  readonly healthMs: number;
  readonly leaseSharedSeconds: number;
  readonly mediaType: StorageMediaType;
}

/** What objects are stored as; the protobuf one in the canonical spelling. */
export type StorageMediaType = "application/json" | "application/vnd.kubernetes.protobuf";

/** Reads the flags of etcd. Returns the one line to print when they contradict each other or the engine. */
export function readEtcd(values: FlagValues, backend: string): EtcdConfig | string {
  const text = (name: (typeof etcdFlags)[number]["name"]): string => values.get(name) ?? "";
  const ms = (name: (typeof etcdFlags)[number]["name"]): number => parseDuration(text(name)) ?? 0;
  const servers = text("etcd-servers")
    .split(",")
    .filter((url) => url !== "");
  for (const server of servers) {
    if (!isMember(server))
      return `--etcd-servers: ${JSON.stringify(server)} is not http://host:port or https://host:port`;
  }
  const plain = servers.filter((server) => server.startsWith("http://"));
  if (plain.length > 0 && plain.length < servers.length) return "--etcd-servers: either all URLs are https or none is";
  if (backend === "etcd3" && servers.length === 0) return "--storage-backend=etcd3 needs --etcd-servers";
  if (backend !== "etcd3" && servers.length > 0) {
    return `--etcd-servers and --storage-backend=${backend} contradict each other`;
  }
  const [caFile, certFile, keyFile] = [text("etcd-cafile"), text("etcd-certfile"), text("etcd-keyfile")];
  if ((certFile === "") !== (keyFile === "")) return "--etcd-certfile and --etcd-keyfile belong together";
  if (plain.length > 0 && caFile + certFile !== "")
    return "--etcd-cafile and --etcd-certfile need https URLs in --etcd-servers";
  const mediaType = text("storage-media-type");
  const isJson = mediaType === "application/json";
  if (!isJson && !/^application\/vnd\.(?:kubernetes|orch)\.protobuf$/.test(mediaType)) {
    return `--storage-media-type: ${JSON.stringify(mediaType)} is neither application/json nor application/vnd.kubernetes.protobuf`;
  }
  const prefix = text("etcd-prefix");
  if (prefix.split("/").every((name) => name === "")) return "--etcd-prefix must not be empty";
  return {
    servers,
    prefix,
    caFile,
    certFile,
    keyFile,
    compactionMs: ms("etcd-compaction-interval"),
    countsObjects: ms("etcd-count-metric-poll-period") > 0,
    sizePollMs: ms("etcd-db-metric-poll-interval"),
    healthMs: ms("etcd-healthcheck-timeout"),
    leaseSharedSeconds: Number(text("lease-reuse-duration-seconds")),
    mediaType: isJson ? "application/json" : "application/vnd.kubernetes.protobuf",
  };
}

function isMember(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, host, pathname, search, username } = new URL(text);
  const isWeb = protocol === "http:" || protocol === "https:";
  return isWeb && host !== "" && pathname === "/" && search === "" && username === "";
}
