// Tasks of a pool under test: one that works, and every way not to.
import { parentPort, threadId, workerData } from "node:worker_threads";
import { serveTasks } from "../../src/pool/thread.ts";

/** What to do. */
export type TestTask = "answer" | "throw" | "exit" | "hang" | "heap";

/** What the thread answers. */
export interface TestResult {
  readonly thread: number;
  readonly setup: unknown;
}

serveTasks(parentPort, (task: TestTask): TestResult => {
  if (task === "throw") throw new Error("thrown by a task");
  if (task === "exit") process.exit(3);
  if (task === "hang") for (;;);
  if (task === "heap") for (const lists: number[][] = []; ; ) lists.push(new Array<number>(10_000).fill(lists.length));
  return { thread: threadId, setup: workerData };
});
