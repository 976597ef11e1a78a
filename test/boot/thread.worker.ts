// A thread that does what its data says at its start, and what it is told.
import { parentPort, workerData } from "node:worker_threads";
import type { ToThread } from "../../src/boot/messages.ts";

/** What a test tells it. */
export type ToTest = { readonly kind: "throw" | "crash" | "exit" | "greet" };

/** What it tells a test. */
export type OfTest = { readonly kind: "opened" | "greeted" };

const { start } = workerData as { readonly start: "open" | "fail" | "throw" | "crash" | "exit" };

const tell = (message: object): void => parentPort?.postMessage(message);

if (start === "fail") {
  tell({ kind: "failed", message: "the operator has to mend this" });
  parentPort?.close();
}
if (start === "throw") throw new Error("thrown at the start");
if (start === "crash") tell({ kind: "crashed", error: "crashed at the start\nat some line" });
if (start === "exit") process.exit(3);
if (start === "open") {
  parentPort?.on("message", (message: ToTest | ToThread) => {
    if (message.kind === "throw") throw new Error("thrown later");
    if (message.kind === "crash") tell({ kind: "crashed", error: "crashed later" });
    if (message.kind === "exit") process.exit(3);
    if (message.kind === "greet") tell({ kind: "greeted" });
    if (message.kind === "collect") tell({ kind: "collected", id: message.id, families: [] });
    if (message.kind === "close") parentPort?.close();
  });
  tell({ kind: "opened" });
}
