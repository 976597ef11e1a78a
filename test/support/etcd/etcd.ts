// A real etcd for tests: one member or three, on loopback or each on a host of its own, in a folder that goes with them.

import { spawnSync } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findEtcd, findEtcdctl } from "./binary.ts";
import { base64, EtcdFault, type EtcdTls, rangeOf } from "./gateway.ts";
import { Member } from "./member.ts";
import type { Network } from "./network.ts";
import { etcdUser, makeCertificates } from "./tls.ts";

/** What an etcd is to be. */
export interface EtcdOptions {
  /** Default: 1. */
  readonly members?: number;
  /** Clients and members show certificates of an authority of its own. */
  readonly tls?: boolean;
  /** Users are asked for: that of the certificate (`orch`) may use keys below `/registry` alone. With `tls`. */
  readonly users?: boolean;
  /** Each member on a host of its own. */
  readonly network?: Network;
  /** Of the data, beyond which an alarm stops writes; default etcd's own, 2 GiB. */
  readonly quotaBytes?: number;
  /** A write is acknowledged before the disk has it, where this etcd can; for tests that lose no power. Default: true. */
  readonly quick?: boolean;
  /** How long members wait for a leader before they elect one. Default: 500; etcd's own is 1,000. */
  readonly electionMs?: number;
}

/** A running etcd. */
export class Etcd {
  readonly members: readonly Member[];
  readonly tls: EtcdTls | undefined;
  readonly dir: string;
  /** `name=peer URL` of all, as they were started with. */
  readonly #initial: string;

  private constructor(dir: string, members: readonly Member[], initial: string, tls: EtcdTls | undefined) {
    this.dir = dir;
    this.members = members;
    this.tls = tls;
    this.#initial = initial;
  }

  /** Starts it and waits until it takes writes. Rejects with what it logged when it does not. */
  static async open(options: EtcdOptions = {}): Promise<Etcd> {
    for (let attempt = 1; ; attempt += 1) {
      const etcd = await Etcd.#prepare(options);
      try {
        for (const member of etcd.members) member.start();
        await etcd.healthy();
        if (options.users === true) await etcd.#askForUsers();
        return etcd;
      } catch (error) {
        await etcd.close();
        // Another process took a port in between.
        if (attempt === 3 || !/address already in use/.test(String(error))) throw error;
      }
    }
  }

