// A pool thread that does what the field manager's name says, and merges for everybody else.
import { parentPort, workerData } from "node:worker_threads";
import type { MergeResult, MergeSetup, MergeTask } from "../../src/pool/tasks.ts";
import { serveTasks } from "../../src/pool/thread.ts";
import { openMerge } from "../../src/request/write/mergetask.ts";

const merge = openMerge(workerData as MergeSetup);

serveTasks(parentPort, (task: MergeTask): MergeResult => {
  if (task.manager === "throw") throw new Error("thrown by a merge");
  if (task.manager === "exit") process.exit(3);
  if (task.manager === "hang") for (;;);
  return merge(task);
});
