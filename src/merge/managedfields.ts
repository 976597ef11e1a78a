// Between metadata.managedFields and the owners apply.ts works with. Every manager is an entry: name, operation,
// version and subresource. An entry's time changes only when its set of fields changes.
import type { ManagedFieldsEntry } from "../api/object.ts";
import { RawJson } from "../api/schema.ts";
import type { Value, ValueMap } from "../api/value.ts";
import { assert } from "../base/assert.ts";
import {
  type Applied,
  apply,
  Conflicts,
  differenceAt,
  type Kind,
  type Objects,
  type Owned,
  ownUpdate,
  withoutIgnored,
} from "./apply.ts";
import { elementText, emptySet, FieldSet, isDeepElement, pathText, setOf, unionOf } from "./fieldset.ts";
import { compare, type Difference, fieldSetOf, TypeFault } from "./typed.ts";

/** Parser and bounds for managedFields. */
export interface ManagedLimits {
  /** Reads JSON text; undefined for anything else. */
  readonly parse: (text: string) => Value | undefined;
  /** How deep fieldsV1 may nest. */
  readonly depthMax: number;
}

/** The manager of a write. */
export interface Writer {
  /** Name of the field manager; empty: unknown. */
  readonly manager: string;
  /** The version of the request. */
  readonly version: string;
  /** Empty for the object itself. */
  readonly subresource: string;
  /** Now, as the canonical JSON form of Time. */
  readonly now: string;
}

/** Managers by identifier, and the kept parts of their entries. */
export interface Managed {
  readonly owners: Map<string, Owned>;
  readonly entries: Map<string, ManagedFieldsEntry>;
  readonly times: Map<string, string | undefined>;
  /** Text of sets that the server wrote: a set that did not change is not written anew. */
  readonly texts: Map<FieldSet, RawJson>;
}

/** An update that has more managers of other writes than this folds the oldest (upstream: 10). */
const updateManagersMax = 10;
const unknownManager = "unknown";
const foldedManager = "ancient-changes";
const firstManager = "before-first-apply";
const self = "current-operation";

/** Fields that no manager owns: the server sets them, or they name the object. */
export const unowned: FieldSet = setOf(
  ["f:apiVersion"],
  ["f:kind"],
  ["f:metadata"],
  ...[
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
  ].map((name) => ["f:metadata", `f:${name}`]),
);

/** No managers. */
export function noManagers(): Managed {
  return { owners: new Map(), entries: new Map(), times: new Map(), texts: new Map() };
}

/** Tells managers apart; conflicts are listed in the order of these texts. An applier is one across versions. */
function identify(entry: ManagedFieldsEntry): string {
  const { manager = "", operation = "", apiVersion = "", subresource = "" } = entry;
  const parts: [string, string][] = [
    ["manager", manager],
    ["operation", operation],
    ["apiVersion", operation === "Apply" ? "" : apiVersion],
    ["subresource", subresource],
  ];
  return JSON.stringify(Object.fromEntries(parts.filter(([, value]) => value !== "")));
}

/** Sets that were read before: raw JSON that comes in many objects is one value in all of them (codec/remembered.ts). */
const sets = new WeakMap<RawJson, FieldSet>();

/** The set of an entry; undefined when it is malformed. */
function readSet(fieldsV1: RawJson | undefined, limits: ManagedLimits): FieldSet | undefined {
  if (fieldsV1 === undefined) return emptySet;
  const known = sets.get(fieldsV1);
  if (known !== undefined) return known;
  const set = FieldSet.read(fieldsV1.text, limits.depthMax) ?? decodeSet(fieldsV1.text, limits);
  if (set !== undefined) sets.set(fieldsV1, set);
  return set;
}

function decodeSet(text: string, limits: ManagedLimits): FieldSet | undefined {
  const fields = limits.parse(text);
  return fields === undefined ? undefined : FieldSet.decode(fields, limits.depthMax);
}

