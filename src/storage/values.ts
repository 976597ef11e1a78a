// What an engine that stores values of others needs to know of them: their form is left to those who open it.
import type { Change } from "./store.ts";

/** What a value is to its record. */
export interface Content {
  readonly selection: Uint8Array;
  /** The object's JSON with the revision's digits at `versionAt`. */
  readonly body: Uint8Array;
  readonly versionAt: number;
  /** It would be stored otherwise now: the object's next write is stored even without a change. */
  readonly isStale?: true;
}

/** The form of what is stored: encoding and encryption. */
export interface Values {
  /** Grows when what was encrypted before is outdated. */
  generation(): number;
  /** The prefix of the kind a key belongs to (both as records spell them); undefined: it is none of a record. */
  prefixOf(key: string): string | undefined;
  /**
   * The bytes to store for a change that is no delete, at the key as the cluster has it. Throws or rejects with StoreError
   * "unavailable" where they must not be stored plain, and cannot be encrypted now.
   */
  toStored(change: Change, storedKey: string): Uint8Array | Promise<Uint8Array>;
  /**
   * The content of stored bytes at a revision. Throws or rejects with StoreError "corrupt" where they are not what their
   * key says, "unavailable" where they can be read later, as when the key they are encrypted with is not known yet.
   */
  toContent(
    prefix: string,
    key: string,
    storedKey: string,
    value: Uint8Array,
    revision: number,
  ): Content | Promise<Content>;
  /** Seconds after its last write at which an object of a kind ends; 0: never. */
  ttlSecondsOf(prefix: string): number;
}

/** The content of a change, at the revision it has become. */
export function contentOf({ selection, body, versionAt }: Change, revision: number): Content {
  const digits = Buffer.from(String(revision), "latin1");
  return { selection, body: Buffer.concat([body.subarray(0, versionAt), digits, body.subarray(versionAt)]), versionAt };
}
