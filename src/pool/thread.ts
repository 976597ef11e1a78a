// A pool thread's side: tasks come as messages, one at a time, and each is answered with what came of it.
import type { MessagePort } from "node:worker_threads";
import type { Answer } from "./pool.ts";

/** What a thread says first: it has started, and a task that waited for it begins. */
export const ready = "ready";

/** Does tasks as they come; what a task throws is its answer. */
export function serveTasks<Task, Result>(port: MessagePort | null, work: (task: Task) => Result): void {
  port?.on("message", (task: Task) => {
    let answer: Answer<Result>;
    try {
      answer = { result: work(task) };
    } catch (error) {
      answer = { error };
    }
    port.postMessage(answer);
  });
  port?.postMessage(ready);
}
