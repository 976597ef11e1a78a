// What two documents of the console say in words: what holds the server up, worst first, and what to do about it. Used by
// the page and by `orch top`, so it imports nothing that a browser has not.
import type { ConsoleData, Distribution, ThreadFigures } from "./data.ts";

/** A sentence about the server. */
export interface Finding {
  readonly severity: "bad" | "warn" | "ok";
  readonly text: string;
  /** What would help; empty: nothing to do. */
  readonly advice: string;
}

/** A thread between two documents. */
export interface ThreadRates {
  readonly name: string;
  /** Parts of one core, and of the time it was not idle. */
  readonly cpu: number;
  readonly active: number;
  /** Mean of the longest lags of each second, milliseconds. */
  readonly lagMs: number;
  readonly watchBytesPerSecond: number;
  readonly now: ThreadFigures;
}

/** Counts below this per second are not reported. */
const busyRequestsPerSecond = 20;
/** Requests of one client, a percent or more of a core. */
const heavyRequestsPerSecond = 100;
const busyListBytesPerSecond = 1_000_000;
const busyWatches = 100;
/** A client is named from this part of the whole on. */
const heavyPart = 0.5;

const never: Distribution = { bounds: [], counts: [], count: 0, sum: 0 };

/** Rates of threads between two documents. */
export function threadRates(before: ConsoleData, now: ConsoleData): readonly ThreadRates[] {
  const seconds = secondsBetween(before, now);
  const former = new Map(before.threads.map((thread) => [thread.name, thread]));
  return now.threads.map((thread) => {
    const was = former.get(thread.name);
    // One that was started again counts from nothing.
    const since = was !== undefined && thread.cpuSeconds >= was.cpuSeconds ? was : undefined;
    const lags = (thread.lagCount ?? 0) - (since?.lagCount ?? 0);
    return {
      name: thread.name,
      cpu: (thread.cpuSeconds - (since?.cpuSeconds ?? thread.cpuSeconds)) / seconds,
      active: ((thread.activeSeconds ?? 0) - (since?.activeSeconds ?? thread.activeSeconds ?? 0)) / seconds,
      lagMs: lags > 0 ? (1000 * ((thread.lagSum ?? 0) - (since?.lagSum ?? 0))) / lags : 0,
      watchBytesPerSecond: Math.max(0, (thread.watchBytes ?? 0) - (since?.watchBytes ?? 0)) / seconds,
      now: thread,
    };
  });
}

/** Time between two documents, in seconds; never nothing. */
export function secondsBetween(before: ConsoleData, now: ConsoleData): number {
  return Math.max(0.001, (now.at - before.at) / 1000);
}

/** What a histogram counted in between. */
export function distributionBetween(before: Distribution = never, now: Distribution = never): Distribution {
  const counts = now.counts.map((count, at) => Math.max(0, count - (before.counts[at] ?? 0)));
  return { bounds: now.bounds, counts, count: now.count - before.count, sum: now.sum - before.sum };
}

/** The bound that a part of the observations stays below; 0 where there are none. */
export function quantileOf({ bounds, counts }: Distribution, part: number): number {
  const all = counts.reduce((sum, count) => sum + count, 0);
  if (all === 0) return 0;
  let seen = 0;
  const at = counts.findIndex((count) => (seen += count) >= part * all);
  return bounds[Math.min(at, bounds.length - 1)] ?? 0;
}

/** What is wrong between two documents, worst first; one that says all is well, where nothing is. */
export function findingsOf(before: ConsoleData, now: ConsoleData): readonly Finding[] {
  const seconds = secondsBetween(before, now);
  const threads = threadRates(before, now);
  const found = [
    ...threadFindings(threads, now),
    ...poolFindings(before, now),
    ...flowFindings(before, now),
    ...shedFindings(before, now),
    ...storeFindings(before, now),
    ...requestFindings(before, now, seconds),
    ...clientFindings(now),
    ...watchFindings(before, now),
    ...processFindings(now),
  ];
  const bad = found.filter(({ severity }) => severity === "bad");
  const rest = found.filter(({ severity }) => severity === "warn");
  if (bad.length + rest.length > 0) return [...bad, ...rest];
  const busiest = threads.reduce((most, thread) => (thread.cpu > most.cpu ? thread : most), { name: "", cpu: 0 });
  const text =
    busiest.name === ""
      ? "Nothing holds the server up"
      : `Nothing holds the server up; the busiest thread is ${busiest.name} at ${percent(busiest.cpu)} of a core`;
  return [{ severity: "ok", text, advice: "" }];
}

