// Every flag of the server in one table, and the grammar they are written in (Go's pflag): `--name=value`,
// `--name value`, `--switch`, `-v=4`. Names and meanings follow upstream where it has the flag.
import { availableParallelism } from "node:os";
import { aggregationFlags } from "./aggregationflags.ts";
import { auditFlags } from "./auditflags.ts";
import { authnFlags, tlsFlags } from "./authnflags.ts";
import { formatDuration, parseDuration } from "./duration.ts";
import { encryptionFlags } from "./encryptionflags.ts";
import { etcdFlags } from "./etcdflags.ts";
import type { Flag, FlagValues } from "./flag.ts";
import { limits } from "./limits.ts";
import { nodeFlags } from "./nodeflags.ts";
import { remoteAuthnFlags } from "./remoteauthnflags.ts";
import { signingFlags } from "./signingflags.ts";
import { tracingFlags } from "./tracingflags.ts";

/** The store, the controllers and collectors have a core; a second front on two cores costs more than it serves (DECISIONS 192). */
const fronts = Math.max(1, availableParallelism() - 1);

/** All flags, in the order of --help all. */
export const flags = [
  {
    name: "bind-address",
    group: "Serving",
    type: "string",
    default: "127.0.0.1",
    brief: "IP address to listen on",
    help: "IP address to listen on; 0.0.0.0 or :: for all interfaces.",
  },
  {
    name: "advertise-address",
    group: "Serving",
    type: "string",
    default: "",
    brief: "IP address members of the cluster use",
    help: "IP address at which members of the cluster reach the server; the server's own service points to it. Default: the address it listens on, or the first address of the host when it listens on all. A loopback address is not published.",
  },
  {
    name: "endpoint-reconciler-type",
    group: "Serving",
    type: "string",
    default: "lease",
    choices: ["lease", "none"],
    brief: "endpoints of the own service",
    help: "How the endpoints of the server's own service are kept: lease lists every live server, none leaves them alone. master-count of older releases does not exist: it cannot tell which servers live.",
  },
  {
    name: "secure-port",
    group: "Serving",
    type: "int",
    default: "6443",
    min: 0,
    max: 65_535,
    brief: "port for HTTPS; 0 picks one",
    help: "Port for HTTPS; 0 picks a free one.",
  },
  {
    name: "tls-cert-file",
    group: "Serving",
    type: "string",
    default: "",
    brief: "serving certificate, PEM",
    help: "PEM file of the serving certificate with its intermediates. Default: one is generated in the data directory.",
  },
  {
    name: "tls-private-key-file",
    group: "Serving",
    type: "string",
    default: "",
    brief: "its private key, PEM",
    help: "PEM file of the private key of --tls-cert-file.",
  },
  ...tlsFlags,
  {
    name: "front",
    group: "Serving",
    type: "string",
    default: "auto",
    choices: ["auto", "uws", "node"],
    brief: "HTTP implementation",
    help: "HTTP implementation. uws is the faster one; node is required for authenticating proxies (--requestheader-client-ca-file), the TLS flags that say so, and header values of any bytes. auto is uws where it can be loaded and no other flag requires node.",
  },
  {
    name: "front-workers",
    group: "Serving",
    type: "int",
    default: String(fronts),
    min: 1,
    max: 64,
    brief: "threads that serve requests",
    help: "Threads that serve requests. Default: the number of cores less one, at least one. One that crashes is started again, and its connections end. --front=node has one before Node 22.12 and on systems other than Linux.",
  },
  {
    name: "pool-workers",
    group: "Serving",
    type: "int",
    default: String(limits.poolThreadsMax),
    min: 0,
    max: 16,
    brief: "threads of each front for large objects",
    help: "Threads of each front, and of the controllers, for merges and answers of 160 KiB and more; they are started when they are needed first and end when they have nothing to do. One user has all but one of them at most. With 0 the front does that work itself, one object in a turn: each holds up all its other requests, the largest for up to a second.",
  },
  {
    name: "fanout-port",
    group: "Serving",
    type: "int",
    default: "0",
    min: 0,
    max: 65_535,
    help: "Additional port for watchers, served by uws beside --front=node; 0 disables it.",
  },
  {
    name: "request-timeout",
    group: "Serving",
    type: "duration",
    default: formatDuration(limits.requestMsMax),
    min: 1,
    max: 3_600_000,
    help: "Time limit of requests other than watches.",
  },
  {
    name: "min-request-timeout",
    group: "Serving",
    type: "int",
    default: "1800",
    min: 0,
    max: 86_400,
    help: "Minimum duration in seconds of a watch without timeoutSeconds; it ends at a random time before twice that.",
  },
  {
    name: "max-requests-inflight",
    group: "Serving",
    type: "int",
    default: "400",
    min: 0,
    max: 1_000_000,
    brief: "concurrent reading requests",
    help: "Maximum number of concurrent reading requests. With --enable-priority-and-fairness, the sum of this and --max-mutating-requests-inflight is the server's seats, which its priority levels divide. Without it, watches are excluded, and requests above it, or above the user's share of it, get 429, except those of system:masters. 0 disables the limit, and, for both, priority and fairness.",
  },
  {
    name: "max-mutating-requests-inflight",
    group: "Serving",
    type: "int",
    default: "200",
    min: 0,
    max: 1_000_000,
    brief: "concurrent changing requests",
    help: "Maximum number of concurrent changing requests, as --max-requests-inflight is of reading ones.",
  },
  {
    name: "enable-priority-and-fairness",
    group: "Serving",
    type: "bool",
    default: "true",
    brief: "queues by priority and fairness",
    help: "Whether requests run at priority levels and wait in fair queues, as FlowSchemas and PriorityLevelConfigurations say. Without it, reading and changing requests have a limit each.",
  },
  {
    name: "shed-lag",
    group: "Serving",
    type: "duration",
    default: "500ms",
    min: 0,
    max: 60_000,
    brief: "event loop lag that sheds requests",
    help: "How late the event loop of a front may be, smoothed over seconds, before it sheds requests: it answers 429, first to those whose requests cost it most, lists and new watches before all others, and more the longer it lasts. Requests of exempt levels, of nodes and for leader election are never shed, nor is a user with few requests. 0 disables it.",
  },
  {
    name: "goaway-chance",
    group: "Serving",
    type: "float",
    default: "0",
    min: 0,
    max: 0.02,
    help: "Part of the responses, watches excluded, that end their connection, so that clients open another one: behind a load balancer they spread over servers again. 0: none. Clients speak HTTP/1.1 here, which has the header Connection for it.",
  },
  {
    name: "livez-grace-period",
    group: "Serving",
    type: "duration",
    default: "0s",
    min: 0,
    max: 3_600_000,
    help: "Time after the start during which /livez ignores startup steps that are not complete.",
  },
  {
    name: "shutdown-delay-duration",
    group: "Serving",
    type: "duration",
    default: "0s",
    min: 0,
    max: 3_600_000,
    brief: "delay of the shutdown after SIGTERM",
    help: "Time after SIGTERM during which requests are still accepted while /readyz fails.",
  },
  {
    name: "data-dir",
    group: "Storage",
    type: "string",
    default: ".orch",
    brief: "store, certificates, kubeconfig",
    help: "Directory of the store, generated certificates and the administrator's kubeconfig.",
  },
  {
    name: "storage-backend",
    group: "Storage",
    type: "string",
    default: "",
    choices: ["lmdb", "memory", "etcd3"],
    brief: "where objects are stored",
    help: "Where objects are stored. lmdb (the default): a file in the data directory, every write on disk before it is answered. etcd3: the cluster of --etcd-servers. memory: for tests and trials; nothing survives the process.",
  },
  ...encryptionFlags,
  {
    name: "event-ttl",
    group: "Storage",
    type: "duration",
    default: "1h0m0s",
    min: 1,
    max: 31_536_000_000,
    brief: "lifetime of events",
    help: "Lifetime of events after their last write.",
  },
  ...etcdFlags,
  {
    name: "identity",
    group: "API",
    type: "string",
    default: "orch",
    choices: ["orch", "kubernetes"],
    brief: "names of the API",
    help: "Names of the API; kubernetes serves existing clients unchanged. A data directory keeps its identity.",
  },
  {
    name: "controllers",
    group: "API",
    type: "string",
    default: "*",
    brief: "controllers to run: *, name or -name",
    help: "Controllers to run, comma-separated: * for the default ones, a name, or -name to exclude one. Default ones: namespace, eventttl, resourcequota, clusterrole-aggregation, serviceaccount, serviceaccount-token, root-ca-cert-publisher, own-service, garbagecollector, ttl-after-finished, pvc-protection, pv-protection, podgc, endpoint, endpointslice, endpointslicemirroring, csrapproving, csrsigning, csrcleaner, nodelifecycle. Others: bootstrapsigner, tokencleaner.",
  },
  {
    name: "max-endpoints-per-slice",
    group: "API",
    type: "int",
    default: "100",
    min: 1,
    max: 1000,
    brief: "endpoints of one endpoint slice",
    help: "Endpoints the controller endpointslice puts into one slice at most.",
  },
  {
    name: "allow-privileged",
    group: "API",
    type: "bool",
    default: "false",
    brief: "allow privileged containers",
    help: "Allow privileged containers; without it, objects with a privileged container are refused.",
  },
  {
    name: "service-cluster-ip-range",
    group: "API",
    type: "string",
    default: "10.0.0.0/24",
    brief: "addresses of services",
    help: "Address range of services; for dual stack one range of each family, comma-separated.",
  },
  {
    name: "service-node-port-range",
    group: "API",
    type: "string",
    default: "30000-32767",
    brief: "node ports of services",
    help: "Range of the node ports of services: first-last, or first+offset of the last.",
  },
  {
    name: "runtime-config",
    group: "API",
    type: "map",
    default: "",
    brief: "API versions on or off",
    help: "API groups, versions and resources to enable or disable: key[=true|false], comma-separated. Keys: api/all; api/ga, api/beta, api/alpha; v1 or <group>/<version>; one of these with /<resource>. The more specific key wins.",
  },
  {
    name: "feature-gates",
    group: "API",
    type: "map",
    default: "",
    brief: "features on or off; see --help gates",
    help: "Features to enable or disable: name[=true|false], comma-separated. --help gates lists them.",
  },
  {
    name: "emulated-release",
    group: "API",
    type: "string",
    default: "1.23",
    help: "Later release to emulate, for testing clients: versions of kinds that it removed are not served, and its deprecation warnings are sent.",
  },
  {
    name: "enable-admission-plugins",
    group: "Admission",
    type: "string",
    default: "",
    brief: "plugins besides the default ones",
    help: "Admission plugins to run besides the default ones, comma-separated; their order is fixed.",
  },
  {
    name: "disable-admission-plugins",
    group: "Admission",
    type: "string",
    default: "",
    brief: "default plugins not to run",
    help: "Default admission plugins not to run, comma-separated.",
  },
  {
    name: "admission-control-config-file",
    group: "Admission",
    type: "string",
    default: "",
    brief: "settings of plugins",
    help: "AdmissionConfiguration with the settings of plugins, YAML or JSON.",
  },
  {
    name: "default-not-ready-toleration-seconds",
    group: "Admission",
    type: "int",
    default: "300",
    help: "Seconds that a pod without such a toleration of its own stays on a node that is not ready.",
  },
  {
    name: "default-unreachable-toleration-seconds",
    group: "Admission",
    type: "int",
    default: "300",
    help: "Seconds that a pod without such a toleration of its own stays on an unreachable node.",
  },
  ...authnFlags,
  ...remoteAuthnFlags,
  ...signingFlags,
  ...nodeFlags,
  {
    name: "authorization-mode",
    group: "Authorization",
    type: "string",
    default: "Node,RBAC",
    brief: "authorizers in their order",
    help: "Authorizers, comma-separated, asked in this order until one allows or denies: Node (a node agent may read the objects that pods on its node reference), RBAC (roles and bindings), ABAC (a policy file), Webhook (an external service), AlwaysAllow, AlwaysDeny. system:masters is always allowed.",
  },
  {
    name: "authorization-policy-file",
    group: "Authorization",
    type: "string",
    default: "",
    brief: "policies of the mode ABAC",
    help: "Policies of the mode ABAC, one JSON object per line.",
  },
  {
    name: "authorization-webhook-config-file",
    group: "Authorization",
    type: "string",
    default: "",
    brief: "kubeconfig of the mode Webhook",
    help: "Kubeconfig of the service that the mode Webhook asks.",
  },
  {
    name: "authorization-webhook-version",
    group: "Authorization",
    type: "string",
    default: "v1beta1",
    choices: ["v1", "v1beta1"],
    help: "Version of the SubjectAccessReview that is sent to it.",
  },
  {
    name: "authorization-webhook-cache-authorized-ttl",
    group: "Authorization",
    type: "duration",
    default: "5m0s",
    min: 0,
    max: 86_400_000,
    help: "How long its permissions are cached.",
  },
  {
    name: "authorization-webhook-cache-unauthorized-ttl",
    group: "Authorization",
    type: "duration",
    default: "30s",
    min: 0,
    max: 86_400_000,
    help: "How long its refusals are cached.",
  },
  ...aggregationFlags,
  ...auditFlags,
  {
    name: "log-level",
    group: "Logging",
    type: "string",
    default: "info",
    choices: ["fatal", "error", "warn", "info", "debug", "trace"],
    brief: "least severe level to log",
    help: "Least severe level to log.",
  },
  {
    name: "logging-format",
    group: "Logging",
    type: "string",
    default: "json",
    choices: ["text", "json"],
    brief: "text or json",
    help: "How lines of the log are written: as JSON, or as text for people.",
  },
  ...tracingFlags,
  {
    name: "show-hidden-metrics-for-version",
    group: "Logging",
    type: "string",
    default: "",
    help: "The previous release, for example 1.22: metrics that are deprecated and hidden since then are shown.",
  },
  {
    name: "v",
    group: "Logging",
    type: "int",
    default: "0",
    short: "v",
    min: 0,
    max: 10,
    brief: "verbosity by number: 3 logs requests",
    help: "Verbosity by number: 3 logs every request, 6 and more everything.",
  },
  {
    name: "help",
    group: "Help",
    type: "topic",
    default: "",
    short: "h",
    brief: "print help and exit",
    help: "Print this help, that of a group of flags, or all of it, and exit.",
  },
  {
    name: "version",
    group: "Help",
    type: "bool",
    default: "false",
    brief: "print the version and exit",
    help: "Print the version and exit.",
  },
] as const satisfies readonly Flag[];

