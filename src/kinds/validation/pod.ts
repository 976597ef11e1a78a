// Pod: rules of new and changed pods, their status and their ephemeral containers; Binding.
import type { FieldError } from "../../api/fielderror.ts";
import type * as core from "../../api/gen/core_v1.ts";
import type { StrategyContext } from "../strategy.ts";

/** Rules of a new Pod. */
export function validatePod(_object: core.Pod, _context: StrategyContext): FieldError[] {
  return [];
}

/** Rules of a changed Pod. */
export function validatePodUpdate(_object: core.Pod, _old: core.Pod, _context: StrategyContext): FieldError[] {
  return [];
}

/** Rules of a changed status of a Pod. */
export function validatePodStatusUpdate(_object: core.Pod, _old: core.Pod, _context: StrategyContext): FieldError[] {
  return [];
}

/** Rules of the ephemeralcontainers subresource. */
export function validatePodEphemeralContainersUpdate(
  _object: core.Pod,
  _old: core.Pod,
  _context: StrategyContext,
): FieldError[] {
  return [];
}

/** Rules of a binding of a pod to a node. */
export function validateBinding(_object: core.Binding, _context: StrategyContext): FieldError[] {
  return [];
}

/** Rules of a new PodTemplate. */
export function validatePodTemplate(_object: core.PodTemplate, _context: StrategyContext): FieldError[] {
  return [];
}

/** Rules of a changed PodTemplate. */
export function validatePodTemplateUpdate(
  _object: core.PodTemplate,
  _old: core.PodTemplate,
  _context: StrategyContext,
): FieldError[] {
  return [];
}
