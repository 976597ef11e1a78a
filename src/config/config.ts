// The configuration of the server from its flags: one plain value that every thread gets a copy of.
import { isIP } from "node:net";
import { levelOf } from "../observe/log.ts";
import type { LogFormat } from "../observe/logtext.ts";
import { type AggregationConfig, readAggregation } from "./aggregationflags.ts";
import { type AuditConfig, readAudit } from "./auditflags.ts";
import { type AuthnConfig, readAuthn, readTls, type TlsConfig } from "./authnflags.ts";
import { parseDuration } from "./duration.ts";
import { type EncryptionFlags, readEncryptionFlags } from "./encryptionflags.ts";
import { type EtcdConfig, readEtcd } from "./etcdflags.ts";
import type { FlagValues } from "./flag.ts";
import { parseBool, parseMap } from "./flags.ts";
import { forbidsPrivileged, readGates } from "./gates.ts";
import { type NodesConfig, readNodes } from "./nodeflags.ts";
import { readSigning, type SigningConfig } from "./signingflags.ts";
import type { TracingConfig } from "./tracingflags.ts";

/** The HTTP implementations. */
export type FrontName = "uws" | "node";

/** The identities: api/identity.ts, which imports nothing from here, has the same two. */
type IdentityName = "orch" | "kubernetes";

/** Admission flags. */
export interface AdmissionConfig {
  /** Names of plugins, beyond those that run by default. */
  readonly enabled: readonly string[];
  readonly disabled: readonly string[];
  /** Empty: none. */
  readonly file: string;
  /** That file's settings of plugins, by name: JSON text. Read by main before any thread starts. */
  readonly settings: ReadonlyMap<string, string>;
  /** How long pods stay on a node that is not ready, or cannot be reached. */
  readonly notReadyTolerationSeconds: number;
  readonly unreachableTolerationSeconds: number;
  /** Fronts among which limits of the whole server are divided. */
  readonly fronts: number;
}

/** No flag says anything about admission. */
export const defaultAdmission: AdmissionConfig = {
  enabled: [],
  disabled: [],
  file: "",
  settings: new Map(),
  notReadyTolerationSeconds: 300,
  unreachableTolerationSeconds: 300,
  fronts: 1,
};

/** Every authorization mode, by name. */
export const authorizationModes = ["Node", "RBAC", "ABAC", "Webhook", "AlwaysAllow", "AlwaysDeny"] as const;

/** Authorization flags. */
export interface AuthorizationConfig {
  /** In the order they are asked. */
  readonly modes: readonly (typeof authorizationModes)[number][];
  /** Of the mode ABAC; empty: none. */
  readonly policyFile: string;
  /** Of the mode Webhook; empty: none. */
  readonly webhookConfigFile: string;
  readonly webhookVersion: "v1" | "v1beta1";
  /** How long its answers are kept. */
  readonly webhookAllowedMs: number;
  readonly webhookRefusedMs: number;
}

