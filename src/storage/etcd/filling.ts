// A cluster that objects of another store are moved to. Versions that clients know of that store must not mean anything
// here: etcd's revision is raised above all of them before the first object is written, and history below the last one is
// compacted, so that they are 410 or 409. Until all is done a key of ours says so, and servers do not start.
//
//   begin: nothing there, or what a move left ──► mark ──► revision raised ──► objects ──► end: compacted, mark deleted
import type { Progress } from "../../base/progress.ts";
import { limits } from "../../config/limits.ts";
import { type Cluster, StoreError } from "../store.ts";
import { type Call, EtcdClient } from "./client.ts";
import { claimIdentity, identityOf } from "./identity.ts";
import { compactionCall, Keys, ownPrefix, rangeCall, swapCall } from "./keys.ts";
import type { KeyValue, TxnAnswer } from "./messages.ts";

const markName = `${ownPrefix}filling`;
/** Written again and again: each write is a revision. */
const stepName = `${ownPrefix}step`;
/** Keys that are deleted at once. */
const pageKeys = 1000;

/** The format of what is stored that this release reads and writes. A later one says so by a key, before it writes. */
const formatKnown = 1;
const formatName = `${ownPrefix}format`;

/**
 * Rejects with StoreError "corrupt" where a server must not start on a cluster: a move into it has not ended, or a later
 * release writes to it what this one would take for something else. Else with CallError.
 */
export async function checkUsable(client: EtcdClient, keys: Keys, timeoutMs: number): Promise<void> {
  const [mark, format] = await Promise.all(
    [markName, formatName].map((name) => readKey(client, keys, name, timeoutMs)),
  );
  if (mark !== undefined) {
    throw new StoreError("corrupt", "Objects of another store are being moved to this one, or such a move was cut off");
  }
  const found = format === undefined ? formatKnown : Number(Buffer.from(format).toString());
  if (!(found <= formatKnown)) {
    throw new StoreError(
      "corrupt",
      `The data have format ${found}, and this release reads ${formatKnown}: start a later one`,
    );
  }
}

/** The identity of what is in a cluster; undefined: there is nothing. Rejects with CallError. */
export async function identityAt({
  endpoints,
  prefix,
}: Pick<Cluster, "endpoints" | "prefix">): Promise<string | undefined> {
  const client = new EtcdClient(endpoints);
  try {
    return await identityOf(client, new Keys(prefix), limits.etcdOpenMs);
  } finally {
    client.close();
  }
}

/** A cluster between begin and end. */
export class Filling {
  readonly #client: EtcdClient;
  readonly #keys: Keys;

  constructor(cluster: Cluster) {
    this.#client = new EtcdClient(cluster.endpoints);
    this.#keys = new Keys(cluster.prefix);
  }

  /**
   * Makes the cluster ready for the objects of a store whose newest version is `above`. Rejects with StoreError "full" when
   * there is something else in it, or its revision is too far below.
   */
  async begin(identity: string, above: number, progress: Progress): Promise<void> {
    const { etcdOpenMs: timeoutMs } = limits;
    const mark = await readKey(this.#client, this.#keys, markName, timeoutMs);
    const first = await this.#page(2);
    const other = first.kvs.find(({ key }) => this.#keys.own(key)?.startsWith(ownPrefix) !== true);
    if (mark === undefined && other !== undefined) {
      const key = Buffer.from(other.key).toString();
      throw new StoreError("full", `There are objects below --etcd-prefix already, as ${key}: name another prefix`);
    }
    const steps = above - first.header.revision;
    if (steps > limits.etcdRaiseMax) {
      const what = `Its revision is ${first.header.revision}, and must be above ${above}, the newest version of what is moved`;
      const how = `restore a snapshot of an empty etcd with «etcdutl snapshot restore --bump-revision ${steps} --mark-compacted»`;
      throw new StoreError("full", `${what}: ${how}`);
    }
    await this.#clear(progress);
    await claimIdentity(this.#client, this.#keys, identity, timeoutMs);
    await this.#put(markName);
    await this.#raise(above, progress);
  }

  /** All objects are there. */
  async end(): Promise<void> {
    await this.#delete(stepName);
    const { header } = await this.#page(1);
    await this.#client.call(compactionCall(header.revision, limits.etcdPageMs));
    await this.#delete(markName);
  }

  close(): void {
    this.#client.close();
  }

  /** Removes what a move that was cut off has left; its mark goes last. */
  async #clear(progress: Progress): Promise<void> {
    let done = 0;
    for (;;) {
      const { kvs } = await this.#page(pageKeys);
      const mark = this.#keys.stored(markName);
      const others = kvs.filter(({ key }) => Buffer.from(key).toString() !== mark);
      await Promise.all(others.map((kv) => this.#deleteAt(kv)));
      done += others.length;
      if (done > 0) progress.tell("objects of a move that was cut off removed", done);
      if (others.length === 0) return this.#delete(markName);
    }
  }

  /** Writes until the revision is above another one. */
  async #raise(above: number, progress: Progress): Promise<void> {
    const first = (await this.#page(1)).header.revision;
    const total = Math.max(0, above - first);
    let asked = 0;
    const writer = async (at: number): Promise<void> => {
      // Each writes a key of its own: they do not wait for each other.
      const key = Buffer.from(this.#keys.stored(`${stepName}/${at}`));
      let modRevision = 0;
      while (asked < total) {
        asked += 1;
        const swap = { key, expected: { modRevision }, value: Buffer.alloc(0) };
        const { header, succeeded } = await this.#client.call(swapCall(swap, limits.etcdWriteMs));
        if (!succeeded) throw new StoreError("unavailable", "Something else writes to this cluster");
        modRevision = header.revision;
        progress.tell("revisions raised", asked, total);
      }
      if (modRevision > 0)
        await this.#client.call(swapCall({ key, expected: { modRevision }, value: undefined }, limits.etcdWriteMs));
    };
    await Promise.all(Array.from({ length: limits.etcdRaisesAtOnce }, (_, at) => writer(at)));
  }

  #page(limit: number) {
    return this.#client.call(rangeCall({ ...this.#keys.range, limit }, limits.etcdPageMs));
  }

  async #put(name: string): Promise<void> {
    const key = Buffer.from(this.#keys.stored(name));
    const { succeeded } = await this.#swap({ key, expected: { modRevision: 0 }, value: Buffer.alloc(0) });
    if (!succeeded) throw new StoreError("unavailable", "Something else moves objects to this cluster");
  }

  async #delete(name: string): Promise<void> {
    const key = Buffer.from(this.#keys.stored(name));
    const [found] = (await this.#client.call(rangeCall({ key }, limits.etcdOpenMs))).kvs;
    if (found !== undefined) await this.#deleteAt(found);
  }

  async #deleteAt({ key, modRevision }: KeyValue): Promise<void> {
    await this.#swap({ key, expected: { modRevision }, value: undefined });
  }

  #swap(swap: Parameters<typeof swapCall>[0]): Promise<TxnAnswer> {
    const call: Call<TxnAnswer> = swapCall(swap, limits.etcdWriteMs);
    return this.#client.call(call);
  }
}

async function readKey(
  client: EtcdClient,
  keys: Keys,
  name: string,
  timeoutMs: number,
): Promise<Uint8Array | undefined> {
  const { kvs } = await client.call(rangeCall({ key: Buffer.from(keys.stored(name)) }, timeoutMs));
  return kvs[0]?.value;
}
