// Puts the roles and bindings of the start in place: what is missing is made, what lacks rules, subjects or labels of
// ours gets them, and what an administrator marked (autoupdate `false`) stays as it is. The rules are those of the
// reference's reconciliation; nothing is ever taken away but a binding of ours to another role.
import type { AggregationRule, PolicyRule, RoleRef, Subject } from "../api/gen/rbac/v1.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource, Scheme } from "../api/scheme.ts";
import { isStatus, type Status } from "../api/status.ts";
import { autoupdateKey, type PolicyObject, policyObjects } from "../authz/policy/objects.ts";
import { TooManyRules, uncovered } from "../authz/rules.ts";
import { assert } from "../base/assert.ts";
import type { Objects } from "../cache/view/objects.ts";
import { copyObject } from "../codec/engine/copy.ts";
import { Fault, parseJson } from "../codec/engine/json.ts";
import { decodeAs } from "../request/body/body.ts";
import type { WriteServices } from "../request/commit/writerequest.ts";
import { writeMerged } from "../request/write/write.ts";
import { Actor } from "./actor.ts";

const group = "rbac.authorization.k8s.io";

/** A role or binding: one shape for all four kinds. */
interface Policy extends ApiObject {
  rules?: PolicyRule[] | undefined;
  aggregationRule?: AggregationRule | undefined;
  subjects?: Subject[] | undefined;
  roleRef?: RoleRef | undefined;
}

/** Writes what is missing. The first refusal, or undefined when everything is there; `stopped` ends it early. */
export async function bootstrapPolicy(
  writers: WriteServices,
  objects: Objects,
  stopped: () => boolean = () => false,
): Promise<Status | undefined> {
  const wanted = policyObjects(writers.scheme.identity);
  // A role is there before its bindings; those of one kind share commits.
  for (const kind of ["clusterroles", "clusterrolebindings", "roles", "rolebindings"] as const) {
    if (stopped()) return undefined;
    const ofKind = wanted.filter(({ resource }) => resource === kind);
    const done = await Promise.all(ofKind.map((object) => reconcile(writers, objects, object)));
    const refused = done.find((status) => status !== undefined);
    if (refused !== undefined) return refused;
  }
  return undefined;
}

/** Whether the last object of the policy is there, whoever wrote it (or its kind is switched off). */
export function hasPolicy({ identity, find }: Scheme, objects: Objects): boolean {
  const last = policyObjects(identity).at(-1);
  assert(last !== undefined, "There is a policy");
  if (find(identity.spell(group), "v1", last.resource) === undefined) return true;
  return objects.table(group, "v1", last.resource).get(last.namespace, last.name) !== undefined;
}

async function reconcile(writers: WriteServices, objects: Objects, wanted: PolicyObject): Promise<Status | undefined> {
  const { identity } = writers.scheme;
  const resource = writers.scheme.find(identity.spell(group), "v1", wanted.resource);
  // Switched off: no request is authorized by it.
  if (resource === undefined) return undefined;
  const key = identity.spell(autoupdateKey);
  const existing = objects.table<Policy>(group, "v1", wanted.resource).get(wanted.namespace, wanted.name);
  if (existing !== undefined && !lacks(existing, wanted, key)) return undefined;
  const actor = new Actor(writers, "kube-apiserver");
  const target = { resource, namespace: wanted.namespace, name: wanted.name };
  if (existing?.roleRef !== undefined && !sameRole(existing.roleRef, wanted)) {
    const uid = existing.metadata.uid;
    const removed = await actor.delete(target, uid === undefined ? {} : { preconditions: { uid } });
    if (isStatus(removed) && !removed.success && removed.reason !== "NotFound") return removed;
  }
  const done = await writeMerged(writers, actor.request(target), (_current, old) => {
    const object = old === undefined ? fresh(resource, wanted) : copyObject(resource.message, old as Policy);
    if (old !== undefined && lacks(object, wanted, key)) complete(object, wanted);
    return object;
  });
  return isStatus(done) ? done : undefined;
}

