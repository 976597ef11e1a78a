// What work costs as its input grows. CPU of this thread, because others run on the machine; the least of a few tries,
// because the collector and the compiler run whenever they like.
import { readFileSync } from "node:fs";
import { cpuMs } from "./random.ts";

/** CPU of the calling thread so far in milliseconds; of the process where nothing tells. */
export function threadCpuMs(): number {
  // What the system tells of a thread is as old as its last tick, unless the process was asked about just before.
  process.cpuUsage();
  // Since Node 22.19; where it is missing, the system tells.
  const { threadCpuUsage } = process as { threadCpuUsage?: () => NodeJS.CpuUsage };
  if (threadCpuUsage !== undefined) {
    const { user, system } = threadCpuUsage.call(process);
    return (user + system) / 1000;
  }
  try {
    return Number(readFileSync("/proc/thread-self/schedstat", "latin1").split(" ")[0]) / 1e6;
  } catch {
    return cpuMs();
  }
}

/** Milliseconds `work` takes, the least of `tries`. */
export async function costOf(work: () => unknown, tries = 1): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let index = 0; index < tries; index += 1) {
    const start = threadCpuMs();
    await work();
    least = Math.min(least, threadCpuMs() - start);
  }
  return least;
}

/** How much dearer a unit of input may become when there is eight times as much of it. */
const dearerMax = 3;
/** Below this nothing is told from noise, in milliseconds. */
const costMin = 30;
/** What any work may cost at the smaller size: code that runs for the first time is slow. */
const costFloor = 1;

/** What grew faster than its input. */
export interface Excess {
  readonly size: number;
  readonly ms: number;
  /** At an eighth of the size. */
  readonly beforeMs: number;
}

/**
 * Doubles the size of an input from `from` to `to`, and tells where eight times as much of it takes more than
 * `dearerMax` times eight times as long; undefined: nowhere. `make` is not measured.
 */
export async function excessOf<T>(
  make: (size: number) => T | Promise<T>,
  work: (input: T) => unknown,
  from: number,
  to: number,
): Promise<Excess | undefined> {
  const known = new Map<number, number>();
  const measure = async (size: number, tries: number): Promise<number> => {
    const input = await make(size);
    return costOf(() => work(input), tries);
  };
  for (let size = from; size <= to; size *= 2) {
    const before = known.get(size / 8);
    const ms = await measure(size, 1);
    known.set(size, ms);
    if (before === undefined || ms < costMin || ms <= 8 * dearerMax * Math.max(before, costFloor)) continue;
    const [again, beforeAgain] = [await measure(size, 5), await measure(size / 8, 5)];
    if (again > costMin && again > 8 * dearerMax * Math.max(beforeAgain, costFloor)) {
      return { size, ms: again, beforeMs: beforeAgain };
    }
  }
  return undefined;
}

const yardstick = Array.from({ length: 11_111 }, (_, index) => ({ name: `n${index}`, value: "some text" }));

/** What two fixed pieces of work take on a machine bounds hold on, in milliseconds: the runtime's code, and code like ours. */
const yardsticks: readonly (readonly [calibratedMs: number, work: () => unknown])[] = [
  [6.5, () => JSON.parse(JSON.stringify(yardstick))],
  [1.4, () => yardstick.map(({ name, value }) => ({ name, value, parts: [name, value].map(quoted).join() }))],
];

function quoted(text: string): string {
  return /["\\<>&\u2028\u2029\ud800-\udfff]|[^ -\uffff]/.test(text) ? JSON.stringify(text) : `"${text}"`;
}

/** How many times slower this machine is at the moment. */
export function slowness(): number {
  const each = yardsticks.map(([calibratedMs, work]) => {
    let least = Number.POSITIVE_INFINITY;
    for (let index = 0; index < 12; index += 1) {
      const start = threadCpuMs();
      work();
      least = Math.min(least, threadCpuMs() - start);
    }
    return least / calibratedMs;
  });
  return Math.max(1, ...each);
}

/** What a measurement in milliseconds stands for: within its bound itself, else divided by how slow the machine is. */
export function calmMs(ms: number, msMax: number): number {
  return ms > msMax ? ms / slowness() : ms;
}

/** The least of a few tries of a measurement, as `calmMs` has it; the first that is within its bound ends them. */
export async function leastOf(msMax: number, measure: () => number | Promise<number>, triesMax = 10): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let index = 0; index < triesMax && least > msMax; index += 1) {
    least = Math.min(least, calmMs(await measure(), msMax));
  }
  return least;
}

/** CPU of `work` in milliseconds, as `leastOf` measures it: within its bound, or the least of a few tries. */
export function leastCostOf(msMax: number, work: () => unknown, triesMax = 5): Promise<number> {
  return leastOf(msMax, () => costOf(work), triesMax);
}

/** What a step of many took that cannot be done again: the slowest of all. */
export class Slowest {
  /** Milliseconds, as `calmMs` has them. */
  ms = 0;
  /** Which step it was. */
  what = "";

  /** What a step may take, in milliseconds. */
  readonly msMax: number;

  constructor(msMax: number) {
    this.msMax = msMax;
  }

  /** Tells what a step took. */
  add(ms: number, what = ""): void {
    if (ms <= this.ms) return;
    const taken = calmMs(ms, this.msMax);
    if (taken > this.ms) [this.ms, this.what] = [taken, what];
  }
}
