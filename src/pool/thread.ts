// A thread's side of the pool: orders come one at a time, and each is answered with what its task made of it.
import { parentPort } from "node:worker_threads";
import { assert } from "../base/assert.ts";
import type { Answer, Order, PoolSetup, Task } from "./task.ts";

/** What a script of threads exports. */
export interface PoolScript {
  /** Called once, when a thread starts; the result is called with each order. */
  readonly open: (setup: PoolSetup) => (order: Order) => Promise<Answer>;
}

/** Makes what takes orders: it does any task of the table. `begun` is told of each before. */
export function serveTasks<Context>(
  tasks: readonly Task<never, object, Context>[],
  context: Context,
  begun: (id: number) => void = (id) => parentPort?.postMessage(id),
): (order: Order) => Promise<Answer> {
  const table = new Map(tasks.map((task) => [task.name, task as Task<unknown, object, Context>]));
  assert(table.size === tasks.length, "Two tasks of the pool have one name");
  return async ({ id, task: name, input }) => {
    // Its time begins here: the thread may only just have started.
    begun(id);
    try {
      const task = table.get(name);
      assert(task !== undefined, `No task of the pool is called ${name}`);
      return { output: await task.work(input, context) };
    } catch (error) {
      return { error };
    }
  };
}
