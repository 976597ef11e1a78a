// RoleBinding: which users may do what a role says, in its namespace.
import type { FieldError } from "../../api/fielderror.ts";
import type { RoleBinding } from "../../api/gen/rbac/v1.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { strategyFor } from "../generic.ts";
import type { Strategy, StrategyContext } from "../strategy.ts";
import { roleBindingColumns, validateBinding, validateRoleRef } from "./bindings.ts";
import { named } from "./rules.ts";

/** Behaviour of role bindings. */
export function roleBindingBehaviour(resource: Resource): OwnBehaviour {
  return {
    strategy: roleBindingStrategy(resource),
    columns: roleBindingColumns(),
    metaRules: { update: [2, 1] },
  };
}

function roleBindingStrategy(resource: Resource): Strategy<RoleBinding> {
  return strategyFor<RoleBinding>(
    resource,
    named({ validate: validateRoleBinding, validateUpdate: validateRoleBindingUpdate }),
  );
}

/** Rules of a new role binding. */
export function validateRoleBinding(object: RoleBinding, context: StrategyContext): FieldError[] {
  return validateBinding(object, ["Role", "ClusterRole"], true, context);
}

/** Rules of a changed role binding. */
export function validateRoleBindingUpdate(
  object: RoleBinding,
  old: RoleBinding,
  context: StrategyContext,
): FieldError[] {
  const errors = validateRoleBinding(object, context);
  return [...errors, ...errors, ...validateRoleRef(object.roleRef, old.roleRef)];
}
