// Tasks of a pool under test: one that works, and every way not to.
import { parentPort, threadId, workerData } from "node:worker_threads";
import { serveTasks } from "../../src/pool/thread.ts";

/** What to do. */
export type TestTask = "answer" | "throw" | "exit" | "hang" | "heap" | "work";

/** What the thread answers. */
export interface TestResult {
  readonly thread: number;
  readonly setup: unknown;
}

// A start that takes its time.
const { startMs = 0 } = workerData as { readonly startMs?: number };
for (const end = performance.now() + startMs; performance.now() < end; );

serveTasks(parentPort, (task: TestTask): TestResult => {
  if (task === "throw") throw new Error("thrown by a task");
  if (task === "exit") process.exit(3);
  if (task === "hang") for (;;);
  if (task === "heap") for (const lists: number[][] = []; ; ) lists.push(new Array<number>(10_000).fill(lists.length));
  // So long that others come meanwhile.
  if (task === "work") for (const end = performance.now() + 50; performance.now() < end; );
  return { thread: threadId, setup: workerData };
});
