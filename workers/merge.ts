// Entry point of a pool thread that merges: see src/request/offload.ts.
import { parentPort, workerData } from "node:worker_threads";
import type { MergeSetup } from "../src/pool/tasks.ts";
import { serveTasks } from "../src/pool/thread.ts";
import { openMerge } from "../src/request/mergetask.ts";

serveTasks(parentPort, openMerge(workerData as MergeSetup));