/** The topic of --help without one. */
export const mainTopic = "main";

/** A mistake on the command line: one line for the operator. */
export interface FlagFault {
  readonly fault: string;
}

/** Parses arguments by `table`. */
export function parseFlags(args: readonly string[], table: readonly Flag[] = flags): FlagValues | FlagFault {
  const values = new Map(table.map((flag) => [flag.name, flag.default]));
  const seen = new Set<string>();
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] as string;
    const split = splitArgument(arg);
    if (split === undefined) return { fault: `unexpected argument: ${arg}` };
    const { name, attached } = split;
    const flag = table.find((f) => (arg.startsWith("--") ? f.name === name : f.short === name));
    if (flag === undefined) return { fault: `unknown flag: ${arg.startsWith("--") ? `--${name}` : `-${name}`}` };
    let value = attached;
    if (value === undefined && flag.type === "bool") value = "true";
    if (value === undefined && flag.type === "topic") {
      const topic = args[i + 1];
      if (topic === undefined || topic.startsWith("-")) value = mainTopic;
    }
    if (value === undefined) {
      i += 1;
      value = args[i];
      if (value === undefined) return { fault: `flag needs an argument: --${flag.name}` };
    }
    const wrong = checkValue(flag, value);
    if (wrong !== undefined)
      return { fault: `invalid argument ${JSON.stringify(value)} for "--${flag.name}" flag: ${wrong}` };
    const joins = (flag.type === "map" || flag.type === "list") && seen.has(flag.name);
    values.set(flag.name, joins ? `${values.get(flag.name) ?? ""},${value}` : value);
    seen.add(flag.name);
  }
  return values;
}

