// Metrics of the threads themselves: the store thread's commits and logs, a front's watchers and loop, the process.
// Names follow upstream where it measures the same thing (ANCHORS 3.2).
import { readFileSync } from "node:fs";
import type { Registry as ResourceRegistry } from "../api/registry.ts";
import type { Scheme } from "../api/scheme.ts";
import type { Fanout } from "../cache/fanout/fanout.ts";
import type { LogWriter } from "../cache/writer/writer.ts";
import type { Openings } from "../http/openings.ts";
import { definedAt } from "../kinds/custom/prefix.ts";
import { clientCalls } from "../observe/clientcalls.ts";
import type { Family, Registry } from "../observe/metrics.ts";
import { countThread, poolThreadName } from "../observe/threads.ts";
import type { Pool } from "../pool/pool.ts";
import { prefixLabels } from "../request/watch/watchmetrics.ts";
import type { BatchSeen } from "../storage/serve.ts";
import type { Store } from "../storage/store.ts";
import { descriptorsMax, openDescriptors } from "./descriptors.ts";
import { versionDocument } from "./version.ts";

const commitSeconds = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5];
const batchSizes = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000];

/** What the store thread has to count. */
export interface StoreParts {
  readonly store: Store;
  readonly writer: LogWriter;
  /** Changes that wait for a transaction. */
  readonly queued: () => number;
  readonly scheme: Scheme;
}

/** Counts the store thread's work into `registry`. Returns what the loop reports commits to. */
export function countStore(registry: Registry, parts: StoreParts): (batch: BatchSeen) => void {
  const { store, writer } = parts;
  const seconds = registry.histogram(
    "orch_store_commit_seconds",
    "Seconds of a transaction, until its records are on the disk and in the logs.",
    commitSeconds,
  );
  const batches = registry.histogram("orch_store_batch_changes", "Changes of a transaction.", batchSizes);
  const changes = registry.counter("orch_store_changes_total", "Changes asked for, by what became of them.", "outcome");
  const revision = registry.gauge("orch_store_revision", "Newest committed revision.");
  const floor = registry.gauge("orch_store_floor_revision", "Revision up to which history is compacted.");
  const queued = registry.gauge("orch_store_queued_changes", "Changes that wait for a transaction.");
  // The name of upstream's release, and what later ones call it.
  const sizeHelp = "Bytes of the file the store keeps its data in.";
  const sizes = ["etcd_db_total_size_in_bytes", "apiserver_storage_db_total_size_in_bytes"].map((name) =>
    registry.gauge(name, sizeHelp, "endpoint"),
  );
  countThread(registry, "store");
  registry.onCollect(() => {
    revision.set("", store.revision);
    floor.set("", store.floor);
    queued.set("", parts.queued());
    for (const size of sizes) size.set("embedded", store.sizeBytes);
  });
  countLogs(registry, writer, prefixLabels(parts.scheme));
  return (batch) => {
    seconds.observe("", batch.commitMs / 1000);
    batches.observe("", batch.changes);
    changes.add("committed", batch.records);
    changes.add("refused", batch.changes - batch.records);
  };
}

/** Counts the logs, by resource. */
function countLogs(registry: Registry, writer: LogWriter, names: ReturnType<typeof prefixLabels>): void {
  const gauge = (name: string, help: string): Family => registry.gauge(name, help, "resource");
  const counter = (name: string, help: string): Family => registry.counter(name, help, "resource");
  const families = {
    objects: gauge("apiserver_storage_objects", "Stored objects by resource."),
    bytes: gauge("orch_log_bytes", "Shared memory of a log's segments."),
    age: gauge("orch_log_oldest_seconds", "Age of the oldest event that can be watched."),
    writes: counter("orch_log_writes_total", "Records ever written to a log."),
    segments: gauge("orch_log_segments", "Segments of a log."),
    live: gauge("orch_log_live_bytes", "Bytes of a log's live objects."),
    releasing: gauge("orch_log_releasing_segments", "Retired segments of a log that a front still holds."),
    capacity: gauge("watch_cache_capacity", "Events a log's segments have room for, at most."),
    grown: counter("watch_cache_capacity_increase_total", "Segments that were added to a log beyond its first."),
    shrunk: counter("watch_cache_capacity_decrease_total", "Segments that were retired from a log."),
  };
  const pool = registry.gauge("orch_log_pool_bytes", "Shared memory of all logs, by use.", "use");
  registry.onCollect(() => {
    const { logs, usedBytes, freeBytes } = writer.stats();
    pool.set("used", usedBytes);
    pool.set("free", freeBytes);
    // Logs come and go.
    for (const family of Object.values(families)) family.clear();
    for (const log of logs) {
      const resource = names.get(log.prefix)?.resource ?? definedAt(log.prefix) ?? "other";
      families.objects.set(resource, log.liveCount);
      families.bytes.set(resource, log.capacityBytes);
      families.live.set(resource, log.liveBytes);
      families.segments.set(resource, log.segmentCount);
      families.writes.set(resource, log.writes);
      families.releasing.set(resource, log.releasingCount);
      families.age.set(resource, log.oldestAgeMs / 1000);
      // A log that was never written to has no events to hold.
      if (log.segmentsEver === 0) continue;
      families.capacity.set(resource, log.entriesMax);
      families.grown.set(resource, log.segmentsEver - 1);
      families.shrunk.set(resource, log.segmentsEver - log.segmentCount);
    }
  });
}

