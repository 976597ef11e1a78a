// Every flag of the server in one table, and the grammar they are written in (Go's pflag): `--name=value`,
// `--name value`, `--switch`, `-v=4`. Names and meanings follow the reference where it has the flag.
import { availableParallelism } from "node:os";
import { auditFlags } from "./auditflags.ts";
import { authnFlags, tlsFlags } from "./authnflags.ts";
import { formatDuration, parseDuration } from "./duration.ts";
import type { Flag, FlagValues } from "./flag.ts";
import { gatesText } from "./gates.ts";
import { limits } from "./limits.ts";
import { remoteAuthnFlags } from "./remoteauthnflags.ts";

/** At least two, on small machines too: one front's end, or one long turn, must not be an outage. */
const fronts = Math.max(2, availableParallelism() - 1);

/** All flags, in the order of --help. */
export const flags = [
  {
    name: "bind-address",
    group: "Serving",
    type: "string",
    default: "127.0.0.1",
    help: "IP address to listen on; 0.0.0.0 or :: for all interfaces.",
  },
  {
    name: "advertise-address",
    group: "Serving",
    type: "string",
    default: "",
    help: "IP address members of the cluster reach the server at; empty: the one it listens on, or the host's first when it listens on all. The server's own service leads there; a loopback address is none.",
  },
  {
    name: "secure-port",
    group: "Serving",
    type: "int",
    default: "6443",
    min: 0,
    max: 65_535,
    help: "Port for HTTPS; 0 picks a free one.",
  },
  {
    name: "tls-cert-file",
    group: "Serving",
    type: "string",
    default: "",
    help: "PEM file of the serving certificate, with its intermediates; without it one is made in the data directory.",
  },
  {
    name: "tls-private-key-file",
    group: "Serving",
    type: "string",
    default: "",
    help: "PEM file of the private key that belongs to --tls-cert-file.",
  },
  ...tlsFlags,
  {
    name: "front",
    group: "Serving",
    type: "string",
    default: "auto",
    choices: ["auto", "uws", "node"],
    help:
      "HTTP implementation: uws is the fast one; node is for authenticating proxies (--requestheader-client-ca-file), " +
      "more ways of TLS and whole header values; auto is uws where it loads and no other flag needs node.",
  },
  {
    name: "front-workers",
    group: "Serving",
    type: "int",
    default: String(fronts),
    min: 1,
    max: 64,
    help:
      "Threads that serve requests; default: cores less one, at least two, so that the end of one is no outage. " +
      "--front=node has one before Node 22.12 and off Linux.",
  },
  {
    name: "fanout-port",
    group: "Serving",
    type: "int",
    default: "0",
    min: 0,
    max: 65_535,
    help: "Additional port served by uws beside --front=node, for watchers; 0 is off.",
  },
  {
    name: "request-timeout",
    group: "Serving",
    type: "duration",
    default: formatDuration(limits.requestMsMax),
    min: 1,
    max: 3_600_000,
    help: "Time after which a request that is not a watch is given up.",
  },
  {
    name: "min-request-timeout",
    group: "Serving",
    type: "int",
    default: "1800",
    min: 0,
    max: 86_400,
    help: "Seconds a watch without timeoutSeconds lasts at least; it ends at random before twice that.",
  },
  {
    name: "max-requests-inflight",
    group: "Serving",
    type: "int",
    default: "400",
    min: 0,
    max: 1_000_000,
    help: "Reading requests served at once, watches not counted; more, and more than a user's share, get 429, system:masters excepted. 0 is no limit.",
  },
  {
    name: "max-mutating-requests-inflight",
    group: "Serving",
    type: "int",
    default: "200",
    min: 0,
    max: 1_000_000,
    help: "Changing requests served at once; more, and more than a user's share, get 429, system:masters excepted. 0 is no limit.",
  },
  {
    name: "livez-grace-period",
    group: "Serving",
    type: "duration",
    default: "0s",
    min: 0,
    max: 3_600_000,
    help: "After the start, how long /livez takes steps of it that have not ended for done.",
  },
  {
    name: "shutdown-delay-duration",
    group: "Serving",
    type: "duration",
    default: "0s",
    min: 0,
    max: 3_600_000,
    help: "After SIGTERM, how long /readyz says no while requests are still taken.",
  },
  {
    name: "data-dir",
    group: "Storage",
    type: "string",
    default: ".orch",
    help: "Directory of the embedded store, certificates and the administrator's configuration.",
  },
  {
    name: "storage-backend",
    group: "Storage",
    type: "string",
    default: "lmdb",
    choices: ["lmdb", "memory"],
    help:
      "Where objects are kept: lmdb in a file of the data directory, each write on the disk before it is answered; " +
      "memory, for tests and trials, where nothing survives the process.",
  },
  {
    name: "event-ttl",
    group: "Storage",
    type: "duration",
    default: "1h0m0s",
    min: 1,
    max: 31_536_000_000,
    help: "How long events are kept after they were written last.",
  },
  {
    name: "identity",
    group: "API",
    type: "string",
    default: "orch",
    choices: ["orch", "kubernetes"],
    help: "Names the API is spoken in; kubernetes serves existing clients unchanged. A data directory keeps its identity.",
  },
  {
    name: "controllers",
    group: "API",
    type: "string",
    default: "*",
    help: "Controllers to run: *, a name, or -name to leave one out, comma-separated. There are: namespace, eventttl, resourcequota, clusterrole-aggregation, serviceaccount, serviceaccount-token, root-ca-cert-publisher, own-service; and, not by *, tokencleaner.",
  },
  {
    name: "allow-privileged",
    group: "API",
    type: "bool",
    default: "false",
    help: "Allow privileged containers; without it, objects with one are refused.",
  },
  {
    name: "service-cluster-ip-range",
    group: "API",
    type: "string",
    default: "10.0.0.0/24",
    help: "Range the addresses of services are taken from; for both families, one of each, comma-separated.",
  },
  {
    name: "service-node-port-range",
    group: "API",
    type: "string",
    default: "30000-32767",
    help: "Ports the node ports of services are taken from: first-last, or first+more.",
  },
  {
    name: "runtime-config",
    group: "API",
    type: "map",
    default: "",
    help:
      "API groups, versions and resources to switch on or off: key[=true|false], comma-separated. Keys: api/all; " +
      "api/ga, api/beta, api/alpha; v1 or <group>/<version>; either of them and /<resource>. The narrower key wins.",
  },
  {
    name: "feature-gates",
    group: "API",
    type: "map",
    default: "",
    help: `Features to switch on or off: name[=true|false], comma-separated. Gates: ${gatesText()}.`,
  },
  {
    name: "emulated-release",
    group: "API",
    type: "string",
    default: "1.23",
    help: "Leaves out the versions of kinds that are gone by this later release, and warns as it does, to try clients.",
  },
  {
    name: "enable-admission-plugins",
    group: "Admission",
    type: "string",
    default: "",
    help: "Admission plugins to run besides those that run by default, comma-separated; their order is fixed.",
  },
  {
    name: "disable-admission-plugins",
    group: "Admission",
    type: "string",
    default: "",
    help: "Admission plugins that run by default and shall not, comma-separated.",
  },
  {
    name: "admission-control-config-file",
    group: "Admission",
    type: "string",
    default: "",
    help: "AdmissionConfiguration with the settings of plugins, YAML or JSON.",
  },
  {
    name: "default-not-ready-toleration-seconds",
    group: "Admission",
    type: "int",
    default: "300",
    help: "How long pods that say nothing about it stay on a node that is not ready.",
  },
  {
    name: "default-unreachable-toleration-seconds",
    group: "Admission",
    type: "int",
    default: "300",
    help: "How long pods that say nothing about it stay on a node that cannot be reached.",
  },
  ...authnFlags,
  ...remoteAuthnFlags,
  {
    name: "authorization-mode",
    group: "Authorization",
    type: "string",
    default: "Node,RBAC",
    help: "Who decides what a user may do, asked in this order until one allows or denies, comma-separated: Node (a node agent may read what the pods on its node need), RBAC (roles and bindings), ABAC (a file of policies), Webhook (somebody else decides), AlwaysAllow, AlwaysDeny. system:masters may do anything in every mode.",
  },
  {
    name: "authorization-policy-file",
    group: "Authorization",
    type: "string",
    default: "",
    help: "Policies of the mode ABAC, one JSON object per line.",
  },
  {
    name: "authorization-webhook-config-file",
    group: "Authorization",
    type: "string",
    default: "",
    help: "Where the mode Webhook asks: a file in the format of client configurations.",
  },
  {
    name: "authorization-webhook-version",
    group: "Authorization",
    type: "string",
    default: "v1beta1",
    choices: ["v1", "v1beta1"],
    help: "Version of the SubjectAccessReview that is sent there.",
  },
  {
    name: "authorization-webhook-cache-authorized-ttl",
    group: "Authorization",
    type: "duration",
    default: "5m0s",
    min: 0,
    max: 86_400_000,
    help: "How long an allowance of the webhook is kept.",
  },
  {
    name: "authorization-webhook-cache-unauthorized-ttl",
    group: "Authorization",
    type: "duration",
    default: "30s",
    min: 0,
    max: 86_400_000,
    help: "How long a refusal of the webhook is kept.",
  },
  ...auditFlags,
  {
    name: "log-level",
    group: "Logging",
    type: "string",
    default: "info",
    choices: ["fatal", "error", "warn", "info", "debug", "trace"],
    help: "Least severe lines to log.",
  },
  {
    name: "show-hidden-metrics-for-version",
    group: "Logging",
    type: "string",
    default: "",
    help: "The previous release, as in 1.22: its metrics that are deprecated and hidden by now are shown once more.",
  },
  {
    name: "v",
    group: "Logging",
    type: "int",
    default: "0",
    short: "v",
    min: 0,
    max: 10,
    help: "Verbosity by number: 3 logs every request, 6 and more everything.",
  },
  { name: "help", group: "Help", type: "bool", default: "false", short: "h", help: "Print the flags and exit." },
  { name: "version", group: "Help", type: "bool", default: "false", help: "Print the version and exit." },
] as const satisfies readonly Flag[];

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

