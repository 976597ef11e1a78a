// Side-tables of stored records that are not as they would be made now. A file of its own: a thread that loads logs needs
// to know of kinds only where a kind derives its table otherwise than when its objects were stored.
import type { Record } from "../../storage/store.ts";
import { type OwnedMeta, ownersBehind, withOwners } from "./owners.ts";
import { formOf } from "./selection.ts";

/** By what form a kind derives side-tables (0: it derives nothing), by the prefix its objects are stored at. */
export type Forms = ReadonlyMap<string, number>;

/** A record with the side-table its kind derives now. */
export type Derive = (record: Record) => Record;

/** Brings side-tables of stored records up to date. */
export class Selections {
  readonly #forms: Forms;
  readonly #deriving: () => Promise<Derive>;
  #derive: Derive | undefined;

  /** `deriving` is asked when a record needs it first. */
  constructor(forms: Forms, deriving: () => Promise<Derive>) {
    this.#forms = forms;
    this.#deriving = deriving;
  }

  /** The records with the side-tables they would have now; those that are current are the same. */
  async fresh(records: readonly Record[]): Promise<readonly Record[]> {
    if (!records.some((record) => this.#isOld(record))) return records.map(ownedRecord);
    const derive = (this.#derive ??= await this.#deriving());
    return records.map((record) => (this.#isOld(record) ? derive(record) : ownedRecord(record)));
  }

  /** Of what no kind is stored as, nothing is derived. */
  #isOld({ prefix, selection }: Record): boolean {
    const form = this.#forms.get(prefix);
    return form !== undefined && formOf(selection) !== form;
  }
}

/** Texts that stand in objects that have something behind their table; in few others. */
const ownersText = Buffer.from('"ownerReferences":[');
const deletedText = Buffer.from('"deletionTimestamp":"');

/**
 * A record that was written before owners stood behind tables, with its owners; the same record where there are none. Of
 * any kind: metadata is the same in all of them.
 */
function ownedRecord(record: Record): Record {
  const { selection, body: bytes } = record;
  if (ownersBehind(selection) !== undefined) return record;
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!body.includes(ownersText) && !body.includes(deletedText)) return record;
  const { metadata } = JSON.parse(body.toString()) as { readonly metadata: OwnedMeta };
  const table = withOwners(selection, metadata);
  return table === selection ? record : { ...record, selection: table };
}
