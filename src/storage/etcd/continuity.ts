// Whether a watch that is opened again goes on in the history it told before. A cluster that was restored from an older
// snapshot hands out its revisions again. Once other programs have written more than was told here, it has a next revision,
// and nothing in a watch's answers shows that those before it are others. A restore ends every member, and so every
// stream: when one is opened again, the last key that was told must still have been as it was told.
import { limits } from "../../config/limits.ts";
import { CallError, type EtcdClient } from "./client.ts";
import { rangeCall } from "./keys.ts";
import type { KeyValue, WatchedEvent } from "./messages.ts";

/** What is found: `unknown`: no member answers now. */
export type Continuity = "same" | "other" | "unknown";

/** Compares what one watch told with what the cluster has. */
export class ToldHistory {
  readonly #client: EtcdClient;
  /** The last write that was told; undefined: none was yet, or its key was deleted since. */
  #last: KeyValue | undefined;

  constructor(client: EtcdClient) {
    this.#client = client;
  }

  /** Takes what is told, in order. */
  tell(events: readonly WatchedEvent[]): void {
    for (const { deleted, kv } of events) {
      if (!deleted) this.#last = kv;
      else if (this.#last !== undefined && isEqual(this.#last.key, kv.key)) this.#last = undefined;
    }
  }

  /** Asks the cluster, through its leader; all events up to `revision` were told. Without a write to compare: "same". */
  async compare(revision: number): Promise<Continuity> {
    const last = this.#last;
    if (last === undefined) return "same";
    try {
      const { kvs } = await this.#client.call(rangeCall({ key: last.key, revision }, limits.etcdReadMs));
      const [found] = kvs;
      return found !== undefined && isSame(found, last) ? "same" : "other";
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      if (error.fault !== "compacted") return "unknown";
      // etcd has one code for both. What is compacted the watch itself is told.
      return error.message.includes("future revision") ? "other" : "same";
    }
  }
}

/** A lease that one program renews may be at the same revisions in both histories: the value tells. */
function isSame(one: KeyValue, other: KeyValue): boolean {
  return (
    one.modRevision === other.modRevision &&
    one.createRevision === other.createRevision &&
    one.version === other.version &&
    isEqual(one.value, other.value)
  );
}

function isEqual(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0;
}