/** Index of the first entry that identifies items of a list by JSON that nests too deep; -1: none. */
export function deepEntry(list: readonly ManagedFieldsEntry[], limits: ManagedLimits): number {
  return list.findIndex(({ fieldsV1 }) => {
    // Sets that were read before are valid.
    if (fieldsV1 === undefined || sets.has(fieldsV1)) return false;
    const rest = [limits.parse(fieldsV1.text)];
    for (let value = rest.pop(); value !== undefined; value = rest.pop()) {
      if (!(value instanceof Map)) continue;
      for (const [key, inner] of value) {
        if (isDeepElement(key)) return true;
        rest.push(inner);
      }
    }
    return false;
  });
}

/** Reads entries; undefined when one of them is malformed. `ours`: the server wrote them. */
export function readEntries(
  list: readonly ManagedFieldsEntry[],
  limits: ManagedLimits,
  ours: boolean,
): Managed | undefined {
  const managed = noManagers();
  for (const entry of list) {
    const { operation, apiVersion = "", fieldsType, fieldsV1, time } = entry;
    if ((operation !== "Apply" && operation !== "Update") || apiVersion === "" || fieldsType !== "FieldsV1") {
      return undefined;
    }
    const set = readSet(fieldsV1, limits);
    if (set === undefined) return undefined;
    if (ours && fieldsV1 !== undefined) managed.texts.set(set, fieldsV1);
    const id = identify(entry);
    managed.owners.set(id, { version: apiVersion, applied: operation === "Apply", set });
    managed.entries.set(id, entry);
    managed.times.set(id, time);
  }
  return managed;
}

/** The entries of the body where it has readable ones, else the stored ones. */
function readLiveOrSent(
  live: readonly ManagedFieldsEntry[] | undefined,
  sent: readonly ManagedFieldsEntry[] | undefined,
  subresource: string,
  limits: ManagedLimits,
): Managed {
  if (subresource === "" && sent !== undefined) {
    const managed = readEntries(sent, limits, false);
    if (managed !== undefined && managed.owners.size > 0) return managed;
  }
  return readEntries(live ?? [], limits, true) ?? noManagers();
}

/** Whether a body resets ownership: a list with one empty entry does, an empty list does not (the document's rule). */
function isReset(sent: readonly ManagedFieldsEntry[] | undefined, subresource: string): boolean {
  const [only] = sent ?? [];
  if (only === undefined || sent?.length !== 1 || subresource !== "") return false;
  return Object.values(only).every((value) => value === undefined || value === "");
}

/**
 * The entries after a write that is no apply. `live`: the stored object, or an empty object of the kind when the object
 * is new. Undefined: nothing is tracked, either because ownership was reset and nothing else changed or because it
 * cannot be told. A reset comes first: the writer then owns the fields the same write changes. `known`: how the two
 * differ; their documents are then needed for managers of other versions alone.
 */
export function trackUpdate(
  kind: Kind,
  limits: ManagedLimits,
  writer: Writer,
  live: {
    readonly value: () => Value;
    readonly entries: readonly ManagedFieldsEntry[] | undefined;
    readonly exists: boolean;
  },
  next: { readonly value: () => Value; readonly entries: readonly ManagedFieldsEntry[] | undefined },
  known?: Difference,
): ManagedFieldsEntry[] | undefined {
  const objects: Objects = { live: live.value, next: next.value };
  const { version } = writer;
  const difference = known === undefined ? differenceAt(kind, version, objects) : withoutIgnored(kind, version, known);
  if (difference === undefined || difference instanceof TypeFault) return undefined;
  const asStored = writer.subresource !== "" || sameEntries(live.entries, next.entries);
  if (live.exists && asStored && isUnchanged(difference)) return live.entries as ManagedFieldsEntry[] | undefined;
  const resets = isReset(next.entries, writer.subresource);
  const managed = resets ? noManagers() : readLiveOrSent(live.entries, next.entries, writer.subresource, limits);
  // An object without owners stays so until the first apply (upstream); one that is reset has those of this write.
  if (managed.owners.size === 0 && live.exists && !resets) return undefined;
  const updated = update(kind, writer, objects, managed, difference);
  if (updated instanceof TypeFault) return undefined;
  return writeEntries(updated);
}

