// What is in the journal and not yet in the tree, as the store needs it meanwhile.
import type { Current } from "../check.ts";
import { changeTypes, type Record } from "../store.ts";
import { changeBytesMax, footprint } from "./file.ts";
import { decodeRecord, type LogRecord } from "./record.ts";

/** The pending records of one store, in order of revision. */
export class Pending {
  #records: LogRecord[] = [];
  readonly #keys = new Map<string, Current>();
  /** Room they need in the tree. */
  bytes = 0;

  get records(): readonly LogRecord[] {
    return this.#records;
  }

  /** The keys they change, and what these are at. */
  get keys(): ReadonlyMap<string, Current> {
    return this.#keys;
  }

  /** `value`: the record's bytes, which stay as they are. */
  add({ revision, key, type, createRevision }: Record, value: Buffer): void {
    this.#records.push({ revision, value });
    this.#keys.set(key, { mod: revision, create: type === changeTypes.delete ? 0 : createRevision });
    this.bytes += footprint(value.length) + changeBytesMax;
  }

  /** Those above a revision, as they are read again. */
  after(revision: number): Record[] {
    const later = this.#records.filter((record) => record.revision > revision);
    return later.map((record) => decodeRecord(record.revision, record.value));
  }

  clear(): void {
    this.#records = [];
    this.#keys.clear();
    this.bytes = 0;
  }
}
