// Ownership of fields after a write, and the result of an apply. Pure: versions are converted and fields
// the strategy resets are named by callbacks. An apply owns the fields it names and loses those it no longer names; a
// field that only this manager applied, and that no other manager owns, is removed. Every other write owns the fields
// it changed.
import type { Value } from "../api/value.ts";
import { assert } from "../base/assert.ts";
import { emptySet, type FieldSet, type PathElement, unionOf } from "./fieldset.ts";
import type { MapType } from "./schema.ts";
import { toldPaths } from "./told.ts";
import { compare, type Difference, fieldSetOf, mergeTyped, removeItems, TypeFault, withNamedFields } from "./typed.ts";

/** The fields one manager owns, in one version of the kind. */
export interface Owned {
  readonly version: string;
  /** By apply, and not by changing. */
  readonly applied: boolean;
  readonly set: FieldSet;
}

/** Managers by their identifier. */
export type Owners = ReadonlyMap<string, Owned>;

/** The updater's view of a kind. */
export interface Kind {
  /** Type of the kind at a version; undefined: no such version. */
  typeOf(version: string): MapType | undefined;
  /** An object at another version; undefined: it cannot be had there. */
  convert(object: Value, from: string, to: string): Value | undefined;
  /** Paths a write of this kind never owns, for the server takes them back. */
  ignored(version: string): FieldSet | undefined;
}

/** One field another manager owns. */
export interface Conflict {
  readonly manager: string;
  readonly path: readonly PathElement[];
  /** The path as printed for clients: see toldPaths(). */
  readonly told: readonly PathElement[];
}

/** Fields that others own and the apply would change. */
export class Conflicts {
  /** Managers in the order of their identifiers. */
  readonly list: readonly Conflict[];
  constructor(list: Conflicts["list"]) {
    this.list = list;
  }
}

/** An object at a version. */
interface Versioned {
  readonly value: Value;
  readonly version: string;
}

/**
 * An object before and after a write, made on demand: most writes need neither. Functions and no
 * accessors: a literal with an accessor gets a hidden class of its own, which keeps all that its closures see until the
 * next major collection.
 */
export interface Objects {
  readonly live: () => Value;
  readonly next: () => Value;
}

/** Owners after a write that is no apply. A fault when the objects cannot be compared. `known`: their difference. */
export function ownUpdate(
  kind: Kind,
  version: string,
  objects: Objects,
  owners: Owners,
  manager: string,
  known?: Difference,
): Map<string, Owned> | TypeFault {
  const done = settle(kind, version, objects, new Map(owners), manager, true, known);
  if (done instanceof TypeFault) return done;
  assert(!(done instanceof Conflicts), "A forced write has conflicts");
  const { result, difference } = done;
  assert(result !== owners, "A write changes the owners it was handed");
  const former = result.get(manager)?.set ?? emptySet;
  const changed = former.union(difference.modified).union(difference.added).difference(difference.removed);
  const set = changed.differenceBelow(kind.ignored(version) ?? emptySet);
  if (set.isEmpty) result.delete(manager);
  else result.set(manager, { version, applied: false, set });
  return result;
}

/** The result of an apply. */
export interface Applied {
  /** Undefined: the object stays as it is. */
  readonly value: Value | undefined;
  readonly owners: Map<string, Owned>;
}

/** Applies `config` to `live`, both at `version`. */
export function apply(
  kind: Kind,
  version: string,
  live: Value,
  config: Value,
  owners: Owners,
  manager: string,
  force: boolean,
): Applied | Conflicts | TypeFault {
  const type = kind.typeOf(version);
  if (type === undefined) return new TypeFault(`no type for version ${version}`);
  const last = owners.get(manager);
  const named = fieldSetOf(type, config).differenceBelow(kind.ignored(version) ?? emptySet);
  const keeps = last?.version === version && last.set.isWithin(named);
  // The same set, but in the parts of the last one, whose text is known.
  const set = keeps ? last.set.union(named) : named;
  const claimed = new Map(owners).set(manager, { version, applied: true, set });
  const merged = mergeTyped(type, live, config) ?? null;
  // Where nothing is given up nothing disappears; other versions may see that otherwise.
  const pruned =
    last === undefined || (keeps && isOneVersion(claimed, version))
      ? merged
      : prune(kind, { value: merged, version }, claimed, last);
  if (pruned instanceof TypeFault) return pruned;
  const done = settle(kind, version, { live: () => live, next: () => pruned }, claimed, manager, force);
  if (done instanceof TypeFault || done instanceof Conflicts) return done;
  return { value: isSame(done.difference) ? undefined : pruned, owners: done.result };
}

function isOneVersion(owners: Owners, version: string): boolean {
  for (const owned of owners.values()) if (owned.version !== version) return false;
  return true;
}

function isSame({ added, modified, removed }: Difference): boolean {
  return added.isEmpty && modified.isEmpty && removed.isEmpty;
}