/** Forgets, at a scrape, what was counted for kinds that came with a definition and went with it. */
export function forgetKinds(registry: Registry, kinds: ResourceRegistry): void {
  const builtIn = new Set(kinds.builtIn.groups.map(({ group }) => group));
  registry.onCollect(() => {
    // Also where the snapshot is the one of the scrape before: kinds may have come and gone in between, and requests for
    // them may have ended later still.
    const now = kinds.current();
    const served = new Set<string>();
    const prefixes = new Set<string>();
    // Which resources extension servers have is not known here; how many are counted is bounded (ServedNames).
    const remote = new Set(now.remotes.map(({ group }) => group));
    for (const { group, resource, prefix } of now.resources) {
      served.add(`${group}/${resource}`);
      if (prefix !== undefined) prefixes.add(prefix);
    }
    registry.prune(["group", "resource"], ([group = "", resource = ""]) => {
      return !builtIn.has(group) && !remote.has(group) && !served.has(`${group}/${resource}`);
    });
    registry.prune(["resource_prefix"], ([prefix = ""]) => !prefixes.has(prefix));
  });
}

/** Counts what one front carries. `looked`: is told how late its event loop was, several times a second. */
export function countFront(
  registry: Registry,
  thread: string,
  fanout: Fanout,
  queued: () => number,
  looked?: (lagMs: number) => void,
): void {
  const gauge = (name: string, help: string): Family => registry.gauge(name, help, "thread");
  const watchers = gauge("orch_front_watchers", "Open watches of a front.");
  const groups = gauge("orch_front_watch_groups", "Groups of watchers of a front that share their slices.");
  const waiting = gauge("orch_front_queued_changes", "Changes a front waits for.");
  const bytes = registry.counter("orch_front_watch_bytes_total", "Bytes a front sent to watchers.", "thread");
  countThread(registry, thread, looked);
  clientCalls.register(registry);
  registry.onCollect(() => {
    const all = { watchers: 0, groups: 0, bytes: 0 };
    for (const counts of fanout.counts().values()) {
      all.watchers += counts.watchers;
      all.groups += counts.groups;
      all.bytes += counts.bytes;
    }
    watchers.set(thread, all.watchers);
    groups.set(thread, all.groups);
    bytes.set(thread, all.bytes);
    waiting.set(thread, queued());
  });
}

/** Counts the tasks of a front's pool. */
export function countPool(registry: Registry, thread: string, pool: Pool): void {
  const waiting = registry.gauge("orch_pool_waiting_tasks", "Tasks of a front that wait for a pool thread.", "thread");
  const running = registry.gauge("orch_pool_running_tasks", "Tasks of a front that pool threads work on.", "thread");
  const help = "Tasks of a front that were refused, because too many of one user waited.";
  const refused = registry.counter("orch_pool_refused_total", help, "thread");
  registry.onCollect(() => {
    waiting.set(thread, pool.waiting.used);
    running.set(thread, pool.running);
    refused.set(thread, pool.refused);
  });
}

/** Counts the connections of a front into `registry`. */
export function countConnections(registry: Registry, thread: string, openings: Openings): void {
  const open = registry.gauge("orch_connections", "Open connections.", "thread");
  const quiet = registry.gauge("orch_quiet_connections", "Connections that have not sent a request yet.", "thread");
  const help = "Connections that were closed at once, because there were too many.";
  const refused = registry.counter("orch_connections_refused_total", help, "thread");
  registry.onCollect(() => {
    open.set(thread, openings.open);
    quiet.set(thread, openings.quiet.used);
    refused.set(thread, openings.refused);
  });
}

/** Counts the process as a whole, by the names Prometheus clients share; `crashes` tells how many fronts crashed. */
export function countProcess(registry: Registry, crashes: () => number): void {
  const crashed = registry.counter("orch_front_crashes_total", "Front threads that crashed and were started again.");
  const cpu = registry.counter("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.");
  const resident = registry.gauge("process_resident_memory_bytes", "Resident memory size in bytes.");
  const started = registry.gauge(
    "process_start_time_seconds",
    "Start time of the process since unix epoch in seconds.",
  );
  const files = registry.gauge("process_open_fds", "Number of open file descriptors.");
  const filesMax = registry.gauge("process_max_fds", "Maximum number of open file descriptors.");
  const virtual = registry.gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.");
  const heap = registry.gauge("orch_heap_bytes", "Heap of the main thread.");
  started.set("", Date.now() / 1000 - process.uptime());
  countThread(registry, "main", undefined, poolThreadName);
  countBuild(registry);
  registry.onCollect(() => {
    crashed.set("", crashes());
    const { user, system } = process.cpuUsage();
    cpu.set("", (user + system) / 1e6);
    resident.set("", process.memoryUsage.rss());
    heap.set("", process.memoryUsage().heapUsed);
    files.set("", openDescriptors());
    filesMax.set("", descriptorsMax() ?? 0);
    virtual.set("", virtualBytes());
  });
}

/** Virtual memory of the process; 0: the system does not tell. */
function virtualBytes(): number {
  try {
    return 1024 * Number(/^VmSize:\s+([0-9]+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** The release served, by upstream's name. */
function countBuild(registry: Registry): void {
  const about = JSON.parse(versionDocument()) as Readonly<Record<string, string>>;
  const labels = [
    ["build_date", about["buildDate"]],
    ["compiler", about["compiler"]],
    ["git_commit", about["gitCommit"]],
    ["git_tree_state", about["gitTreeState"]],
    ["git_version", about["gitVersion"]],
    ["go_version", about["goVersion"]],
    ["major", about["major"]],
    ["minor", about["minor"]],
    ["platform", about["platform"]],
  ] as const;
  const help = "Always 1; the labels say what release is served.";
  const build = registry.gauge("kubernetes_build_info", help, ...labels.map(([label]) => label));
  build.set(labels.map(([, value]) => value ?? "").join("\0"), 1);
}
