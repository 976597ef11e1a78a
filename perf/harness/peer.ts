// Servers under load, ours and upstream's of whichever release: what clients need to know of one, and how a peer is
// started from its binaries.
import { type ChildProcess, spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { assert } from "../../src/base/assert.ts";
import { startServer } from "../../test/support/server.ts";
import { spawnBound } from "../../test/support/servers/bound.ts";
import { processCpuUs, residentBytes } from "../load/process.ts";
import { wait } from "../results.ts";
import { Connection } from "./connection.ts";

/** A server that is measured. */
export interface Subject {
  /** In the names of cases. */
  readonly name: "ours" | "peer";
  readonly base: string;
  readonly token: string;
  /** PEM of what signed its certificate. */
  readonly ca: string;
  readonly servername?: string;
  /** The processes it consists of; the first one answers. */
  readonly pids: readonly number[];
  stop(): Promise<void>;
}

/** Our server. `dir`: its data, which are kept then. */
export async function startOurs(args: readonly string[], dir?: string): Promise<Subject> {
  // Named, so that a missing build ends the run: by itself the server would go on with the other front.
  const server = await startServer(["--identity=kubernetes", "--front=uws", ...args], dir);
  const { base, token, ca } = server;
  const stop = async (): Promise<void> => void (await server.stop("SIGTERM", dir === undefined));
  return { name: "ours", base, token, ca, pids: [server.process.pid ?? 0], stop };
}

const token = "admintoken";

/**
 * A peer: an API server of upstream's and its etcd, both in a folder that goes with them. `flags` are for the server, and
 * come last; with `--etcd-servers` among them no etcd is started.
 */
export async function startPeer(apiserver: string, etcd: string, flags: readonly string[] = []): Promise<Subject> {
  const dir = mkdtempSync(join(tmpdir(), "orch-peer-"));
  const [port, clients, peers] = await Promise.all([freePort(), freePort(), freePort()]);
  const store = `http://127.0.0.1:${clients}`;
  const members = `http://127.0.0.1:${peers}`;
  const key = join(dir, "sa.key");
  spawnSync("openssl", ["genrsa", "-out", key, "2048"], { stdio: "ignore" });
  spawnSync("openssl", ["rsa", "-in", key, "-pubout", "-out", `${key}.pub`], { stdio: "ignore" });
  writeFileSync(join(dir, "tokens.csv"), `${token},admin,admin,"system:masters"\n`);
  const brings = flags.some((flag) => flag.startsWith("--etcd-servers"));
  const started = brings ? undefined : run(dir, etcd, etcdFlags(dir, store, members));
  const server = run(dir, apiserver, [...serverFlags(dir, store, port), ...flags]);
  const stop = async (): Promise<void> => {
    for (const child of [server, started]) if (child !== undefined) await end(child);
    rmSync(dir, { recursive: true, force: true });
  };
  const pids = [server.pid ?? 0, ...(started === undefined ? [] : [started.pid ?? 0])];
  const base = `https://127.0.0.1:${port}`;
  for (let tries = 0; tries < 240; tries += 1) {
    await wait(500);
    assert(server.exitCode === null, `The peer ended: ${dir}/log`);
    const ca = certificateIn(dir);
    if (ca === undefined) continue;
    const subject: Subject = { name: "peer", base, token, ca, servername: "kubernetes.default.svc", pids, stop };
    const client = new Connection(subject);
    const { code } = await client.send({ method: "GET", path: "/readyz" });
    client.close();
    if (code === 200) return subject;
  }
  await stop();
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

function run(dir: string, binary: string, args: readonly string[]): ChildProcess {
  const out = openSync(join(dir, "log"), "a");
  // The oldest peer there is reads its OpenAPI from a file beside its folder.
  const env = { ...process.env, SWAGGER: join(dirname(dirname(binary)), "swagger-1.23.json") };
  const child = spawnBound(binary, [...args], { stdio: ["ignore", out, out], env });
  closeSync(out);
  return child;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  const late = setTimeout(() => child.kill("SIGKILL"), 20_000);
  await ended;
  clearTimeout(late);
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
