// ClusterRole: what may be done in every namespace, and to what is in none.
import { type FieldError, invalid, required } from "../../api/fielderror.ts";
import type { ClusterRole } from "../../api/gen/rbac/v1.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { strategyFor } from "../generic.ts";
import type { Strategy } from "../strategy.ts";
import { type Errors, eachItem } from "../validation/check.ts";
import { checkLabelSelector } from "../validation/selector.ts";
import { checkRule, named, twice } from "./rules.ts";

/** Behaviour of cluster roles. */
export function clusterRoleBehaviour(resource: Resource): OwnBehaviour {
  return {
    strategy: clusterRoleStrategy(resource),
    metaRules: { update: [2, 1] },
  };
}

function clusterRoleStrategy(resource: Resource): Strategy<ClusterRole> {
  return strategyFor<ClusterRole>(
    resource,
    named({ validate: validateClusterRole, validateUpdate: twice(validateClusterRole) }),
  );
}

/** Rules of a cluster role, new or changed. */
export function validateClusterRole(object: ClusterRole): FieldError[] {
  const out: Errors = [];
  eachItem(out, object.rules, "rules", (rule, place) => checkRule(out, place, rule, false));
  if (object.aggregationRule === undefined) return out;
  const path = "aggregationRule.clusterRoleSelectors";
  const selectors = object.aggregationRule.clusterRoleSelectors ?? [];
  if (selectors.length === 0)
    out.push(required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil"));
  eachItem(out, selectors, path, (selector, place) => {
    const before = out.length;
    checkLabelSelector(out, place, selector);
    if (out.length > before) out.push(invalid(place, "null", "invalid label selector."));
  });
  return out;
}
