// What the threads of a front's pool do: every task, one row each. A task is a file beside what it works with.
import { identities } from "../api/identity.ts";
import { createScheme } from "../api/scheme.ts";
import { signTask } from "../controllers/certificates/signtask.ts";
import { nameThread, poolThreadName } from "../observe/threads.ts";
import type { Task } from "../pool/task.ts";
import { type PoolScript, serveTasks } from "../pool/thread.ts";
import { printTask } from "../request/answer/printtask.ts";
import { mergeTask } from "../request/write/mergetask.ts";

/** Every task. */
const table: readonly Task<never, object>[] = [mergeTask, printTask, signTask];

/** What a thread of the pool does with its orders. */
export const openTasks: PoolScript["open"] = ({ identity, runtimeConfig, gates, release }) => {
  nameThread(poolThreadName);
  const scheme = createScheme({ identity: identities[identity], runtimeConfig, gates, release });
  return serveTasks(table, { scheme });
};
