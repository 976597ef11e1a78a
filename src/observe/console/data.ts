// What the console shows, as one document: counters since the start, and states now. Rates are the reader's to make, of
// two documents, so that any number of readers can ask, and the server keeps nothing for them.
import type { FamilySnapshot, MergedFamily } from "../metrics.ts";
import { mergeSnapshots } from "../metrics.ts";
import type { ClientUse, FrontDetail, SlowRequest, SlowWatcher } from "./detail.ts";

/** A histogram: counts up to each bound and above the last one, and what they add up to. */
export interface Distribution {
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
  readonly count: number;
  readonly sum: number;
}

/** One thread. Figures it does not have are absent. */
export interface ThreadFigures {
  readonly name: string;
  readonly cpuSeconds: number;
  /** Not idle: on a core, or waiting for one or for the disk. */
  readonly activeSeconds?: number | undefined;
  /** Sum and number of the longest lags of each second. */
  readonly lagSum?: number | undefined;
  readonly lagCount?: number | undefined;
  readonly connections?: number | undefined;
  readonly watchers?: number | undefined;
  readonly watchBytes?: number | undefined;
  /** Changes it waits for. */
  readonly queuedChanges?: number | undefined;
  readonly poolWaiting?: number | undefined;
  readonly poolRunning?: number | undefined;
}

/** One log. */
export interface LogFigures {
  readonly resource: string;
  readonly objects: number;
  readonly bytes: number;
  readonly liveBytes: number;
  readonly oldestSeconds: number;
  readonly segments: number;
  /** Written since the start. */
  readonly writes: number;
  readonly watchBytes: number;
  readonly behind: number;
  readonly expired: number;
  readonly cutOff: number;
}

/** A priority level of flow control. */
export interface LevelFigures {
  readonly level: string;
  readonly executing: number;
  readonly waiting: number;
  /** Seats it may use, and uses. */
  readonly seats: number;
  readonly seatsUsed: number;
  readonly dispatched: number;
  readonly rejected: number;
}

/** Facts that do not change while the server runs. */
export interface About {
  readonly version: string;
  readonly release: string;
  readonly identity: string;
  readonly node: string;
  readonly cores: number;
  readonly frontWorkers: number;
  readonly storage: string;
}

/** The document. */
export interface ConsoleData {
  /** Milliseconds of the wall clock. */
  readonly at: number;
  readonly about: About;
  readonly uptimeSeconds: number;
  readonly process: {
    readonly cpuSeconds: number;
    readonly residentBytes: number;
    readonly openFiles: number;
    readonly filesMax: number;
  };
  readonly threads: readonly ThreadFigures[];
  readonly requests: {
    readonly total: number;
    /** By the first digit of the code, and 410 and 429 by themselves. */
    readonly byCode: Readonly<Record<string, number>>;
    readonly inflight: number;
    readonly dropped: number;
    readonly faults: number;
  };
  readonly store: {
    readonly revision: number;
    readonly queued: number;
    readonly committed: number;
    readonly refused: number;
    readonly commit: Distribution;
    readonly batch: Distribution;
    readonly fileBytes: number;
    readonly logUsedBytes: number;
    readonly logFreeBytes: number;
  };
  readonly logs: readonly LogFigures[];
  /** Of pools of all fronts: tasks refused because too many waited. */
  readonly poolRefused: number;
  /** Empty: flow control does not run. */
  readonly flow: readonly LevelFigures[];
  /** Requests that were shed since the start, by level; levels without any are left out. */
  readonly shed: readonly { readonly level: string; readonly count: number }[];
  readonly clients: ClientUse;
  readonly slowRequests: readonly SlowRequest[];
  readonly slowWatchers: readonly SlowWatcher[];
  /** Requests and watches that were told 410, since the start. */
  readonly gone: readonly { readonly reason: string; readonly count: number }[];
}

/** What threads told for it. */
export interface Told {
  readonly families: readonly (readonly FamilySnapshot[])[];
  readonly details: readonly FrontDetail[];
}

/** Rows of each kind: the document stays small whatever the server holds. */
const rowsMax = 64;

/** Reads families of all threads by name. */
class Figures {
  readonly #merged: ReadonlyMap<string, MergedFamily>;

  constructor(families: Told["families"]) {
    this.#merged = mergeSnapshots(families);
  }

  /** The first number of each series that has these label values, by the value of `label`. */
  by(name: string, label: string, where: Readonly<Record<string, string>> = {}): ReadonlyMap<string, number> {
    const found = new Map<string, number>();
    const entry = this.#merged.get(name);
    if (entry === undefined) return found;
    const { labels, type, buckets } = entry.family;
    const at = labels.indexOf(label);
    const wanted = Object.entries(where).map(([key, value]) => [labels.indexOf(key), value] as const);
    for (const [key, values] of entry.series) {
      const parts = key.split("\0");
      if (!wanted.every(([place, value]) => parts[place] === value)) continue;
      const value = (type === "histogram" ? values[buckets.length] : values[0]) ?? 0;
      const own = at === -1 ? "" : (parts[at] ?? "");
      found.set(own, (found.get(own) ?? 0) + value);
    }
    return found;
  }

