// ClusterRoleBinding: which users may do what a cluster role says, everywhere.
import type { FieldError } from "../../api/fielderror.ts";
import type { ClusterRoleBinding } from "../../api/gen/rbac/v1.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { strategyFor } from "../generic.ts";
import type { Strategy, StrategyContext } from "../strategy.ts";
import { roleBindingColumns, validateBinding, validateRoleRef } from "./bindings.ts";
import { named } from "./rules.ts";

/** Behaviour of cluster role bindings. */
export function clusterRoleBindingBehaviour(resource: Resource): OwnBehaviour {
  return {
    strategy: clusterRoleBindingStrategy(resource),
    columns: roleBindingColumns(),
    metaRules: { update: [2, 1] },
  };
}

function clusterRoleBindingStrategy(resource: Resource): Strategy<ClusterRoleBinding> {
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
