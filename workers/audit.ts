// Entry point of the thread that writes audit events.
import { parentPort, workerData } from "node:worker_threads";
import { startAudit } from "../src/boot/audit.ts";
import type { AuditData } from "../src/boot/messages.ts";
import { keepCompiled } from "../src/boot/v8/compilecache.ts";

keepCompiled();
if (parentPort !== null) startAudit(workerData as AuditData, parentPort);
