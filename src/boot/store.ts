// The body of the store thread: it opens the durable log, fills the shared logs from it, and serves the fronts' ports.

import { join } from "node:path";
import type { MessagePort } from "node:worker_threads";
import { identities } from "../api/identity.ts";
import { createScheme, type Scheme } from "../api/scheme.ts";
import { systemClock } from "../base/clock.ts";
import { LogWriter } from "../cache/writer/writer.ts";
import { limits } from "../config/limits.ts";
import { Registry } from "../observe/metrics.ts";
import { claimPrefixes } from "../request/commit/claims.ts";
import { type StoreLoop, serveStore } from "../storage/serve.ts";
import { type Store, StoreError } from "../storage/store.ts";
import { engineOf } from "../storage/table.ts";
import { countStore } from "./count.ts";
import { reasonOf } from "./fault.ts";
import type { FromStore, StoreData, ToStore } from "./messages.ts";

/** Runs the store on this thread. */
export function startStore(data: StoreData, main: MessagePort): void {
  const tell = (message: FromStore): void => main.postMessage(message);
  let thread: StoreLogs;
  try {
    thread = new StoreLogs(open(data), data);
  } catch (error) {
    tell({ kind: "failed", message: describe(data, error) });
    main.close();
    return;
  }
  const { writer, loop, registry } = thread;
  tell({ kind: "opened", revision: thread.store.revision, control: writer.control });
  main.on("message", (message: ToStore) => {
    switch (message.kind) {
      case "front":
        writer.connect(message.logPort);
        loop.add(message.storePort);
        return;
      case "collect":
        tell({ kind: "collected", id: message.id, families: registry.snapshot() });
        return;
      case "close":
        void thread.stop().then(() => main.close());
        return;
    }
  });
}

/** The durable log and the shared logs behind one loop. */
class StoreLogs {
  readonly store: Store;
  readonly writer: LogWriter;
  readonly loop: StoreLoop;
  readonly registry = new Registry();

  constructor(store: Store, { config }: StoreData) {
    const { identity, runtimeConfig, gates, release } = config;
    const scheme = createScheme({ identity: identities[identity], runtimeConfig, gates, release });
    this.store = store;
    this.writer = new LogWriter({ prefixes: prefixesOf(scheme) });
    this.writer.load(store);
    this.writer.start();
    const { writer } = this;
    const observe = countStore(this.registry, { store, writer, queued: () => this.loop.queued, scheme });
    this.loop = serveStore({ store, publish: (records) => this.writer.accept(records), observe });
  }

  async stop(): Promise<void> {
    this.writer.stop();
    await this.loop.stop();
  }
}

/** Logs that exist from the start: one for each kind that is served, so that fronts need not wait for a first change. */
function prefixesOf(scheme: Scheme): string[] {
  const kinds = scheme.resources.flatMap(({ prefix }) => (prefix === undefined ? [] : [prefix]));
  return [...new Set([...kinds, ...Object.values(claimPrefixes)])];
}

function open(data: StoreData): Store {
  const { dataDir, identity, storageBackend } = data.config;
  return engineOf(storageBackend).open({
    path: join(dataDir, "store"),
    identity,
    clock: systemClock,
    firstRevision: limits.firstRevision,
  });
}

/** Why the store cannot be opened, in one line. */
function describe(data: StoreData, error: unknown): string {
  const { dataDir } = data.config;
  if (!(error instanceof StoreError)) return `cannot open the store in ${dataDir}: ${reasonOf(error)}`;
  switch (error.kind) {
    case "locked":
      return `the data directory ${dataDir} is in use by another server`;
    case "identity":
      return `data directory ${dataDir} was created with --identity=${error.holds}; start with that flag, or use another --data-dir`;
    default:
      return `cannot open the store in ${dataDir}: ${error.message}`;
  }
}
