// Memory of a server that rests: what it keeps, without what it gives back a while after its last work.
import { type Usage, usageOf } from "./processes.ts";
import type { Options } from "./scenario.ts";
import type { Target } from "./target.ts";

/** Of scenarios that read memory. V8 and Go collect what is left of a load within a minute or so of rest. */
export const restFlag = {
  rest: ["90", "seconds a server rests before its memory is read"],
} as const;

/** What each process of a server has after the rest of the scenario's flags, by its name; empty: it is not on this machine. */
export async function restedMemory(target: Target, options: Options): Promise<ReadonlyMap<string, Usage>> {
  const { processes } = target;
  if (processes.length > 0) await new Promise((resolve) => setTimeout(resolve, options.number("rest") * 1000));
  return new Map(processes.map(({ name, pids }) => [name, usageOf(pids)]));
}
