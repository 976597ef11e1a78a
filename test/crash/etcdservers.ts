// Two servers on one etcd, each of which is killed, paused or asked to end, and is started again when it ends by itself. On
// a network of hosts each has its own, so that its way to etcd can be cut while its clients reach it.
import type { ChildProcess } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Etcd } from "../support/etcd/etcd.ts";
import type { Host, Network } from "../support/etcd/network.ts";
import { shareKeys, startServer, type TestServer } from "../support/server.ts";
import { end, hasEnded } from "../support/servers/bound.ts";
import type { ProcessOptions } from "../support/servers/process.ts";

/** How long clients wait for an answer, ms: a server may be paused. */
const patienceMs = 15_000;

/** What is told of servers. */
export interface ServersTold {
  readonly up?: (server: TestServer, index: number) => void;
  readonly down?: (index: number) => void;
  /** It ended without being asked to. */
  readonly ended?: (index: number, code: number | null, errors: string) => void;
}

/** How many there are. */
export const serverCount = 2;

/** The servers of a run. */
export class SharedServers {
  /** Whether those that end by themselves are started again. */
  isSupervised = true;
  /** Longest start, ms. */
  readyMsMax = 0;
  /** How many were killed: that served, and that had begun to start. */
  readonly kills = { serving: 0, starting: 0 };
  readonly #dir: string;
  readonly #etcd: Etcd;
  readonly #told: ServersTold;
  readonly #network: Network | undefined;
  readonly #hosts: Host[] = [];
  readonly #servers: (TestServer | undefined)[] = [];
  readonly #ports: number[] = [];
  #closed = false;

  constructor(dir: string, etcd: Etcd, told: ServersTold = {}, network?: Network) {
    this.#dir = dir;
    this.#etcd = etcd;
    this.#told = told;
    this.#network = network;
    mkdirSync(dir, { recursive: true });
  }

  /** Starts all, and makes namespaces. */
  async startAll(namespaces: readonly string[]): Promise<TestServer[]> {
    const all = [await this.start(0)];
    for (const name of namespaces) await all[0]?.call("POST", "/api/v1/namespaces", { metadata: { name } });
    for (let index = 1; index < serverCount; index += 1) all.push(await this.start(index));
    return all;
  }

  /** The host of one. */
  host(index: number): Host | undefined {
    return this.#hosts[index];
  }

  /** Starts one, again, with the port it had. */
  async start(index: number, options: Pick<ProcessOptions, "spawned"> = {}): Promise<TestServer> {
    const home = join(this.#dir, "server-0");
    const dir = join(this.#dir, `server-${index}`);
    if (index > 0 && !existsSync(dir)) shareKeys(home, dir);
    // Each has a member of its own that it asks first.
    const { endpoints } = this.#etcd;
    const own = [...endpoints.slice(index), ...endpoints.slice(0, index)];
    const startedMs = performance.now();
    const host = await this.#hostOf(index);
    const place = host === undefined ? [] : [`--bind-address=${host.address}`];
    const flags = ["--log-level=error", ...place, ...this.#etcd.flags("/registry", own)];
    const port = this.#ports[index] ?? 0;
    const server = await startServer(flags, dir, { port, within: host?.within ?? [], ...options });
    server.patienceMs = patienceMs;
    this.readyMsMax = Math.max(this.readyMsMax, Math.round(performance.now() - startedMs));
    this.#ports[index] = Number(new URL(server.base).port);
    this.#servers[index] = server;
    server.process.once("exit", (code) => this.#ended(index, server, code));
    if (hasEnded(server.process)) this.#ended(index, server, server.process.exitCode);
    else this.#told.up?.(server, index);
    return server;
  }

  /** Starts one and kills it after a time, at which it may serve or not. */
  async startAndKill(index: number, afterMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const spawned = (child: ChildProcess): void => {
      timer = setTimeout(() => child.kill("SIGKILL"), afterMs);
    };
    const isUp = await this.start(index, { spawned }).then(
      () => true,
      (error: unknown) => {
        if (String(error).includes("ended with SIGKILL")) return false;
        throw error;
      },
    );
    clearTimeout(timer);
    if (isUp) await this.stop(index, "SIGKILL");
    else this.kills.starting += 1;
  }

  /** One that is up. */
  at(index: number): TestServer | undefined {
    return this.#servers[index];
  }

  /** Ends one and waits for that; its exit code. */
  async stop(index: number, signal: NodeJS.Signals): Promise<number | null> {
    const server = this.#servers[index];
    this.#servers[index] = undefined;
    if (server === undefined) return null;
    if (signal === "SIGKILL") {
      this.kills.serving += 1;
      this.#told.down?.(index);
    }
    await end(server.process, signal);
    this.#told.down?.(index);
    return server.process.exitCode;
  }

  /** Ends both. */
  async close(): Promise<void> {
    this.#closed = true;
    for (let index = 0; index < serverCount; index += 1) await this.stop(index, "SIGKILL");
  }

  async #hostOf(index: number): Promise<Host | undefined> {
    if (this.#network === undefined) return undefined;
    this.#hosts[index] ??= await this.#network.add();
    return this.#hosts[index];
  }

  #ended(index: number, server: TestServer, code: number | null): void {
    if (this.#servers[index] !== server) return;
    this.#servers[index] = undefined;
    this.#told.down?.(index);
    this.#told.ended?.(index, code, server.errors().slice(-2000));
    if (this.isSupervised && !this.#closed) void this.#again(index);
  }

  /** What supervises it tries until it runs. */
  async #again(index: number): Promise<void> {
    while (!this.#closed && this.#servers[index] === undefined) {
      try {
        await this.start(index);
      } catch (error) {
        this.#told.ended?.(index, null, String(error).slice(-2000));
      }
    }
  }
}
