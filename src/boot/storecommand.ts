// `snapshot save|status|restore FILE` and `storage check|migrate`: what an operator does with a store beside the server.
//
//                       an embedded store                          a cluster
//   save                its file is read in one transaction        its state, while no server writes
//   restore, migrate    a new directory, renamed when it is whole  an empty prefix, marked until it is whole
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { identities } from "../api/identity.ts";
import { systemClock } from "../base/clock.ts";
import type { Progress } from "../base/progress.ts";
import { type Config, readConfig } from "../config/config.ts";
import type { FlagValues } from "../config/flag.ts";
import { limits } from "../config/limits.ts";
import { createLog } from "../observe/log.ts";
import { Registry } from "../observe/metrics.ts";
import type { Transformers } from "../storage/encryption/transformers.ts";
import { fillStore, type LiveObject, type LiveObjects, liveObject, liveObjects } from "../storage/liveobjects.ts";
import { decodeLive, encodeLive, type LiveRecord, readState, writeState } from "../storage/lmdb/copy.ts";
import { fileOf, syncDirectory } from "../storage/lmdb/file.ts";
import { checkSnapshot, readSnapshot, type SnapshotStatus, saveSnapshot } from "../storage/snapshotfile.ts";
import { type Cluster, type Store, StoreError } from "../storage/store.ts";
import { clusterOf, endpointsOf } from "./cluster.ts";
import { EncryptionFile } from "./encryptionfile.ts";
import { BootFault, reasonOf } from "./fault.ts";
import { type Opening, openStore, openTransformers, storePath } from "./openstore.ts";
import { schemeOf } from "./scheme.ts";

/** Flags of the commands, beside those of a server. */
export const storeCommandFlags = [
  { name: "from", group: "Commands", type: "string", default: "", help: "The store that is moved: DIR, or URLs." },
  { name: "to", group: "Commands", type: "string", default: "", help: "Where it is moved to: DIR, or URLs." },
] as const;

/** Flags of a server that the commands take. */
export const storeFlagNames: readonly string[] = [
  "data-dir",
  "etcd-servers",
  "etcd-prefix",
  "etcd-cafile",
  "etcd-certfile",
  "etcd-keyfile",
  "storage-media-type",
  "encryption-provider-config",
  "service-cluster-ip-range",
];

const usage = [
  "usage: snapshot save FILE | snapshot status FILE | snapshot restore FILE | storage check   [--data-dir=DIR or --etcd-servers=URLS]",
  "       storage migrate --from=DIR|URLS --to=DIR|URLS",
].join("\n");

/** Revisions a server may have given out after a state was saved: at least so many, and so many a millisecond. */
const laterRevisions = 1_000_000_000;
const laterRevisionsPerMs = 100;
/** The same of a cluster, whose revision is raised write by write: none writes more a second for long. */
const laterOfCluster = 1_000;

/** Runs the command; `words`: the arguments before flags. Resolves with what is printed. Rejects with BootFault. */
export async function runStoreCommand(
  words: readonly string[],
  values: FlagValues,
  progress: Progress,
): Promise<string> {
  const [topic, verb, file, ...more] = words;
  try {
    const config = readConfig(values);
    if (typeof config === "string") throw new BootFault(config);
    const command = new StoreCommand(config, progress);
    if (topic === "storage" && file === undefined) {
      if (verb === "check") return await command.check();
      const [from, to] = [values.get("from") ?? "", values.get("to") ?? ""];
      if (verb === "migrate" && from !== "" && to !== "") return await command.migrate(placeOf(from), placeOf(to));
    }
    if (topic === "snapshot" && file !== undefined && more.length === 0) {
      if (verb === "save") return await command.save(file);
      if (verb === "status") return told(checkSnapshot(file));
      if (verb === "restore") return await command.restore(file);
    }
  } catch (error) {
    if (error instanceof BootFault) throw error;
    throw new BootFault(`${[topic, verb, file].join(" ").trim()}: ${reasonOf(error)}`, { cause: error });
  } finally {
    progress.end();
  }
  throw new BootFault(usage);
}

/** Where a store is, as --from and --to say it. */
interface StorePlace {
  /** URLs of members; none: it is embedded. */
  readonly servers: readonly string[];
  readonly dataDir: string;
}

function placeOf(text: string): StorePlace {
  return /^https?:\/\//.test(text) ? { servers: text.split(","), dataDir: "" } : { servers: [], dataDir: text };
}

/** A store that is open, with what decrypts it. */
interface OpenedStore {
  readonly store: Store;
  readonly transformers: Transformers;
  readonly identity: string;
}

