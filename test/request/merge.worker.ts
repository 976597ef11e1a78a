// A pool thread that does what the field manager's name says, and merges for all others.
import { identities } from "../../src/api/identity.ts";
import { createScheme } from "../../src/api/scheme.ts";
import type { PoolSetup } from "../../src/pool/task.ts";
import { type PoolScript, serveTasks } from "../../src/pool/thread.ts";
import { mergeTask } from "../../src/request/write/mergetask.ts";

/** Holds this thread until the test opens the gate. */
function wait(gate: SharedArrayBuffer | undefined): void {
  const words = new Int32Array(gate as SharedArrayBuffer);
  Atomics.add(words, 0, 1);
  Atomics.wait(words, 1, 0);
}

/** Takes orders. */
export const open: PoolScript["open"] = (options) => {
  const { gate, ...setup } = options as PoolSetup & { readonly gate?: SharedArrayBuffer };
  const task: typeof mergeTask = {
    name: mergeTask.name,
    work: (input, context) => {
      if (input.manager === "throw") throw new Error("thrown by a merge");
      if (input.manager === "exit") process.exit(3);
      if (input.manager === "hang") for (;;);
      if (input.manager.startsWith("wait")) wait(gate);
      return mergeTask.work(input, context);
    },
  };
  return serveTasks([task], { scheme: createScheme({ ...setup, identity: identities[setup.identity] }) });
};
