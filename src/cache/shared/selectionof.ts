// The selection side-table of an object, as its kind derives it: made by the write that stores the object, and once more
// where a log is loaded whose objects were stored when the kind derived it otherwise.
import type { Identity } from "../../api/identity.ts";
import type { ApiObject, ObjectMeta } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import { decodeStored } from "../../codec/engine/stored.ts";
import { behaviourOf } from "../../kinds/table.ts";
import type { Record } from "../../storage/store.ts";
import { type OwnedMeta, ownersBehind, withOwners } from "./owners.ts";
import { encodeSelection, formOf, hasUnnamedField } from "./selection.ts";

/** A field without a name, which no selector can ask for: the first write after it is stored even without a change. */
const unsettledMark = ["", ""] as const;

/** Namespace and name of an object; the namespace is empty where the kind has none. */
export interface Names {
  readonly namespace: string;
  readonly name: string;
}

/**
 * The side-table of an object at the version it is stored in. `isUnsettled`: the next write is stored even without a
 * change.
 */
export function selectionOf(
  stored: Resource,
  identity: Identity,
  object: ApiObject,
  names: Names,
  isUnsettled: boolean,
): Uint8Array {
  const { strategy, form } = behaviourOf(stored, identity);
  const fields = strategy.selectableFields?.(object) ?? [];
  return selectionWith(object.metadata, names, fields, form, isUnsettled);
}

/** The same with selectable fields that are known, and the form they were derived by; without both where it is 0. */
export function selectionWith(
  metadata: ObjectMeta,
  { namespace, name }: Names,
  fields: readonly (readonly [field: string, value: string])[],
  form: number,
  isUnsettled: boolean,
): Uint8Array {
  const marked = isUnsettled ? [...fields, unsettledMark] : fields;
  return withOwners(encodeSelection(namespace, name, metadata.labels, marked, form), metadata);
}

/** Derives side-tables of stored records again where their kind derives them otherwise now. */
export class Selections {
  readonly #identity: Identity;
  readonly #byPrefix = new Map<string, Resource>();

  /** `resources`: of every kind that is stored, at any version. */
  constructor(resources: readonly Resource[], identity: Identity) {
    this.#identity = identity;
    for (const { stored } of resources) if (stored?.prefix !== undefined) this.#byPrefix.set(stored.prefix, stored);
  }

  /** The record with the side-table its kind derives now: the same record where it is current. */
  fresh(record: Record): Record {
    const stored = this.#byPrefix.get(record.prefix);
    if (stored === undefined || formOf(record.selection) === behaviourOf(stored, this.#identity).form)
      return ownedRecord(record);
    const object = decodeStored(stored, record.body);
    const { namespace = "", name = "" } = object.metadata;
    const isUnsettled = hasUnnamedField(record.selection);
    return { ...record, selection: selectionOf(stored, this.#identity, object, { namespace, name }, isUnsettled) };
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