  /** All series added up. */
  sum(name: string, where: Readonly<Record<string, string>> = {}): number {
    let sum = 0;
    for (const value of this.by(name, "", where).values()) sum += value;
    return sum;
  }

  /** The sums of a histogram's observations, by a label. */
  sums(name: string, label: string): ReadonlyMap<string, number> {
    const entry = this.#merged.get(name);
    if (entry === undefined) return new Map();
    const { labels, buckets } = entry.family;
    const at = labels.indexOf(label);
    return new Map(
      [...entry.series].map(([key, values]) => [key.split("\0")[at] ?? "", values[buckets.length + 1] ?? 0]),
    );
  }

  /** A histogram without labels. */
  distribution(name: string): Distribution {
    const entry = this.#merged.get(name);
    const values = entry?.series.get("");
    if (entry === undefined || values === undefined) return { bounds: [], counts: [], count: 0, sum: 0 };
    const { buckets } = entry.family;
    const counts = [...values.subarray(0, buckets.length)];
    const count = values[buckets.length] ?? 0;
    const above = count - counts.reduce((sum, one) => sum + one, 0);
    return { bounds: buckets, counts: [...counts, above], count, sum: values[buckets.length + 1] ?? 0 };
  }
}

/** Makes the document. */
export function consoleData(about: About, at: number, uptimeSeconds: number, { families, details }: Told): ConsoleData {
  const figures = new Figures(families);
  return {
    at,
    about,
    uptimeSeconds,
    process: {
      cpuSeconds: figures.sum("process_cpu_seconds_total"),
      residentBytes: figures.sum("process_resident_memory_bytes"),
      openFiles: figures.sum("process_open_fds"),
      filesMax: figures.sum("process_max_fds"),
    },
    threads: threadsOf(figures),
    requests: requestsOf(figures),
    store: storeOf(figures),
    logs: logsOf(figures),
    poolRefused: figures.sum("orch_pool_refused_total"),
    flow: flowOf(figures),
    shed: [...figures.by("orch_requests_shed_total", "priority_level")]
      .map(([level, count]) => ({ level, count }))
      .slice(0, rowsMax),
    clients: clientsOf(details),
    slowRequests: details
      .flatMap(({ slowRequests }) => slowRequests)
      .sort((a, b) => b.at - a.at)
      .slice(0, rowsMax),
    slowWatchers: details
      .flatMap(({ slowWatchers }) => slowWatchers)
      .sort((a, b) => b.blockedMs - a.blockedMs || b.behind - a.behind)
      .slice(0, rowsMax),
    gone: goneOf(figures),
  };
}

function threadsOf(figures: Figures): readonly ThreadFigures[] {
  const cpu = figures.by("orch_thread_cpu_seconds_total", "thread");
  const active = figures.by("orch_event_loop_active_seconds_total", "thread");
  const lags = figures.by("orch_event_loop_lag_seconds", "thread");
  const lagSums = figures.sums("orch_event_loop_lag_seconds", "thread");
  const connections = figures.by("orch_connections", "thread");
  const watchers = figures.by("orch_front_watchers", "thread");
  const bytes = figures.by("orch_front_watch_bytes_total", "thread");
  const queued = figures.by("orch_front_queued_changes", "thread");
  const waiting = figures.by("orch_pool_waiting_tasks", "thread");
  const running = figures.by("orch_pool_running_tasks", "thread");
  const names = [...new Set([...cpu.keys(), ...active.keys()])];
  return names
    .sort((a, b) => rank(a) - rank(b) || a.localeCompare(b, "en", { numeric: true }))
    .map((name) => ({
      name,
      cpuSeconds: cpu.get(name) ?? 0,
      activeSeconds: active.get(name),
      lagSum: lagSums.get(name),
      lagCount: lags.get(name),
      connections: connections.get(name),
      watchers: watchers.get(name),
      watchBytes: bytes.get(name),
      queuedChanges: queued.get(name),
      poolWaiting: waiting.get(name),
      poolRunning: running.get(name),
    }));
}

/** Fronts first, then what they wait for. */
function rank(name: string): number {
  if (name.startsWith("front")) return 0;
  const at = ["store", "pool", "controllers", "audit", "main"].indexOf(name);
  return at === -1 ? 9 : at + 1;
}

function requestsOf(figures: Figures): ConsoleData["requests"] {
  const codes = figures.by("apiserver_request_total", "code");
  const byCode: Record<string, number> = { "2xx": 0, "3xx": 0, "4xx": 0, "5xx": 0, "410": 0, "429": 0 };
  let total = 0;
  for (const [code, count] of codes) {
    total += count;
    const group = `${code.slice(0, 1)}xx`;
    if (byCode[group] !== undefined) byCode[group] += count;
    if (code === "410" || code === "429") byCode[code] = (byCode[code] ?? 0) + count;
  }
  return {
    total,
    byCode,
    inflight: figures.sum("apiserver_current_inflight_requests"),
    dropped: figures.sum("apiserver_dropped_requests_total"),
    faults: figures.sum("orch_request_faults_total"),
  };
}