/** The entries of an object that is new and came without any; `fields`: those its manager owns, empty for none. */
export function entriesOfNew(writer: Writer, fields: string): ManagedFieldsEntry[] | undefined {
  if (fields === "") return undefined;
  const { version, subresource, now } = writer;
  return [
    {
      manager: writer.manager || unknownManager,
      operation: "Update",
      apiVersion: version,
      time: now,
      fieldsType: "FieldsV1",
      fieldsV1: new RawJson(fields),
      subresource,
    },
  ];
}

/** Whether no field changed that a manager can own. */
function isUnchanged({ added, modified, removed }: Difference): boolean {
  return [added, modified, removed].every((set) => set.difference(unowned).isEmpty);
}

/** Whether a body brings the entries back as they were, or none. */
function sameEntries(
  live: readonly ManagedFieldsEntry[] = [],
  sent: readonly ManagedFieldsEntry[] | undefined,
): boolean {
  if (sent === undefined || sent.length === 0) return true;
  return (
    live.length === sent.length &&
    live.every((entry, index) => {
      const other = sent[index] as ManagedFieldsEntry;
      return (
        compareText(entry.manager, other.manager) === 0 &&
        compareText(entry.operation, other.operation) === 0 &&
        compareText(entry.subresource, other.subresource) === 0 &&
        compareText(entry.apiVersion, other.apiVersion) === 0 &&
        entry.time === other.time &&
        entry.fieldsType === other.fieldsType &&
        entry.fieldsV1?.text === other.fieldsV1?.text
      );
    })
  );
}

function update(
  kind: Kind,
  writer: Writer,
  objects: Objects,
  managed: Managed,
  difference?: Difference,
): Managed | TypeFault {
  const { version, subresource, now } = writer;
  const entry = { manager: writer.manager || unknownManager, operation: "Update", apiVersion: version, subresource };
  const id = identify(entry);
  const former = managed.owners.get(id);
  const owners = ownUpdate(kind, version, objects, managed.owners, self, difference);
  if (owners instanceof TypeFault) return owners;
  const own = owners.get(self)?.set.difference(unowned) ?? emptySet;
  owners.delete(self);
  const { times, entries } = managed;
  if (!own.isEmpty) {
    const set = own.union(owners.get(id)?.set ?? emptySet);
    if (former === undefined || !set.equals(former.set)) times.set(id, now);
    owners.set(id, { version, applied: false, set: former?.set.equals(set) === true ? former.set : set });
    if (!entries.has(id)) entries.set(id, entry);
  }
  fold(owners, entries, times);
  return { owners, entries, times, texts: managed.texts };
}

/** Unites the oldest updaters of one version until there are few enough. */
function fold(
  owners: Map<string, Owned>,
  entries: Map<string, ManagedFieldsEntry>,
  times: Map<string, string | undefined>,
): void {
  const updaters = [...owners].filter(([, { applied }]) => !applied).map(([id]) => id);
  if (updaters.length <= updateManagersMax) return;
  const time = (id: string): number => secondsOf(times.get(id));
  updaters.sort((a, b) => time(a) - time(b) || (a < b ? -1 : 1));
  let count = updaters.length;
  const firsts = new Map<string, string>();
  /** Sets of each bucket, united at the end: a set that grows with each manager would be copied each time. */
  const united = new Map<string, FieldSet[]>();
  for (const id of updaters) {
    if (count <= updateManagersMax) break;
    const owned = owners.get(id) as Owned;
    const first = firsts.get(owned.version);
    if (first === undefined) {
      firsts.set(owned.version, id);
      continue;
    }
    const entry = { manager: foldedManager, operation: "Update", apiVersion: owned.version };
    const bucket = identify(entry);
    const into = owners.get(bucket) ?? owners.get(first);
    if (!owners.has(bucket)) owners.delete(first);
    const sets = united.get(bucket) ?? [into?.set ?? emptySet];
    sets.push(owned.set);
    united.set(bucket, sets);
    owners.set(bucket, owned);
    entries.set(bucket, entry);
    owners.delete(id);
    times.set(bucket, times.get(id));
    count--;
  }

  for (const [bucket, sets] of united) owners.set(bucket, { ...(owners.get(bucket) as Owned), set: unionOf(sets) });
}

