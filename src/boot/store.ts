// The body of the store thread: it opens the durable log, fills the shared logs from it, and serves the fronts' ports.
import type { MessagePort } from "node:worker_threads";
import { join } from "node:path";
import { systemClock } from "../base/clock.ts";
import { serveStore, type StoreLoop } from "../storage/serve.ts";
import { type Store, StoreError } from "../storage/store.ts";
import { engines } from "../storage/table.ts";
import { reasonOf } from "./fault.ts";
import type { FromStore, StoreData, ToStore } from "./messages.ts";

/** Runs the store on this thread. */
export function startStore(data: StoreData, main: MessagePort): void {
  const tell = (message: FromStore): void => main.postMessage(message);
  let loop: StoreLoop;
  try {
    const store = open(data);
    loop = serveStore({ store, publish: () => {} });
    tell({ kind: "opened", revision: store.revision });
  } catch (error) {
    tell({ kind: "failed", message: describe(data, error) });
    main.close();
    return;
  }
  main.on("message", (message: ToStore) => {
    switch (message.kind) {
      case "front":
        loop.add(message.storePort);
        return;
      case "collect":
        tell({ kind: "collected", id: message.id, families: [] });
        return;
      case "close":
        void loop.stop().then(() => main.close());
        return;
    }
  });
}

function open(data: StoreData): Store {
  const { dataDir, identity } = data.config;
  return engines[0].open({ path: join(dataDir, "store"), identity, clock: systemClock });
}

/** Why the store cannot be opened, in one line. */
function describe(data: StoreData, error: unknown): string {
  const { dataDir, identity } = data.config;
  if (!(error instanceof StoreError)) return `cannot open the store in ${dataDir}: ${reasonOf(error)}`;
  switch (error.kind) {
    case "locked":
      return `the data directory ${dataDir} is in use by another server`;
    case "identity":
      return `the data directory ${dataDir} belongs to another identity than ${identity}`;
    default:
      return `cannot open the store in ${dataDir}: ${error.message}`;
  }
}
