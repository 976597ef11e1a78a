// Cells that volumes and their claims show alike.
import type { Identity } from "../../api/identity.ts";
import type { ApiObject } from "../../api/object.ts";

const modes = [
  ["ReadWriteOnce", "RWO"],
  ["ReadOnlyMany", "ROX"],
  ["ReadWriteMany", "RWX"],
  ["ReadWriteOncePod", "RWOP"],
] as const;

/** Ways a volume can be mounted, in their short form. */
export function accessModes(list: readonly string[] | undefined): string {
  return modes
    .filter(([mode]) => list?.includes(mode))
    .map(([, short]) => short)
    .join(",");
}

/** The phase, unless the object is being deleted. */
export function phase({ metadata }: ApiObject, of: string | undefined): string {
  return metadata.deletionTimestamp === undefined ? (of ?? "") : "Terminating";
}

/** An annotation came before the field, and still counts first. */
export function storageClassOf(identity: Identity): (object: ApiObject, field: string | undefined) => string {
  const annotation = identity.spell("volume.beta.kubernetes.io/storage-class");
  return ({ metadata }, field) => metadata.annotations?.get(annotation) ?? field ?? "";
}
