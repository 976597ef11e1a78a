// Entry point of the store thread.
import { parentPort, workerData } from "node:worker_threads";
import { keepCompiled } from "../src/boot/v8/compilecache.ts";
import type { StoreData } from "../src/boot/messages.ts";
import { startStore } from "../src/boot/store.ts";

keepCompiled();
if (parentPort !== null) await startStore(workerData as StoreData, parentPort);
