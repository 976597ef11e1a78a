// The spec of a claim on a persistent volume, in a PersistentVolumeClaim and in an ephemeral volume of a pod.
import { forbiddenField, invalid, notSupported, required } from "../../../api/fielderror.ts";
import type { PersistentVolumeClaimSpec, TypedLocalObjectReference } from "../../../api/gen/core/v1.ts";
import { GoText } from "../../../api/gotext.ts";
import { isPositiveAmount } from "../../validation/amounts.ts";
import { checkSubdomain, type Errors, empty, isFull } from "../../validation/check.ts";
import { equal } from "../../validation/equal.ts";
import { checkLabelSelector } from "../../validation/selector.ts";

/** Modes of a volume, as messages list them. */
export const volumeModes = ["Block", "Filesystem"] as const;
const accessModes = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce"];
const single = "ReadWriteOncePod";

/** Text of an amount that must be more than nothing. */
export const notPositive = "must be greater than zero";

/** Rules of access modes. `keepsSingle`: the stored object has the alpha mode for a single pod already. */
export function checkAccessModes(
  out: Errors,
  path: string,
  modes: readonly string[] | undefined,
  keepsSingle: boolean,
): void {
  const supported = keepsSingle ? [...accessModes, single] : accessModes;
  for (const mode of modes ?? [])
    if (!supported.includes(mode) && !isFull(out)) out.push(notSupported(path, mode, supported));
  if (modes?.includes(single) === true && modes.some((mode) => accessModes.includes(mode))) {
    out.push(forbiddenField(path, "may not use ReadWriteOncePod with other access modes"));
  }
}

/** True when an object has the alpha mode for a single pod. */
export function hasSingleMode(modes: readonly string[] | undefined): boolean {
  return modes?.includes(single) === true;
}

/** Rules of the spec of a claim. */
export function checkClaimSpec(out: Errors, path: string, spec: PersistentVolumeClaimSpec, keepsSingle: boolean): void {
  if ((spec.accessModes?.length ?? 0) === 0) {
    out.push(required(`${path}.accessModes`, "at least 1 access mode is required"));
  }
  checkLabelSelector(out, `${path}.selector`, spec.selector);
  checkAccessModes(out, `${path}.accessModes`, spec.accessModes, keepsSingle);
  const storage = spec.resources.requests?.get("storage");
  const at = `${path}.resources[storage]`;
  if (storage === undefined) out.push(required(at));
  else if (!isPositiveAmount(storage)) out.push(invalid(at, storage, notPositive));
  if (!empty(spec.storageClassName)) checkSubdomain(out, `${path}.storageClassName`, spec.storageClassName);
  if (spec.volumeMode !== undefined && !volumeModes.some((mode) => mode === spec.volumeMode)) {
    out.push(notSupported(`${path}.volumeMode`, spec.volumeMode, volumeModes));
  }
  for (const field of ["dataSource", "dataSourceRef"] as const) {
    const source = spec[field];
    if (source !== undefined) checkDataSource(out, `${path}.${field}`, source);
  }
  const both = spec.dataSource !== undefined && spec.dataSourceRef !== undefined;
  if (both && !equal("core/v1.TypedLocalObjectReference", spec.dataSource, spec.dataSourceRef)) {
    out.push(invalid(path, new GoText(`${path}.dataSource`), "must match dataSourceRef"));
  }
}

function checkDataSource(out: Errors, path: string, source: TypedLocalObjectReference): void {
  if (source.name === "") out.push(required(`${path}.name`));
  if (source.kind === "") out.push(required(`${path}.kind`));
  if (empty(source.apiGroup) && source.kind !== "PersistentVolumeClaim") out.push(invalid(path, source.kind, ""));
}