/** What is wrong with a value; undefined when nothing is. */
function checkValue(flag: Flag, value: string): string | undefined {
  switch (flag.type) {
    case "bool":
      return parseBool(value) === undefined ? "it must be true or false" : undefined;
    case "int":
      if (!/^[+-]?\d{1,15}$/.test(value)) return "it must be a number";
      return checkRange(flag, Number(value), String);
    case "duration": {
      const ms = parseDuration(value);
      return ms === undefined ? 'it must be a duration, as in "1m30s"' : checkRange(flag, ms, formatDuration);
    }
    case "map":
      return parseMap(value) === undefined ? "it must be key[=true|false], comma-separated" : undefined;
    case "list":
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

const helpColumns = 110;

/** The text of --help: every flag, in groups. */
export function helpText(table: readonly Flag[] = flags): string {
  const lines = ["orch: the API server of a cluster control plane", "", "Usage: npm start -- [flags]", ""];
  for (const group of new Set(table.map((flag) => flag.group))) {
    lines.push(`${group} flags:`, "");
    for (const flag of table.filter((f) => f.group === group)) lines.push(...helpLines(flag));
    lines.push("");
  }
  return lines.join("\n");
}

function helpLines(flag: Flag): string[] {
  const names =
    flag.short === undefined
      ? `    --${flag.name}`
      : flag.short === flag.name
        ? `-${flag.name}, --${flag.name}`
        : `-${flag.short}, --${flag.name}`;
  const takes = flag.type === "bool" ? "" : ` ${flag.choices?.join("|") ?? flag.type}`;
  const initial = flag.default === "" || flag.type === "bool" ? "" : ` (default ${flag.default})`;
  const lines = [`  ${names}${takes}`];
  let line = "         ";
  for (const word of `${flag.help}${initial}`.split(" ")) {
    if (line.length + word.length >= helpColumns) {
      lines.push(line);
      line = "         ";
    }
    line += ` ${word}`;
  }
  lines.push(line);
  return lines;
}
