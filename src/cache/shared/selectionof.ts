// The selection side-table of an object, as its kind derives it: made by the write that stores the object, and once more
// where a log is loaded whose objects were stored when the kind derived it otherwise (selections.ts).
import type { Identity } from "../../api/identity.ts";
import type { ApiObject, ObjectMeta } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import { assert } from "../../base/assert.ts";
import { decodeStored } from "../../codec/engine/stored.ts";
import { behaviourOf } from "../../kinds/table.ts";
import { withOwners } from "./owners.ts";
import { encodeSelection, hasUnnamedField } from "./selection.ts";
import type { Derive, Forms } from "./selections.ts";

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

/** By what form each kind that is stored derives its side-table now. `resources`: of every kind, at any version. */
export function formsOf(resources: readonly Resource[], identity: Identity): Forms {
  return new Map([...storedAt(resources)].map(([prefix, stored]) => [prefix, behaviourOf(stored, identity).form]));
}

/** Derives side-tables of stored records as their kinds do now. */
export function deriving(resources: readonly Resource[], identity: Identity): Derive {
  const byPrefix = storedAt(resources);
  return (record) => {
    const stored = byPrefix.get(record.prefix);
    assert(stored !== undefined, `No kind is stored at ${record.prefix}`);
    const object = decodeStored(stored, record.body);
    const { namespace = "", name = "" } = object.metadata;
    const isUnsettled = hasUnnamedField(record.selection);
    return { ...record, selection: selectionOf(stored, identity, object, { namespace, name }, isUnsettled) };
  };
}

/** What is stored of each kind, by the prefix it is stored at. */
function storedAt(resources: readonly Resource[]): ReadonlyMap<string, Resource> {
  const byPrefix = new Map<string, Resource>();
  for (const { stored } of resources) if (stored?.prefix !== undefined) byPrefix.set(stored.prefix, stored);
  return byPrefix;
}
