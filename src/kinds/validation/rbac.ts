// Roles and bindings.
import { type FieldError, invalid, notSupported, required } from "../../api/fielderror.ts";
import type * as rbac from "../../api/gen/rbac/v1.ts";
import { GoText, quote } from "../../api/gotext.ts";
import { isDns1123Subdomain, isPathSegment } from "../formats.ts";
import type { StrategyContext } from "../strategy.ts";
import { type Errors, eachItem, empty, faults } from "./check.ts";
import { checkLabelSelector } from "./selector.ts";

/** Rules of a role, new or changed. */
export function validateRole(object: rbac.Role): FieldError[] {
  const out: Errors = [];
  eachItem(out, object.rules, "rules", (rule, place) => checkRule(out, place, rule, true));
  return out;
}

/** Rules of a cluster role, new or changed. */
export function validateClusterRole(object: rbac.ClusterRole): FieldError[] {
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

function checkRule(out: Errors, path: string, rule: rbac.PolicyRule, namespaced: boolean): void {
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

/** Rules of a new role binding. */
export function validateRoleBinding(object: rbac.RoleBinding, context: StrategyContext): FieldError[] {
  return validateBinding(object, ["Role", "ClusterRole"], true, context);
}

/** Rules of a changed role binding. */
export function validateRoleBindingUpdate(
  object: rbac.RoleBinding,
  old: rbac.RoleBinding,
  context: StrategyContext,
): FieldError[] {
  const errors = validateRoleBinding(object, context);
  return [...errors, ...errors, ...validateRoleRef(object.roleRef, old.roleRef)];
}

/** Rules of a new cluster role binding. */
export function validateClusterRoleBinding(object: rbac.ClusterRoleBinding, context: StrategyContext): FieldError[] {
  return validateBinding(object, ["ClusterRole"], false, context);
}

/** Rules of a changed cluster role binding. */
export function validateClusterRoleBindingUpdate(
  object: rbac.ClusterRoleBinding,
  old: rbac.ClusterRoleBinding,
  context: StrategyContext,
): FieldError[] {
  const errors = validateClusterRoleBinding(object, context);
  return [...errors, ...errors, ...validateRoleRef(object.roleRef, old.roleRef)];
}

function validateRoleRef(ref: rbac.RoleRef, old: rbac.RoleRef): FieldError[] {
  if (ref.apiGroup === old.apiGroup && ref.kind === old.kind && ref.name === old.name) return [];
  const shown = `rbac.RoleRef{APIGroup:${quote(ref.apiGroup)}, Kind:${quote(ref.kind)}, Name:${quote(ref.name)}}`;
  return [invalid("roleRef", new GoText(shown), "cannot change roleRef")];
}

function validateBinding(
  object: rbac.RoleBinding | rbac.ClusterRoleBinding,
  kinds: readonly string[],
  namespaced: boolean,
  { identity }: StrategyContext,
): FieldError[] {
  const out: Errors = [];
  const group = identity.spell("rbac.authorization.k8s.io");
  const { roleRef } = object;
  if (roleRef.apiGroup !== group) out.push(notSupported("roleRef.apiGroup", roleRef.apiGroup, [group]));
  if (!kinds.includes(roleRef.kind)) out.push(notSupported("roleRef.kind", roleRef.kind, kinds));
  if (empty(roleRef.name)) out.push(required("roleRef.name"));
  else faults(out, "roleRef.name", roleRef.name, isPathSegment(roleRef.name));
  eachItem(out, object.subjects, "subjects", (subject, place) => checkSubject(out, place, subject, namespaced, group));
  return out;
}

function checkSubject(out: Errors, path: string, subject: rbac.Subject, namespaced: boolean, group: string): void {
  const { kind, name, apiGroup = "", namespace = "" } = subject;
  if (name === "") out.push(required(`${path}.name`));
  if (kind === "ServiceAccount") {
    if (name !== "") faults(out, `${path}.name`, name, isDns1123Subdomain(name));
    if (apiGroup !== "") out.push(notSupported(`${path}.apiGroup`, apiGroup, [""]));
    if (!namespaced && namespace === "") out.push(required(`${path}.namespace`));
  } else if (kind === "User" || kind === "Group") {
    if (apiGroup !== group) out.push(notSupported(`${path}.apiGroup`, apiGroup, [group]));
  } else out.push(notSupported(`${path}.kind`, kind, ["ServiceAccount", "User", "Group"]));
}
