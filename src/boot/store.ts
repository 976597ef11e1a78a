// The body of the store thread: it opens the durable log, fills the shared logs from it, and serves the fronts' ports.

import type { MessagePort } from "node:worker_threads";
import type { Scheme } from "../api/scheme.ts";
import { systemClock } from "../base/clock.ts";
import { type Forms, Selections } from "../cache/shared/selections.ts";
import { LogWriter } from "../cache/writer/writer.ts";
import type { Config } from "../config/config.ts";
import { limits } from "../config/limits.ts";
import { definitionsKind, prefixOfDefinition } from "../kinds/custom/prefix.ts";
import { createLog, type Logger } from "../observe/log.ts";
import { Registry } from "../observe/metrics.ts";
import type { Tracer } from "../observe/spans.ts";
import { nameThread } from "../observe/threads.ts";
import { claimPrefixes } from "../request/commit/serviceallocations.ts";
import { UnclaimedAddresses } from "../request/commit/unclaimed.ts";
import { KmsHealth } from "../storage/encryption/kmsprobe.ts";
import { TransformError, type Transformers } from "../storage/encryption/transformers.ts";
import { type ServeOptions, type StoreLoop, serveStore } from "../storage/serve.ts";
import { type Store, StoreError, type Take } from "../storage/store.ts";
import { engineOf } from "../storage/table.ts";
import { profiled } from "./console/profiled.ts";
import { countStore } from "./count.ts";
import { reasonOf } from "./fault.ts";
import type { FromStore, StoreData, ToStore } from "./messages.ts";
import { openStore, openTransformers } from "./openstore.ts";
import { schemeOf } from "./scheme.ts";
import { openTracer } from "./tracing/tracing.ts";

/** Runs the store on this thread. */
export async function startStore(data: StoreData, main: MessagePort): Promise<void> {
  const tell = (message: FromStore): void => main.postMessage(message);
  nameThread("store");
  let thread: StoreLogs;
  try {
    thread = await openLogs(data, tell);
  } catch (error) {
    tell({ kind: "failed", message: describe(data, error) });
    main.close();
    return;
  }
  const { tracer } = thread;
  const { store, writer, loop, registry, transformers } = thread;
  const { isShared, overlap } = engineOf(data.config.storageBackend);
  const traits = { isShared, hasPast: store.listAt !== undefined, overlap };
  tell({ kind: "opened", control: writer.control, traits });
  main.on("message", (message: ToStore) => {
    switch (message.kind) {
      case "front":
        writer.connect(message.logPort);
        loop.add(message.storePort);
        return;
      case "collect":
        tell({ kind: "collected", id: message.id, families: registry.snapshot() });
        return;
      case "profile":
        void profiled(message).then(tell);
        return;
      case "spansTaken":
        tracer?.taken();
        return;
      case "encrypt":
        void transformers.reload(message.config).then((fault) => tell({ kind: "encrypts", fault }));
        return;
      case "close":
        void thread.stop().then(() => {
          tracer?.close();
          main.close();
        });
        return;
    }
  });
}

/** The durable log and the shared logs behind one loop. */
interface StoreLogs {
  readonly store: Store;
  readonly writer: LogWriter;
  readonly transformers: Transformers;
  readonly loop: StoreLoop;
  readonly registry: Registry;
  /** Undefined: nothing is traced. */
  readonly tracer: Tracer | undefined;
  stop(): Promise<void>;
}

async function openLogs(data: StoreData, tell: (message: FromStore) => void): Promise<StoreLogs> {
  const registry = new Registry();
  const scheme = schemeOf(data.config);
  const log = createLog(data.config.logLevel, "store", data.config.logFormat);
  const transformers = await followTransformers(data, scheme, registry, log);
  const { store, writer, after } = await load(data, scheme, transformers, log);
  transformers.onOutdated((isOutdated) => writer.outdate(isOutdated, store.revision));
  keepDefined(scheme, writer);
  writer.start();
  const observe = countStore(registry, { store, writer, queued: () => loop.queued, scheme });
  const tracer = openTracer(data.config, "store", registry, tell);
  const loop = await serveStore({
    store,
    after,
    traits: engineOf(data.config.storageBackend),
    publish: (records, revision) => writer.accept(records, revision),
    last: (prefix, key) => writer.last(prefix, key),
    observe,
    prefixes: writer,
    tracer,
    ...compactionOf(data.config),
  });
  const stop = async (): Promise<void> => {
    writer.stop();
    await loop.stop();
    transformers.close();
  };
  return { store, writer, transformers, loop, registry, tracer, stop };
}

