// One member of an etcd cluster: a process that can be killed, paused and started again on its data.
import type { ChildProcess } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { end, hasEnded, spawnBound } from "../servers/bound.ts";
import { type EtcdTls, Gateway } from "./gateway.ts";

/** How a member is started. */
export interface MemberOptions {
  readonly binary: string;
  readonly name: string;
  /** Its data are in a folder of this one. */
  readonly dir: string;
  readonly clientUrl: string;
  readonly peerUrl: string;
  readonly flags: readonly string[];
  readonly tls?: EtcdTls;
  /** A command that runs another one, such as one that enters a network namespace. */
  readonly within?: readonly string[];
}

/** What a member says of itself. */
export interface MemberStatus {
  readonly id: string;
  /** Id of the leader; 0: none is known. */
  readonly leader: string;
  readonly revision: number;
  readonly dbSize: number;
  readonly version: string;
}

const healthyMsMax = 60_000;
const logMax = 20_000;

/** A member. */
export class Member {
  readonly name: string;
  /** Where clients reach it. */
  readonly url: string;
  readonly peerUrl: string;
  readonly dataDir: string;
  readonly gateway: Gateway;
  readonly #options: MemberOptions;
  #process: ChildProcess | undefined;
  #log = "";

  constructor(options: MemberOptions) {
    const { name, clientUrl, peerUrl, dir, tls } = options;
    this.#options = options;
    this.name = name;
    this.url = clientUrl;
    this.peerUrl = peerUrl;
    this.dataDir = join(dir, name);
    this.gateway = new Gateway(clientUrl, tls);
  }

  /** Its process runs; it may be paused. */
  get isRunning(): boolean {
    return this.#process !== undefined && !hasEnded(this.#process);
  }

  /** The last it logged. */
  get log(): string {
    return this.#log;
  }

  /** Starts it on the data it has. */
  start(): void {
    const { binary, within = [], name, clientUrl, peerUrl, flags } = this.#options;
    mkdirSync(this.dataDir, { recursive: true, mode: 0o700 });
    const [command, ...args] = [
      ...within,
      binary,
      `--name=${name}`,
      `--data-dir=${this.dataDir}`,
      `--listen-client-urls=${clientUrl}`,
      `--advertise-client-urls=${clientUrl}`,
      `--listen-peer-urls=${peerUrl}`,
      `--initial-advertise-peer-urls=${peerUrl}`,
      ...["--logger=zap", "--log-outputs=stderr", "--log-level=warn"],
      ...flags,
    ];
    // Its environment names flags, too.
    const env = { PATH: process.env["PATH"] };
    const child = spawnBound(command as string, args, { stdio: ["ignore", "ignore", "pipe"], env });
    child.stderr?.on("data", (chunk: Buffer) => {
      this.#log = (this.#log + chunk.toString()).slice(-logMax);
    });
    this.#process = child;
  }

  /** Waits until it takes writes. Rejects when it ends or does not get there. */
  async healthy(limitMs = healthyMsMax): Promise<void> {
    const limit = performance.now() + limitMs;
    while (!(await this.gateway.isHealthy())) {
      if (!this.isRunning) throw new Error(`etcd ${this.name} ended: ${this.#log}`);
      if (performance.now() > limit)
        throw new Error(`etcd ${this.name} has no leader after ${limitMs} ms: ${this.#log}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** SIGKILL. */
  async kill(): Promise<void> {
    if (this.#process !== undefined) await end(this.#process);
  }

  /** Starts it again, on its data, unless it runs. */
  restart(): void {
    if (!this.isRunning) this.start();
  }

  /** SIGSTOP: it holds its connections and does nothing. */
  pause(): void {
    this.#process?.kill("SIGSTOP");
  }

  /** SIGCONT. */
  resume(): void {
    this.#process?.kill("SIGCONT");
  }

  /** It keeps the process that started it from nothing. */
  leave(): void {
    this.#process?.unref();
    (this.#process?.stderr as Socket | null | undefined)?.unref();
  }

  /** Rejects while it does not answer. */
  async status(limitMs = 2000): Promise<MemberStatus> {
    const { header, leader = "0", dbSize, version } = await this.gateway.call("/v3/maintenance/status", {}, limitMs);
    return { id: header.member_id, leader, revision: Number(header.revision), dbSize: Number(dbSize), version };
  }

  /** Gives free space back; it serves nothing meanwhile. */
  async defragment(): Promise<void> {
    await this.gateway.call("/v3/maintenance/defragment", {}, 60_000);
  }

  /** Removes its data. It must not run. */
  forget(): void {
    rmSync(this.dataDir, { recursive: true, force: true });
  }
}
