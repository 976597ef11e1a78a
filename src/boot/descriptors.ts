// How many connections a front may have open, by what the process may open at all. A listener that finds no descriptor
// for a connection is woken for it again and again: connections are bounded so that it always finds one, also for closing
// what is too many, and so that the store, its files and webhooks are never short of one.
import { readdirSync, readFileSync } from "node:fs";
import { limits } from "../config/limits.ts";
import { BootFault } from "./fault.ts";

/** Descriptors this process may have open; undefined: the system does not tell. The runtime raised it to what is allowed. */
export function descriptorsMax(file = "/proc/self/limits"): number | undefined {
  try {
    const soft = /^Max open files +([0-9]+)/m.exec(readFileSync(file, "utf8"))?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}

/** Descriptors this process has open; 0: the system does not tell. */
export function openDescriptors(): number {
  try {
    return readdirSync("/proc/self/fd").length;
  } catch {
    return 0;
  }
}

/**
 * Connections of each of `fronts` fronts that are about to start, where the process may open `max` descriptors and has
 * opened `used`. Throws BootFault where there are too few to serve.
 */
export function connectionsOf(fronts: number, max: number | undefined, used: number): number {
  if (max === undefined) return limits.connectionsMax;
  // The thread of the controllers is one more.
  const own = used + limits.frontDescriptors * (fronts + 1);
  const left = max - own;
  const reserved = Math.min(limits.reservedDescriptorsMax, Math.floor(left / 2));
  const each = Math.floor((left - reserved) / fronts);
  if (each < limits.connectionsMin) {
    const least = own + 2 * limits.connectionsMin * fronts;
    throw new BootFault(`the process may open ${max} files, and needs ${least} at least (ulimit -n)`);
  }
  return Math.min(limits.connectionsMax, each);
}
