// Memory of a server that rests: what it keeps, without what it is about to give back.
import { type Usage, usageOf } from "./processes.ts";
import type { Target } from "./target.ts";

/** Memory is settled when it changed less than so much between two looks. */
const settledBytes = 2 * 2 ** 20;
const [settleEveryMs, settleLooksMax] = [1500, 12];

/** What each process of a server has once all of them rest, by its name; empty: they are not on this machine. */
export async function settledMemory(target: Target): Promise<ReadonlyMap<string, Usage>> {
  let usages = memoryOf(target);
  for (let look = 0; usages.size > 0 && look < settleLooksMax; look += 1) {
    await new Promise((resolve) => setTimeout(resolve, settleEveryMs));
    const now = memoryOf(target);
    const moved = [...now].map(([name, { residentBytes }]) => residentBytes - (usages.get(name)?.residentBytes ?? 0));
    usages = now;
    if (moved.every((bytes) => Math.abs(bytes) < settledBytes)) break;
  }
  return usages;
}

function memoryOf({ processes }: Target): ReadonlyMap<string, Usage> {
  return new Map(processes.map(({ name, pids }) => [name, usageOf(pids)]));
}
