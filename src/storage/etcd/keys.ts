// Keys and calls of the engine: keys of records begin with `/registry`, those of the cluster with the prefix it was given.
import type { Call } from "./client.ts";
import {
  compactionRequest,
  type MemberStatus,
  type RangeAnswer,
  type RangeQuestion,
  rangeAnswer,
  rangeRequest,
  type Swap,
  statusAnswer,
  swapAnswer,
  swapRequest,
  type TxnAnswer,
} from "./messages.ts";
import type { KeyRange } from "./watchstream.ts";

/** What keys of records begin with. */
const root = "/registry";

/** Keys of the engine itself: no records. */
export const ownPrefix = `${root}/orch/`;

/** Between the two spellings of keys. */
export class Keys {
  /** All keys of this server. */
  readonly range: KeyRange;
  /** Asked for when the answer's revision is what matters: who may use the range may ask for it. */
  readonly probe: Uint8Array;
  readonly #prefix: string;

  /** `prefix`: with or without slashes around it, as upstream's flag takes it. */
  constructor(prefix: string) {
    const names = prefix.split("/").filter((name) => name !== "");
    this.#prefix = names.map((name) => `/${name}`).join("");
    this.probe = Buffer.from(`${this.#prefix}/orch/identity`);
    // The byte after the slash ends the range.
    this.range = { key: Buffer.from(`${this.#prefix}/`), end: Buffer.from(`${this.#prefix}0`) };
  }

  /** The cluster's spelling of a record's key. */
  stored(key: string): string {
    return this.#prefix + key.slice(root.length);
  }

  /** A record's spelling of one of the cluster's; undefined: the key is no text. */
  own(stored: Uint8Array): string | undefined {
    const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
    const text = bytes.toString();
    if (!text.startsWith(`${this.#prefix}/`)) return undefined;
    // Bytes that are no text become the replacement character.
    if (text.includes("\ufffd") && !Buffer.from(text).equals(bytes)) return undefined;
    return root + text.slice(this.#prefix.length);
  }
}

/** Reads keys, as of now through the leader, or as of a revision. */
export function rangeCall(question: RangeQuestion, timeoutMs: number): Call<RangeAnswer> {
  return {
    path: "/etcdserverpb.KV/Range",
    request: rangeRequest(question),
    read: rangeAnswer,
    isRead: true,
    timeoutMs,
  };
}

/** Puts or deletes a key if it is as expected. */
export function swapCall(swap: Swap, timeoutMs: number): Call<TxnAnswer> {
  return {
    path: "/etcdserverpb.KV/Txn",
    request: swapRequest(swap),
    read: swapAnswer,
    isRead: false,
    timeoutMs,
  };
}

/** Compacts what is older than a revision. */
export function compactionCall(revision: number, timeoutMs: number): Call<undefined> {
  return {
    path: "/etcdserverpb.KV/Compact",
    request: compactionRequest(revision),
    read: () => undefined,
    // A second one of the same revision is refused as compacted.
    isRead: true,
    timeoutMs,
  };
}

/** Asks the active member about itself. */
export function statusCall(timeoutMs: number): Call<MemberStatus> {
  return {
    path: "/etcdserverpb.Maintenance/Status",
    request: new Uint8Array(0),
    read: statusAnswer,
    isRead: true,
    timeoutMs,
  };
}
