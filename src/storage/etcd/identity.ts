// Whose names the objects of a cluster are spelled in. A cluster that upstream's servers write to says nothing of it: its
// names are theirs.
import { StoreError } from "../store.ts";
import type { EtcdClient } from "./client.ts";
import { type Keys, ownPrefix, rangeCall, swapCall } from "./keys.ts";

/** The identity of a cluster that does not name one. */
const unnamed = "kubernetes";

/** Checks that a cluster's objects are of an identity, or begins it so. Rejects with StoreError "identity", CallError. */
export async function claimIdentity(
  client: EtcdClient,
  keys: Keys,
  identity: string,
  timeoutMs: number,
): Promise<void> {
  const key = Buffer.from(keys.stored(`${ownPrefix}identity`));
  const named = (await client.call(rangeCall({ key }, timeoutMs))).kvs[0];
  const any = await client.call(rangeCall({ key: keys.range.key, end: keys.range.end, limit: 1 }, timeoutMs));
  const holds = named !== undefined ? Buffer.from(named.value).toString() : any.kvs.length > 0 ? unnamed : identity;
  if (holds === identity && (named !== undefined || identity === unnamed)) return;
  if (holds === identity) {
    const swap = { key, expected: { modRevision: 0 }, value: Buffer.from(identity) };
    const { succeeded, found } = await client.call(swapCall(swap, timeoutMs));
    // Two servers may begin at once.
    if (succeeded || Buffer.from(found[0]?.value ?? []).toString() === identity) return;
  }
  const what = `The objects below ${Buffer.from(keys.range.key).toString()} in etcd are spelled in --identity=${holds}, not ${identity}`;
  throw Object.assign(new StoreError("identity", what), { holds });
}