function threadFindings(threads: readonly ThreadRates[], now: ConsoleData): Finding[] {
  const found: Finding[] = [];
  // A machine that is short of cores makes every loop late: it is said once.
  const isShort = threads.some(isStarved);
  const fronts = threads.filter(({ name }) => name.startsWith("front"));
  for (const thread of threads) {
    const { name, cpu, active, lagMs } = thread;
    const lag = lagMs >= 20 ? `, and its event loop is ${Math.round(lagMs)} ms late` : "";
    if (cpu >= 0.85) {
      found.push({
        severity: "bad",
        text: `${name} is at ${percent(cpu)} of a core${lag}`,
        advice: adviceFor(name, fronts, now.about.cores),
      });
    } else if (isStarved(thread)) {
      found.push({
        severity: "bad",
        text: `${name} is busy ${percent(active)} of the time, but gets ${percent(cpu)} of a core${lag}`,
        advice: "other threads or programs have the machine's cores: give it more, or fewer threads",
      });
    } else if (lagMs >= 100 && !isShort) {
      const text = `the event loop of ${name} is ${Math.round(lagMs)} ms late`;
      found.push({ severity: "warn", text, advice: "take a CPU profile of the thread" });
    }
  }
  return found;
}

/** Has work all the time, and no core for it; the store and audit events wait for disks, which is no sign of that. */
function isStarved({ name, cpu, active }: ThreadRates): boolean {
  return active >= 0.9 && cpu < 0.6 && name !== "store" && name !== "audit";
}

function adviceFor(name: string, fronts: readonly ThreadRates[], cores: number): string {
  if (name.startsWith("front")) {
    const idle = fronts.filter(({ cpu }) => cpu < 0.4).length;
    if (idle > 0) return "connections are unevenly spread: the client below may use few connections";
    if (fronts.length < cores)
      return `add front workers: --front-workers=${Math.min(cores, fronts.length + 1)} or more`;
    return "the machine has no more cores for fronts: limit the clients below, or use a larger machine";
  }
  if (name === "store") return "writes are bound by one core: fewer or smaller changes, or limit the client below";
  if (name === "pool") return "large writes and answers are bound by the pool: limit the client below";
  if (name === "controllers") return "controllers have much to do: see their work queues in /metrics";
  return "take a CPU profile of the thread";
}

function poolFindings(before: ConsoleData, now: ConsoleData): Finding[] {
  const refused = now.poolRefused - before.poolRefused;
  const waiting = now.threads.reduce((sum, { poolWaiting = 0 }) => sum + poolWaiting, 0);
  const advice =
    "large writes and answers wait for pool threads: more of them (--pool-workers), or limit the client below";
  if (refused > 0)
    return [{ severity: "bad", text: `the pool's queue is full: ${refused} tasks were refused`, advice }];
  if (waiting >= 4) return [{ severity: "warn", text: `${waiting} tasks wait for a pool thread`, advice }];
  return [];
}

function flowFindings(before: ConsoleData, now: ConsoleData): Finding[] {
  const former = new Map(before.flow.map((level) => [level.level, level]));
  return now.flow.flatMap(({ level, waiting, rejected, seats, seatsUsed }): Finding[] => {
    const refused = rejected - (former.get(level)?.rejected ?? rejected);
    const full = `its ${seats} seats are ${seatsUsed >= seats ? "all" : "mostly"} taken`;
    const advice = "see which client fills the level, and its flow schema and priority level";
    if (refused > 0)
      return [{ severity: "bad", text: `flow control refused ${refused} requests of level ${level}; ${full}`, advice }];
    if (waiting > 0)
      return [{ severity: "warn", text: `${waiting} requests of level ${level} wait for a seat; ${full}`, advice }];
    return [];
  });
}

function shedFindings(before: ConsoleData, now: ConsoleData): Finding[] {
  const former = new Map(before.shed.map(({ level, count }) => [level, count]));
  const advice = "limit the heaviest client, or add front workers; --shed-lag says how late is too late";
  return now.shed.flatMap(({ level, count }): Finding[] => {
    const more = count - (former.get(level) ?? 0);
    const what = more === 1 ? "request was" : "requests were";
    const text = `${more} ${what} shed at level ${level}, because the event loop of a front is late`;
    return more > 0 ? [{ severity: "bad", text, advice }] : [];
  });
}

function storeFindings(before: ConsoleData, now: ConsoleData): Finding[] {
  const found: Finding[] = [];
  const commits = distributionBetween(before.store.commit, now.store.commit);
  const slow = quantileOf(commits, 0.5);
  if (commits.count >= 3 && slow >= 0.1) {
    const text = `half of the commits take ${Math.round(slow * 1000)} ms or more`;
    found.push({ severity: "bad", text, advice: "the disk, or etcd, is slow: writes wait for it" });
  }
  if (now.store.queued >= 200) {
    const text = `${now.store.queued} changes wait for a transaction`;
    found.push({ severity: "warn", text, advice: "more is written than the store commits" });
  }
  return found;
}

