// Records from what the cluster tells: keys and values of a state, or events of a watch.
import { changeTypes, type LastOf, type LastRecord, type Record, StoreError } from "../store.ts";
import { type Content, contentOf, type Values } from "../values.ts";
import { type Keys, ownPrefix } from "./keys.ts";
import type { KeyValue, WatchedEvent } from "./messages.ts";
import type { PendingWrites } from "./pending.ts";

/** Time between looks whether a value can be read now, ms. */
const againMs = 1000;

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

  constructor(keys: Keys, values: Values) {
    this.#keys = keys;
    this.#values = values;
  }

  /** The record of a key as it stands at its last write; undefined: the key is none of a record. */
  stateOf(kv: KeyValue): Record | undefined | Promise<Record | undefined> {
    return this.#record({ deleted: false, kv, before: undefined });
  }

  /** Prefix of the kind a key belongs to; undefined: none. */
  prefixOf({ key }: KeyValue): string | undefined {
    const own = this.#keys.own(key);
    return own === undefined ? undefined : this.#prefix(own);
  }

  #prefix(key: string): string | undefined {
    return key.startsWith(ownPrefix) ? undefined : this.#values.prefixOf(key);
  }

  /** The records of events, in order; keys of no record are left out. `live`: of a watch that goes on. */
  read(events: readonly WatchedEvent[], live: LiveWatch | undefined): Record[] | Promise<Record[]> {
    const records: Record[] = [];
    for (const [index, event] of events.entries()) {
      const record = this.#record(event, live, records);
      if (record instanceof Promise) return this.#readRest(records, record, events.slice(index + 1), live);
      if (record !== undefined) records.push(record);
    }
    return records;
  }

  async #readRest(
    records: Record[],
    next: Promise<Record | undefined>,
    events: readonly WatchedEvent[],
    live: LiveWatch | undefined,
  ): Promise<Record[]> {
    const one = await next;
    if (one !== undefined) records.push(one);
    for (const event of events) {
      const record = this.#record(event, live, records);
      const read = record instanceof Promise ? await record : record;
      if (read !== undefined) records.push(read);
    }
    return records;
  }

  /** `told`: the records before it that were not delivered yet. */
  #record(
    event: WatchedEvent,
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
    const content = this.#content(prefix, key, from.value, revision, live !== undefined);
    return content instanceof Promise
      ? content.then((read) => ({ ...place, createRevision, ...read }))
      : { ...place, createRevision, ...content };
  }

  /** `waits`: the watch goes on; what cannot be read at a start ends it. */
  #content(
    prefix: string,
    key: string,
    value: Uint8Array,
    revision: number,
    waits: boolean,
  ): Content | Promise<Content> {
    const read = (): Content | Promise<Content> =>
      this.#values.toContent(prefix, key, this.#keys.stored(key), value, revision);
    if (!waits) return read();
    try {
      const content = read();
      return content instanceof Promise ? content.catch((error: unknown) => this.#later(read, error)) : content;
    } catch (error) {
      return this.#later(read, error);
    }
  }

  /** A value that cannot be read yet holds up what comes after it: there is no gap in what is told. */
  async #later(read: () => Content | Promise<Content>, error: unknown): Promise<Content> {
    let failed = error;
    for (;;) {
      if (!(failed instanceof StoreError) || failed.kind !== "unavailable") throw failed;
      await new Promise((resolve) => setTimeout(resolve, againMs));
      try {
        return await read();
      } catch (again) {
        failed = again;
      }
    }
  }
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
