// Bindings of roles, of a namespace and of the cluster: what both kinds have in common.
import { type FieldError, invalid, notSupported, required } from "../../api/fielderror.ts";
import type { ClusterRoleBinding, RoleBinding, RoleRef, Subject } from "../../api/gen/rbac/v1.ts";
import { GoText, quote } from "../../api/gotext.ts";
import { ageColumn, type Columns, column, nameColumn, wide } from "../columns.ts";
import { isDns1123Subdomain, isPathSegment } from "../formats.ts";
import type { StrategyContext } from "../strategy.ts";
import { type Errors, eachItem, empty, faults } from "../validation/check.ts";

/** Columns of role bindings, of a namespace and of the cluster. */
export function roleBindingColumns(): Columns<RoleBinding> {
  const subjects = (kind: string, text: (name: string, namespace: string) => string) => (binding: RoleBinding) =>
    (binding.subjects ?? [])
      .filter((subject) => subject.kind === kind)
      .map((subject) => text(subject.name, subject.namespace ?? ""))
      .join(", ");
  return {
    columns: [
      nameColumn,
      column("Role", "Role that is granted", ({ roleRef }) => `${roleRef.kind}/${roleRef.name}`),
      ageColumn,
      column(
        "Users",
        "Users it is granted to",
        subjects("User", (name) => name),
        wide,
      ),
      column(
        "Groups",
        "Groups it is granted to",
        subjects("Group", (name) => name),
        wide,
      ),
      column(
        "ServiceAccounts",
        "Service accounts it is granted to",
        subjects("ServiceAccount", (name, namespace) => `${namespace}/${name}`),
        wide,
      ),
    ],
  };
}

/** What a binding grants cannot be changed. */
export function validateRoleRef(ref: RoleRef, old: RoleRef): FieldError[] {
  if (ref.apiGroup === old.apiGroup && ref.kind === old.kind && ref.name === old.name) return [];
  const shown = `RoleRef{APIGroup:${quote(ref.apiGroup)}, Kind:${quote(ref.kind)}, Name:${quote(ref.name)}}`;
  return [invalid("roleRef", new GoText(shown), "cannot change roleRef")];
}

/** Rules of a binding: `kinds` it may grant, and whether it is of a namespace. */
export function validateBinding(
  object: RoleBinding | ClusterRoleBinding,
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

function checkSubject(out: Errors, path: string, subject: Subject, namespaced: boolean, group: string): void {
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
