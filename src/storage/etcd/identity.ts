// Whose names the objects of a cluster are spelled in. A cluster that upstream's servers write to says nothing of it: its
// names are theirs.
import { StoreError } from "../store.ts";
import type { EtcdClient } from "./client.ts";
import { type Keys, ownPrefix, rangeCall, swapCall } from "./keys.ts";

/** The identity of a cluster that does not name one. */
const unnamed = "kubernetes";

/** A key that is none of the engine's own; undefined: there is none. Rejects with CallError. */
export async function foreignKey(client: EtcdClient, keys: Keys, timeoutMs: number): Promise<string | undefined> {
  const own = Buffer.from(keys.stored(ownPrefix));
  // The byte after the slash ends the range.
  const behind = Buffer.from(own);
  behind[behind.length - 1] = 0x30;
  for (const [key, end] of [
    [keys.range.key, own],
    [behind, keys.range.end],
  ] as const) {
    const { kvs } = await client.call(rangeCall({ key, end, limit: 1 }, timeoutMs));
    if (kvs[0] !== undefined) return Buffer.from(kvs[0].key).toString();
  }
  return undefined;
}

/** The identity of a cluster's objects; undefined: there is nothing. Rejects with CallError. */
export async function identityOf(client: EtcdClient, keys: Keys, timeoutMs: number): Promise<string | undefined> {
  const key = Buffer.from(keys.stored(`${ownPrefix}identity`));
  const named = (await client.call(rangeCall({ key }, timeoutMs))).kvs[0];
  if (named !== undefined) return Buffer.from(named.value).toString();
  return (await foreignKey(client, keys, timeoutMs)) === undefined ? undefined : unnamed;
}

/** Checks that a cluster's objects are of an identity, or begins it so. Rejects with StoreError "identity", CallError. */
export async function claimIdentity(
  client: EtcdClient,
  keys: Keys,
  identity: string,
  timeoutMs: number,
): Promise<void> {
  const key = Buffer.from(keys.stored(`${ownPrefix}identity`));
  const found = await identityOf(client, keys, timeoutMs);
  const holds = found ?? identity;
  if (holds === identity && (found !== undefined || identity === unnamed)) return;
  if (holds === identity) {
    const swap = { key, expected: { modRevision: 0 }, value: Buffer.from(identity) };
    const { succeeded, found } = await client.call(swapCall(swap, timeoutMs));
    // Two servers may begin at once.
    if (succeeded || Buffer.from(found[0]?.value ?? []).toString() === identity) return;
  }
  const what = `The objects below ${Buffer.from(keys.range.key).toString()} in etcd are spelled in --identity=${holds}, not ${identity}`;
  throw Object.assign(new StoreError("identity", what), { holds });
}
