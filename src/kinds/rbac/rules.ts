// What roles, and bindings to them, have in common; the rules of a role.
import { type FieldError, invalid, required } from "../../api/fielderror.ts";
import type { PolicyRule } from "../../api/gen/rbac/v1.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Rules } from "../generic.ts";
import type { StrategyContext } from "../strategy.ts";
import type { Errors } from "../validation/check.ts";

/** Names of roles and bindings hold colons, and a PUT creates them. */
export function named<T extends ApiObject>(rules: Rules<T>): Rules<T> {
  return { nameFormat: "path-segment", allowCreateOnUpdate: true, ...rules };
}

/** Upstream runs the rules of roles and bindings twice on a change, and tells of every fault as often. */
export function twice<T>(rules: (object: T, context: StrategyContext) => FieldError[]) {
  return (object: T, _old: T, context: StrategyContext): FieldError[] => {
    const errors = rules(object, context);
    return [...errors, ...errors];
  };
}

/** One rule of a role; those of a namespace grant no paths. */
export function checkRule(out: Errors, path: string, rule: PolicyRule, namespaced: boolean): void {
  const { verbs, apiGroups, resources, resourceNames, nonResourceURLs } = rule;
  if (!verbs?.length) out.push(required(`${path}.verbs`, "verbs must contain at least one value"));
  if (nonResourceURLs?.length) {
    const place = `${path}.nonResourceURLs`;
    if (namespaced) out.push(invalid(place, nonResourceURLs, "namespaced rules cannot apply to non-resource URLs"));
    if (apiGroups?.length || resources?.length || resourceNames?.length) {
      const why = "rules cannot apply to both regular resources and non-resource URLs";
      out.push(invalid(place, nonResourceURLs, why));
    }
    return;
  }
  if (!apiGroups?.length) out.push(required(`${path}.apiGroups`, "resource rules must supply at least one api group"));
  if (!resources?.length) out.push(required(`${path}.resources`, "resource rules must supply at least one resource"));
}
