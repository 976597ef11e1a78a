// What a process costs, seen from outside (Linux).
import { readdirSync, readFileSync } from "node:fs";

/** CPU a process used since it started, user and system, all threads; microseconds, in steps of the kernel's 10 ms. */
export function cpuUs(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, "latin1");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  // Fields 14 and 15 of proc(5), counted from the state (3): clock ticks of 10 ms.
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

/** As cpuUs(), to the microsecond, of the threads there are now: what threads used that have ended is not in it. */
export function processCpuUs(pid: number): number {
  let ns = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      ns += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "latin1").split(" ", 1)[0]);
    } catch {
      // It ended meanwhile.
    }
  }
  return ns / 1000;
}

/** Resident memory of a process, bytes. `own`: without files that are mapped. */
export function residentBytes(pid: number, own = false): number {
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  const kib = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1] ?? 0);
  return 1024 * (own ? kib("RssAnon") + kib("RssShmem") : kib("VmRSS"));
}