function storeOf(figures: Figures): ConsoleData["store"] {
  const changes = figures.by("orch_store_changes_total", "outcome");
  const log = figures.by("orch_log_pool_bytes", "use");
  return {
    revision: figures.sum("orch_store_revision"),
    queued: figures.sum("orch_store_queued_changes"),
    committed: changes.get("committed") ?? 0,
    refused: changes.get("refused") ?? 0,
    commit: figures.distribution("orch_store_commit_seconds"),
    batch: figures.distribution("orch_store_batch_changes"),
    fileBytes: figures.sum("apiserver_storage_db_total_size_in_bytes"),
    logUsedBytes: log.get("used") ?? 0,
    logFreeBytes: log.get("free") ?? 0,
  };
}

function logsOf(figures: Figures): readonly LogFigures[] {
  const read = (name: string): ReadonlyMap<string, number> => figures.by(name, "resource");
  const bytes = read("orch_log_bytes");
  const others = {
    objects: read("apiserver_storage_objects"),
    liveBytes: read("orch_log_live_bytes"),
    oldestSeconds: read("orch_log_oldest_seconds"),
    segments: read("orch_log_segments"),
    writes: read("orch_log_writes_total"),
    watchBytes: read("orch_watch_bytes_total"),
    behind: read("orch_watch_behind"),
    expired: read("orch_watch_expired_total"),
    cutOff: read("apiserver_terminated_watchers_total"),
  };
  const of = (name: keyof typeof others, resource: string): number => others[name].get(resource) ?? 0;
  const logs = [...bytes].map(([resource, size]) => ({
    resource,
    objects: of("objects", resource),
    bytes: size,
    liveBytes: of("liveBytes", resource),
    oldestSeconds: of("oldestSeconds", resource),
    segments: of("segments", resource),
    writes: of("writes", resource),
    watchBytes: of("watchBytes", resource),
    behind: of("behind", resource),
    expired: of("expired", resource),
    cutOff: of("cutOff", resource),
  }));
  // Those that were written to, then those that hold something.
  return logs
    .filter(({ writes, objects }) => writes > 0 || objects > 0)
    .sort((a, b) => b.writes - a.writes || b.bytes - a.bytes)
    .slice(0, rowsMax);
}

/** By upstream's names, where there are any. */
function flowOf(figures: Figures): readonly LevelFigures[] {
  const read = (name: string): ReadonlyMap<string, number> =>
    figures.by(`apiserver_flowcontrol_${name}`, "priority_level");
  const seats = read("request_concurrency_limit");
  const executing = read("current_executing_requests");
  const waiting = read("current_inqueue_requests");
  const used = read("request_concurrency_in_use");
  const dispatched = read("dispatched_requests_total");
  const rejected = read("rejected_requests_total");
  const names = new Set([...seats.keys(), ...executing.keys(), ...waiting.keys(), ...dispatched.keys()]);
  return [...names].sort().map((level) => ({
    level,
    executing: executing.get(level) ?? 0,
    waiting: waiting.get(level) ?? 0,
    seats: seats.get(level) ?? 0,
    seatsUsed: used.get(level) ?? 0,
    dispatched: dispatched.get(level) ?? 0,
    rejected: rejected.get(level) ?? 0,
  }));
}

/** What clients use of all fronts. */
function clientsOf(details: readonly FrontDetail[]): ClientUse {
  const add = (of: "requests" | "listBytes" | "watches"): ClientUse["requests"] => {
    const all = new Map<string, number>();
    for (const { clients } of details)
      for (const { user, count } of clients[of]) all.set(user, (all.get(user) ?? 0) + count);
    return [...all]
      .map(([user, count]) => ({ user, count }))
      .sort((a, b) => b.count - a.count)
      .slice(0, rowsMax);
  };
  const seconds = Math.max(0, ...details.map(({ clients }) => clients.seconds));
  return { seconds, requests: add("requests"), listBytes: add("listBytes"), watches: add("watches") };
}

function goneOf(figures: Figures): ConsoleData["gone"] {
  const requests = figures.by("apiserver_request_total", "verb", { code: "410" });
  const rows = [...requests].map(([verb, count]) => ({
    reason: `${verb}: the version asked for is older than the log`,
    count,
  }));
  const watches = figures.sum("orch_watch_expired_total");
  const cut = figures.sum("apiserver_terminated_watchers_total");
  rows.push({ reason: "WATCH: began below the log, or fell behind it", count: watches });
  rows.push({ reason: "WATCH: cut off, its client took nothing", count: cut });
  return rows.filter(({ count }) => count > 0);
}
