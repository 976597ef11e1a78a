// What an object uses of a quota (upstream: the quota evaluators): its own count, unless its kind says otherwise.
import type { Identity } from "../../api/identity.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import { claimEvaluator } from "../core/persistentvolumeclaim.ts";
import { podEvaluator } from "../core/podquota.ts";
import { services } from "../core/service.ts";
import { type AmountMap, countOf } from "./amounts.ts";

/** How one resource is counted. */
export interface Evaluator {
  /** Writes that may use more: always creates, updates where what an object uses can change. */
  readonly onUpdate: boolean;
  /** Of the names a quota bounds, those this resource uses. */
  matching(names: Iterable<string>): string[];
  /** What an object uses. `nowMs`: wall clock. */
  usage(object: ApiObject, nowMs: number): AmountMap;
  /** Names of compute resources a container lacks though a quota bounds them; pods only. */
  missing?(bounded: readonly string[], object: ApiObject): string[];
}

/** The name that counts every object of a resource: `count/pods`, `count/deployments.apps`. */
export function countName({ group, resource }: Pick<Resource, "group" | "resource">): string {
  return group === "" ? `count/${resource}` : `count/${resource}.${group}`;
}

/** Kinds no quota counts, in canonical spelling (reference: ignoredResources). */
const ignored = new Set([
  "bindings.",
  "componentstatuses.",
  "events.",
  "tokenreviews.authentication.k8s.io",
  "subjectaccessreviews.authorization.k8s.io",
  "selfsubjectaccessreviews.authorization.k8s.io",
  "localsubjectaccessreviews.authorization.k8s.io",
  "selfsubjectrulesreviews.authorization.k8s.io",
]);

/** Core kinds that older quotas bound by their plain names. */
const plainCounts = new Set(["configmaps", "resourcequotas", "replicationcontrollers", "secrets"]);

const tables = new WeakMap<Identity, Map<string, Evaluator | undefined>>();

/** How a resource is counted; undefined: it is not. */
export function evaluatorOf(resource: Resource, identity: Identity): Evaluator | undefined {
  let table = tables.get(identity);
  if (table === undefined) tables.set(identity, (table = new Map()));
  const key = `${resource.resource}.${resource.group}`;
  if (!table.has(key)) table.set(key, makeEvaluator(resource, identity));
  return table.get(key);
}

function makeEvaluator(resource: Resource, identity: Identity): Evaluator | undefined {
  const key = `${resource.resource}.${resource.group}`;
  if ([...ignored].some((name) => identity.spell(name) === key)) return undefined;
  if (resource.group === "") {
    if (resource.resource === "pods") return podEvaluator(identity);
    if (resource.resource === "services") return services;
    if (resource.resource === "persistentvolumeclaims") return claimEvaluator(identity);
  }
  const names = [countName(resource)];
  if (resource.group === "" && plainCounts.has(resource.resource)) names.push(resource.resource);
  return {
    onUpdate: false,
    matching: (bounded) => [...bounded].filter((name) => names.includes(name)),
    usage: () => new Map(names.map((name) => [name, countOf(1)])),
  };
}
