// The fault run of the whole program on etcd: two servers, three members, clients at both, one fault after the other, and
// then the offline check of everything the clients lived through against the history that etcd tells. Used by
// etcd.test.ts and, for long runs, by scripts/crash.ts.
import { Etcd } from "../support/etcd/etcd.ts";
import { Network, noNetwork } from "../support/etcd/network.ts";
import { eventually } from "../support/server.ts";
import { Clients, namespace, storePrefix } from "./clients.ts";
import { faults, type Scene } from "./etcdfaults.ts";
import { Gaps, type LeaderGap } from "./etcdgaps.ts";
import { EtcdHistory } from "./etcdhistory.ts";
import { type ServersTold, SharedServers, serverCount } from "./etcdservers.ts";
import { Pulse, pulseNamespace } from "./pulse.ts";
import { type Judgement, judge, settle } from "./verdict.ts";

/** What a run is to be. */
export interface EtcdRun {
  /** A folder of its own. */
  readonly dir: string;
  readonly runMs: number;
  readonly pick: (n: number) => number;
  /** Kinds of faults, in turns chosen by `pick`; empty: all. */
  readonly faults: readonly string[];
  /** How long a fault may last, ms. */
  readonly lastsMsMax: number;
  /** Each kind once, in order, however long that takes. */
  readonly isEachOnce?: boolean;
  /** Told what happens, as it does. */
  readonly tell?: (text: string) => void;
}

/** What a run found. */
export interface EtcdResult extends Judgement {
  readonly surprises: readonly string[];
  /** How often each kind of fault happened. */
  readonly faults: Readonly<Record<string, number>>;
  readonly relists: number;
  /** Servers that ended by themselves. */
  readonly ended: number;
  readonly readyMsMax: number;
  /** Servers that were killed: that served, and that had begun to start. */
  readonly kills: SharedServers["kills"];
  /** Longest time in which no server acknowledged a change. */
  readonly gapMsMax: number;
  /** Longest time after the loss of a leader in which a server that was up acknowledged nothing. */
  readonly leaderGapMsMax: number;
  /** The longest of those times. */
  readonly leaderGaps: readonly LeaderGap[];
}

const writers = 10;
const watchers = 6;
const counters = 3;
/** Time after a fault in which every server must take writes again, ms. */
const recoverMsMax = 45_000;
/** Time in which the last change must reach every watcher, ms. */
const settleMsMax = 30_000;

/** Runs servers and clients through faults. */
export async function runEtcd(run: EtcdRun): Promise<EtcdResult> {
  const network = noNetwork === false ? await Network.open() : undefined;
  const etcd = await Etcd.open({ members: 3, ...(network === undefined ? {} : { network }) });
  const opened: { history?: EtcdHistory; servers?: SharedServers } = {};
  try {
    return await runOn(run, { etcd, network }, opened);
  } finally {
    opened.history?.close();
    await opened.servers?.close();
    await etcd.close();
    await network?.close();
  }
}

async function runOn(
  run: EtcdRun,
  { etcd, network }: Pick<Scene, "etcd" | "network">,
  opened: { history?: EtcdHistory; servers?: SharedServers },
): Promise<EtcdResult> {
  const { pick } = run;
  // Many kills in a short time: the machine is to start servers, and does that slowly beside writers without a pause.
  const isKillsOnly = run.faults.join() === "kill";
  let mayRelist = false;
  let ended = 0;
  const gaps = new Gaps(serverCount);
  const pulse = new Pulse((index) => gaps.acknowledged(index));
  const clients = new Clients(pick, {
    counters,
    isPaged: true,
    mayRelist: () => mayRelist,
    acknowledged: (index) => gaps.acknowledged(index),
    ...(isKillsOnly ? { paceMs: 100 } : {}),
  });
  const told: ServersTold = {
    up: (server, index) => {
      clients.up(server, index);
      pulse.up(server, index);
    },
    down: (index) => {
      clients.down(index);
      pulse.down(index);
      gaps.down(index);
    },
    ended: (index, code, errors) => {
      ended += 1;
      // A watch that was away while history was compacted cannot go on: the server starts anew.
      if (mayRelist && errors.includes("compacted")) return;
      clients.surprises.push(`Server ${index} ended with ${code}: ${errors}`);
    },
  };
  const servers = new SharedServers(run.dir, etcd, told, network);
  opened.servers = servers;
  const history = await EtcdHistory.open(etcd, storePrefix);
  opened.history = history;
  await servers.startAll([namespace, pulseNamespace]);
  const running = clients.run(writers, watchers);
  const counted: Record<string, number> = {};
  const scene: Scene = {
    etcd,
    network,
    servers,
    history,
    pick,
    lastsMsMax: run.lastsMsMax,
    startKills: isKillsOnly ? 6 : 1,
    ending: (index) => clients.ending(index),
    leaderDies: () => gaps.leaderLost(),
    compacts: () => {
      mayRelist = true;
    },
    wonder: (what) => clients.surprises.push(what),
  };
  const names = run.faults.length > 0 ? run.faults : [...faults.keys()];
  const endMs = performance.now() + run.runMs;
  await recovered("the start", clients, gaps);
  for (let turn = 0; run.isEachOnce === true ? turn < names.length : performance.now() < endMs; turn += 1) {
    const name = (run.isEachOnce === true ? names[turn] : names[pick(names.length)]) as string;
    const fault = faults.get(name);
    if (fault === undefined) throw new Error(`${name} is none of ${[...faults.keys()].join()}`);
    counted[name] = (counted[name] ?? 0) + 1;
    gaps.close();
    run.tell?.(name);
    await fault(scene);
    await recovered(name, clients, gaps);
    await new Promise((resolve) => setTimeout(resolve, pick(1000)));
  }
  const server = servers.at(0);
  if (server === undefined) throw new Error("Server 0 is not there at the end");
  const last = await settle(server, clients, settleMsMax);
  gaps.close();
  pulse.stop();
  clients.stop();
  await running;
  return {
    ...judge(await history.upTo(last), clients.lines, history.counts),
    surprises: [...clients.surprises, ...clients.lost],
    faults: counted,
    relists: clients.relists,
    ended,
    readyMsMax: servers.readyMsMax,
    // Those that end the run are none.
    kills: { ...servers.kills },
    gapMsMax: Math.round(gaps.gapMsMax),
    leaderGapMsMax: gaps.leaderGaps[0]?.ms ?? 0,
    leaderGaps: gaps.leaderGaps,
  };
}

/** Every server takes writes again. */
async function recovered(after: string, clients: Clients, { counts }: Gaps): Promise<void> {
  const before = [...counts];
  const isBack = (): boolean => counts.every((count, index) => count > (before[index] as number) + 3);
  if (!(await eventually(isBack, recoverMsMax)))
    clients.surprises.push(`After ${after} servers acknowledged ${counts.join()}, and ${before.join()} before`);
}
