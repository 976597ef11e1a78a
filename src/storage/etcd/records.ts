// Records from what the cluster tells: keys and values of a state, or events of a watch.
import { assertShared } from "../../base/assert.ts";
import { changeTypes, type Record, StoreError } from "../store.ts";
import { type Content, contentOf, type Values } from "../values.ts";
import { type Keys, ownPrefix } from "./keys.ts";
import type { KeyValue, WatchedEvent } from "./messages.ts";
import type { PendingWrites } from "./pending.ts";

/** Time between looks whether a value can be read now, ms. */
const againMs = 1000;

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
    return this.#record({ deleted: false, kv, before: undefined }, undefined);
  }

  /** Prefix of the kind a key belongs to; undefined: none. */
  prefixOf({ key }: KeyValue): string | undefined {
    const own = this.#keys.own(key);
    return own === undefined ? undefined : this.#prefix(own);
  }

  #prefix(key: string): string | undefined {
    return key.startsWith(ownPrefix) ? undefined : this.#values.prefixOf(key);
  }

  /** The records of events, in order; keys of no record are left out. `pending`: writes whose bytes are known. */
  read(events: readonly WatchedEvent[], pending: PendingWrites | undefined): Record[] | Promise<Record[]> {
    const records: Record[] = [];
    for (const [index, event] of events.entries()) {
      const record = this.#record(event, pending);
      if (record instanceof Promise) return this.#readRest(records, record, events.slice(index + 1), pending);
      if (record !== undefined) records.push(record);
    }
    return records;
  }

  async #readRest(
    records: Record[],
    next: Promise<Record | undefined>,
    events: readonly WatchedEvent[],
    pending: PendingWrites | undefined,
  ): Promise<Record[]> {
    const one = await next;
    if (one !== undefined) records.push(one);
    for (const event of events) {
      const record = this.#record(event, pending);
      const read = record instanceof Promise ? await record : record;
      if (read !== undefined) records.push(read);
    }
    return records;
  }

  #record(event: WatchedEvent, pending: PendingWrites | undefined): Record | undefined | Promise<Record | undefined> {
    const { deleted, kv, before } = event;
    const key = this.#keys.own(kv.key);
    const prefix = key === undefined ? undefined : this.#prefix(key);
    if (key === undefined || prefix === undefined) return undefined;
    const revision = kv.modRevision;
    const last = deleted ? before : kv;
    // A watch begins above what is compacted: what a delete removed is there.
    assertShared(last !== undefined, `The delete at revision ${revision} does not tell what it removed`);
    const type = deleted ? changeTypes.delete : kv.version === 1 ? changeTypes.create : changeTypes.update;
    const place = {
      revision,
      createRevision: last.createRevision,
      previous: before?.modRevision ?? 0,
      type,
      prefix,
      key,
    };
    const own = deleted ? undefined : pending?.match(key, kv.value, place.previous, revision);
    if (own !== undefined) return { ...place, ...contentOf(own, revision) };
    const content = this.#content(prefix, key, last.value, revision, pending !== undefined);
    return content instanceof Promise ? content.then((read) => ({ ...place, ...read })) : { ...place, ...content };
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
