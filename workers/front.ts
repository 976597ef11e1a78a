// Entry point of a front thread.
import { parentPort, workerData } from "node:worker_threads";
import { startFront } from "../src/boot/front.ts";
import type { FrontData } from "../src/boot/messages.ts";
import { keepCompiled } from "../src/boot/v8/compilecache.ts";

keepCompiled();
if (parentPort !== null) await startFront(workerData as FrontData, parentPort);
