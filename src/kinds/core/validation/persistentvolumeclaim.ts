// Rules of claims: what they ask for is fixed, but bound ones may grow.
import { type FieldError, forbiddenField, required } from "../../../api/fielderror.ts";
import type { PersistentVolumeClaim } from "../../../api/gen/core/v1.ts";
import type { StrategyContext } from "../../strategy.ts";
import { compareAmounts } from "../../validation/amounts.ts";
import { addAll, type Errors, empty, isFull } from "../../validation/check.ts";
import { changeText, checkImmutableScalar, equal } from "../../validation/equal.ts";
import { type Names, namesOf } from "../../validation/names.ts";
import { checkClaimSpec, hasSingleMode } from "./claim.ts";
import { checkBasicAmount } from "./pod/resources.ts";

/** Rules of a new claim. */
export function validatePersistentVolumeClaim(object: PersistentVolumeClaim, _context: StrategyContext): FieldError[] {
  const out: Errors = [];
  checkClaimSpec(out, "spec", object.spec, false);
  return out;
}

/** Rules of a changed claim: it may grow once bound. Upstream checks the new spec twice. */
export function validatePersistentVolumeClaimUpdate(
  object: PersistentVolumeClaim,
  old: PersistentVolumeClaim,
  context: StrategyContext,
): FieldError[] {
  const out: Errors = [];
  const names = namesOf(context.identity);
  checkClaimSpec(out, "spec", object.spec, hasSingleMode(old.spec.accessModes));
  addAll(out, [...out]);
  let now = object.spec;
  let before = old.spec;
  if (empty(before.volumeName)) before = { ...before, volumeName: now.volumeName };
  const noted = annotationOf(object, names.betaStorageClass);
  const notedBefore = annotationOf(old, names.betaStorageClass);
  if (movesClass(object, old, names)) now = { ...now, storageClassName: undefined };
  else checkImmutableScalar(out, `metadata.annotations.${names.betaStorageClass}`, noted ?? "", notedBefore ?? "");
  const size = object.spec.resources.requests?.get("storage") ?? "0";
  const sizeBefore = old.spec.resources.requests?.get("storage") ?? "0";
  if (object.status.phase === "Bound" && now.resources.requests !== undefined) {
    const requests = new Map(now.resources.requests).set("storage", sizeBefore);
    now = { ...now, resources: { ...now.resources, requests } };
  }
  const type = "core/v1.PersistentVolumeClaimSpec";
  if (!equal(type, now, before)) {
    const why = "spec is immutable after creation except resources.requests for bound claims";
    out.push(forbiddenField("spec", `${why}\n${changeText(type, "spec", before, now)}`));
  }
  if (compareAmounts(size, sizeBefore) < 0) {
    out.push(forbiddenField("spec.resources.requests.storage", "field can not be less than previous value"));
  }
  checkImmutableScalar(out, "volumeMode", object.spec.volumeMode, old.spec.volumeMode);
  return out;
}

/** Rules of a changed status of a claim. */
export function validatePersistentVolumeClaimStatusUpdate(
  object: PersistentVolumeClaim,
  _old: PersistentVolumeClaim,
  _context: StrategyContext,
): FieldError[] {
  const out: Errors = [];
  if (empty(object.metadata.resourceVersion)) out.push(required("resourceVersion"));
  if ((object.spec.accessModes?.length ?? 0) === 0) out.push(required("Spec.accessModes"));
  for (const [name, amount] of object.status.capacity ?? [])
    if (!isFull(out)) checkBasicAmount(out, `status.capacity[${name}]`, amount);
  return out;
}

function annotationOf(object: PersistentVolumeClaim, key: string): string | undefined {
  return object.metadata.annotations?.get(key);
}

/** The class moves from the annotation that came before the field into the field. */
function movesClass(object: PersistentVolumeClaim, old: PersistentVolumeClaim, names: Names): boolean {
  const noted = annotationOf(object, names.betaStorageClass);
  const notedBefore = annotationOf(old, names.betaStorageClass);
  if (notedBefore === undefined || old.spec.storageClassName !== undefined) return false;
  return object.spec.storageClassName === notedBefore && (noted === undefined || noted === notedBefore);
}
