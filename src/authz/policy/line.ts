// How the policy of the start is written down: one line per role, its rules as lists of words. Everything is in
// canonical spelling and is spelled in the identity once, when the lines are made objects of.
import type { PolicyRule, Subject } from "../../api/gen/rbac/v1.ts";

/** Names of the roles that others are gathered into. */
export type Gathered = "admin" | "edit" | "view";

/** A role. */
export interface RoleLine {
  readonly role: string;
  readonly rules: readonly PolicyRule[];
  /** Rules come from the roles that join these, too (`aggregationRule`). */
  readonly gathers?: readonly Gathered[];
  /** The roles this one's rules are gathered into. */
  readonly joins?: readonly Gathered[];
}

/** A binding of the named role to the listed subjects. */
export interface BindingLine {
  readonly binding: string;
  readonly role: string;
  readonly subjects: readonly Subject[];
}

const rbac = "rbac.authorization.k8s.io";

function words(list: string): string[] {
  return list.split(" ");
}

/** Verbs on resources of groups (`core` is the group without a name), of all names or of those listed. */
export function may(verbs: string, groups: string, resources: string, names = ""): PolicyRule {
  return {
    verbs: words(verbs),
    apiGroups: words(groups).map((group) => (group === "core" ? "" : group)),
    resources: words(resources),
    ...(names === "" ? {} : { resourceNames: words(names) }),
  };
}

/** Verbs on paths that are no resources. */
export function visit(verbs: string, paths: string): PolicyRule {
  return { verbs: words(verbs), nonResourceURLs: words(paths) };
}

/** A user as subject of a binding. */
export function user(name: string): Subject {
  return { kind: "User", apiGroup: rbac, name };
}

/** A group as subject of a binding. */
export function group(name: string): Subject {
  return { kind: "Group", apiGroup: rbac, name };
}

/** A service account as subject of a binding. */
export function account(namespace: string, name: string): Subject {
  return { kind: "ServiceAccount", name, namespace };
}
