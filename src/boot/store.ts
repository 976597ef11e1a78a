// The body of the store thread: it opens the durable log, fills the shared logs from it, and serves the fronts' ports.

import { join } from "node:path";
import type { MessagePort } from "node:worker_threads";
import { identities } from "../api/identity.ts";
import { createScheme, type Scheme } from "../api/scheme.ts";
import { systemClock } from "../base/clock.ts";
import { Selections } from "../cache/shared/selectionof.ts";
import { LogWriter } from "../cache/writer/writer.ts";
import type { Config } from "../config/config.ts";
import { limits } from "../config/limits.ts";
import { definitionsKind, prefixOfDefinition } from "../kinds/custom/prefix.ts";
import { Registry } from "../observe/metrics.ts";
import { claimPrefixes } from "../request/commit/serviceallocations.ts";
import { UnclaimedAddresses } from "../request/commit/unclaimed.ts";
import { type ServeOptions, type StoreLoop, serveStore } from "../storage/serve.ts";
import { type Store, StoreError } from "../storage/store.ts";
import { engineOf } from "../storage/table.ts";
import { clusterOf } from "./cluster.ts";
import { countStore } from "./count.ts";
import { reasonOf } from "./fault.ts";
import type { FromStore, StoreData, ToStore } from "./messages.ts";

/** Runs the store on this thread. */
export async function startStore(data: StoreData, main: MessagePort): Promise<void> {
  const tell = (message: FromStore): void => main.postMessage(message);
  let thread: StoreLogs;
  try {
    thread = await openLogs(data);
  } catch (error) {
    tell({ kind: "failed", message: describe(data, error) });
    main.close();
    return;
  }
  const { writer, loop, registry } = thread;
  const { isShared } = engineOf(data.config.storageBackend);
  const traits = { isShared, hasPast: thread.store.listAt !== undefined };
  tell({ kind: "opened", revision: thread.store.revision, control: writer.control, traits });
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
interface StoreLogs {
  readonly store: Store;
  readonly writer: LogWriter;
  readonly loop: StoreLoop;
  readonly registry: Registry;
  stop(): Promise<void>;
}

async function openLogs(data: StoreData): Promise<StoreLogs> {
  const { identity, runtimeConfig, gates, release } = data.config;
  const scheme = createScheme({ identity: identities[identity], runtimeConfig, gates, release });
  const { store, writer, after } = await load(data, scheme, false);
  keepDefined(scheme, writer);
  writer.start();
  const registry = new Registry();
  const observe = countStore(registry, { store, writer, queued: () => loop.queued, scheme });
  const loop = await serveStore({
    store,
    after,
    traits: engineOf(data.config.storageBackend),
    publish: (records, revision) => writer.accept(records, revision),
    observe,
    prefixes: writer,
    ...compactionOf(data.config),
  });
  const stop = async (): Promise<void> => {
    writer.stop();
    await loop.stop();
  };
  return { store, writer, loop, registry, stop };
}

/** Logs that exist from the start: one for each kind that is served, so that fronts need not wait for a first change. */
function prefixesOf(scheme: Scheme): string[] {
  const kinds = scheme.resources.flatMap(({ prefix }) => (prefix === undefined ? [] : [prefix]));
  return [...new Set([...kinds, ...Object.values(claimPrefixes)])];
}

/**
 * Logs of custom resources, before any front can answer: each definition has one, and what history brought back of kinds
 * that are gone has none. Later the controller of definitions registers them and gives them up.
 */
function keepDefined(scheme: Scheme, writer: LogWriter): void {
  const [group, version, resource] = definitionsKind;
  const definitions = scheme.find(scheme.identity.spell(group), version, resource);
  const { prefix } = definitions?.stored ?? {};
  const names = prefix === undefined ? [] : writer.keysOf(prefix).map((key) => key.slice(prefix.length + 1));
  const defined = new Set(names.map((name) => prefixOfDefinition(name)));
  writer.giveUpEmpty((each) => defined.has(each));
  for (const each of defined) writer.register(each);
}

/** On etcd the interval of upstream's flag is both how old what is compacted is, and how often that is looked for. */
function compactionOf({ etcd }: Config): Partial<ServeOptions> {
  return etcd.servers.length === 0 ? {} : { historyMs: etcd.compactionMs, compactionMs: etcd.compactionMs };
}

/** A store that is open, and the logs filled from it. */
interface Loaded {
  readonly store: Store;
  readonly writer: LogWriter;
  /** Newest revision in the logs. */
  readonly after: number;
}

/** Opens the store and fills logs from it. `atOnce`: as Cluster.atOnce. */
async function load(data: StoreData, scheme: Scheme, atOnce: boolean, attempt = 1): Promise<Loaded> {
  const store = await open(data, scheme, atOnce);
  try {
    const writer = new LogWriter({ prefixes: prefixesOf(scheme) });
    const selections = new Selections(scheme.resources, scheme.identity);
    const services = scheme.find("", "v1", "services")?.stored;
    const unclaimed = services && new UnclaimedAddresses(services);
    const after = await writer.load(store, (record) => {
      unclaimed?.take(record);
      return selections.fresh(record);
    });
    await unclaimed?.claim(store, systemClock.now());
    return { store, writer, after };
  } catch (error) {
    await store.close();
    const isCompacted = error instanceof StoreError && error.kind === "compacted";
    if (!isCompacted || attempt === limits.loadAttemptsMax) throw error;
    return load(data, scheme, true, attempt + 1);
  }
}

function open({ config }: StoreData, scheme: Scheme, atOnce: boolean): Promise<Store> {
  const { dataDir, identity, storageBackend } = config;
  const cluster = clusterOf(config, scheme);
  return engineOf(storageBackend).open({
    path: join(dataDir, "store"),
    identity,
    clock: systemClock,
    firstRevision: limits.firstRevision,
    ...(cluster === undefined ? {} : { cluster: { ...cluster, atOnce } }),
  });
}

/** Where the store is, in the words of the flags. */
function placeOf({ dataDir, etcd }: Config): string {
  return etcd.servers.length === 0 ? dataDir : `etcd (${etcd.servers.join(", ")})`;
}

/** Why the store cannot be opened, in one line. */
function describe(data: StoreData, error: unknown): string {
  const { dataDir } = data.config;
  if (!(error instanceof StoreError)) return `cannot open the store in ${placeOf(data.config)}: ${reasonOf(error)}`;
  switch (error.kind) {
    case "locked":
      return `the data directory ${dataDir} is in use by another server`;
    case "identity":
      if (data.config.etcd.servers.length > 0) return `cannot use etcd: ${error.message}`;
      return `data directory ${dataDir} was created with --identity=${error.holds}; start with that flag, or use another --data-dir`;
    default:
      return `cannot open the store in ${placeOf(data.config)}: ${error.message}`;
  }
}
