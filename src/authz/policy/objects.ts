// The policy of the start as objects in the identity's names: roles for people, for the system's parts and for
// controllers, and who has them. The permissions of a cluster's components are upstream's at this release.
import type { PolicyRule, Subject } from "../../api/gen/rbac/v1.ts";
import type { Identity } from "../../api/identity.ts";
import { clusterBindings, namespaceBindings, namespaceRoles } from "./bindings.ts";
import { controllerRoles } from "./controllers.ts";
import { account, type BindingLine, type RoleLine } from "./line.ts";
import { systemRoles } from "./system.ts";
import { userRoles } from "./users.ts";

/** An object of the policy: a role has rules, a binding subjects and a role. */
export interface PolicyObject {
  readonly resource: "clusterroles" | "clusterrolebindings" | "roles" | "rolebindings";
  /** Empty for cluster-wide ones. */
  readonly namespace: string;
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly annotations: ReadonlyMap<string, string>;
  readonly rules: readonly PolicyRule[];
  /** Labels, each with the value `true`, of the roles gathered into this one. Undefined: it gathers none. */
  readonly gathers: readonly string[] | undefined;
  readonly subjects: readonly Subject[];
  readonly roleRef: { readonly apiGroup: string; readonly kind: string; readonly name: string } | undefined;
}

/** Key of the annotation that decides whether a start may add missing rules; `false` leaves the object unchanged. */
export const autoupdateKey = "rbac.authorization.kubernetes.io/autoupdate";

const bootstrappingKey = "kubernetes.io/bootstrapping";
const gatherPrefix = "rbac.authorization.k8s.io/aggregate-to-";

/** Every object of the policy, in the order they are to be written: a role before its bindings. */
export function policyObjects(identity: Identity): readonly PolicyObject[] {
  const accounts = controllerRoles.map(({ role }): BindingLine => {
    return { binding: role, role, subjects: [account("kube-system", role.slice("system:controller:".length))] };
  });
  return [
    ...[...systemRoles, ...userRoles, ...controllerRoles].map((line) => roleObject(identity, "clusterroles", "", line)),
    ...[...clusterBindings, ...accounts].map((line) => bindingObject(identity, "clusterrolebindings", "", line)),
    ...namespaceRoles.map((line) => roleObject(identity, "roles", line.namespace, line)),
    ...namespaceBindings.map((line) => bindingObject(identity, "rolebindings", line.namespace, line)),
  ];
}

function roleObject(
  { spell }: Identity,
  resource: "clusterroles" | "roles",
  namespace: string,
  line: RoleLine,
): PolicyObject {
  const joins = (line.joins ?? []).map((name): [string, string] => [spell(`${gatherPrefix}${name}`), "true"]);
  return {
    resource,
    namespace: spell(namespace),
    name: spell(line.role),
    labels: new Map([[spell(bootstrappingKey), "rbac-defaults"], ...joins]),
    annotations: new Map([[spell(autoupdateKey), "true"]]),
    rules: line.rules.map((rule) => spellRule(spell, rule)),
    gathers: line.gathers?.map((name) => spell(`${gatherPrefix}${name}`)),
    subjects: [],
    roleRef: undefined,
  };
}

function bindingObject(
  { spell }: Identity,
  resource: "clusterrolebindings" | "rolebindings",
  namespace: string,
  line: BindingLine,
): PolicyObject {
  const kind = resource === "rolebindings" ? "Role" : "ClusterRole";
  return {
    resource,
    namespace: spell(namespace),
    name: spell(line.binding),
    labels: new Map([[spell(bootstrappingKey), "rbac-defaults"]]),
    annotations: new Map([[spell(autoupdateKey), "true"]]),
    rules: [],
    gathers: undefined,
    subjects: line.subjects.map((subject) => spellSubject(spell, subject)),
    roleRef: { apiGroup: spell("rbac.authorization.k8s.io"), kind, name: spell(line.role) },
  };
}

/** Spelled in the identity, without duplicates that result from it. */
function spellRule(spell: Identity["spell"], rule: PolicyRule): PolicyRule {
  const each = (list: readonly string[]): string[] => [...new Set(list.map(spell))];
  return {
    verbs: rule.verbs,
    ...(rule.apiGroups === undefined ? {} : { apiGroups: each(rule.apiGroups) }),
    ...(rule.resources === undefined ? {} : { resources: rule.resources }),
    ...(rule.resourceNames === undefined ? {} : { resourceNames: each(rule.resourceNames) }),
    ...(rule.nonResourceURLs === undefined ? {} : { nonResourceURLs: rule.nonResourceURLs }),
  };
}

function spellSubject(spell: Identity["spell"], { kind, apiGroup, name, namespace }: Subject): Subject {
  return {
    kind,
    ...(apiGroup === undefined ? {} : { apiGroup: spell(apiGroup) }),
    name: spell(name),
    ...(namespace === undefined ? {} : { namespace: spell(namespace) }),
  };
}
