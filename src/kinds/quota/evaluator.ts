// What an object uses of a quota (upstream: the quota evaluators): its own count, unless its kind says otherwise.
import type { ApiObject } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
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

/** How objects of a resource are counted as themselves; `plainName`: older quotas bound them by this name as well. */
export function countEvaluator(resource: Resource, plainName?: string): Evaluator {
  const names = [countName(resource), ...(plainName === undefined ? [] : [plainName])];
  return {
    onUpdate: false,
    matching: (bounded) => [...bounded].filter((name) => names.includes(name)),
    usage: () => new Map(names.map((name) => [name, countOf(1)])),
  };
}
