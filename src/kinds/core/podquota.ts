// What a pod uses of a quota (upstream: the quota evaluators): compute resources, as long as it runs.
import type { Pod, PodSpec } from "../../api/gen/core/v1.ts";
import type { Identity } from "../../api/identity.ts";
import type { ApiObject } from "../../api/object.ts";
import { type AmountMap, type Amounts, addAll, countOf, raiseAll, readAmounts } from "../quota/amounts.ts";
import type { Evaluator } from "../quota/evaluator.ts";
import { namesOf } from "../validation/names.ts";
import { isExtended, isHugePages, type ResourceList } from "./validation/pod/resources.ts";

const compute = ["cpu", "memory", "ephemeral-storage"] as const;
const podNames = new Set([
  "count/pods",
  "pods",
  ...compute,
  ...compute.map((name) => `requests.${name}`),
  ...compute.map((name) => `limits.${name}`),
]);
/** Once a quota bounds one of these, every container must say how much of it it wants (upstream). */
const demanded = new Set(["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"]);

/** How pods are counted. */
export function podEvaluator(identity: Identity): Evaluator {
  const names = namesOf(identity);
  const isPodName = (name: string): boolean => {
    if (podNames.has(name) || name.startsWith("hugepages-") || name.startsWith("requests.hugepages-")) return true;
    return name.startsWith("requests.") && isExtended(name.slice("requests.".length), names);
  };
  const charge = (requests: Amounts, limits: Amounts): AmountMap => {
    const used: AmountMap = new Map([["pods", countOf(1)]]);
    for (const [name, amount] of requests) {
      if (isCompute(name) || isHugePages(name)) used.set(name, amount).set(`requests.${name}`, amount);
      else if (isExtended(name, names)) used.set(`requests.${name}`, amount);
    }
    for (const [name, amount] of limits) if (isCompute(name)) used.set(`limits.${name}`, amount);
    return used;
  };
  return {
    onUpdate: false,
    matching: (bounded) => [...bounded].filter(isPodName),
    usage(object, nowMs) {
      const pod = object as ApiObject & Pod;
      const used: AmountMap = new Map([["count/pods", countOf(1)]]);
      if (isOver(pod, nowMs)) return used;
      addAll(used, charge(totalOf(pod.spec, "requests"), totalOf(pod.spec, "limits")));
      return used;
    },
    missing(bounded, object) {
      const wanted = bounded.filter((name) => demanded.has(name));
      const lacking = new Set<string>();
      const { spec } = object as ApiObject & Pod;
      for (const { resources } of wanted.length === 0 ? [] : containersOf(spec)) {
        const said = charge(readAmounts(resources.requests), readAmounts(resources.limits));
        for (const name of wanted) if (!said.has(name)) lacking.add(name);
      }
      return [...lacking].toSorted();
    },
  };
}

function isCompute(name: string): boolean {
  return compute.some((known) => known === name);
}

function containersOf(spec: PodSpec): readonly { readonly resources: Resources }[] {
  return [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
}

interface Resources {
  readonly requests?: ResourceList | undefined;
  readonly limits?: ResourceList | undefined;
}

/** Containers run together, init containers one by one before them; the sandbox's overhead comes on top. */
function totalOf(spec: PodSpec, which: "requests" | "limits"): Amounts {
  const total: AmountMap = new Map();
  for (const { resources } of spec.containers ?? []) addAll(total, readAmounts(resources[which]));
  for (const { resources } of spec.initContainers ?? []) raiseAll(total, readAmounts(resources[which]));
  addAll(total, readAmounts(spec.overhead));
  return total;
}

/** A pod that ended, or should have by now, uses nothing but its place in the store. */
function isOver({ metadata, status }: ApiObject & Pod, nowMs: number): boolean {
  if (status.phase === "Succeeded" || status.phase === "Failed") return true;
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined) return false;
  return nowMs > Date.parse(deletionTimestamp) + Number(deletionGracePeriodSeconds) * 1000;
}
