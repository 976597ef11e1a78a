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
/** How often the lag is looked at, and how often the longest is counted. */
const lookMs = 250;
const looksPerWindow = 1000 / lookMs;
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

/** What the sampler of an event loop has since it was reset. */
export interface LagSampler {
  /** Samples. The first after a reset only begins. */
  readonly count: number;
  /** The longest, in nanoseconds, its own pause included. */
  readonly max: number;
  reset(): void;
}

/** Looks at a sampler of the event loop at a steady pace, and tells how late the loop was. */
export class LagLooks {
  readonly #sampler: LagSampler;
  readonly #looked: (lagMs: number) => void;
  readonly #longest: (lagMs: number) => void;
  /** Looks since the last one with a sample, and since the longest lag was told. */
  #unseen = 0;
  #looks = 0;
  #longestMs = -1;

  /** `looked` is told the lag of each look, and `longest` the longest of each second. */
  constructor(sampler: LagSampler, looked: (lagMs: number) => void, longest: (lagMs: number) => void) {
    this.#sampler = sampler;
    this.#looked = looked;
    this.#longest = longest;
  }

  /** One look. In a loop whose turns are longer than a look's pause, every other look has a sample, and stands for both. */
  look(): void {
    this.#unseen++;
    this.#looks++;
    const { count, max } = this.#sampler;
    if (count > 0) {
      const lagMs = Math.max(0, max / 1e6 - resolutionMs);
      this.#sampler.reset();
      this.#longestMs = Math.max(this.#longestMs, lagMs);
      for (; this.#unseen > 0; this.#unseen--) this.#looked(lagMs);
    }
    // Nothing was sampled yet: the second goes on.
    if (this.#looks < looksPerWindow || this.#longestMs < 0) return;
    this.#longest(this.#longestMs);
    this.#looks = 0;
    this.#longestMs = -1;
  }
}

/**
 * Counts the calling thread: its CPU time, and how busy and how late its event loop is. `looked`: is told how late it was,
 * several times a second. `pool`: and the CPU time of the threads of that name, which have no registry.
 */
export function countThread(
  registry: Registry,
  thread: string,
  looked: (lagMs: number) => void = () => undefined,
  pool?: string,
): void {
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
  const looks = new LagLooks(delay, looked, (lagMs) => lag.observe(thread, lagMs / 1000));
  const look = setInterval(() => looks.look(), lookMs);
  look.unref();
  registry.onCollect(() => {
    const seconds = threadCpuSeconds();
    if (seconds !== undefined) cpu.set(thread, seconds);
    if (pool !== undefined && pooled !== undefined) cpu.set(pool, pooled.read());
    active.set(thread, performance.eventLoopUtilization().active / 1000);
  });
  lag.fill(thread, [], 0);
}
