// A server under load: one that is started for it, or any server of this API that runs.
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { checkedBefore } from "../../src/config/filecheck.ts";
import { readConnection } from "../../src/outbound/connection.ts";
import { Connection, type Endpoint } from "./connection.ts";
import { type Ending, type Subject as Started, startOurs, startPeer } from "./peer.ts";
import type { NamedProcesses } from "./processes.ts";

/** How a server is named on the command line; the same flags for a run, and for each side of a comparison. */
export const targetFlags = {
  name: ["TEXT", "what the server is called in results"],
  start: ["FLAGS", "start this server with these flags (default: with none)"],
  "start-peer": ["PATH", "start this kube-apiserver instead; its etcd is that of --etcd"],
  etcd: ["PATH", "the etcd that a peer is started with"],
  "peer-flags": ["FLAGS", "flags for the peer; with --etcd-servers among them no etcd is started"],
  kubeconfig: ["FILE", "use the server of this client configuration"],
  server: ["URL", "use the server at this URL, with --token"],
  token: ["TEXT", "a bearer token of a user who may do everything"],
  "certificate-authority": ["FILE", "PEM of what signed the server's certificate; without it that is not checked"],
  pid: ["NAME=PIDS", "processes whose CPU and memory are measured, with all their children; may be repeated"],
} as const satisfies Readonly<Record<string, readonly [value: string, help: string]>>;

/** Values of those flags. */
export type TargetOptions = { readonly [Name in Exclude<keyof typeof targetFlags, "pid">]?: string | undefined } & {
  readonly pid?: readonly string[] | undefined;
};

/** A server that takes load. */
export interface Target {
  readonly name: string;
  readonly endpoint: Endpoint;
  /** What is measured of it, by name. */
  readonly processes: readonly NamedProcesses[];
  /** For questions of the harness itself. */
  readonly connection: Connection;
  /**
   * Ends its server, in order or by killing it, and starts it again with its data; undefined: it was not started for this
   * run.
   */
  readonly restart: ((how?: Ending) => Promise<void>) | undefined;
  /** Ends what was started for it. */
  stop(): Promise<void>;
}

/** Reads the flags of one side of a comparison, e.g. `--name=peer --kubeconfig=/etc/peer.conf --pid=etcd=123`. */
export function readTarget(text: string): TargetOptions {
  const options = Object.fromEntries(
    Object.keys(targetFlags).map((name) => [name, { type: "string" as const, multiple: name === "pid" }]),
  );
  const { values } = parseArgs({ args: words(text), options, strict: true });
  return values as TargetOptions;
}

/** Words of a command line; quotes hold one together. */
export function words(text: string): string[] {
  const found = text.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? [];
  return found.map((word) => word.replace(/"([^"]*)"|'([^']*)'/g, (_, double, single) => double ?? single ?? ""));
}

/** Starts or finds a server; throws with one line about what is wrong. `signal` ends a start that is under way. */
export async function openTarget(options: TargetOptions, fallback: string, signal?: AbortSignal): Promise<Target> {
  const named = (options.pid ?? []).map(readProcesses);
  const { name = fallback } = options;
  if (options.kubeconfig !== undefined || options.server !== undefined) {
    const endpoint = options.kubeconfig === undefined ? endpointOf(options) : endpointIn(options.kubeconfig);
    return make(name, endpoint, () => named);
  }
  const peer = options["start-peer"];
  const started =
    peer === undefined
      ? await startOurs(words(options.start ?? ""), undefined, signal)
      : await startPeer(peer, options.etcd ?? "etcd", words(options["peer-flags"] ?? ""), signal);
  const processes = (): NamedProcesses[] => {
    const [server = 0, ...etcd] = started.pids;
    const own = [{ name: "server", pids: [server] }, ...(etcd.length === 0 ? [] : [{ name: "etcd", pids: etcd }])];
    return [...own, ...named];
  };
  return make(name, started, processes, started);
}

async function make(
  name: string,
  { base, token, ca, servername, certificate, key }: Endpoint,
  processes: () => readonly NamedProcesses[],
  started?: Started,
): Promise<Target> {
  const endpoint: Endpoint = { base, token, ca, servername, certificate, key };
  const connection = new Connection(endpoint);
  const { code } = await connection.send({ method: "GET", path: "/api/v1/namespaces?limit=1" });
  const stop = async (): Promise<void> => {
    connection.close();
    await started?.stop();
  };
  const restart = async (how?: Ending): Promise<void> => {
    connection.close();
    await started?.restart(how);
  };
  if (code === 200) {
    return {
      ...{ name, endpoint, connection, stop, restart: started === undefined ? undefined : restart },
      get processes() {
        return processes();
      },
    };
  }
  await stop();
  const why = code === 0 ? "did not answer" : `answered ${code} to a list of namespaces`;
  throw new Error(`The server at ${base} ${why}`);
}

function readProcesses(text: string): NamedProcesses {
  const [, name, pids] = /^([\w-]+)=(\d+(?:,\d+)*)$/.exec(text) ?? [];
  if (name === undefined || pids === undefined) throw new Error(`--pid=${text}: expected NAME=PID,PID`);
  return { name, pids: pids.split(",").map(Number) };
}

function endpointOf(options: TargetOptions): Endpoint {
  const { server = "", token } = options;
  const authority = options["certificate-authority"];
  if (!URL.canParse(server)) throw new Error(`--server=${server}: expected a URL`);
  return {
    base: server.replace(/\/$/, ""),
    token,
    ca: authority === undefined ? undefined : readFileSync(authority, "utf8"),
  };
}

function endpointIn(path: string): Endpoint {
  const found = readConnection(path, checkedBefore);
  if (typeof found === "string") throw new Error(found);
  const { url, authorities, serverName, insecure, certificate, key, authorization } = found;
  return {
    base: url.replace(/\/$/, ""),
    token: authorization?.replace(/^Bearer /, ""),
    ca: insecure === true ? undefined : authorities,
    servername: serverName,
    certificate,
    key,
  };
}

/** A client configuration for programs that are to use a server, as JSON, which is YAML. */
export function clientConfig({ base, token, ca, servername, certificate, key }: Endpoint): string {
  const base64 = (text: string): string => Buffer.from(text).toString("base64");
  const trust = ca === undefined ? { "insecure-skip-tls-verify": true } : { "certificate-authority-data": base64(ca) };
  const named = servername === undefined ? {} : { "tls-server-name": servername };
  const shown =
    certificate === undefined || key === undefined
      ? {}
      : { "client-certificate-data": base64(certificate), "client-key-data": base64(key) };
  return JSON.stringify({
    ...{ apiVersion: "v1", kind: "Config", "current-context": "perf" },
    clusters: [{ name: "perf", cluster: { server: base, ...trust, ...named } }],
    users: [{ name: "perf", user: { ...(token === undefined ? {} : { token }), ...shown } }],
    contexts: [{ name: "perf", context: { cluster: "perf", user: "perf" } }],
  });
}