  /** All that is needed before the start. */
  static async #prepare({ members = 1, tls = false, network, ...rest }: EtcdOptions): Promise<Etcd> {
    const dir = mkdtempSync(join(tmpdir(), "orch-etcd-"));
    const places = await Promise.all(Array.from({ length: members }, () => placeOf(network)));
    const addresses = places.map(({ address }) => address);
    const certificates = tls ? await makeCertificates(join(dir, "tls"), addresses) : undefined;
    const scheme = tls ? "https" : "http";
    const peers = places.map(({ address, peers }) => `${scheme}://${address}:${peers}`);
    const initial = peers.map((url, index) => `m${index}=${url}`).join();
    const flags = [`--initial-cluster=${initial}`, ...flagsOf(rest), ...(certificates?.flags ?? [])];
    const made = places.map(
      ({ address, clients, within }, index) =>
        new Member({
          binary: findEtcd() as string,
          name: `m${index}`,
          dir,
          clientUrl: `${scheme}://${address}:${clients}`,
          peerUrl: peers[index] as string,
          flags,
          within,
          ...(certificates === undefined ? {} : { tls: certificates.operator }),
        }),
    );
    return new Etcd(dir, made, initial, certificates?.client);
  }

  /** URLs of all members, for clients. */
  get endpoints(): string[] {
    return this.members.map(({ url }) => url);
  }

  /** Flags with which a server keeps its data here, below `prefix`. */
  flags(prefix = "/registry", endpoints: readonly string[] = this.endpoints): string[] {
    const { caFile = "", certFile = "", keyFile = "" } = this.tls ?? {};
    const tls = [`--etcd-cafile=${caFile}`, `--etcd-certfile=${certFile}`, `--etcd-keyfile=${keyFile}`];
    return [`--etcd-servers=${endpoints.join()}`, `--etcd-prefix=${prefix}`, ...(this.tls === undefined ? [] : tls)];
  }

  /** Waits until every member that runs takes writes. */
  async healthy(limitMs?: number): Promise<void> {
    await Promise.all(this.members.filter(({ isRunning }) => isRunning).map((member) => member.healthy(limitMs)));
  }

  /** The member that leads, as most of those that answer say; undefined: none. */
  async leader(): Promise<Member | undefined> {
    const told = await Promise.all(this.members.map((member) => member.status(1000).catch(() => undefined)));
    const votes = new Map<string, number>();
    for (const status of told) if (status !== undefined) votes.set(status.leader, (votes.get(status.leader) ?? 0) + 1);
    const [most] = [...votes].sort(([, a], [, b]) => b - a);
    return this.members[told.findIndex((status) => status !== undefined && status.id === most?.[0])];
  }

  /** One call to the first member that answers. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into any answer
  async call(path: string, body: object = {}, limitMs?: number): Promise<any> {
    let fault: unknown;
    for (const { isRunning, gateway } of this.members) {
      if (!isRunning) continue;
      try {
        return await gateway.call(path, body, limitMs);
      } catch (error) {
        if (error instanceof EtcdFault && error.code !== unavailable) throw error;
        fault = error;
      }
    }
    throw fault ?? new Error("no member of etcd runs");
  }

  /** Writes one key; its revision. */
  async put(key: string, value: string, limitMs?: number): Promise<number> {
    const { header } = await this.call("/v3/kv/put", { key: base64(key), value: base64(value) }, limitMs);
    return Number(header.revision);
  }

  /** The newest revision, of anything. */
  async revision(): Promise<number> {
    return Number((await this.call("/v3/kv/range", { key: base64("/") })).header.revision);
  }

  /** Removes everything below a prefix. */
  async remove(prefix: string): Promise<void> {
    await this.call("/v3/kv/deleterange", rangeOf(prefix));
  }

  /** Forgets history below a revision: by default all of it. */
  async compact(revision?: number): Promise<void> {
    await this.call("/v3/kv/compaction", { revision: String(revision ?? (await this.revision())), physical: true });
  }

  /** Writes until the quota is reached and the alarm stops all writes. The keys are below `/filling`. */
  async fill(): Promise<void> {
    const value = "x".repeat(250_000);
    try {
      for (let index = 0; ; index += 1) await this.put(`/filling/${index}`, value);
    } catch (error) {
      if (!(error instanceof EtcdFault) || error.code !== exhausted) throw error;
    }
  }

  /** What an operator does about it: removes what filled it, compacts, defragments and ends the alarm. */
  async empty(): Promise<void> {
    await this.remove("/filling/");
    await this.compact();
    for (const member of this.members) await member.defragment();
    const { alarms = [] } = await this.call("/v3/maintenance/alarm", { action: "GET" });
    for (const alarm of alarms) await this.call("/v3/maintenance/alarm", { ...alarm, action: "DEACTIVATE" });
  }

  /** Saves all it holds; the path of the file, which lives as long as this. */
  async snapshot(): Promise<string> {
    const path = join(this.dir, `snapshot-${randomBytes(4).toString("hex")}.db`);
    await (this.members[0] as Member).gateway.save(path);
    return path;
  }

  /** Ends all members and starts them with what a snapshot holds. Revisions go back to its own. */
  async restore(snapshot: string): Promise<void> {
    if (findEtcdctl() === undefined) throw new Error("no etcdctl here (ORCH_ETCDCTL, PATH)");
    for (const member of this.members) await member.kill();
    for (const { name, peerUrl, dataDir } of this.members) {
      rmSync(dataDir, { recursive: true, force: true });
      const place = [`--name=${name}`, `--data-dir=${dataDir}`, `--initial-advertise-peer-urls=${peerUrl}`];
      const args = ["snapshot", "restore", snapshot, ...place, `--initial-cluster=${this.#initial}`];
      const env = { PATH: process.env["PATH"], ETCDCTL_API: "3" };
      const { status, stderr } = spawnSync(findEtcdctl() as string, args, { encoding: "utf8", env });
      if (status !== 0) throw new Error(`etcdctl snapshot restore: ${stderr}`);
    }
    for (const member of this.members) member.start();
    await this.healthy();
  }

  /** From now on it keeps this process from nothing, and ends with it. */
  leave(): void {
    for (const member of this.members) member.leave();
    process.once("exit", () => rmSync(this.dir, { recursive: true, force: true }));
  }

  /** Ends all of it, and removes its folder. */
  async close(): Promise<void> {
    for (const member of this.members) await member.kill();
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** From now on users are asked for. */
  async #askForUsers(): Promise<void> {
    const password = randomBytes(16).toString("hex");
    await this.call("/v3/auth/user/add", { name: "root", password });
    await this.call("/v3/auth/user/add", { name: etcdUser, options: { no_password: true } });
    for (const name of ["root", etcdUser]) await this.call("/v3/auth/role/add", { name });
    // What upstream's compaction notes stands outside of the prefix.
    for (const range of [rangeOf("/registry"), { key: base64("compact_rev_key") }]) {
      await this.call("/v3/auth/role/grant", { name: etcdUser, perm: { permType: "READWRITE", ...range } });
    }
    for (const name of ["root", etcdUser]) await this.call("/v3/auth/user/grant", { user: name, role: name });
    await this.call("/v3/auth/enable");
    for (const { gateway } of this.members) gateway.password = password;
  }
}

/** Codes of gRPC. */
const unavailable = 14;
const exhausted = 8;

interface Place {
  readonly address: string;
  readonly clients: number;
  readonly peers: number;
  readonly within: readonly string[];
}

async function placeOf(network: Network | undefined): Promise<Place> {
  // It may have been brought since the tests' constants were made.
  if (findEtcd() === undefined) throw new Error("no etcd here (ORCH_ETCD, PATH)");
  if (network !== undefined) {
    const { address, within } = await network.add();
    return { address, clients: 2379, peers: 2380, within };
  }
  return { address: "127.0.0.1", clients: await freePort(), peers: await freePort(), within: [] };
}

/** A port below those the kernel gives to connections: a member that is down does not lose it to one. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + randomInt(20_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}

function flagsOf({ quotaBytes, quick = true, electionMs = 500 }: EtcdOptions): string[] {
  return [
    `--election-timeout=${electionMs}`,
    `--heartbeat-interval=${Math.floor(electionMs / 10)}`,
    ...(quotaBytes === undefined ? [] : [`--quota-backend-bytes=${quotaBytes}`]),
    ...(quick && canSkipSync() ? ["--unsafe-no-fsync"] : []),
  ];
}

/** Etcd 3.5 and newer can. */
function canSkipSync(): boolean {
  const { stdout, stderr } = spawnSync(findEtcd() as string, ["--help"], { encoding: "utf8" });
  return `${stdout}${stderr}`.includes("--unsafe-no-fsync");
}
