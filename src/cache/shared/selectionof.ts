// The selection side-table of an object, as its kind derives it: made by the write that stores the object, and once more
// where a log is loaded whose objects were stored when the kind derived it otherwise.
import type { Identity } from "../../api/identity.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import { decodeStored } from "../../codec/engine/stored.ts";
import { behaviourOf } from "../../kinds/table.ts";
import type { Record } from "../../storage/store.ts";
import { encodeSelection, formOf, hasUnnamedField } from "./selection.ts";

/** A field without a name, which no selector can ask for: the first write after it is stored even without a change. */
const unsettledMark = ["", ""] as const;

/**
 * The side-table of an object at the version it is stored in. `isUnsettled`: the next write is stored even without a
 * change.
 */
export function selectionOf(
  stored: Resource,
  identity: Identity,
  object: ApiObject,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  isUnsettled: boolean,
): Uint8Array {
  const { strategy, form } = behaviourOf(stored, identity);
  const fields = strategy.selectableFields?.(object) ?? [];
  const marked = isUnsettled ? [...fields, unsettledMark] : fields;
  return encodeSelection(namespace, name, object.metadata.labels, marked, form);
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
    if (stored === undefined || formOf(record.selection) === behaviourOf(stored, this.#identity).form) return record;
    const object = decodeStored(stored, record.body);
    const { namespace = "", name = "" } = object.metadata;
    const isUnsettled = hasUnnamedField(record.selection);
    return { ...record, selection: selectionOf(stored, this.#identity, object, { namespace, name }, isUnsettled) };
  }
}
