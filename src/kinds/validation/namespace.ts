// Namespace: its finalizers, and the phase that belongs to a deletion timestamp.
import { type FieldError, invalid } from "../../api/fielderror.ts";
import type { Namespace } from "../../api/gen/core/v1.ts";
import { isQualifiedName } from "../formats.ts";
import type { StrategyContext } from "../strategy.ts";
import { type Errors, eachItem, faults, isFull } from "./check.ts";
import { namesOf } from "./names.ts";

/** Rules of a new namespace. */
export function validateNamespace(object: Namespace, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  for (const finalizer of object.spec.finalizers ?? [])
    if (!isFull(out)) checkFinalizer(out, "spec.finalizers", finalizer, context);
  return out;
}

/** Rules of a changed namespace. */
export function validateNamespaceUpdate(object: Namespace, _old: Namespace, context: StrategyContext): FieldError[] {
  return validateNamespace(object, context);
}

/** Rules of the status subresource: the phase says whether the namespace is being deleted. */
export function validateNamespaceStatusUpdate(
  object: Namespace,
  _old: Namespace,
  _context: StrategyContext,
): FieldError[] {
  const phase = object.status.phase ?? "";
  const wanted = object.metadata.deletionTimestamp === undefined ? "Active" : "Terminating";
  if (phase === wanted) return [];
  const when = wanted === "Active" ? "is empty" : "is not empty";
  return [invalid("status.Phase", phase, `may only be '${wanted}' if \`deletionTimestamp\` ${when}`)];
}

/** Rules of the finalize subresource. */
export function validateNamespaceFinalizeUpdate(
  object: Namespace,
  _old: Namespace,
  context: StrategyContext,
): FieldError[] {
  const out: Errors = [];
  eachItem(out, object.spec.finalizers, "spec.finalizers", (name, path) => checkFinalizer(out, path, name, context));
  return out;
}

function checkFinalizer(out: Errors, path: string, name: string, context: StrategyContext): void {
  faults(out, path, name, isQualifiedName(name));
  if (!name.includes("/") && !namesOf(context.identity).finalizers.has(name)) {
    out.push(invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified"));
  }
}
