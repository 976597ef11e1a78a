// What processes cost, seen from outside (Linux): CPU of all threads, those that have ended included, and of all
// children; memory; and which threads are busy.
import { readdirSync, readFileSync } from "node:fs";

/** Processes with a name, e.g. a server's, or its etcd's. */
export interface NamedProcesses {
  readonly name: string;
  readonly pids: readonly number[];
}

/** What processes used so far, and have now. */
export interface Usage {
  /** User and system; microseconds, in steps of the kernel's 10 ms. */
  readonly cpuUs: number;
  readonly residentBytes: number;
  /** Without files that are mapped. */
  readonly ownBytes: number;
}

/** The kernel's clock tick, which is the same everywhere Node runs on Linux. */
const tickUs = 10_000;

/** Parents of all processes there are. */
function children(): Map<number, number[]> {
  const found = new Map<number, number[]>();
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const parent = Number(fieldsOf(pid)[1]);
    const siblings = found.get(parent);
    if (siblings === undefined) found.set(parent, [pid]);
    else siblings.push(pid);
  }
  return found;
}

/** Fields of /proc/<pid>/stat from the state on, the third of proc(5); empty when the process has ended. */
function fieldsOf(pid: number): readonly string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return [];
  }
}

/** Processes and all that descend from them. */
export function treeOf(pids: readonly number[]): number[] {
  const below = children();
  const found = [...pids];
  for (let index = 0; index < found.length; index += 1) found.push(...(below.get(found[index] as number) ?? []));
  return [...new Set(found)];
}

/** What a tree of processes used. Children that ended count with the process that waited for them. */
export function usageOf(pids: readonly number[]): Usage {
  let [ticks, residentBytes, ownBytes] = [0, 0, 0];
  for (const pid of treeOf(pids)) {
    const fields = fieldsOf(pid);
    for (const at of [11, 12, 13, 14]) ticks += Number(fields[at] ?? 0);
    const memory = memoryOf(pid);
    residentBytes += memory.residentBytes;
    ownBytes += memory.ownBytes;
  }
  return { cpuUs: ticks * tickUs, residentBytes, ownBytes };
}

function memoryOf(pid: number): { residentBytes: number; ownBytes: number } {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "latin1");
    const kib = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1] ?? 0);
    return { residentBytes: 1024 * kib("VmRSS"), ownBytes: 1024 * (kib("RssAnon") + kib("RssShmem")) };
  } catch {
    return { residentBytes: 0, ownBytes: 0 };
  }
}

/** CPU of each thread of some processes so far, microseconds, by thread id. */
export function threadCpu(pids: readonly number[]): Map<string, { readonly name: string; readonly cpuUs: number }> {
  const found = new Map<string, { name: string; cpuUs: number }>();
  for (const pid of pids) {
    for (const thread of threadsOf(pid)) {
      try {
        const folder = `/proc/${pid}/task/${thread}`;
        const ns = Number(readFileSync(`${folder}/schedstat`, "latin1").split(" ", 1)[0]);
        found.set(thread, { name: readFileSync(`${folder}/comm`, "latin1").trim(), cpuUs: ns / 1000 });
      } catch {
        // It ended meanwhile.
      }
    }
  }
  return found;
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

/** Whether a process is there. */
export function isRunning(pid: number): boolean {
  return fieldsOf(pid).length > 0;
}
