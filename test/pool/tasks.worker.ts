// A thread of a pool under test.
import { type PoolScript, serveTasks } from "../../src/pool/thread.ts";
import { sizeTask, testTask } from "./tasks.ts";

/** Takes orders. */
export const open: PoolScript["open"] = (setup) => {
  const { startMs = 0, fails = false } = setup as { readonly startMs?: number; readonly fails?: boolean };
  if (fails) throw new Error("A thread cannot start");
  // A start that takes its time.
  for (const end = performance.now() + startMs; performance.now() < end; );
  return serveTasks([testTask, sizeTask], undefined);
};