/** Whether the start has something to do about an object that is there. */
function lacks(existing: Policy, wanted: PolicyObject, key: string): boolean {
  const { labels, annotations } = existing.metadata;
  if (annotations?.get(key) === "false") return false;
  if (existing.roleRef !== undefined && !sameRole(existing.roleRef, wanted)) return true;
  for (const name of wanted.labels.keys()) if (labels?.has(name) !== true) return true;
  for (const name of wanted.annotations.keys()) if (annotations?.has(name) !== true) return true;
  if (missingRules(existing, wanted).length > 0) return true;
  if (missingSubjects(existing, wanted).length > 0 || missingLabels(existing, wanted).length > 0) return true;
  return wanted.gathers === undefined && existing.aggregationRule !== undefined;
}

/** Rules the start brings and a role lacks. One that cannot be compared in good time is left as it is. */
function missingRules({ rules = [] }: Policy, wanted: PolicyObject): readonly PolicyRule[] {
  const missing = uncovered(rules, wanted.rules);
  return missing instanceof TooManyRules ? [] : missing;
}

/** Adds what is missing; what is there wins. */
function complete(object: Policy, wanted: PolicyObject): void {
  object.metadata.labels = new Map([...wanted.labels, ...(object.metadata.labels ?? [])]);
  object.metadata.annotations = new Map([...wanted.annotations, ...(object.metadata.annotations ?? [])]);
  const rules = missingRules(object, wanted);
  if (rules.length > 0) object.rules = [...(object.rules ?? []), ...rules];
  const subjects = missingSubjects(object, wanted);
  if (subjects.length > 0) object.subjects = [...(object.subjects ?? []), ...subjects];
  if (wanted.gathers === undefined) {
    if (object.aggregationRule !== undefined) object.aggregationRule = undefined;
    return;
  }
  const selectors = missingLabels(object, wanted).map(selectorOf);
  if (selectors.length === 0) return;
  object.aggregationRule = {
    clusterRoleSelectors: [...(object.aggregationRule?.clusterRoleSelectors ?? []), ...selectors],
  };
}

function sameRole(roleRef: RoleRef, { roleRef: wanted }: PolicyObject): boolean {
  return roleRef.kind === wanted?.kind && roleRef.name === wanted.name && roleRef.apiGroup === wanted.apiGroup;
}

function missingSubjects({ subjects = [] }: Policy, wanted: PolicyObject): Subject[] {
  const same = (a: Subject, b: Subject): boolean =>
    a.kind === b.kind &&
    a.name === b.name &&
    (a.namespace ?? "") === (b.namespace ?? "") &&
    (a.apiGroup ?? "") === (b.apiGroup ?? "");
  return wanted.subjects.filter((subject) => !subjects.some((known) => same(known, subject)));
}

/** The labels a role should gather by and does not. */
function missingLabels({ aggregationRule }: Policy, { gathers = [] }: PolicyObject): string[] {
  const selectors = aggregationRule?.clusterRoleSelectors ?? [];
  return gathers.filter(
    (label) =>
      !selectors.some(
        ({ matchLabels, matchExpressions }) =>
          (matchExpressions ?? []).length === 0 && matchLabels?.size === 1 && matchLabels.get(label) === "true",
      ),
  );
}

function selectorOf(label: string): { matchLabels: Map<string, string> } {
  return { matchLabels: new Map([[label, "true"]]) };
}

/** The object as it is made. */
function fresh(resource: Resource, wanted: PolicyObject): Policy {
  const { namespace, name, labels, annotations, rules, subjects, roleRef, gathers } = wanted;
  const aggregationRule = gathers && {
    clusterRoleSelectors: gathers.map((label) => ({ matchLabels: Object.fromEntries([[label, "true"]]) })),
  };
  const document = {
    metadata: {
      name,
      ...(namespace === "" ? {} : { namespace }),
      labels: Object.fromEntries(labels),
      annotations: Object.fromEntries(annotations),
    },
    // Aggregated rules are filled in by another controller.
    ...(roleRef !== undefined ? { subjects, roleRef } : gathers === undefined ? { rules } : { aggregationRule }),
  };
  const value = parseJson(Buffer.from(JSON.stringify(document)));
  assert(!(value instanceof Fault), "An object of ours is JSON");
  const decoded = decodeAs(resource, value);
  assert(!(decoded instanceof Fault), "An object of ours fits its type");
  return decoded;
}
