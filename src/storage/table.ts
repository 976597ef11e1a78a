// The storage engines: a new one is a folder and a line here. Each passes test/contract/.
import { assert } from "../base/assert.ts";
import { limits } from "../config/limits.ts";
import { fileName } from "./lmdb/name.ts";
import type { Engine } from "./store.ts";

/** Every engine; the first is the default. What an engine needs is loaded by the thread that opens it. */
export const engines: readonly Engine[] = [
  {
    name: "lmdb",
    overlap: 1,
    isShared: false,
    open: async (options) => {
      const { openLmdb } = await import("./lmdb/store.ts");
      return openLmdb(options);
    },
    file: fileName,
  },
  {
    name: "memory",
    overlap: 1,
    isShared: false,
    // In microseconds, so that no revision is handed out again by the next process: clients remember them.
    open: async (options) => {
      const { openMemory } = await import("./memory/store.ts");
      return openMemory({ ...options, firstRevision: options.clock.now() * 1000 });
    },
    note: "--storage-backend=memory: nothing that is written survives the process",
  },
  {
    name: "etcd3",
    // As many as one connection carries well: a commit holds nothing while it waits.
    overlap: limits.etcdCommitsMax,
    isShared: true,
    endsObjects: true,
    open: async ({ cluster, ...options }) => {
      assert(cluster !== undefined, "A store on etcd is opened without a cluster");
      const { openEtcd } = await import("./etcd/store.ts");
      return openEtcd({ ...options, cluster });
    },
  },
];

/** The engine of a name --storage-backend takes. */
export function engineOf(name: string): Engine {
  const engine = engines.find((one) => one.name === name);
  assert(engine !== undefined, `No storage engine is called ${name}`);
  return engine;
}