/** The configuration of a server. Copied to every thread: plain data only. */
export interface Config {
  readonly bindAddress: string;
  /** Where members of the cluster reach the server; empty: as it listens. */
  readonly advertiseAddress: string;
  /** How the endpoints of the server's own service are kept. */
  readonly endpointReconciler: "lease" | "none";
  readonly securePort: number;
  /** Empty: a generated certificate. */
  readonly tlsCertFile: string;
  readonly tlsPrivateKeyFile: string;
  readonly tls: TlsConfig;
  readonly front: FrontName | "auto";
  readonly frontWorkers: number;
  /** Of each front; 0: it does the tasks itself. */
  readonly poolWorkers: number;
  /** 0: off. */
  readonly fanoutPort: number;
  readonly requestTimeoutMs: number;
  readonly minRequestTimeoutSeconds: number;
  /** Of the whole server; 0: no limit. */
  readonly requestsInflightMax: number;
  readonly mutatingInflightMax: number;
  /** Part of the responses that end their connection. */
  readonly goawayChance: number;
  /** Requests are queued by priority and fairness. */
  readonly fairness: boolean;
  /** Lag of a front's event loop above which it sheds requests, in milliseconds; 0: it sheds none. */
  readonly shedLagMs: number;
  readonly shutdownDelayMs: number;
  readonly livezGraceMs: number;
  readonly dataDir: string;
  /** Name of an engine (storage/table.ts). */
  readonly storageBackend: string;
  readonly etcd: EtcdConfig;
  readonly encryption: EncryptionFlags;
  readonly eventTtlMs: number;
  readonly identity: IdentityName;
  readonly runtimeConfig: ReadonlyMap<string, boolean>;
  /** Feature gates that are on. */
  readonly gates: ReadonlySet<string>;
  /** The release whose versions of kinds are served: `1.<this>`. */
  readonly release: number;
  /** Metrics hidden in this release are shown when it is the one before; undefined: they are not. */
  readonly hiddenMetricsFor: number | undefined;
  /** Warnings that are logged at the start. */
  readonly notes: readonly string[];
  /** As written; read by kinds/ranges.ts. */
  readonly serviceAddressRanges: string;
  readonly servicePortRange: string;
  readonly admission: AdmissionConfig;
  readonly authorization: AuthorizationConfig;
  /** Names of the controllers to run. */
  readonly controllers: readonly string[];
  /** Of one endpoint slice. */
  readonly endpointsPerSliceMax: number;
  /** Empty: none. */
  readonly tokenAuthFile: string;
  readonly authn: AuthnConfig;
  readonly aggregation: AggregationConfig;
  readonly signing: SigningConfig;
  readonly nodes: NodesConfig;
  /** Undefined: nothing is written down. */
  readonly audit: AuditConfig | undefined;
  /** Empty: nothing is traced. */
  readonly tracingFile: string;
  /** What it says; undefined: nothing is traced. */
  readonly tracing?: TracingConfig | undefined;
  readonly logLevel: string;
  readonly logFormat: LogFormat;
  /** The level while no verbosity is set. */
  readonly quietLogLevel: string;
}

/** The release served; earlier ones cannot be emulated. */
const releaseMin = 23;

/** Every controller, by name. */
export const controllerNames = [
  "namespace",
  "eventttl",
  "resourcequota",
  "clusterrole-aggregation",
  "serviceaccount",
  "serviceaccount-token",
  "root-ca-cert-publisher",
  "own-service",
  "garbagecollector",
  "ttl-after-finished",
  "pvc-protection",
  "pv-protection",
  "podgc",
  "endpoint",
  "endpointslice",
  "endpointslicemirroring",
  "bootstrapsigner",
  "tokencleaner",
  "csrapproving",
  "csrsigning",
  "csrcleaner",
  "nodelifecycle",
] as const;

/** Controllers that `*` does not mean (upstream: ControllersDisabledByDefault). */
const controllersOff: readonly string[] = ["bootstrapsigner", "tokencleaner"];

