// Service.
import type { FieldError } from "../../api/fielderror.ts";
import type * as core from "../../api/gen/core_v1.ts";
import type { StrategyContext } from "../strategy.ts";

/** Rules of a new Service. */
export function validateService(_object: core.Service, _context: StrategyContext): FieldError[] {
  return [];
}

/** Rules of a changed Service. */
export function validateServiceUpdate(
  _object: core.Service,
  _old: core.Service,
  _context: StrategyContext,
): FieldError[] {
  return [];
}

/** Rules of a changed status of a Service. */
export function validateServiceStatusUpdate(
  _object: core.Service,
  _old: core.Service,
  _context: StrategyContext,
): FieldError[] {
  return [];
}