/** Takes from every other manager what `next` changes or removes; conflicts when that is not forced. */
function settle(
  kind: Kind,
  version: string,
  objects: Objects,
  owners: Map<string, Owned>,
  manager: string,
  force: boolean,
  known?: Difference,
): { result: Map<string, Owned>; difference: Difference } | Conflicts | TypeFault {
  const difference = known ?? differenceAt(kind, version, objects);
  if (difference instanceof TypeFault) return difference;
  if (difference === undefined) return new TypeFault(`no type for version ${version}`);
  const differences = new Map<string, Difference | undefined>([[version, difference]]);
  const conflicts: Conflict[] = [];
  const result = new Map(owners);
  for (const [other, owned] of owners) {
    if (other === manager) continue;
    let seen = differences.get(owned.version);
    if (seen === undefined && !differences.has(owned.version)) {
      const [live, next] = [objects.live(), objects.next()];
      const found = compareAt(kind, owned.version, { value: live, version }, { value: next, version });
      if (found instanceof TypeFault) return found;
      seen = found;
      differences.set(owned.version, seen);
    }
    // A version that is no longer served: fields owned in it cannot be converted.
    if (seen === undefined) result.delete(other);
    else {
      const lost = owned.set.intersection(seen.modified.union(seen.added));
      const paths = lost.isEmpty ? [] : lost.paths();
      const told = toldPaths(paths);
      assert(told.length === paths.length, "Conflicts are told of other paths than are in conflict");
      for (const [index, path] of paths.entries()) conflicts.push({ manager: other, path, told: told[index] ?? path });
      const set = owned.set.difference(lost).difference(seen.removed);
      if (set !== owned.set) result.set(other, { ...owned, set });
    }
  }
  if (!force && conflicts.length > 0) {
    conflicts.sort((a, b) => (a.manager < b.manager ? -1 : a.manager > b.manager ? 1 : 0));
    return new Conflicts(conflicts);
  }
  for (const [other, { set }] of result) if (set.isEmpty) result.delete(other);
  return { result, difference };
}

/** The difference of two objects of one version, without the fields the server resets; undefined: no such version. */
export function differenceAt(kind: Kind, version: string, { live, next }: Objects): Difference | TypeFault | undefined {
  return compareAt(kind, version, { value: live(), version }, { value: next(), version });
}

/** The difference at a version, without the fields the server resets; undefined where the version is not known. */
function compareAt(kind: Kind, version: string, live: Versioned, next: Versioned): Difference | TypeFault | undefined {
  const type = kind.typeOf(version);
  const before = convert(kind, live, version);
  const after = convert(kind, next, version);
  if (type === undefined || before === undefined || after === undefined) return undefined;
  const difference = compare(type, before, after);
  return difference instanceof TypeFault ? difference : withoutIgnored(kind, version, difference);
}

/** A difference without the fields the server resets. */
export function withoutIgnored(kind: Kind, version: string, difference: Difference): Difference {
  const ignored = kind.ignored(version);
  if (ignored === undefined) return difference;
  return {
    added: difference.added.differenceBelow(ignored),
    modified: difference.modified.differenceBelow(ignored),
    removed: difference.removed.differenceBelow(ignored),
  };
}

function convert(kind: Kind, { value, version }: Versioned, to: string): Value | undefined {
  return version === to ? value : kind.convert(value, version, to);
}

/**
 * Takes out a field or item iff the manager applied it last time, does not apply it now, and no other manager owns it.
 * Fields below it that this manager never owned stay, and keep the field.
 */
function prune(kind: Kind, merged: Versioned, owners: Owners, last: Owned): Value | TypeFault {
  const type = kind.typeOf(last.version);
  const base = convert(kind, merged, last.version);
  if (last.set.isEmpty || type === undefined || base === undefined) return merged.value;
  let pruned: Versioned = { value: removeItems(type, base, withNamedFields(type, last.set)), version: last.version };
  const sets = new Map<string, FieldSet[]>();
  for (const { version, set } of owners.values()) {
    const others = sets.get(version);
    if (others === undefined) sets.set(version, [set]);
    else others.push(set);
  }
  const byVersion = new Map([...sets].map(([version, all]) => [version, unionOf(all)]));
  // The version it was pruned in first: fields of other managers may be needed for a conversion.
  const versions = [last.version, ...[...byVersion.keys()].filter((version) => version !== last.version)];
  let whole: Versioned = { value: base, version: last.version };
  for (const version of versions) {
    const owned = byVersion.get(version);
    const there = kind.typeOf(version);
    const wholeThere = convert(kind, whole, version);
    const prunedThere = convert(kind, pruned, version);
    if (owned === undefined || there === undefined || wholeThere === undefined || prunedThere === undefined) continue;
    whole = { value: wholeThere, version };
    const kept = withNamedFields(there, fieldSetOf(there, prunedThere)).union(withNamedFields(there, owned));
    const lost = withNamedFields(there, fieldSetOf(there, wholeThere)).difference(kept);
    pruned = { value: removeItems(there, wholeThere, lost), version };
  }
  const left = convert(kind, pruned, last.version);
  if (left === undefined) return merged.value;
  const lost = withNamedFields(type, fieldSetOf(type, base)).difference(withNamedFields(type, fieldSetOf(type, left)));
  const result = removeItems(type, base, lost.intersection(withNamedFields(type, last.set)));
  const back = convert(kind, { value: result, version: last.version }, merged.version);
  return back === undefined ? merged.value : back;
}