/** What encrypts, and whether KMS plugins work, for the fronts to know. */
async function followTransformers(
  data: StoreData,
  scheme: Scheme,
  registry: Registry,
  log: Logger,
): Promise<Transformers> {
  const { config, health } = data.encryption ?? {};
  const transformers = await openTransformers(config, scheme, registry);
  const words = new KmsHealth(health?.memory ?? KmsHealth.memory(0));
  const publish = (): void => {
    const { failing } = transformers;
    // One check for all of them, or one for each.
    const checks = data.config.encryption.reloads ? [failing.includes(true)] : failing;
    for (const [check, fails] of checks.entries()) words.set(check, !fails);
  };
  transformers.onHealth = (news) => {
    // First: who is told by a check to look into the log finds it there.
    if (news !== undefined) log.error({ fault: news }, "A KMS plugin fails");
    publish();
  };
  publish();
  return transformers;
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

/** The longest time of a timer: as good as never. */
const timerMsMax = 2 ** 31 - 1;

/** On etcd the interval of upstream's flag is both how old what is compacted is, and how often that is looked for. */
function compactionOf({ etcd }: Config): Partial<ServeOptions> {
  if (etcd.servers.length === 0) return {};
  return { historyMs: etcd.compactionMs, compactionMs: etcd.compactionMs === 0 ? timerMsMax : etcd.compactionMs };
}

/** A store that is open, and the logs filled from it. */
interface Loaded {
  readonly store: Store;
  readonly writer: LogWriter;
  /** Newest revision in the logs. */
  readonly after: number;
}

/** Opens the store and fills logs from it; once more where history that was to be read is gone. */
async function load(data: StoreData, scheme: Scheme, transformers: Transformers, log: Logger): Promise<Loaded> {
  for (let attempt = 1; ; attempt += 1) {
    const store = await openStore(data.config, scheme, transformers, { atOnce: attempt > 1 });
    try {
      return { store, ...(await fill(store, scheme, data.forms)) };
    } catch (error) {
      await store.close();
      const isCompacted = error instanceof StoreError && error.kind === "compacted";
      if (!isCompacted || attempt === limits.loadAttemptsMax) throw error;
      log.warn({ reason: error.message }, "History was dropped: watches begin anew");
    }
  }
}

/** Fills the shared logs from the durable one. */
async function fill(store: Store, scheme: Scheme, forms: Forms): Promise<Omit<Loaded, "store">> {
  const writer = new LogWriter({ prefixes: prefixesOf(scheme) });
  const selections = new Selections(forms, async () => {
    const { deriving } = await import("../cache/shared/selectionof.ts");
    return deriving(scheme.resources, scheme.identity);
  });
  const services = scheme.find("", "v1", "services")?.stored;
  const unclaimed = services && new UnclaimedAddresses(services);
  const replay = (take: Take): Promise<number> =>
    store.replay(async (records) => {
      for (const record of records) unclaimed?.take(record);
      await take(await selections.fresh(records));
    });
  const after = await writer.load({ floor: store.floor, replay });
  await unclaimed?.claim(store, systemClock.now());
  return { writer, after };
}

/** Where the store is, in the words of the flags. */
function placeOf({ dataDir, etcd }: Config): string {
  return etcd.servers.length === 0 ? dataDir : `etcd (${etcd.servers.join(", ")})`;
}

/** Why the store cannot be opened, in one line. */
function describe(data: StoreData, error: unknown): string {
  const { dataDir } = data.config;
  if (error instanceof TransformError) return `cannot open the store in ${placeOf(data.config)}: ${error.message}`;
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
