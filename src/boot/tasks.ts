// What the threads of a front's pool do: every task, one row each. A task is a file beside what it works with.
import { signTask } from "../controllers/certificates/signtask.ts";
import { nameThread, poolThreadName } from "../observe/threads.ts";
import type { Answer, Order, PoolSetup, Task, TaskContext } from "../pool/task.ts";
import { type PoolScript, serveTasks } from "../pool/thread.ts";
import { printTask } from "../request/answer/printtask.ts";
import { mergeTask } from "../request/write/mergetask.ts";
import { schemeOf } from "./scheme.ts";

/** Every task. */
const table: readonly Task<never, object>[] = [mergeTask, printTask, signTask];

/** What a thread of the pool does with its orders. */
export const openTasks: PoolScript["open"] = (setup) => {
  nameThread(poolThreadName);
  return serveTasks(table, contextOf(setup));
};

/** The same on the thread of the front itself: what it works with is made with the first order. */
export function tasksHere(setup: PoolSetup): (order: Order) => Promise<Answer> {
  let work: ((order: Order) => Promise<Answer>) | undefined;
  return (order) => {
    work ??= serveTasks(table, contextOf(setup), () => undefined);
    return work(order);
  };
}

function contextOf(setup: PoolSetup): TaskContext {
  return { scheme: schemeOf(setup) };
}