function secondsOf(time: string | undefined): number {
  return time === undefined || time === "" ? 0 : Math.floor(Date.parse(time) / 1000);
}

/** Entries in the order of upstream: appliers first, then by time, name, version and subresource. */
export function writeEntries({ owners, entries, times, texts }: Managed): ManagedFieldsEntry[] | undefined {
  const list: ManagedFieldsEntry[] = [];
  for (const [id, { version, set }] of owners) {
    const known = entries.get(id);
    assert(known !== undefined, "An owner of fields has no entry");
    const { manager, operation, subresource } = known;
    const time = times.get(id);
    list.push({
      manager,
      operation,
      apiVersion: version,
      time,
      fieldsType: "FieldsV1",
      fieldsV1: texts.get(set) ?? new RawJson(set.encode()),
      subresource,
    });
  }
  list.sort(
    (a, b) =>
      compareText(a.operation, b.operation) ||
      secondsOf(a.time) - secondsOf(b.time) ||
      compareText(a.manager, b.manager) ||
      compareText(a.apiVersion, b.apiVersion) ||
      compareText(a.subresource, b.subresource),
  );
  return list.length === 0 ? undefined : list;
}

/** A text that is not there is empty. */
function compareText(a = "", b = ""): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** An object after an apply, and its managed fields. */
export interface AppliedObject {
  /** The object; the live one where nothing changed. */
  readonly value: Value;
  readonly entries: ManagedFieldsEntry[] | undefined;
}

/** An apply that is refused: the message and the causes of a 409. */
export class ConflictFault {
  readonly message: string;
  readonly causes: readonly { readonly message: string; readonly field: string }[];
  constructor(message: string, causes: ConflictFault["causes"]) {
    this.message = message;
    this.causes = causes;
  }
}

/**
 * Applies a configuration to the live object (an empty one when the object is new). A TypeFault when either does not fit
 * the kind; kubectl's applies may take fields that its last-applied annotation shows it set before (`lastApplied`).
 */
export function applyConfig(
  kind: Kind,
  limits: ManagedLimits,
  writer: Writer,
  live: {
    readonly value: Value;
    readonly blank: Value;
    readonly entries: readonly ManagedFieldsEntry[] | undefined;
    /** The object's name in messages. */
    readonly told: () => string;
  },
  config: Value,
  force: boolean,
  lastApplied: Value | undefined,
): AppliedObject | ConflictFault | TypeFault {
  let managed = readEntries(live.entries ?? [], limits, true);
  if (managed === undefined) return new TypeFault("failed to decode managed fields");
  if (managed.owners.size === 0) {
    const objects = { live: () => live.blank, next: () => live.value };
    const first = update(kind, { ...writer, manager: firstManager }, objects, managed);
    if (first instanceof TypeFault) {
      const why = `failed to convert new object (${live.told()}) to smd typed: ${first.message}`;
      return new TypeFault(`failed to create manager for existing fields: ${why}`);
    }
    managed = first;
  }
  const { manager, version, subresource, now } = writer;
  const entry = { manager, operation: "Apply", apiVersion: version, subresource };
  const id = identify(entry);
  let done = apply(kind, version, live.value, config, managed.owners, id, force);
  if (done instanceof Conflicts && lastApplied !== undefined) {
    const left = exceptLastApplied(kind, version, live.value, lastApplied, done);
    done = left.list.length > 0 ? left : apply(kind, version, live.value, config, managed.owners, id, true);
  }
  if (done instanceof TypeFault) return done;
  if (done instanceof Conflicts) return describe(done);
  return conclude(live.value, managed, done, entry, id, now);
}

