// A cluster that objects of another store are moved to. Versions that clients know of that store must not mean anything
// here: etcd's revision is raised above all of them before the first object is written, and history below the last one is
// compacted, so that they are 410 or 409. Until all is done a key of ours says so, and servers do not start.
//
//   begin: nothing there, or what a move left ──► mark ──► revision raised ──► objects ──► end: compacted, mark deleted
import type { Progress } from "../../base/progress.ts";
import { limits } from "../../config/limits.ts";
import { type Cluster, StoreError } from "../store.ts";
import { CallError, EtcdClient } from "./client.ts";
import { claimIdentity, foreignKey, identityOf } from "./identity.ts";
import { compactionCall, Keys, ownPrefix, rangeCall, swapCall } from "./keys.ts";
import type { KeyValue, RangeAnswer, TxnAnswer } from "./messages.ts";

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
  /** Revision of the mark: that of another move has another one. */
  #mark = 0;

  constructor(cluster: Cluster) {
    this.#client = new EtcdClient(cluster.endpoints);
    this.#keys = new Keys(cluster.prefix);
  }

  /**
   * Makes the cluster ready for the objects of a store whose newest version is `above`. Rejects with StoreError "full" when
   * there is something else in it, or its revision is too far below; with "unavailable" when something else writes to it.
   */
  async begin(identity: string, above: number, progress: Progress): Promise<void> {
    const { etcdOpenMs: timeoutMs } = limits;
    const left = await this.#find(markName);
    const other = await foreignKey(this.#client, this.#keys, timeoutMs);
    if (left === undefined && other !== undefined) {
      throw new StoreError("full", `There are objects below --etcd-prefix already, as ${other}: name another prefix`);
    }
    const { header } = await this.#page(1);
    const steps = above - header.revision;
    if (steps > limits.etcdRaiseMax) {
      const what = `Its revision is ${header.revision}, and must be above ${above}, the newest version of what is moved`;
      const how = `restore a snapshot of an empty etcd with «etcdutl snapshot restore --bump-revision ${steps} --mark-compacted»`;
      throw new StoreError("full", `${what}: ${how}`);
    }
    // From here on a move that left the mark, and is still under way, does not come to its end.
    const mark = await this.#swap(markName, left?.modRevision ?? 0, Buffer.from(String(Date.now())));
    if (!mark.succeeded) throw new StoreError("unavailable", "Another move to this cluster begins");
    this.#mark = mark.header.revision;
    if (left !== undefined) await this.#clear(progress);
    await claimIdentity(this.#client, this.#keys, identity, timeoutMs);
    await this.#raise(above, progress);
  }

  /** All objects are there. Rejects with StoreError "unavailable" when another move began meanwhile. */
  async end(): Promise<void> {
    const { header } = await this.#page(1);
    try {
      await this.#client.call(compactionCall(header.revision, limits.etcdPageMs));
    } catch (error) {
      // Another program did, just now.
      if (!(error instanceof CallError) || error.fault !== "compacted") throw error;
    }
    const { succeeded } = await this.#swap(markName, this.#mark, undefined);
    if (!succeeded)
      throw new StoreError("unavailable", "Another move to this cluster began: repeat this one when that has ended");
  }

  close(): void {
    this.#client.close();
  }

  /** Removes what a move that was cut off has left, all but the mark. */
  async #clear(progress: Progress): Promise<void> {
    const mark = this.#keys.stored(markName);
    for (let done = 0; ; ) {
      const { kvs } = await this.#page(pageKeys);
      const others = kvs.filter(({ key }) => Buffer.from(key).toString() !== mark);
      if (others.length === 0) return;
      await Promise.all(
        others.map(({ key, modRevision }) =>
          this.#client.call(swapCall({ key, expected: { modRevision }, value: undefined }, limits.etcdWriteMs)),
        ),
      );
      done += others.length;
      progress.tell("objects of a move that was cut off removed", done);
    }
  }

  /** Writes until the revision is above another one. */
  async #raise(above: number, progress: Progress): Promise<void> {
    const total = Math.max(0, above - (await this.#page(1)).header.revision);
    let asked = 0;
    const writer = async (at: number): Promise<void> => {
      // Each writes a key of its own: they do not wait for each other.
      const name = `${stepName}/${at}`;
      let revision = 0;
      while (asked < total) {
        asked += 1;
        const { header, succeeded } = await this.#swap(name, revision, Buffer.alloc(0));
        if (!succeeded) throw new StoreError("unavailable", "Something else writes to this cluster");
        revision = header.revision;
        progress.tell("revisions raised", asked, total);
      }
      if (revision > 0) await this.#swap(name, revision, undefined);
    };
    await Promise.all(Array.from({ length: limits.etcdRaisesAtOnce }, (_, at) => writer(at)));
  }

  #page(limit: number): Promise<RangeAnswer> {
    return this.#client.call(rangeCall({ ...this.#keys.range, limit }, limits.etcdPageMs));
  }

  async #find(name: string): Promise<KeyValue | undefined> {
    return (await this.#client.call(rangeCall({ key: this.#storedKey(name) }, limits.etcdOpenMs))).kvs[0];
  }

  /** Writes or deletes (undefined) a key that is at a revision. */
  #swap(name: string, modRevision: number, value: Uint8Array | undefined): Promise<TxnAnswer> {
    const swap = { key: this.#storedKey(name), expected: { modRevision }, value };
    return this.#client.call(swapCall(swap, limits.etcdWriteMs));
  }

  #storedKey(name: string): Buffer {
    return Buffer.from(this.#keys.stored(name));
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
