// What each thread costs and how late it runs: counters, so that any number of scrapers can read them. Every thread reads
// its own; those of a pool, which have no counters, are read by the main thread.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Registry } from "./metrics.ts";

/** Of every thread of a pool. */
export const poolThreadName = "pool";

/** The longest name the kernel keeps for a thread, bytes. */
const nameBytesMax = 15;
/** Unit of CPU time in /proc, on every architecture Node runs on. */
const ticksPerSecond = 100;
/** How often the sampler of the event loop wakes: what it measures is this much too long. */
const resolutionMs = 20;
/** The longest lag is counted once in so many milliseconds. */
const windowMs = 1000;
/** Seconds. */
const lagBuckets = [0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5];

/** Gives the calling thread a name that operators see in `top -H`; nothing where the system has no such file. */
export function nameThread(name: string): void {
  try {
    writeFileSync("/proc/thread-self/comm", name.slice(0, nameBytesMax));
  } catch {
    // Not Linux: a name is for people, and the thread runs without.
  }
}

/** CPU time of a thread as its `stat` file in /proc says it, in seconds. */
export function cpuSecondsOf(stat: string): number {
  // The name before may hold anything, a parenthesis as well.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/** What Node has from 22.19 on. */
const { threadCpuUsage } = process as unknown as {
  readonly threadCpuUsage?: () => { readonly user: number; readonly system: number };
};

/** CPU time of the calling thread in seconds; undefined: the system does not tell. */
export function threadCpuSeconds(): number | undefined {
  if (threadCpuUsage !== undefined) {
    const { user, system } = threadCpuUsage.call(process);
    return (user + system) / 1e6;
  }
  try {
    return cpuSecondsOf(readFileSync("/proc/thread-self/stat", "utf8"));
  } catch {
    return undefined;
  }
}

/** Adds up the CPU time of threads of a name, also of those that ended since the last look. */
export class NamedCpu {
  readonly #name: string;
  readonly #directory: string;
  /** Seconds by the kernel's number of the thread. */
  readonly #seen = new Map<string, number>();
  #seconds = 0;

  constructor(name: string, directory = "/proc/self/task") {
    this.#name = name;
    this.#directory = directory;
  }

  /** Seconds so far; they never become less. */
  read(): number {
    let tasks: readonly string[] = [];
    try {
      tasks = readdirSync(this.#directory);
    } catch {
      return this.#seconds;
    }
    const present = new Set(tasks);
    for (const task of this.#seen.keys()) if (!present.has(task)) this.#seen.delete(task);
    for (const task of tasks) this.#look(task);
    return this.#seconds;
  }

  #look(task: string): void {
    try {
      const stat = readFileSync(`${this.#directory}/${task}/stat`, "utf8");
      if (stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")")) !== this.#name) return;
      const seconds = cpuSecondsOf(stat);
      this.#seconds += Math.max(0, seconds - (this.#seen.get(task) ?? 0));
      this.#seen.set(task, seconds);
    } catch {
      // It ended in between.
    }
  }
}

/**
 * Counts the calling thread: its CPU time, and how busy and how late its event loop is. `pool`: and the CPU time of the
 * threads of that name, which have no registry.
 */
export function countThread(registry: Registry, thread: string, pool?: string): void {
  const cpu = registry.counter("orch_thread_cpu_seconds_total", "CPU time of a thread.", "thread");
  const pooled = pool === undefined ? undefined : new NamedCpu(pool);
  const active = registry.counter(
    "orch_event_loop_active_seconds_total",
    "Time a thread's event loop was not idle, waits for the disk and for a core included.",
    "thread",
  );
  const lag = registry.histogram(
    "orch_event_loop_lag_seconds",
    "Longest lag of a thread's event loop in each second.",
    lagBuckets,
    "thread",
  );
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  const look = setInterval(() => {
    // Nothing was sampled: the thread has just begun.
    if (delay.max > 0) lag.observe(thread, Math.max(0, delay.max / 1e9 - resolutionMs / 1000));
    delay.reset();
  }, windowMs);
  look.unref();
  registry.onCollect(() => {
    const seconds = threadCpuSeconds();
    if (seconds !== undefined) cpu.set(thread, seconds);
    if (pool !== undefined && pooled !== undefined) cpu.set(pool, pooled.read());
    active.set(thread, performance.eventLoopUtilization().active / 1000);
  });
  lag.fill(thread, [], 0);
}
