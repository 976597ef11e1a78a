// Compaction of a cluster that several servers share: one of them does it in each interval. They agree by the number of
// writes of one key, which upstream's servers use in the same way, so that both kinds may run beside each other.
import type { EtcdClient } from "./client.ts";
import { CallError } from "./client.ts";
import { compactionCall, rangeCall, swapCall } from "./keys.ts";

/** The key upstream's servers agree by; its value is the revision compacted last. */
const compactKey = Buffer.from("compact_rev_key");

/** The compactor of one server. */
export class Compactor {
  readonly #client: EtcdClient;
  readonly #timeoutMs: number;
  /** Writes of the key, as last seen. */
  #version: number;

  private constructor(client: EtcdClient, timeoutMs: number, version: number) {
    this.#client = client;
    this.#timeoutMs = timeoutMs;
    this.#version = version;
  }

  /** Looks where compaction is. Rejects with CallError. */
  static async open(client: EtcdClient, timeoutMs: number): Promise<Compactor> {
    try {
      const { kvs } = await client.call(rangeCall({ key: compactKey }, timeoutMs));
      return new Compactor(client, timeoutMs, kvs[0]?.version ?? 0);
    } catch (error) {
      // A user that may use the server's keys alone compacts nothing: each attempt is refused, and another one does it.
      if (!(error instanceof CallError) || error.fault !== "refused") throw error;
      return new Compactor(client, timeoutMs, 0);
    }
  }

  /**
   * Compacts up to a revision, unless another server has compacted since the last call. Resolves with the newest
   * revision compacted, as far as it is known. Rejects with CallError.
   */
  async compact(revision: number): Promise<number> {
    const swap = { key: compactKey, expected: { version: this.#version }, value: Buffer.from(String(revision)) };
    const { succeeded, found } = await this.#client.call(swapCall(swap, this.#timeoutMs));
    if (!succeeded) {
      const other = found[0];
      this.#version = other?.version ?? 0;
      return Number.parseInt(Buffer.from(other?.value ?? []).toString(), 10) || 0;
    }
    this.#version += 1;
    try {
      await this.#client.call(compactionCall(revision, this.#timeoutMs));
    } catch (error) {
      // Another program has compacted further, or an operator.
      if (!(error instanceof CallError) || error.fault !== "compacted") throw error;
    }
    return revision;
  }
}