class StoreCommand {
  readonly #config: Config;
  readonly #progress: Progress;

  constructor(config: Config, progress: Progress) {
    this.#config = config;
    this.#progress = progress;
  }

  /** An embedded store is saved beside its running server, whose writes go on. */
  async save(file: string): Promise<string> {
    if (existsSync(file)) throw new BootFault(`${file} is there already: name another file, or remove it`);
    const savedMs = systemClock.now();
    if (this.#config.etcd.servers.length > 0) {
      return this.#reading(this.#config, async ({ store, identity, transformers }) => {
        const objects = await liveObjects(store);
        const head = { identity, revision: objects.revision + objects.count, savedMs };
        const status = await saveSnapshot(file, head, (writer) =>
          objects.each(async (some) => {
            for (const object of some) writer.add(await sealed(transformers, object));
          }),
        );
        return told(status);
      });
    }
    const state = await readState(storeIn(this.#config.dataDir));
    try {
      const { identity, revision } = state;
      const status = await saveSnapshot(file, { identity, revision, savedMs }, (writer) => {
        for (const record of state.records()) writer.add(record);
      });
      return told(status);
    } finally {
      await state.close();
    }
  }

  async restore(file: string): Promise<string> {
    // Before anything is made.
    const status = checkSnapshot(file);
    const sinceMs = Math.max(0, systemClock.now() - status.savedMs);
    const { identity, revision } = status;
    const config = withIdentity(this.#config, identity);
    if (config.etcd.servers.length > 0) {
      const above = revision + Math.ceil((sinceMs * laterOfCluster) / 1000);
      const count = await this.#fill(config, above, (transformers) => eachOf(readSnapshot(file), transformers));
      return `${told(status)}\nrestored to etcd, ${count} objects; ${startOf(config)}`;
    }
    const first = revision + laterRevisions + sinceMs * laterRevisionsPerMs;
    await this.#making(config.dataDir, (draft) => writeState(draft, { identity, revision: first }, readSnapshot(file)));
    const what = `restored to ${storePath(config.dataDir)}: its next change is ${first + 1}`;
    return `${told(status)}\n${what}; ${startOf(config)}`;
  }

  /** Reads everything that is stored, and compares the log with the index. */
  check(): Promise<string> {
    return this.#reading(this.#config, async ({ store, identity }) => {
      let records = 0;
      const revision = await store.replay((some) => void (records += some.length));
      const where = this.#config.etcd.servers.length > 0 ? "etcd" : fileOf(storePath(this.#config.dataDir));
      const size = store.sizeBytes > 0 ? `, ${store.sizeBytes} bytes` : "";
      return `${where}: whole; --identity=${identity}, ${records} records up to revision ${revision}, history above ${store.floor}${size}`;
    });
  }

  /** Moves all objects from one store to another, with new revisions above all that clients know. */
  async migrate(from: StorePlace, to: StorePlace): Promise<string> {
    const [source, target] = [from, to].map((place) => this.#at(place)) as [Config, Config];
    if (from.servers.length > 0 && to.servers.length > 0) {
      throw new BootFault("from one cluster to another etcd's own tools move what is stored, with its history");
    }
    return this.#reading(source, async ({ store, identity }) => {
      const objects = await liveObjects(store);
      const config = withIdentity(target, identity);
      const count = await this.#fill(config, objects.revision, () => objects.each, objects.count);
      return `${count} objects moved, up to revision ${objects.revision}; ${startOf(config)}`;
    });
  }

  /**
   * Creates objects in a new store whose revisions are all above one; `eachBy`: how they are handed out, by what decrypts
   * the new store. Returns their number.
   */
  async #fill(config: Config, above: number, eachBy: EachBy, total?: number): Promise<number> {
    const tellDone = (done: number): void => this.#progress.tell("objects", done, total);
    const { scheme, transformers } = await this.#parts(config);
    const fill = async (opening: Opening): Promise<number> => {
      const store = await openStore(config, scheme, transformers, opening);
      try {
        return await fillStore(store, eachBy(transformers), tellDone);
      } finally {
        await store.close();
      }
    };
    try {
      if (config.etcd.servers.length === 0) {
        const firstRevision = above + 1;
        return await this.#making(config.dataDir, (path) => fill({ path, firstRevision }));
      }
      const cluster = clusterOf(config, scheme, transformers);
      return await this.#filling(config, cluster, above, () => fill({ isFilling: true }));
    } finally {
      transformers.close();
    }
  }

  async #filling<T>(config: Config, cluster: Cluster, above: number, work: () => Promise<T>): Promise<T> {
    const { Filling } = await import("../storage/etcd/filling.ts");
    const filling = new Filling(cluster);
    try {
      await filling.begin(config.identity, above, this.#progress);
      const done = await work();
      await filling.end();
      return done;
    } finally {
      filling.close();
    }
  }

  /** Makes the store of a data directory that has none; what is not whole has another name. */
  async #making<T>(dataDir: string, work: (path: string) => Promise<T>): Promise<T> {
    const path = storePath(dataDir);
    if (existsSync(path)) {
      throw new BootFault(`${dataDir} has a store already: name another directory, or move ${path} away`);
    }
    const draft = join(dataDir, "store.restoring");
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    rmSync(draft, { recursive: true, force: true });
    const made = await work(draft);
    renameSync(draft, path);
    syncDirectory(dataDir);
    return made;
  }

  /** Opens the store that is there, in the identity it has, and closes it again. */
  async #reading<T>(asked: Config, work: (opened: OpenedStore) => Promise<T>): Promise<T> {
    const config = withIdentity(asked, await this.#identityOf(asked));
    const { identity } = config;
    const { scheme, transformers } = await this.#parts(config);
    const store = await openStore(config, scheme, transformers, { withoutHistory: true });
    try {
      return await work({ store, transformers, identity });
    } finally {
      await store.close();
      transformers.close();
    }
  }

  async #identityOf(config: Config): Promise<string> {
    if (config.etcd.servers.length === 0) {
      const state = await readState(storeIn(config.dataDir));
      await state.close();
      return state.identity;
    }
    const { identityAt } = await import("../storage/etcd/filling.ts");
    const identity = await identityAt({ endpoints: endpointsOf(config), prefix: config.etcd.prefix });
    if (identity === undefined) throw new BootFault(`there are no objects below ${config.etcd.prefix} in etcd`);
    return identity;
  }

  async #parts(config: Config) {
    const scheme = schemeOf(config);
    const file = await EncryptionFile.open(config, createLog("warn", "main"));
    return { scheme, transformers: await openTransformers(file?.encryption.config, scheme, new Registry()) };
  }

  #at({ servers, dataDir }: StorePlace): Config {
    const storageBackend = servers.length > 0 ? "etcd3" : "lmdb";
    return { ...this.#config, dataDir, storageBackend, etcd: { ...this.#config.etcd, servers } };
  }
}

