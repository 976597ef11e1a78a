// Servers under load, ours and upstream's of whichever release: what clients need to know of one, and how a peer is
// started from its binaries.
import { type ChildProcess, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { within } from "../../src/base/within.ts";
import { startServer, type TestServer } from "../../test/support/server.ts";
import { end } from "../../test/support/servers/bound.ts";
import { processCpuUs, residentBytes } from "../load/process.ts";
import { wait } from "../results.ts";
import { Connection } from "./connection.ts";
import { makeFolder, removeFolder, runProgram } from "./programs.ts";

/** How a server ends that starts again. */
export type Ending = "in order" | "killed";

/** A server that is measured. */
export interface Subject {
  /** In the names of cases. */
  readonly name: "ours" | "peer";
  readonly base: string;
  readonly token: string;
  /** PEM of what signed its certificate. */
  readonly ca: string;
  readonly servername?: string;
  /** The processes it consists of now; the first one answers. */
  readonly pids: readonly number[];
  /** Ends the process that answers, in order unless it says how, and starts it again, with its data and at its address. */
  restart(how?: Ending): Promise<void>;
  stop(): Promise<void>;
}

/** Our server. `dir`: its data, which are kept then. `signal` ends a start that is under way. */
export async function startOurs(args: readonly string[], dir?: string, signal?: AbortSignal): Promise<Subject> {
  const home = dir ?? makeFolder("orch-perf-");
  // Named, so that a missing build ends the run: by itself the server would go on with the other front.
  const flags = ["--identity=kubernetes", "--front=uws", ...args];
  const open = (port: number): Promise<TestServer> =>
    startServer(flags, home, { port, ownFronts: true, spawned: (child) => endWith(signal, child) });
  let server: TestServer;
  try {
    server = await open(0);
  } catch (error) {
    if (dir === undefined) removeFolder(home);
    throw error;
  }
  const { base, token, ca } = server;
  return {
    ...{ name: "ours", base, token, ca },
    get pids() {
      return [server.process.pid ?? 0];
    },
    restart: async (how = "in order") => {
      await server.stop(how === "killed" ? "SIGKILL" : "SIGTERM", false);
      server = await open(Number(new URL(base).port));
    },
    stop: async () => {
      await server.stop("SIGTERM", dir === undefined);
      if (dir === undefined) removeFolder(home);
    },
  };
}

/** Kills a process when the run is ended while it starts; later its owner ends it. */
function endWith(signal: AbortSignal | undefined, child: ChildProcess): void {
  const kill = (): void => void child.kill("SIGKILL");
  signal?.addEventListener("abort", kill, { once: true });
  child.stdout?.on("data", (chunk: Buffer) => {
    if (chunk.includes("ready: ")) signal?.removeEventListener("abort", kill);
  });
  if (signal?.aborted === true) kill();
}

const token = "admintoken";
/** How long a program may take to end in order. */
const endMsMax = 20_000;

/**
 * A peer: an API server of upstream's and its etcd, both in a folder that goes with them. `flags` are for the server, and
 * come last; with `--etcd-servers` among them no etcd is started. `signal` ends a start that is under way.
 */
export async function startPeer(
  apiserver: string,
  etcd: string,
  flags: readonly string[] = [],
  signal?: AbortSignal,
): Promise<Subject> {
  const dir = makeFolder("orch-peer-");
  const [port, clients, peers] = await Promise.all([freePort(), freePort(), freePort()]);
  const store = `http://127.0.0.1:${clients}`;
  const members = `http://127.0.0.1:${peers}`;
  const key = join(dir, "sa.key");
  spawnSync("openssl", ["genrsa", "-out", key, "2048"], { stdio: "ignore" });
  spawnSync("openssl", ["rsa", "-in", key, "-pubout", "-out", `${key}.pub`], { stdio: "ignore" });
  writeFileSync(join(dir, "tokens.csv"), `${token},admin,admin,"system:masters"\n`);
  const brings = flags.some((flag) => flag.startsWith("--etcd-servers"));
  const started = brings ? undefined : runProgram(dir, etcd, etcdFlags(dir, store, members));
  // The oldest peer there is reads its OpenAPI from a file beside its folder.
  const env = { ...process.env, SWAGGER: join(dirname(dirname(apiserver)), "swagger-1.23.json") };
  const serve = (): ChildProcess => runProgram(dir, apiserver, [...serverFlags(dir, store, port), ...flags], env);
  let server = serve();
  const stop = async (): Promise<void> => {
    for (const child of [server, started]) if (child !== undefined) await endInOrder(child);
    removeFolder(dir);
  };
  const base = `https://127.0.0.1:${port}`;
  const ca = await readyPeer(dir, base, server, signal).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return {
    ...{ name: "peer", base, token, ca, servername: peerName, stop },
    get pids() {
      return [server.pid ?? 0, ...(started === undefined ? [] : [started.pid ?? 0])];
    },
    restart: async (how = "in order") => {
      await (how === "killed" ? end(server) : endInOrder(server));
      server = serve();
      await readyPeer(dir, base, server, signal);
    },
  };
}

/** A name that is in each peer's certificate. */
const peerName = "kubernetes.default.svc";

/** Waits until a peer is ready; returns PEM of what signed its certificate. */
async function readyPeer(dir: string, base: string, server: ChildProcess, signal?: AbortSignal): Promise<string> {
  for (let tries = 0; tries < 240; tries += 1) {
    await wait(500);
    signal?.throwIfAborted();
    if (server.exitCode !== null) {
      throw new Error(`The peer ended with ${server.exitCode}: ${readFileSync(join(dir, "log"), "utf8").slice(-2000)}`);
    }
    const ca = certificateIn(dir);
    if (ca === undefined) continue;
    const client = new Connection({ base, token, ca, servername: peerName });
    const { code } = await client.send({ method: "GET", path: "/readyz" });
    client.close();
    if (code === 200) return ca;
  }
  throw new Error("The peer was not ready");
}

function etcdFlags(dir: string, store: string, members: string): string[] {
  return [
    `--data-dir=${join(dir, "etcd")}`,
    `--listen-client-urls=${store}`,
    `--advertise-client-urls=${store}`,
    `--listen-peer-urls=${members}`,
    `--initial-advertise-peer-urls=${members}`,
    `--initial-cluster=default=${members}`,
    "--quota-backend-bytes=8000000000",
  ];
}

function serverFlags(dir: string, store: string, port: number): string[] {
  const key = join(dir, "sa.key");
  return [
    `--etcd-servers=${store}`,
    "--bind-address=127.0.0.1",
    `--secure-port=${port}`,
    `--cert-dir=${join(dir, "certs")}`,
    `--token-auth-file=${join(dir, "tokens.csv")}`,
    "--authorization-mode=RBAC",
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${key}.pub`,
    `--service-account-signing-key-file=${key}`,
    "--service-cluster-ip-range=10.1.0.0/16",
  ];
}

function certificateIn(dir: string): string | undefined {
  try {
    return readFileSync(join(dir, "certs", "apiserver.crt"), "utf8");
  } catch {
    return undefined;
  }
}

/** Ends a program in order, or after a time at once. */
async function endInOrder(child: ChildProcess): Promise<void> {
  await within(end(child, "SIGTERM"), endMsMax);
  await end(child);
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

/** CPU of all processes of a subject so far, microseconds. */
export function subjectCpuUs({ pids }: Subject): number {
  return pids.reduce((sum, pid) => sum + processCpuUs(pid), 0);
}

/** Resident memory of the process that answers, without files it has mapped. */
export function subjectBytes({ pids }: Subject): number {
  return residentBytes(pids[0] ?? 0, true);
}
