// A task of a pool under test: one that works, and every way not to.
import { threadId, workerData } from "node:worker_threads";
import type { Task } from "../../src/pool/task.ts";
import type { ThreadData } from "../../src/pool/threads.ts";

/** What to do. */
export type TestInput = "answer" | "throw" | "exit" | "hang" | "heap" | "work" | "uncloneable" | "later";

/** What the thread answers. */
export interface TestOutput {
  readonly thread: number;
  readonly setup: unknown;
}

/** Uses nothing of its context. */
export const testTask: Task<TestInput, TestOutput, unknown> = {
  name: "test",
  work: (input) => {
    if (input === "throw") throw new Error("thrown by a task");
    if (input === "exit") process.exit(3);
    if (input === "hang") for (;;);
    if (input === "heap")
      for (const lists: number[][] = []; ; ) lists.push(new Array<number>(10_000).fill(lists.length));
    // So long that others come meanwhile.
    if (input === "work") for (const end = performance.now() + 50; performance.now() < end; );
    const output = { thread: threadId, setup: (workerData as ThreadData).setup };
    if (input === "uncloneable") return { ...output, setup: () => undefined };
    if (input === "later") return new Promise((resolve) => setTimeout(() => resolve(output), 1));
    return output;
  },
};

/** Takes what is handed over, and answers its size. */
export const sizeTask: Task<Uint8Array, { readonly size: number }, unknown> = {
  name: "size",
  work: (input) => ({ size: input.length }),
};

/** Stands in no table. */
export const unknownTask: Task<undefined, object, unknown> = { name: "unknown", work: () => ({}) };