function conclude(
  live: Value,
  managed: Managed,
  { value, owners }: Applied,
  entry: ManagedFieldsEntry,
  id: string,
  now: string | undefined,
): AppliedObject {
  const { entries, times } = managed;
  const own = owners.get(id);
  const set = own?.set.difference(unowned) ?? emptySet;
  if (own === undefined || set.isEmpty) owners.delete(id);
  else owners.set(id, { ...own, set });
  entries.set(id, entry);
  if (value !== undefined || !sameOwners(managed.owners, owners)) times.set(id, now);
  return {
    value: value === undefined ? live : value,
    entries: writeEntries({ owners, entries, times, texts: managed.texts }),
  };
}

function sameOwners(before: ReadonlyMap<string, Owned>, after: ReadonlyMap<string, Owned>): boolean {
  if (before.size !== after.size) return false;
  for (const [id, { version, applied, set }] of before) {
    const other = after.get(id);
    if (other === undefined || other.version !== version || other.applied !== applied) return false;
    if (!set.equals(other.set)) return false;
  }
  return true;
}

/** Conflicts about fields that still are as the last-applied annotation has them are none. */
function exceptLastApplied(
  kind: Kind,
  version: string,
  live: Value,
  lastApplied: Value,
  conflicts: Conflicts,
): Conflicts {
  const type = kind.typeOf(version);
  if (type === undefined || !(lastApplied instanceof Map) || lastApplied.get("apiVersion") !== version)
    return conflicts;
  const difference: Difference | TypeFault = compare(type, lastApplied, live);
  if (difference instanceof TypeFault) return conflicts;
  const { modified, added, removed } = difference;
  const allowed = fieldSetOf(type, lastApplied).difference(modified).difference(added).difference(removed);
  return new Conflicts(conflicts.list.filter(({ path }) => !allowed.has(path)));
}

/** The texts of a 409. */
function describe({ list }: Conflicts): ConflictFault {
  const causes = list.map(({ manager, told }) => ({
    message: `conflict with ${managerText(manager)}`,
    field: pathText(told),
  }));
  const [first] = causes;
  if (list.length === 1 && first !== undefined) {
    return new ConflictFault(`Apply failed with 1 conflict: ${first.message}: ${first.field}`, causes);
  }
  const lines: string[] = [];
  let last: string | undefined;
  for (const { manager, told } of list) {
    if (manager !== last) lines.push(`conflicts with ${managerText(manager)}:`);
    lines.push(`- ${told.map(elementText).join("")}`);
    last = manager;
  }
  return new ConflictFault(`Apply failed with ${list.length} conflicts: ${lines.join("\n")}`, causes);
}

function managerText(id: string): string {
  const entry = JSON.parse(id) as ManagedFieldsEntry;
  const name = JSON.stringify(entry.manager ?? "");
  const through =
    (entry.subresource ?? "") === "" ? name : `${name} with subresource ${JSON.stringify(entry.subresource)}`;
  return entry.operation === "Update" ? `${through} using ${entry.apiVersion}` : through;
}

/** The object without metadata.managedFields; shares everything else. */
export function withoutManagedFields(value: Value): Value {
  const metadata = value instanceof Map ? value.get("metadata") : undefined;
  if (!(value instanceof Map) || !(metadata instanceof Map) || !metadata.has("managedFields")) return value;
  const rest: ValueMap = new Map(metadata);
  rest.delete("managedFields");
  return new Map(value).set("metadata", rest);
}
