// Users grant only rights that they hold: a role may contain only rules its writer holds, a binding may refer only to a
// role whose rules its writer holds, unless the verbs `escalate` and `bind` allow more. Checks and texts are upstream's
// (policy-based storage of the rbac registry).
import { at, forbiddenField, invalidObject } from "../api/fielderror.ts";
import type { ClusterRole, PolicyRule, RoleRef } from "../api/gen/rbac/v1.ts";
import { quote } from "../api/gotext.ts";
import type { Identity } from "../api/identity.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { forbidden, notFound, type Status } from "../api/status.ts";
import type { User } from "../api/user.ts";
import { limits } from "../config/limits.ts";
import { equal } from "../kinds/validation/equal.ts";
import { type Authorizer, mastersGroup } from "./authorizer.ts";
import { may, visit } from "./policy/line.ts";
import { type Roles, TooManyRules, uncovered } from "./rules.ts";

/** A write that may grant something. */
export interface GrantWrite {
  readonly resource: Resource;
  readonly namespace: string;
  /** Empty for a create. */
  readonly name: string;
  readonly user: User;
}

/** Looks at an object that is about to be written; why it may not be, or undefined. */
export type GrantCheck = (
  write: GrantWrite,
  object: ApiObject,
  old: ApiObject | undefined,
) => Promise<Status | undefined> | undefined;

const everything = [may("*", "*", "*"), visit("*", "*")];

/** Makes the check of a front. Writes of anything but roles and bindings cost one comparison. */
export function createGrantCheck(identity: Identity, authorizer: Authorizer, roles: Roles): GrantCheck {
  const group = identity.spell("rbac.authorization.k8s.io");
  const asks = async (write: GrantWrite, verb: string, resource: string, name: string): Promise<boolean> => {
    const { user, namespace } = write;
    const what = { group, version: "*", resource, subresource: "", namespace, name, path: "" };
    return (await authorizer.authorize({ user, verb, isResource: true, ...what })).verdict === "allow";
  };
  return (write, object, old) => {
    const { resource, user } = write;
    if (resource.group !== group || user.groups.includes(mastersGroup)) return undefined;
    if (old !== undefined && isCollectorsWork(resource, object, old)) return undefined;
    switch (resource.resource) {
      case "roles":
      case "clusterroles":
        return checkRole(roles, write, object as ApiObject & ClusterRole, old as ClusterRole | undefined, asks);
      case "rolebindings":
      case "clusterrolebindings":
        return checkBinding(roles, write, object as ApiObject & { roleRef: RoleRef }, asks);
      default:
        return undefined;
    }
  };
}

type Asks = (write: GrantWrite, verb: string, resource: string, name: string) => Promise<boolean>;

async function checkRole(
  roles: Roles,
  write: GrantWrite,
  role: ApiObject & ClusterRole,
  old: ClusterRole | undefined,
  asks: Asks,
): Promise<Status | undefined> {
  if (await asks(write, "escalate", write.resource.resource, write.name)) return undefined;
  const refused = checkHeld(roles, write, role, role.rules ?? []);
  if (refused !== undefined || (!gathers(role) && !gathers(old))) return refused;
  // Aggregated rules are not known yet.
  if (checkHeld(roles, write, role, everything) === undefined) return undefined;
  const why = "must have cluster-admin privileges to use the aggregationRule";
  return forbidden(write.resource, role.metadata.name ?? "", why);
}

function gathers(role: ClusterRole | undefined): boolean {
  return (role?.aggregationRule?.clusterRoleSelectors ?? []).length > 0;
}

