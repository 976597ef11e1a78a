// Quality of service of pods.
import type { PodSpec } from "../../api/gen/core/v1.ts";
import { billionths } from "../validation/amounts.ts";

const qosResources = ["cpu", "memory"] as const;

/** Quality of service as the requests and limits of CPU and memory of all containers decide it. */
export function qosClass(spec: PodSpec): "Guaranteed" | "Burstable" | "BestEffort" {
  const requests = new Map<string, bigint>();
  const limits = new Map<string, bigint>();
  let guaranteed = true;
  for (const { resources } of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
    addPositive(requests, resources.requests);
    if (addPositive(limits, resources.limits) < qosResources.length) guaranteed = false;
  }
  if (requests.size === 0 && limits.size === 0) return "BestEffort";
  for (const [name, amount] of requests) if (limits.get(name) !== amount) guaranteed = false;
  return guaranteed && requests.size === limits.size ? "Guaranteed" : "Burstable";
}

/** Adds the positive amounts to `sums`; how many of the resources had one. */
function addPositive(sums: Map<string, bigint>, list: ReadonlyMap<string, string> | undefined): number {
  let count = 0;
  for (const name of qosResources) {
    const quantity = list?.get(name);
    const amount = quantity === undefined ? 0n : billionths(quantity);
    if (amount <= 0n) continue;
    sums.set(name, (sums.get(name) ?? 0n) + amount);
    count++;
  }
  return count;
}
