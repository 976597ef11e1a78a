// Lists as of a revision the logs do not reach back to, where the store's own history does: read page by page on the store
// thread, and kept here until the list is written.
import type { Selector } from "../../api/selector.ts";
import { type Status, timedOut } from "../../api/status.ts";
import { copyOf, copyRange } from "../../base/copy.ts";
import { compileSelector } from "../../cache/fanout/select.ts";
import type { Location } from "../../cache/shared/record.ts";
import { type SelectionSource, selectionSource } from "../../cache/shared/selection.ts";
import type { Hold, RecordSource } from "../../cache/view/view.ts";
import { limits } from "../../config/limits.ts";
import type { StoreClient } from "../../storage/client.ts";
import { type Record, StoreError } from "../../storage/store.ts";
import { unavailable } from "./freshness.ts";

/** How a request reads the past. */
export interface Past {
  readonly page: NonNullable<StoreClient["past"]>;
  /** Charges bytes that are kept to the request's user; a 429 Status beyond its share. */
  readonly keep: (bytes: number) => Status | undefined;
  /** The request's time is over. */
  readonly isLate: () => boolean;
}

/** What is to be found. */
export interface PastQuery {
  readonly prefix: string;
  readonly namespace: string;
  readonly selector: Selector;
  /** Key the items come after; empty: the start. */
  readonly after: string;
  readonly revision: number;
  readonly limit: number;
  readonly aborted: () => boolean;
}

/** Items of the past. */
export interface PastItems {
  readonly records: RecordSource;
  readonly items: readonly Location[];
  /** Key of the last item when more records follow, and how many. */
  readonly next: string | undefined;
  readonly remaining: number;
}

/**
 * Finds a page of items. Undefined: the past does not reach back to the revision, or the list is larger than is kept of
 * one. 504 when the store does not answer in time, 429 when the user's lists keep too much.
 */
export async function readPast(past: Past, query: PastQuery): Promise<PastItems | Status | undefined> {
  try {
    return await new PastReader(past, query).read();
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return error.kind === "compacted" ? undefined : unavailable(error);
  }
}

class PastReader {
  readonly #past: Past;
  readonly #query: PastQuery;
  readonly #match: ReturnType<typeof compileSelector>;
  readonly #records: PastRecords;
  readonly #items: Location[] = [];
  #bytes = 0;

  constructor(past: Past, query: PastQuery) {
    this.#past = past;
    this.#query = query;
    this.#match = compileSelector(query.selector);
    this.#records = new PastRecords(query.prefix);
  }

  async read(): Promise<PastItems | Status | undefined> {
    const { prefix, namespace, revision, limit, aborted } = this.#query;
    let { after } = this.#query;
    for (;;) {
      if (aborted() || this.#past.isLate()) return timedOut;
      const wanted = this.#match === undefined ? limit - this.#items.length : limits.pastPageRecords;
      const asked = { prefix, namespace, revision, after, limit: Math.min(wanted, limits.pastPageRecords) };
      const { records, remaining } = await this.#past.page(asked);
      const before = this.#bytes;
      const taken = this.#take(records);
      if (this.#bytes > limits.pastListBytesMax) return undefined;
      const refused = this.#past.keep(this.#bytes - before);
      if (refused !== undefined) return refused;
      const left = records.length - taken + remaining;
      const isFull = this.#items.length === limit;
      if (!isFull && left > 0) {
        after = keyIn(prefix, records.at(-1));
        continue;
      }
      const next = left === 0 ? undefined : this.#records.keyOf(this.#items.at(-1) ?? 0);
      return { records: this.#records, items: this.#items, next, remaining: left };
    }
  }

  /** Takes what matches until there is enough; returns how many were looked at. */
  #take(records: readonly Record[]): number {
    const { limit } = this.#query;
    let taken = 0;
    for (const record of records) {
      if (this.#items.length === limit) break;
      taken += 1;
      const at = this.#records.add(record);
      if (this.#match === undefined || this.#match(this.#records, at)) {
        // Of a page with few that match nothing else is kept.
        if (this.#match !== undefined) this.#records.detach(at);
        this.#items.push(at);
        this.#bytes += record.body.length + record.selection.length + record.key.length;
      } else this.#records.drop(at);
    }
    return taken;
  }
}

/** Key relative to the prefix. */
function keyIn(prefix: string, record: Record | undefined): string {
  return record?.key.slice(prefix.length + 1) ?? "";
}

/** Records that are in no log: a location is their place in the order they came in, from 1 on. */
class PastRecords implements RecordSource {
  readonly prefix: string;
  readonly #records: Record[] = [];
  readonly #selections: SelectionSource[] = [];

  constructor(prefix: string) {
    this.prefix = prefix;
  }

  add(record: Record): Location {
    this.#selections.push(selectionSource(record.selection));
    return this.#records.push(record);
  }

  /** Copies the newest record out of what it came in. */
  detach(at: Location): void {
    const record = this.#record(at);
    const selection = copyOf(record.selection);
    this.#records[at - 1] = { ...record, selection, body: copyOf(record.body) };
    this.#selections[at - 1] = selectionSource(selection);
  }

  /** Forgets the newest record. */
  drop(at: Location): void {
    this.#records.length = at - 1;
    this.#selections.length = at - 1;
  }

  keyOf(at: Location): string {
    return keyIn(this.prefix, this.#record(at));
  }

  revisionOf(at: Location): number {
    return this.#record(at).revision;
  }

  object(at: Location): Uint8Array {
    return this.#record(at).body;
  }

  objectBytes(at: Location): number {
    return this.#record(at).body.length;
  }

  copyObject(at: Location, from: number, target: Uint8Array, to: number): number {
    const { body } = this.#record(at);
    return copyRange(target, to, body, from, body.length);
  }

  selectionSource(at: Location): SelectionSource {
    return this.#selections[at - 1] as SelectionSource;
  }

  selectionAt(): number {
    return 0;
  }

  isCurrent(): boolean {
    return false;
  }

  hold(): Hold {
    return { expired: false, release: () => undefined };
  }

  #record(at: Location): Record {
    return this.#records[at - 1] as Record;
  }
}
