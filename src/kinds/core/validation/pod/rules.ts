// What the rules of a pod spec need to know beyond the spec: whose spec it is, the identity's names, and which old
// mistakes an update may keep because the stored object already has them.
import type { PodSpec } from "../../../../api/gen/core/v1.ts";
import type { StrategyContext } from "../../../strategy.ts";
import { type Names, namesOf } from "../../../validation/names.ts";
import { eachContainer } from "./containers.ts";
import { isDivisible, isHugePages } from "./resources.ts";

/** The circumstances a pod spec is checked in. */
export interface PodRules {
  readonly names: Names;
  /** Feature gates that are on. */
  readonly gates: ReadonlySet<string>;
  /** Name of the pod; undefined in a template, whose pods have none yet. */
  readonly podName: string | undefined;
  /** Huge pages need not fill their pages. */
  readonly keepsIndivisiblePages: boolean;
  /** More and longer search paths than resolvers take. */
  readonly keepsLongSearches: boolean;
  /** The annotation with the cost of deleting the pod need not be a number. */
  readonly keepsDeletionCost: boolean;
}

/** Search paths of a pod, and their characters with the spaces between them. */
export const searchPathsMax = { paths: 6, characters: 256 } as const;

/** The rules for a new object, or for a change of one that has `old`. */
export function podRules(context: StrategyContext, podName?: string, old?: OldPod): PodRules {
  const names = namesOf(context.identity);
  return {
    names,
    gates: context.gates,
    podName,
    keepsIndivisiblePages: old !== undefined && hasIndivisiblePages(old.spec),
    keepsLongSearches: old !== undefined && hasLongSearches(old.spec),
    keepsDeletionCost: old !== undefined && !isDeletionCost(old.annotations?.get(names.deletionCost)),
  };
}

/** What is stored: a pod or a template. */
export interface OldPod {
  readonly spec: PodSpec;
  readonly annotations: ReadonlyMap<string, string> | undefined;
}

/** A whole 32-bit number without a plus sign or leading zeros; absent is fine. */
export function isDeletionCost(value: string | undefined): boolean {
  if (value === undefined) return true;
  if (!/^(?:0|[1-9][0-9]{0,9}|-[0-9]{1,20})$/.test(value)) return false;
  const cost = Number(value);
  return cost >= -2147483648 && cost <= 2147483647;
}

function hasIndivisiblePages(spec: PodSpec): boolean {
  let found = false;
  eachContainer(spec, "", (container) => {
    for (const list of [container.resources.limits, container.resources.requests]) {
      for (const [name, amount] of list ?? []) {
        if (isHugePages(name) && !isDivisible(name, amount)) found = true;
      }
    }
  });
  return found;
}

function hasLongSearches({ dnsConfig }: PodSpec): boolean {
  const searches = dnsConfig?.searches ?? [];
  return searches.length > searchPathsMax.paths || searches.join(" ").length > searchPathsMax.characters;
}
