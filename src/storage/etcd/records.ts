// Records from what the cluster tells: keys and values of a state, or events of a watch.
import { limits } from "../../config/limits.ts";
import { isPassing, type Patience, startPatience } from "../encryption/patience.ts";
import { changeTypes, type LastOf, type LastRecord, type Record, StoreError } from "../store.ts";
import { type Content, contentOf, type Values } from "../values.ts";
import { type Keys, ownPrefix } from "./keys.ts";
import type { KeyValue, WatchedEvent } from "./messages.ts";
import type { PendingWrites } from "./pending.ts";

/** Time between looks whether a value can be read now, ms. */
const againMs = 1000;

/**
 * How a value that cannot be read now is waited for. A watch that goes on has no other way; a start waits for a KMS plugin
 * that does not answer, as long as one of an embedded store does; a request for the past does not wait.
 */
type Waits = "for ever" | "at a start" | "never";

/** What is known to the side of a watch that goes on. */
export interface LiveWatch {
  /** Writes whose bytes are known. */
  readonly pending: PendingWrites;
  /** What was delivered last of a key. */
  readonly last: LastOf | undefined;
}

/** Reads records of one cluster. */
export class RecordReader {
  readonly #keys: Keys;
  readonly #values: Values;
  readonly #patience: Patience;

  constructor(keys: Keys, values: Values, patience: Patience = startPatience) {
    this.#keys = keys;
    this.#values = values;
    this.#patience = patience;
  }

  /** For a start: the record of a key as it stands at its last write; undefined: the key is none of a record. */
  stateOf(kv: KeyValue): Record | undefined | Promise<Record | undefined> {
    return this.#record({ deleted: false, kv, before: undefined }, "at a start");
  }

  /** The same for a request, which waits for nothing. */
  pastOf(kv: KeyValue): Record | undefined | Promise<Record | undefined> {
    return this.#record({ deleted: false, kv, before: undefined }, "never");
  }

  /** Prefix of the kind a key belongs to; undefined: none. */
  prefixOf({ key }: KeyValue): string | undefined {
    const own = this.#keys.own(key);
    return own === undefined ? undefined : this.#prefix(own);
  }

  #prefix(key: string): string | undefined {
    return key.startsWith(ownPrefix) ? undefined : this.#values.prefixOf(key);
  }

  /** The records of events, in order; keys of no record are left out. `live`: of a watch that goes on, else of a start. */
  read(events: readonly WatchedEvent[], live: LiveWatch | undefined): Record[] | Promise<Record[]> {
    const waits = live === undefined ? "at a start" : "for ever";
    const records: Record[] = [];
    for (const [index, event] of events.entries()) {
      const record = this.#record(event, waits, live, records);
      if (record instanceof Promise) return this.#readRest(records, record, events.slice(index + 1), waits, live);
      if (record !== undefined) records.push(record);
    }
    return records;
  }

  async #readRest(
    records: Record[],
    next: Promise<Record | undefined>,
    events: readonly WatchedEvent[],
    waits: Waits,
    live: LiveWatch | undefined,
  ): Promise<Record[]> {
    const one = await next;
    if (one !== undefined) records.push(one);
    for (const event of events) {
      const record = this.#record(event, waits, live, records);
      const read = record instanceof Promise ? await record : record;
      if (read !== undefined) records.push(read);
    }
    return records;
  }

  /** `told`: the records before it that were not delivered yet. */
  #record(
    event: WatchedEvent,
    waits: Waits,
    live?: LiveWatch,
    told: readonly Record[] = [],
  ): Record | undefined | Promise<Record | undefined> {
    const { deleted, kv, before } = event;
    const key = this.#keys.own(kv.key);
    const prefix = key === undefined ? undefined : this.#prefix(key);
    if (key === undefined || prefix === undefined) return undefined;
    const revision = kv.modRevision;
    const type = deleted ? changeTypes.delete : kv.version === 1 ? changeTypes.create : changeTypes.update;
    // A member that is asked to compact up to now does so also while a watch has yet to be told: what was replaced is gone.
    const last = before === undefined && type !== changeTypes.create ? lastOf(prefix, key, told, live) : undefined;
    const previous = before?.modRevision ?? last?.revision ?? 0;
    const place = { revision, previous, type, prefix, key };
    if (deleted && before === undefined) {
      if (last === undefined)
        throw new StoreError("compacted", `What the delete at revision ${revision} removed is compacted`);
      return { ...place, createRevision: last.createRevision, ...movedTo(last, revision) };
    }
    const from = before !== undefined && deleted ? before : kv;
    const { createRevision } = from;
    const own = deleted ? undefined : live?.pending.match(key, kv.value, previous, revision);
    if (own !== undefined) {
      // The key was exchanged while it was on its way.
      const mark = own.generation === this.#values.generation() ? {} : ({ isStale: true } as const);
      return { ...place, createRevision, ...contentOf(own.change, revision), ...mark };
    }
    const content = this.#content(prefix, key, from.value, revision, waits);
    return content instanceof Promise
      ? content.then((read) => ({ ...place, createRevision, ...read }))
      : { ...place, createRevision, ...content };
  }

  #content(prefix: string, key: string, value: Uint8Array, revision: number, waits: Waits): Content | Promise<Content> {
    const read = (): Content | Promise<Content> =>
      this.#values.toContent(prefix, key, this.#keys.stored(key), value, revision);
    if (waits === "never") return read();
    const isLive = waits === "for ever";
    try {
      const content = read();
      return content instanceof Promise ? content.catch((error: unknown) => this.#later(read, error, isLive)) : content;
    } catch (error) {
      return this.#later(read, error, isLive);
    }
  }

  /** A value that cannot be read yet holds up what comes after it: there is no gap in what is told. */
  async #later(read: () => Content | Promise<Content>, error: unknown, isLive: boolean): Promise<Content> {
    const { clock, waitMsMax } = this.#patience;
    const endMs = clock.monotonic() + waitMsMax;
    let failed = error;
    for (;;) {
      if (!isUnavailable(failed)) throw failed;
      // What comes with keys of another file is not waited for at a start.
      if (!isLive && !(isPassing(failed.cause) && clock.monotonic() < endMs)) throw failed;
      await new Promise((resolve) => setTimeout(resolve, isLive ? againMs : limits.kmsReconnectMsMin));
      try {
        return await read();
      } catch (again) {
        failed = again;
      }
    }
  }
}

/** It may be read later: when a plugin answers, or with keys of another file. */
function isUnavailable(error: unknown): error is StoreError {
  return error instanceof StoreError && error.kind === "unavailable";
}

/** The newest record of a key that lives, as the watch has told it by now. */
function lastOf(
  prefix: string,
  key: string,
  told: readonly Record[],
  live: LiveWatch | undefined,
): LastRecord | undefined {
  const own = told.findLast((record) => record.key === key);
  return own?.type === changeTypes.delete ? undefined : (own ?? live?.last?.(prefix, key));
}

/** What a record holds, with the digits of another revision. */
function movedTo({ revision: former, selection, body, versionAt }: LastRecord, revision: number): Content {
  const digits = Buffer.from(String(revision), "latin1");
  const rest = body.subarray(versionAt + String(former).length);
  return { selection, versionAt, body: Buffer.concat([body.subarray(0, versionAt), digits, rest]) };
}
