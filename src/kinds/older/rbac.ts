// Roles and bindings of rbac.authorization.k8s.io/v1alpha1, whose subjects name a version instead of a group, and v1beta1.
import type { RoleBinding, Subject } from "../../api/gen/rbac/v1.ts";
import type { RoleBinding as OldBinding, Subject as OldSubject } from "../../api/gen/rbac/v1alpha1.ts";
import type { Identity } from "../../api/identity.ts";
import type { OlderVersion } from "./version.ts";

const group = "rbac.authorization.k8s.io";
const successor = [group, "v1"] as const;

/** Versions of the kinds of RBAC. */
export const olderRbac: readonly OlderVersion[] = [
  { group, version: "v1alpha1", kinds: ["ClusterRole"], message: "rbac/v1alpha1.ClusterRole", successor },
  { group, version: "v1alpha1", kinds: ["Role"], message: "rbac/v1alpha1.Role", successor },
  {
    group,
    version: "v1alpha1",
    kinds: ["ClusterRoleBinding"],
    message: "rbac/v1alpha1.ClusterRoleBinding",
    successor,
    succeed: fromBinding,
  },
  {
    group,
    version: "v1alpha1",
    kinds: ["RoleBinding"],
    message: "rbac/v1alpha1.RoleBinding",
    successor,
    succeed: fromBinding,
  },
  {
    group,
    version: "v1beta1",
    kinds: ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
    successor,
  },
];

function fromBinding(object: OldBinding, identity: Identity): RoleBinding {
  return { ...object, subjects: object.subjects?.map((subject) => fromSubject(subject, identity.spell(group))) };
}

/** Users and groups are of this group, whatever version they name; the user `*` stood for all authenticated users. */
function fromSubject({ apiVersion = "", ...subject }: OldSubject, own: string): Subject {
  const { kind, name } = subject;
  if (kind === "ServiceAccount") return subject;
  if (kind !== "User" && kind !== "Group") return { ...subject, apiGroup: groupOf(apiVersion) };
  if (kind === "User" && name === "*") {
    return { ...subject, kind: "Group", apiGroup: own, name: "system:authenticated" };
  }
  return { ...subject, apiGroup: own };
}

/** `apps` of `apps/v1`; empty where a version alone is named, or what is none. */
function groupOf(apiVersion: string): string {
  const parts = apiVersion.split("/");
  return parts.length === 2 ? (parts[0] ?? "") : "";
}