/** Name and attached value of an argument that is a flag; `_` in a name stands for `-`. */
function splitArgument(arg: string): { name: string; attached: string | undefined } | undefined {
  const long = /^--([^=]+)(?:=(.*))?$/s.exec(arg);
  if (long !== null) return { name: (long[1] as string).replaceAll("_", "-"), attached: long[2] };
  const short = /^-([A-Za-z])(?:=?(.+))?$/s.exec(arg);
  return short === null ? undefined : { name: short[1] as string, attached: short[2] };
}

/** Returns an error message for a value; undefined: valid. */
function checkValue(flag: Flag, value: string): string | undefined {
  switch (flag.type) {
    case "bool":
      return parseBool(value) === undefined ? "it must be true or false" : undefined;
    case "int":
      if (!/^[+-]?\d{1,15}$/.test(value)) return "it must be a number";
      return checkRange(flag, Number(value), String);
    case "float":
      if (!/^\d{1,15}(\.\d{1,15})?$/.test(value)) return "it must be a number, as in 0.1";
      return checkRange(flag, Number(value), String);
    case "duration": {
      const ms = parseDuration(value);
      return ms === undefined ? 'it must be a duration, as in "1m30s"' : checkRange(flag, ms, formatDuration);
    }
    case "map":
      return parseMap(value) === undefined ? "it must be key[=true|false], comma-separated" : undefined;
    case "list":
    case "topic":
      return undefined;
    case "string":
      if (flag.choices !== undefined && !flag.choices.includes(value))
        return `it must be one of ${flag.choices.join(", ")}`;
      return undefined;
  }
}

