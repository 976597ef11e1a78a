// The pool of a front: threads that do the tasks of tasks.ts, or the front itself where it is to have none.
import { limits } from "../config/limits.ts";
import { Pool, type PoolOptions } from "../pool/pool.ts";
import type { PoolSetup } from "../pool/task.ts";
import { tasksHere } from "./tasks.ts";

const script = new URL("../../workers/pool.js", import.meta.url);

/** Makes a pool; nothing is started yet. `options` is what tests have otherwise. */
export function openPool(setup: PoolSetup, options: Partial<PoolOptions> = {}): Pool {
  return new Pool({
    script,
    setup,
    what: "large requests waiting",
    threadsMax: limits.poolThreadsMax,
    queueMax: limits.poolQueueMax,
    taskMsMax: limits.poolTaskMsMax,
    startMsMax: limits.poolStartMsMax,
    pauseMs: limits.poolPauseMs,
    idleMs: limits.poolIdleMs,
    heapMiBMax: limits.poolHeapMiBMax,
    here: tasksHere(setup),
    ...options,
  });
}
