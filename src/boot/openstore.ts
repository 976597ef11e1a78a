// Opens a store with all that lies around its engine: the cluster it is kept in, and what encrypts its values.
import { join } from "node:path";
import type { Scheme } from "../api/scheme.ts";
import { systemClock } from "../base/clock.ts";
import type { Config } from "../config/config.ts";
import { limits } from "../config/limits.ts";
import { definedAt } from "../kinds/custom/prefix.ts";
import type { Registry } from "../observe/metrics.ts";
import { prefixLabels } from "../request/watch/watchmetrics.ts";
import type { EncryptionConfig } from "../storage/encryption/configuration.ts";
import { EncryptionMeter } from "../storage/encryption/meter.ts";
import { sealedStore } from "../storage/encryption/sealedstore.ts";
import { Transformers } from "../storage/encryption/transformers.ts";
import type { Cluster, OpenOptions, Store } from "../storage/store.ts";
import { engineOf } from "../storage/table.ts";

/** How a store is opened otherwise than by a server. */
export interface Opening
  extends Pick<Cluster, "atOnce" | "withoutHistory" | "isFilling">,
    Pick<OpenOptions, "firstRevision"> {
  /** Directory of an embedded store. Default: that of the data directory. */
  readonly path?: string;
}

/** The directory of a store within a data directory. */
export function storePath(dataDir: string): string {
  return join(dataDir, "store");
}

/** What encrypts what is stored, as the file says (undefined: there is none). */
export function openTransformers(
  config: EncryptionConfig | undefined,
  scheme: Scheme,
  registry: Registry,
): Promise<Transformers> {
  const names = prefixLabels(scheme);
  const resourceAt = (prefix: string): string | undefined => names.get(prefix)?.resource ?? definedAt(prefix);
  return Transformers.open({ config, resourceAt, meter: new EncryptionMeter(registry) });
}

/** Opens the store that flags name. Rejects as Engine.open(), and with BootFault. */
export async function openStore(
  config: Config,
  scheme: Scheme,
  transformers: Transformers,
  { path = storePath(config.dataDir), firstRevision = limits.firstRevision, ...more }: Opening = {},
): Promise<Store> {
  const { identity, storageBackend } = config;
  // What is stored in a cluster is of upstream's form, which kinds say: an embedded store is opened without them.
  const cluster =
    config.etcd.servers.length === 0
      ? undefined
      : (await import("./cluster.ts")).clusterOf(config, scheme, transformers);
  const store = await engineOf(storageBackend).open({
    path,
    identity,
    clock: systemClock,
    firstRevision,
    ...(cluster === undefined ? {} : { cluster: { ...cluster, ...more } }),
  });
  // What is in a cluster is encrypted as upstream does it, value by value.
  return cluster === undefined ? sealedStore(store, transformers) : store;
}