/** Reads parsed flags. Returns the one line to print when they contradict each other. */
export function readConfig(values: FlagValues): Config | string {
  const text = (name: string): string => values.get(name) ?? "";
  const ms = (name: string): number => parseDuration(text(name)) ?? 0;
  if ((text("tls-cert-file") === "") !== (text("tls-private-key-file") === "")) {
    return "--tls-cert-file and --tls-private-key-file belong together";
  }
  const address = addressFault(text);
  if (address !== undefined) return address;
  const storage = readStorage(values);
  if (typeof storage === "string") return storage;
  const controllers = readControllers(text("controllers"));
  if (typeof controllers === "string") return controllers;
  const lifecycle = readLifecycle(text);
  if (typeof lifecycle === "string") return lifecycle;
  const authorization = readAuthorization(text);
  if (typeof authorization === "string") return authorization;
  const identities = readIdentities(values);
  if (typeof identities === "string") return identities;
  const nodes = readNodes(values);
  if (typeof nodes === "string") return nodes;
  const recorded = readAudit(values);
  if (typeof recorded === "string") return recorded;
  const config: Config = {
    controllers,
    endpointsPerSliceMax: Number(text("max-endpoints-per-slice")),
    authorization,
    admission: {
      enabled: readNames(text("enable-admission-plugins")),
      disabled: disabledPlugins(text, lifecycle.gates),
      file: text("admission-control-config-file"),
      settings: new Map(),
      notReadyTolerationSeconds: Number(text("default-not-ready-toleration-seconds")),
      unreachableTolerationSeconds: Number(text("default-unreachable-toleration-seconds")),
      fronts: Number(text("front-workers")),
    },
    bindAddress: text("bind-address"),
    advertiseAddress: text("advertise-address"),
    endpointReconciler: text("endpoint-reconciler-type") as Config["endpointReconciler"],
    securePort: Number(text("secure-port")),
    tlsCertFile: text("tls-cert-file"),
    tlsPrivateKeyFile: text("tls-private-key-file"),
    front: text("front") as Config["front"],
    frontWorkers: Number(text("front-workers")),
    poolWorkers: Number(text("pool-workers")),
    fanoutPort: Number(text("fanout-port")),
    requestTimeoutMs: ms("request-timeout"),
    minRequestTimeoutSeconds: Number(text("min-request-timeout")),
    ...readFlow(text, lifecycle.gates),
    shutdownDelayMs: ms("shutdown-delay-duration"),
    livezGraceMs: ms("livez-grace-period"),
    ...storage,
    identity: text("identity") as IdentityName,
    serviceAddressRanges: text("service-cluster-ip-range"),
    servicePortRange: text("service-node-port-range"),
    runtimeConfig: parseMap(text("runtime-config")) ?? new Map(),
    ...lifecycle,
    tokenAuthFile: text("token-auth-file"),
    ...identities,
    nodes,
    audit: recorded,
    tracingFile: text("tracing-config-file"),
    logLevel: levelOf(Number(text("v")), text("log-level")),
    logFormat: text("logging-format") as LogFormat,
    quietLogLevel: text("log-level"),
  };
  if (config.fanoutPort !== 0 && config.front !== "node" && nodeFrontFlag(config) === undefined) {
    return "--fanout-port needs --front=node";
  }
  return config;
}

/** How many requests are served at once, and whose. */
function readFlow(
  text: (name: string) => string,
  gates: Config["gates"],
): Pick<Config, "requestsInflightMax" | "mutatingInflightMax" | "goawayChance" | "fairness" | "shedLagMs"> {
  return {
    requestsInflightMax: Number(text("max-requests-inflight")),
    mutatingInflightMax: Number(text("max-mutating-requests-inflight")),
    goawayChance: Number(text("goaway-chance")),
    fairness: isTrue(text("enable-priority-and-fairness")) && gates.has("APIPriorityAndFairness"),
    shedLagMs: parseDuration(text("shed-lag")) ?? 0,
  };
}

/** Where objects are stored, and how. */
function readStorage(
  values: FlagValues,
): Pick<Config, "dataDir" | "storageBackend" | "etcd" | "encryption" | "eventTtlMs"> | string {
  const text = (name: string): string => values.get(name) ?? "";
  if (text("data-dir") === "") return "--data-dir must not be empty";
  const encryption = readEncryptionFlags(values);
  if (typeof encryption === "string") return encryption;
  const eventTtlMs = parseDuration(text("event-ttl")) ?? 0;
  const storageBackend = text("storage-backend") || (text("etcd-servers") === "" ? "lmdb" : "etcd3");
  const etcd = readEtcd(values, storageBackend);
  if (typeof etcd === "string") return etcd;
  return { dataDir: text("data-dir"), storageBackend, etcd, encryption, eventTtlMs };
}

/** By what clients, extension servers and the server itself are recognized, and what it signs. */
function readIdentities(values: FlagValues): Pick<Config, "authn" | "aggregation" | "tls" | "signing"> | string {
  const authn = readAuthn(values);
  if (typeof authn === "string") return authn;
  const aggregation = readAggregation(values);
  if (typeof aggregation === "string") return aggregation;
  const tls = readTls(values);
  if (typeof tls === "string") return tls;
  const signing = readSigning(values);
  return typeof signing === "string" ? signing : { authn, aggregation, tls, signing };
}

function addressFault(text: (name: string) => string): string | undefined {
  if (isIP(text("bind-address")) === 0) return `--bind-address must be an IP address: ${text("bind-address")}`;
  const advertised = text("advertise-address");
  if (advertised === "" || isIP(advertised) !== 0) return undefined;
  return `--advertise-address must be an IP address: ${advertised}`;
}

