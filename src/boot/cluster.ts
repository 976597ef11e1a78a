// The cluster a store is kept in, as the flags say: how it is reached, and the form of what is stored there.
import { readFileSync } from "node:fs";
import type { Scheme } from "../api/scheme.ts";
import type { Config } from "../config/config.ts";
import { parseRanges } from "../kinds/ranges.ts";
import { claimPrefixes } from "../request/commit/serviceallocations.ts";
import type { Opened } from "../storage/encryption/cipher.ts";
import { TransformError, type Transformers } from "../storage/encryption/transformers.ts";
import { type Cluster, type Endpoints, StoreError } from "../storage/store.ts";
import { StoredValues } from "../storage/values/storedvalues.ts";
import type { Content, Values } from "../storage/values.ts";
import { BootFault, mending } from "./fault.ts";

/** The cluster of --etcd-servers, of which there is one at least. Throws BootFault. */
export function clusterOf(config: Config, scheme: Scheme, transformers: Transformers): Cluster {
  const { etcd } = config;
  const { prefix, leaseSharedSeconds, sizePollMs } = etcd;
  return {
    endpoints: endpointsOf(config),
    prefix,
    leaseSharedSeconds,
    sizePollMs,
    values: valuesOf(config, scheme, transformers),
  };
}

/** How the members are reached. Throws BootFault. */
export function endpointsOf({ etcd }: Config): Endpoints {
  return {
    urls: etcd.servers,
    authority: fileOf("--etcd-cafile", etcd.caFile),
    certificate: fileOf("--etcd-certfile", etcd.certFile),
    key: fileOf("--etcd-keyfile", etcd.keyFile),
  };
}

function fileOf(flag: string, path: string): Buffer | undefined {
  return path === "" ? undefined : mending(`cannot read ${flag} ${path}`, () => readFileSync(path));
}

function valuesOf(config: Config, scheme: Scheme, transformers: Transformers): Values {
  const stored = new StoredValues({
    scheme,
    mediaType: config.etcd.mediaType,
    claims: Object.values(claimPrefixes),
    cluster: { family: familyOf(config) },
  });
  const events = eventPrefixes(scheme);
  const ttlSeconds = Math.ceil(config.eventTtlMs / 1000);
  return {
    generation: () => transformers.generation,
    prefixOf: (key) => stored.placeOf(key),
    toStored: (change, storedKey) => notYet(() => transformers.seal(change.prefix, storedKey, stored.encode(change))),
    toContent: (prefix, key, storedKey, value, revision) => {
      const content = ({ bytes, stale }: Opened): Content => stored.decode(prefix, key, bytes, revision, stale);
      const opened = notYet(() => transformers.open(prefix, storedKey, value));
      return opened instanceof Promise ? opened.then(content) : content(opened);
    },
    ttlSecondsOf: (prefix) => (events.has(prefix) ? ttlSeconds : 0),
  };
}

/** What cannot be encrypted or decrypted now may be later: with a key of another file, or a plugin that answers. */
function notYet<T>(work: () => T | Promise<T>): T | Promise<T> {
  const later = (error: unknown): never => {
    throw error instanceof TransformError ? new StoreError("unavailable", error.message, error) : error;
  };
  try {
    const done = work();
    return done instanceof Promise ? done.catch(later) : done;
  } catch (error) {
    return later(error);
  }
}

/** Address family of services that name none. */
function familyOf({ serviceAddressRanges, servicePortRange }: Config): "IPv4" | "IPv6" {
  const ranges = parseRanges(serviceAddressRanges, servicePortRange);
  if (typeof ranges === "string") throw new BootFault(ranges);
  return ranges.addresses[0]?.family ?? "IPv4";
}

function eventPrefixes(scheme: Scheme): ReadonlySet<string> {
  const prefix = scheme.find("", "v1", "events")?.stored?.prefix;
  return new Set(prefix === undefined ? [] : [prefix]);
}
