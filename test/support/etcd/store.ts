// Stores of the engine on an etcd of a test: objects are what the test makes them, and stored with what a record has beside.

import { systemClock } from "../../../src/base/clock.ts";
import { openEtcd } from "../../../src/storage/etcd/store.ts";
import type { Change, Record, Store } from "../../../src/storage/store.ts";
import type { Values } from "../../../src/storage/values.ts";

/** Values as they are, with the selection and the place of the version before them. */
export const plainValues: Values = {
  generation: () => 0,
  prefixOf: (key) => /^\/registry\/(?:configmaps|events|namespaces)(?=\/)/.exec(key)?.[0],
  toStored: ({ selection, body, versionAt }: Change) => {
    const head = Buffer.alloc(8);
    head.writeUInt32LE(selection.length, 0);
    head.writeUInt32LE(versionAt, 4);
    return Buffer.concat([head, selection, body]);
  },
  toContent: (_prefix, _key, _storedKey, value, revision) => {
    const bytes = Buffer.from(value);
    const bodyAt = 8 + bytes.readUInt32LE(0);
    const versionAt = bytes.readUInt32LE(4);
    const body = bytes.subarray(bodyAt);
    return {
      selection: bytes.subarray(8, bodyAt),
      versionAt,
      body: Buffer.concat([body.subarray(0, versionAt), Buffer.from(String(revision)), body.subarray(versionAt)]),
    };
  },
  ttlSecondsOf: () => 0,
};

/** What a test opens a store with. */
export interface StoreOptions {
  readonly urls: readonly string[];
  readonly values?: Values;
  readonly atOnce?: boolean;
  /** See Cluster. */
  readonly beatMs?: number;
  /** Default: a failure of the store fails the test. */
  readonly fail?: (error: Error) => void;
}

/** Opens a store below /registry. */
export function openOn({ urls, values = plainValues, atOnce = false, beatMs, fail }: StoreOptions): Promise<Store> {
  const cluster = {
    endpoints: { urls },
    prefix: "/registry",
    values,
    leaseSharedSeconds: 60,
    sizePollMs: 0,
    atOnce,
    ...(beatMs === undefined ? {} : { beatMs }),
  };
  return openEtcd({ cluster, identity: "orch", clock: systemClock, ...(fail === undefined ? {} : { fail }) });
}

/** Watches from now on; the records grow as they come. */
export async function recordsOf(store: Store): Promise<Record[]> {
  const records: Record[] = [];
  await store.watch(store.revision, (some) => records.push(...some));
  return records;
}
