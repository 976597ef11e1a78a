// Node.
import type { FieldError } from "../../api/fielderror.ts";
import type * as core from "../../api/gen/core_v1.ts";
import type { StrategyContext } from "../strategy.ts";

/** Rules of a new Node. */
export function validateNode(_object: core.Node, _context: StrategyContext): FieldError[] {
  return [];
}

/** Rules of a changed Node. */
export function validateNodeUpdate(_object: core.Node, _old: core.Node, _context: StrategyContext): FieldError[] {
  return [];
}

/** Rules of a changed status of a Node. */
export function validateNodeStatusUpdate(_object: core.Node, _old: core.Node, _context: StrategyContext): FieldError[] {
  return [];
}
