// Entry point of the store thread.
import { parentPort, workerData } from "node:worker_threads";
import type { StoreData } from "../src/boot/messages.ts";
import { startStore } from "../src/boot/store.ts";
import { keepCompiled } from "../src/boot/v8/compilecache.ts";

keepCompiled();
if (parentPort !== null) await startStore(workerData as StoreData, parentPort);