/** The flag that only the node front can do; undefined: none is given. */
export function nodeFrontFlag({ authn, tls }: Config): string | undefined {
  if (authn.requestHeader !== undefined) return "--requestheader-client-ca-file";
  if (tls.named.length > 0) return "--tls-sni-cert-key";
  if (tls.ciphers !== "") return "--tls-cipher-suites";
  return tls.minVersion === "TLSv1.2" ? undefined : "--tls-min-version";
}

/**
 * Gates, and the release whose lifecycle of versions and metrics applies; returns an error message for invalid ones.
 */
function readLifecycle(
  text: (name: string) => string,
): Pick<Config, "gates" | "notes" | "release" | "hiddenMetricsFor"> | string {
  const gates = readGates(parseMap(text("feature-gates")) ?? new Map());
  if (typeof gates === "string") return `invalid argument for "--feature-gates" flag: ${gates}`;
  const release = Number(/^1\.(\d{1,3})$/.exec(text("emulated-release"))?.[1]);
  if (!(release >= releaseMin)) return `--emulated-release must be 1.${releaseMin} or later, as in 1.25`;
  const hidden = text("show-hidden-metrics-for-version");
  if (hidden !== "" && hidden !== `1.${release - 1}`) {
    const only = "Only the previous minor version is allowed";
    return `--show-hidden-metrics-for-version must be omitted or have the value '1.${release - 1}'. ${only}`;
  }
  const hiddenMetricsFor = hidden === "" ? undefined : release - 1;
  const on = isTrue(text("allow-privileged")) ? gates.on : new Set([...gates.on, forbidsPrivileged]);
  return { gates: on, notes: gates.notes, release, hiddenMetricsFor };
}

function isTrue(text: string): boolean {
  return parseBool(text) === true;
}

/** Plugins that are off: the ones that are named, and PodSecurity without its gate. */
function disabledPlugins(text: (name: string) => string, gates: ReadonlySet<string>): string[] {
  const disabled = readNames(text("disable-admission-plugins"));
  const plugin = "PodSecurity";
  if (!gates.has(plugin) && !disabled.includes(plugin)) disabled.push(plugin);
  return disabled;
}

/** A comma-separated list of names. */
function readNames(list: string): string[] {
  return list
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

function readAuthorization(text: (name: string) => string): AuthorizationConfig | string {
  const modes: AuthorizationConfig["modes"][number][] = [];
  for (const name of readNames(text("authorization-mode"))) {
    const mode = authorizationModes.find((each) => each === name);
    if (mode === undefined) {
      return `--authorization-mode: there is no mode ${JSON.stringify(name)}; there are: ${authorizationModes.join(", ")}`;
    }
    if (modes.includes(mode)) return `--authorization-mode: ${name} is listed twice`;
    modes.push(mode);
  }
  if (modes.length === 0) return "--authorization-mode must name at least one mode";
  for (const [mode, flag] of [
    ["ABAC", "authorization-policy-file"],
    ["Webhook", "authorization-webhook-config-file"],
  ] as const) {
    if (modes.includes(mode) !== (text(flag) !== ""))
      return `--authorization-mode=${mode} and --${flag} belong together`;
  }
  const ms = (name: string): number => parseDuration(text(`authorization-webhook-cache-${name}-ttl`)) ?? 0;
  return {
    modes,
    policyFile: text("authorization-policy-file"),
    webhookConfigFile: text("authorization-webhook-config-file"),
    webhookVersion: text("authorization-webhook-version") === "v1" ? "v1" : "v1beta1",
    webhookAllowedMs: ms("authorized"),
    webhookRefusedMs: ms("unauthorized"),
  };
}

/**
 * The controllers a list like `*,-name` asks for (upstream: controller manager's --controllers); returns an error
 * message for an invalid one.
 */
function readControllers(list: string): string[] | string {
  const running = new Set<string>();
  for (const item of list.split(",").map((part) => part.trim())) {
    const off = item.startsWith("-");
    const name = off ? item.slice(1) : item;
    if (item === "") continue;
    if (item === "*")
      for (const every of controllerNames.filter((one) => !controllersOff.includes(one))) running.add(every);
    else if (!controllerNames.some((known) => known === name)) {
      return `--controllers: there is no controller ${JSON.stringify(name)}; there are: ${controllerNames.join(", ")}`;
    } else if (off) running.delete(name);
    else running.add(name);
  }
  return [...running];
}
