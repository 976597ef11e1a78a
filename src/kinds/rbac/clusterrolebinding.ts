// ClusterRoleBinding.
import type { FieldError } from "../../api/fielderror.ts";
import type { ClusterRoleBinding } from "../../api/gen/rbac/v1.ts";
import type { Resource } from "../../api/scheme.ts";
import { strategyFor } from "../generic.ts";
import type { Strategy, StrategyContext } from "../strategy.ts";
import { validateBinding, validateRoleRef } from "./bindings.ts";
import { named } from "./rules.ts";

/** Cluster role bindings. */
export function clusterRoleBindingStrategy(resource: Resource): Strategy<ClusterRoleBinding> {
  return strategyFor<ClusterRoleBinding>(
    resource,
    named({ validate: validateClusterRoleBinding, validateUpdate: validateClusterRoleBindingUpdate }),
  );
}

/** Rules of a new cluster role binding. */
export function validateClusterRoleBinding(object: ClusterRoleBinding, context: StrategyContext): FieldError[] {
  return validateBinding(object, ["ClusterRole"], false, context);
}

/** Rules of a changed cluster role binding. */
export function validateClusterRoleBindingUpdate(
  object: ClusterRoleBinding,
  old: ClusterRoleBinding,
  context: StrategyContext,
): FieldError[] {
  const errors = validateClusterRoleBinding(object, context);
  return [...errors, ...errors, ...validateRoleRef(object.roleRef, old.roleRef)];
}