async function checkBinding(
  roles: Roles,
  write: GrantWrite,
  binding: ApiObject & { roleRef: RoleRef },
  asks: Asks,
): Promise<Status | undefined> {
  const { roleRef } = binding;
  // Validation refuses any other kind.
  if (roleRef.kind !== "Role" && roleRef.kind !== "ClusterRole") return undefined;
  const resource = roleRef.kind === "Role" ? "roles" : "clusterroles";
  const { group } = write.resource;
  if (roleRef.apiGroup === group && (await asks(write, "bind", resource, roleRef.name))) return undefined;
  const rules = roles.rulesOf(roleRef, write.namespace);
  if (rules === undefined) return notFound({ group, resource }, roleRef.name);
  return checkHeld(roles, write, binding, rules);
}

/** 403 unless the user holds the rules where they are to hold. */
function checkHeld(
  roles: Roles,
  { resource, namespace, user }: GrantWrite,
  object: ApiObject,
  rules: readonly PolicyRule[],
): Status | undefined {
  const held = roles.rulesFor(user, namespace);
  const missing = uncovered(held.rules, rules);
  if (missing instanceof TooManyRules) return tooManyRules(resource, object, missing);
  if (missing.length === 0) return undefined;
  const lines = [...new Set(compact(missing).map(ruleText))].sort();
  const groups = user.groups.map(quote).join(" ");
  const who = `user ${quote(user.name)} (groups=[${groups}])`;
  const doubts = held.errors.length === 0 ? "" : `; resolution errors: [${held.errors.join(" ")}]`;
  const why = `${who} is attempting to grant RBAC permissions not currently held:\n${lines.join("\n")}${doubts}`;
  return forbidden(resource, object.metadata.name ?? "", why);
}

/** The 422 for rules that cannot be compared in good time; a user with the right to `escalate` or `bind` is not asked. */
function tooManyRules(resource: Resource, { metadata }: ApiObject, { index }: TooManyRules): Status {
  const field = resource.resource.endsWith("bindings") ? "roleRef" : at("rules", index);
  const max = limits.ruleCombinationsMax;
  const why =
    field === "roleRef"
      ? `the role's rules[${index}] and those before it have more than ${max} combinations to compare with what the user holds`
      : `this rule and those before it have more than ${max} combinations of verbs, groups, resources and names to compare with what the user holds`;
  return invalidObject(resource.group, resource.kind, metadata.name ?? "", [forbiddenField(field, why)]);
}

/** Rules about one resource put together, their verbs in the order they came. */
function compact(parts: readonly PolicyRule[]): PolicyRule[] {
  const whole = new Map<string, PolicyRule>();
  const paths: PolicyRule[] = [];
  for (const part of parts) {
    if (part.nonResourceURLs !== undefined) {
      paths.push(part);
      continue;
    }
    const key = JSON.stringify([part.apiGroups, part.resources, part.resourceNames]);
    const verbs = whole.get(key)?.verbs;
    if (verbs === undefined) whole.set(key, { ...part, verbs: [...(part.verbs ?? [])] });
    else for (const verb of part.verbs ?? []) verbs.push(verb);
  }
  return [...paths, ...whole.values()];
}

/** `{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}`. */
function ruleText(rule: PolicyRule): string {
  const fields: readonly (readonly [string, readonly string[] | undefined])[] = [
    ["APIGroups", rule.apiGroups],
    ["Resources", rule.resources],
    ["NonResourceURLs", rule.nonResourceURLs],
    ["ResourceNames", rule.resourceNames],
    ["Verbs", rule.verbs],
  ];
  const shown = fields.filter(([, values]) => values !== undefined && values.length > 0);
  return `{${shown.map(([name, values]) => `${name}:[${(values ?? []).map(quote).join(" ")}]`).join(", ")}}`;
}

/** Whether only owners and finalizers changed, as the garbage collector does. */
function isCollectorsWork({ message }: Resource, object: ApiObject, old: ApiObject): boolean {
  const { ownerReferences, finalizers, managedFields } = old.metadata;
  const stripped = { ...object, metadata: { ...object.metadata, ownerReferences, finalizers, managedFields } };
  return equal(message.name, stripped, old);
}
