// Entry point of a pool thread that merges and prints what is big: see src/request/offload.ts.
import { parentPort, workerData } from "node:worker_threads";
import type { MergeSetup, PoolTask } from "../src/pool/tasks.ts";
import { serveTasks } from "../src/pool/thread.ts";
import { runPrint } from "../src/request/answer/print.ts";
import { openMerge } from "../src/request/write/mergetask.ts";

const merge = openMerge(workerData as MergeSetup);
serveTasks(parentPort, (task: PoolTask) => (task.kind === "print" ? runPrint(task) : merge(task)));
