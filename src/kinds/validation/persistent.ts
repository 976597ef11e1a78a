// PersistentVolume and PersistentVolumeClaim.
import type { FieldError } from "../../api/fielderror.ts";
import type * as core from "../../api/gen/core_v1.ts";
import type { StrategyContext } from "../strategy.ts";

/** Rules of a new PersistentVolume. */
export function validatePersistentVolume(_object: core.PersistentVolume, _context: StrategyContext): FieldError[] {
  return [];
}

/** Rules of a changed PersistentVolume. */
export function validatePersistentVolumeUpdate(
  _object: core.PersistentVolume,
  _old: core.PersistentVolume,
  _context: StrategyContext,
): FieldError[] {
  return [];
}

/** Rules of a changed status of a PersistentVolume. */
export function validatePersistentVolumeStatusUpdate(
  _object: core.PersistentVolume,
  _old: core.PersistentVolume,
  _context: StrategyContext,
): FieldError[] {
  return [];
}

/** Rules of a new PersistentVolumeClaim. */
export function validatePersistentVolumeClaim(
  _object: core.PersistentVolumeClaim,
  _context: StrategyContext,
): FieldError[] {
  return [];
}

/** Rules of a changed PersistentVolumeClaim. */
export function validatePersistentVolumeClaimUpdate(
  _object: core.PersistentVolumeClaim,
  _old: core.PersistentVolumeClaim,
  _context: StrategyContext,
): FieldError[] {
  return [];
}

/** Rules of a changed status of a PersistentVolumeClaim. */
export function validatePersistentVolumeClaimStatusUpdate(
  _object: core.PersistentVolumeClaim,
  _old: core.PersistentVolumeClaim,
  _context: StrategyContext,
): FieldError[] {
  return [];
}