function checkRange(flag: Flag, value: number, print: (value: number) => string): string | undefined {
  if (flag.min !== undefined && value < flag.min) return `it must be at least ${print(flag.min)}`;
  if (flag.max !== undefined && value > flag.max) return `it must be at most ${print(flag.max)}`;
  return undefined;
}

/** Go's strconv.ParseBool. */
export function parseBool(text: string): boolean | undefined {
  if (["1", "t", "T", "TRUE", "true", "True"].includes(text)) return true;
  if (["0", "f", "F", "FALSE", "false", "False"].includes(text)) return false;
  return undefined;
}

/** `a=true,b=false,c` by key; a missing value means true; undefined when it is malformed. */
export function parseMap(text: string): ReadonlyMap<string, boolean> | undefined {
  const map = new Map<string, boolean>();
  if (text === "") return map;
  for (const entry of text.split(",")) {
    const mark = entry.indexOf("=");
    const key = (mark === -1 ? entry : entry.slice(0, mark)).trim();
    const value = mark === -1 ? true : parseBool(entry.slice(mark + 1).trim());
    if (key === "" || value === undefined) return undefined;
    map.set(key, value);
  }
  return map;
}

/** Tells a mistake from values. */
export function isFlagFault(parsed: FlagValues | FlagFault): parsed is FlagFault {
  return "fault" in parsed;
}