/** An object's record, encrypted as the embedded engine keeps it. */
async function sealed(transformers: Transformers, object: LiveObject): Promise<LiveRecord> {
  return encodeLive(object, await transformers.seal(object.prefix, object.key, object.body));
}

type EachBy = (transformers: Transformers) => LiveObjects["each"];

/** Hands out the objects of a snapshot. */
function eachOf(records: Iterable<LiveRecord>, transformers: Transformers): LiveObjects["each"] {
  return async (take) => {
    let some: LiveObject[] = [];
    for (const live of records) {
      const { isSealed, ...record } = decodeLive(live);
      const opened = isSealed === true ? await transformers.open(record.prefix, record.key, record.body) : undefined;
      some.push(opened === undefined ? liveObject(record) : { ...record, body: opened.bytes });
      if (some.length < limits.movedAtOnceMax) continue;
      await take(some);
      some = [];
    }
    await take(some);
  };
}

function storeIn(dataDir: string): string {
  const path = storePath(dataDir);
  if (!existsSync(fileOf(path))) throw new BootFault(`${resolve(dataDir)} has no store: name the server's --data-dir`);
  return path;
}

/** A configuration with the identity that a store has. Throws StoreError "corrupt" for one that this release does not know. */
function withIdentity(config: Config, identity: string): Config {
  if (!Object.hasOwn(identities, identity)) {
    const known = Object.keys(identities).join(", ");
    throw new StoreError("corrupt", `the store has --identity=${identity}, and this release knows ${known}`);
  }
  return { ...config, identity: identity as Config["identity"] };
}

/** How a server is started on a store. */
function startOf({ identity, dataDir, etcd }: Config): string {
  const place = etcd.servers.length > 0 ? `--etcd-servers=${etcd.servers.join(",")}` : `--data-dir=${dataDir}`;
  return `start with --identity=${identity} ${place}`;
}

function told({ identity, revision, savedMs, records, bytes, sum }: SnapshotStatus): string {
  const when = new Date(savedMs).toISOString();
  return `snapshot of ${when}: --identity=${identity}, revision ${revision}, ${records} objects, ${bytes} bytes, sha256 ${sum}`;
}
