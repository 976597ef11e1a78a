// Which pods a quota is about: its scopes, plain or with a selector. A quota with scopes is about pods only.
import type { Affinity, Pod, PodAffinityTerm, ResourceQuotaSpec } from "../../api/gen/core/v1.ts";
import type { ApiObject } from "../../api/object.ts";
import { qosClass } from "../core/podqos.ts";
import type { Evaluator } from "./evaluator.ts";

/** One requirement on pods. */
export interface Scope {
  readonly scopeName: string;
  readonly operator: string;
  readonly values?: readonly string[] | undefined;
}

/** The scopes of a quota; plain ones stand for "has it". */
export function scopesOf({ scopes = [], scopeSelector }: ResourceQuotaSpec): Scope[] {
  const plain = scopes.map((scopeName) => ({ scopeName, operator: "Exists" }));
  return [...plain, ...(scopeSelector?.matchExpressions ?? [])];
}

/** Whether a quota with these scopes is about an object of the evaluator's resource. */
export function isInScopes(scopes: readonly Scope[], { missing }: Evaluator, object: ApiObject): boolean {
  // Only pods can lack something.
  return scopes.every((scope) => missing !== undefined && isInScope(scope, object as ApiObject & Pod));
}

/** Whether a pod is one a scope is about. */
export function isInScope({ scopeName, operator, values = [] }: Scope, pod: ApiObject & Pod): boolean {
  const { spec } = pod;
  switch (scopeName) {
    case "Terminating":
      return spec.activeDeadlineSeconds !== undefined && spec.activeDeadlineSeconds >= 0;
    case "NotTerminating":
      return !(spec.activeDeadlineSeconds !== undefined && spec.activeDeadlineSeconds >= 0);
    case "BestEffort":
      return qosClass(spec) === "BestEffort";
    case "NotBestEffort":
      return qosClass(spec) !== "BestEffort";
    case "PriorityClass":
      return isOfClass(operator, values, spec.priorityClassName ?? "");
    case "CrossNamespacePodAffinity":
      return reachesOut(spec.affinity);
    default:
      return false;
  }
}

function isOfClass(operator: string, values: readonly string[], name: string): boolean {
  switch (operator) {
    case "Exists":
      return name !== "";
    case "DoesNotExist":
      return name === "";
    case "In":
      return name !== "" && values.includes(name);
    default:
      return name === "" || !values.includes(name);
  }
}

/** Whether affinities look at pods of other namespaces. */
function reachesOut(affinity: Affinity | undefined): boolean {
  const terms: PodAffinityTerm[] = [];
  for (const kind of [affinity?.podAffinity, affinity?.podAntiAffinity]) {
    for (const term of kind?.requiredDuringSchedulingIgnoredDuringExecution ?? []) terms.push(term);
    for (const { podAffinityTerm } of kind?.preferredDuringSchedulingIgnoredDuringExecution ?? []) {
      terms.push(podAffinityTerm);
    }
  }
  return terms.some(
    ({ namespaces = [], namespaceSelector }) => namespaces.length > 0 || namespaceSelector !== undefined,
  );
}
