// ResourceQuota and LimitRange.
import type { FieldError } from "../../api/fielderror.ts";
import type * as core from "../../api/gen/core_v1.ts";
import type { StrategyContext } from "../strategy.ts";

/** Rules of a new ResourceQuota. */
export function validateResourceQuota(_object: core.ResourceQuota, _context: StrategyContext): FieldError[] {
  return [];
}

/** Rules of a changed ResourceQuota. */
export function validateResourceQuotaUpdate(
  _object: core.ResourceQuota,
  _old: core.ResourceQuota,
  _context: StrategyContext,
): FieldError[] {
  return [];
}

/** Rules of a changed status of a ResourceQuota. */
export function validateResourceQuotaStatusUpdate(
  _object: core.ResourceQuota,
  _old: core.ResourceQuota,
  _context: StrategyContext,
): FieldError[] {
  return [];
}

/** Rules of a new LimitRange. */
export function validateLimitRange(_object: core.LimitRange, _context: StrategyContext): FieldError[] {
  return [];
}

/** Rules of a changed LimitRange. */
export function validateLimitRangeUpdate(
  _object: core.LimitRange,
  _old: core.LimitRange,
  _context: StrategyContext,
): FieldError[] {
  return [];
}
