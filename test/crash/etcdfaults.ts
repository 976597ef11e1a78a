// What goes wrong in a run of two servers on an etcd of three members, one thing at a time. Each fault is over, and what it
// broke mended, when its promise resolves.
import { execFileSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import type { Etcd } from "../support/etcd/etcd.ts";
import type { Member } from "../support/etcd/member.ts";
import { type Network, noNetwork } from "../support/etcd/network.ts";
import { alarm, type EtcdHistory } from "./etcdhistory.ts";
import { type SharedServers, serverCount } from "./etcdservers.ts";

/** Where faults happen. */
export interface Scene {
  readonly etcd: Etcd;
  readonly network: Network | undefined;
  readonly servers: SharedServers;
  readonly history: EtcdHistory;
  readonly pick: (n: number) => number;
  /** How long what lasts may last, ms. */
  readonly lastsMsMax: number;
  /** How often a server that was killed is killed in its start, on average. */
  readonly startKills: number;
  /** A server is about to be asked to end. */
  readonly ending: (index: number) => void;
  /** A leader dies now. */
  readonly leaderDies: () => void;
  /** History is compacted from now on. */
  readonly compacts: () => void;
  /** What should not be. */
  readonly wonder: (what: string) => void;
}

/** A kind of fault. */
export type Fault = (scene: Scene) => Promise<void>;

const leaderPeriodMs = 5000;
const compactPeriodMs = 200;
/** About how long a start takes, ms. */
const startMsMax = 2500;

/** All kinds, by the name they are asked for with. */
export const faults: ReadonlyMap<string, Fault> = new Map<string, Fault>([
  ["kill", killServer],
  ["term", endServer],
  ["leader", killLeaders],
  ["pause-member", pauseMember],
  ["pause-server", pauseServer],
  ...(noNetwork === false
    ? ([
        ["partition", partition],
        ["cut-server", cutServer],
      ] as const)
    : []),
  ["compact", compact],
  ["full", full],
]);

/** Then, `startKills` times on average, it is killed again before it serves, or about then. */
async function killServer({ servers, pick, startKills }: Scene): Promise<void> {
  const index = pick(serverCount);
  await servers.stop(index, "SIGKILL");
  while (pick(startKills + 1) > 0) await servers.startAndKill(index, pick(startMsMax));
  await sleep(pick(500));
  await servers.start(index);
}

/** A rolling restart: one after the other. */
async function endServer({ servers, pick, ending, wonder }: Scene): Promise<void> {
  const first = pick(serverCount);
  for (let step = 0; step < serverCount; step += 1) {
    const index = (first + step) % serverCount;
    ending(index);
    const code = await servers.stop(index, "SIGTERM");
    if (code !== 0) wonder(`Server ${index} ended with ${code} after SIGTERM`);
    await servers.start(index);
    await sleep(500);
  }
}

async function killLeaders({ etcd, lastsMsMax, leaderDies, pick }: Scene): Promise<void> {
  const kills = Math.max(1, Math.round(lastsMsMax / leaderPeriodMs / 2));
  for (let kill = 0; kill < kills; kill += 1) {
    const leader = await leaderOf(etcd);
    leaderDies();
    await leader.kill();
    await sleep(pick(2000));
    leader.restart();
    await leader.healthy();
    await sleep(leaderPeriodMs - 2000);
  }
}

async function pauseMember({ etcd, lastsMsMax, pick, leaderDies }: Scene): Promise<void> {
  const leader = await leaderOf(etcd);
  const member = pick(2) === 0 ? leader : (etcd.members[pick(etcd.members.length)] as Member);
  if (member === leader) leaderDies();
  member.pause();
  await sleep(1000 + pick(lastsMsMax));
  member.resume();
  await member.healthy();
}

async function pauseServer({ servers, lastsMsMax, pick }: Scene): Promise<void> {
  const server = servers.at(pick(serverCount));
  server?.process.kill("SIGSTOP");
  await sleep(1000 + pick(lastsMsMax));
  server?.process.kill("SIGCONT");
}

/** Cuts the member that a server talks to off from the others, or from the servers. */
async function partition(scene: Scene): Promise<void> {
  const { etcd, servers, pick } = scene;
  const index = pick(serverCount);
  const member = (await activeOf(servers, index, etcd)) ?? (etcd.members[0] as Member);
  const others = pick(2) === 0 ? addressesOf(servers) : etcd.members.filter((each) => each !== member).map(addressOf);
  await cutOff(scene, addressOf(member), others);
}

/** Cuts a server off from all members. Its clients reach it, and the other server goes on. */
async function cutServer(scene: Scene): Promise<void> {
  const { etcd, servers, pick } = scene;
  await cutOff(scene, addressesOf(servers)[pick(serverCount)] as string, etcd.members.map(addressOf));
}

/** Cuts one host off from others; both ways or one; for long or flapping. */
async function cutOff(
  { etcd, network, lastsMsMax, pick }: Scene,
  one: string,
  others: readonly string[],
): Promise<void> {
  if (network === undefined) return;
  const way = pick(3);
  const cut = (): void => {
    for (const other of others) {
      if (way !== 1) network.drop(one, other);
      if (way !== 2) network.drop(other, one);
    }
  };
  const flaps = pick(4) === 0 ? 3 : 1;
  for (let flap = 0; flap < flaps; flap += 1) {
    cut();
    await sleep(flaps > 1 ? 1000 : 1000 + pick(lastsMsMax));
    network.heal();
    if (flaps > 1) await sleep(1000);
  }
  await etcd.healthy();
}

async function compact({ etcd, history, lastsMsMax, pick, compacts }: Scene): Promise<void> {
  compacts();
  const endMs = performance.now() + 1000 + pick(lastsMsMax);
  for (let last = 0; performance.now() < endMs; await sleep(compactPeriodMs)) {
    const { position } = history;
    if (position === last) continue;
    last = position;
    await etcd.compact(position);
  }
}

async function full({ etcd, lastsMsMax, pick }: Scene): Promise<void> {
  const { id } = await (etcd.members[pick(etcd.members.length)] as Member).status();
  await alarm(etcd, "ACTIVATE", id);
  await sleep(1000 + pick(Math.min(lastsMsMax, 4000)));
  await alarm(etcd, "DEACTIVATE", id);
}

async function leaderOf(etcd: Etcd): Promise<Member> {
  for (;;) {
    const leader = await etcd.leader();
    if (leader !== undefined) return leader;
    await sleep(50);
  }
}

function addressOf({ url }: Member): string {
  return new URL(url).hostname;
}

function addressesOf(servers: SharedServers): string[] {
  return Array.from({ length: serverCount }, (_, index) => servers.host(index)?.address ?? "");
}

/** The member that most bytes of a server go to just now. */
async function activeOf(servers: SharedServers, index: number, etcd: Etcd): Promise<Member | undefined> {
  const before = sentBy(servers, index);
  await sleep(300);
  const after = sentBy(servers, index);
  const rate = ({ url }: Member): number => {
    const { host } = new URL(url);
    return (after.get(host) ?? 0) - (before.get(host) ?? 0);
  };
  return etcd.members.toSorted((a, b) => rate(b) - rate(a))[0];
}

/** Bytes that a server has sent, by where they went. */
function sentBy(servers: SharedServers, index: number): Map<string, number> {
  const sent = new Map<string, number>();
  const [command = "ss", ...args] = [...(servers.host(index)?.within ?? []), "ss", "-tnpiHO"];
  const lines = execFileSync(command, args, { encoding: "utf8" }).split("\n");
  for (const line of lines) {
    if (!line.includes(`pid=${servers.at(index)?.process.pid},`)) continue;
    const peer = line.split(/ +/)[4] ?? "";
    const bytes = Number(line.split("bytes_sent:")[1]?.split(" ")[0] ?? 0);
    sent.set(peer, (sent.get(peer) ?? 0) + bytes);
  }
  return sent;
}
