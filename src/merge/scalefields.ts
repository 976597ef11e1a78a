// Ownership of the size of a workload in its Scale, and the workload's own entries after a write of its Scale.
// As upstream, with all that follows: entries of the Scale carry its version, so that an updater of the workload itself
// is another one there, and an entry that is given back beside its former self has the same name.
import type { ManagedFieldsEntry } from "../api/object.ts";
import { type FieldSet, setOf } from "./fieldset.ts";
import { type Managed, type ManagedLimits, noManagers, readEntries, writeEntries } from "./managedfields.ts";

/** The version every Scale has. */
export const scaleVersion = "autoscaling/v1";

/** The size in a Scale, and in every workload but custom resources. */
export const size = setOf(["f:spec", "f:replicas"]);

/** Where a version of a workload has its size; undefined: there is no such version. */
export type SizeAt = (version: string) => FieldSet | undefined;

type Entries = readonly ManagedFieldsEntry[] | undefined;

/** The entries of a Scale: the workload's owners of the size. */
export function scaleEntries(
  workload: Entries,
  limits: ManagedLimits,
  sizeAt: SizeAt,
): ManagedFieldsEntry[] | undefined {
  const { owners, entries, times } = read(workload, limits);
  const scale = noManagers();
  for (const [id, { version, applied, set }] of owners) {
    const own = sizeAt(version);
    if (own === undefined || set.intersection(own).isEmpty) continue;
    scale.owners.set(id, { version: scaleVersion, applied, set: size });
    scale.entries.set(id, entries.get(id) ?? {});
    scale.times.set(id, times.get(id));
  }
  return writeEntries(scale);
}

/** The workload's entries after a write of its Scale left `scale` there. `version`: the workload's in the request. */
export function workloadEntries(
  workload: Entries,
  scale: Entries,
  limits: ManagedLimits,
  sizeAt: SizeAt,
  version: string,
): ManagedFieldsEntry[] | undefined {
  const before = read(workload, limits);
  const after = read(scale, limits);
  const result: Managed = { ...noManagers(), texts: before.texts };
  for (const [id, owned] of before.owners) {
    const own = sizeAt(owned.version);
    if (own === undefined) continue;
    const isKept = after.owners.delete(id);
    const set = isKept || owned.set.intersection(own).isEmpty ? owned.set : owned.set.difference(own);
    if (set.isEmpty && !owned.set.isEmpty) continue;
    result.owners.set(id, { ...owned, set });
    result.entries.set(id, before.entries.get(id) ?? {});
    result.times.set(id, before.times.get(id));
  }
  for (const [id, { applied, set }] of after.owners) {
    if (set.intersection(size).isEmpty) continue;
    result.owners.set(id, { version, applied, set: sizeAt(version) ?? size });
    result.entries.set(id, after.entries.get(id) ?? {});
    // A new entry has no time (upstream).
    result.times.set(id, before.times.get(id));
  }
  return writeEntries(result);
}

function read(entries: Entries, limits: ManagedLimits): Managed {
  return readEntries(entries ?? [], limits, true) ?? noManagers();
}
