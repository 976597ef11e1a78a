// What a process costs, seen from outside (Linux).
import { readFileSync } from "node:fs";

/** CPU a process used since it started, user and system, all threads; microseconds, in steps of the kernel's 10 ms. */
export function cpuUs(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, "latin1");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  // Fields 14 and 15 of proc(5), counted from the state (3): clock ticks of 10 ms.
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

/** Resident memory of a process, bytes. */
export function residentBytes(pid: number): number {
  const match = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"));
  return Number(match?.[1] ?? 0) * 1024;
}