function requestFindings(before: ConsoleData, now: ConsoleData, seconds: number): Finding[] {
  const found: Finding[] = [];
  const more = (code: string): number => (now.requests.byCode[code] ?? 0) - (before.requests.byCode[code] ?? 0);
  const limited = Math.max(more("429"), now.requests.dropped - before.requests.dropped);
  if (limited > 0) {
    const text = `${rate(limited / seconds)} requests a second are refused with 429`;
    found.push({ severity: "bad", text, advice: "a client has used up its share, or the server's limits are too low" });
  }
  const all = now.requests.total - before.requests.total;
  const refused = more("4xx") - more("429");
  if (refused / seconds >= busyRequestsPerSecond && refused > heavyPart * all) {
    const text = `${percent(refused / all)} of all requests are refused (4xx), ${rate(refused / seconds)}/s`;
    found.push({
      severity: "warn",
      text,
      advice: "a client asks for what is not there, or may not ask: see the heaviest clients",
    });
  }
  const faults = now.requests.faults - before.requests.faults;
  if (faults > 0) {
    const text = `${faults} requests met a fault of the server`;
    found.push({ severity: "bad", text, advice: "the log has each with its request's id" });
  }
  return found;
}

/** Names a client that has most of something that is much. */
function clientFindings({ clients }: ConsoleData): Finding[] {
  const found: Finding[] = [];
  const look = (
    rows: ConsoleData["clients"]["requests"],
    floor: number,
    say: (part: string, count: number) => string,
  ): void => {
    const all = rows.reduce((sum, { count }) => sum + count, 0);
    const [first] = rows;
    if (first === undefined || first.count < floor || first.count < heavyPart * all) return;
    const text = `${shown(first.user)} ${say(percent(first.count / all), first.count)}`;
    found.push({
      severity: "warn",
      text,
      advice: "limit it by flow control, or have it watch instead of asking again",
    });
  };
  const { seconds } = clients;
  look(
    clients.listBytes,
    busyListBytesPerSecond * seconds,
    (part, bytes) => `takes ${part} of all list bytes, ${bytesText(bytes / seconds)}/s`,
  );
  look(
    clients.requests,
    heavyRequestsPerSecond * seconds,
    (part, count) => `sends ${part} of all requests, ${rate(count / seconds)}/s`,
  );
  look(clients.watches, busyWatches, (part, count) => `has ${part} of all watches, ${count}`);
  return found;
}

function watchFindings(before: ConsoleData, now: ConsoleData): Finding[] {
  const found: Finding[] = [];
  const blocked = now.slowWatchers.filter(({ blockedMs }) => blockedMs > 2000);
  const [first] = blocked;
  if (first !== undefined) {
    const count = blocked.length === 1 ? "a watcher takes" : `${blocked.length} watchers take`;
    const text = `${count} nothing: ${shown(first.user)} on ${first.resource} for ${Math.round(first.blockedMs / 1000)} s`;
    found.push({
      severity: "warn",
      text,
      advice: "its client, or the network to it, is slow; it is cut off in the end",
    });
  }
  const all = ({ gone }: ConsoleData): number => gone.reduce((sum, { count }) => sum + count, 0);
  const more = all(now) - all(before);
  if (more > 0) {
    const text = `${more} ${more === 1 ? "request was" : "requests were"} told that the version is too old (410)`;
    found.push({
      severity: "warn",
      text,
      advice: "their clients list anew; a log that holds less time than they need makes them",
    });
  }
  return found;
}

function processFindings({ process: { openFiles, filesMax } }: ConsoleData): Finding[] {
  if (filesMax === 0 || openFiles < 0.8 * filesMax) return [];
  const text = `${openFiles} of ${filesMax} file descriptors are used`;
  return [{ severity: "warn", text, advice: "raise the limit (ulimit -n), or close connections" }];
}

/** A part as people read it. */
export function percent(part: number): string {
  return `${Math.round(part * 100)} %`;
}

/** A rate as people read it. */
export function rate(perSecond: number): string {
  if (perSecond >= 1000) return `${(perSecond / 1000).toFixed(perSecond >= 10_000 ? 0 : 1)}k`;
  return perSecond >= 10 || perSecond === 0 ? String(Math.round(perSecond)) : perSecond.toFixed(1);
}

/** Bytes as people read them. */
export function bytesText(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = bytes;
  let at = 0;
  for (; value >= 1000 && at < units.length - 1; at += 1) value /= 1000;
  return `${value >= 100 || at === 0 ? Math.round(value) : value.toFixed(1)} ${units[at]}`;
}

/** A user as it is named in a sentence. */
function shown(user: string): string {
  return user === "" ? "clients without a user" : user;
}
