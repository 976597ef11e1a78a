// What an object uses of a quota, kind by kind (reference: the quota evaluators). Pods use compute resources as long as
// they run, services addresses outside, claims storage, and everything else its own count.
import type { PersistentVolumeClaim, Pod, PodSpec, Service } from "../../api/gen/core/v1.ts";
import type { Identity } from "../../api/identity.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import { namesOf } from "../validation/names.ts";
import { isExtended, isHugePages, type ResourceList } from "../validation/pod/resources.ts";
import { type AmountMap, type Amounts, addAll, countOf, raiseAll, readAmounts } from "./amounts.ts";

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

const compute = ["cpu", "memory", "ephemeral-storage"] as const;
const podNames = new Set([
  "count/pods",
  "pods",
  ...compute,
  ...compute.map((name) => `requests.${name}`),
  ...compute.map((name) => `limits.${name}`),
]);
/** Once a quota bounds one of these, every container must say how much of it it wants (reference). */
const demanded = new Set(["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"]);

function podEvaluator(identity: Identity): Evaluator {
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

const serviceNames = new Set(["count/services", "services", "services.nodeports", "services.loadbalancers"]);

const services: Evaluator = {
  onUpdate: true,
  matching: (bounded) => [...bounded].filter((name) => serviceNames.has(name)),
  usage(object) {
    const { type, ports = [], allocateLoadBalancerNodePorts } = (object as ApiObject & Service).spec;
    let nodePorts = 0;
    if (type === "NodePort") nodePorts = ports.length;
    if (type === "LoadBalancer") {
      const given = ports.filter(({ nodePort = 0 }) => nodePort !== 0).length;
      nodePorts = allocateLoadBalancerNodePorts === false ? given : ports.length;
    }
    return new Map([
      ["count/services", countOf(1)],
      ["services", countOf(1)],
      ["services.nodeports", countOf(nodePorts)],
      ["services.loadbalancers", countOf(type === "LoadBalancer" ? 1 : 0)],
    ]);
  },
};

const claimNames = ["count/persistentvolumeclaims", "persistentvolumeclaims", "requests.storage"];

function claimEvaluator(identity: Identity): Evaluator {
  const suffix = identity.spell(".storageclass.storage.k8s.io/");
  const suffixes = ["requests.storage", "persistentvolumeclaims"].map((name) => `${suffix}${name}`);
  const { betaStorageClass } = namesOf(identity);
  const isClaimName = (name: string): boolean =>
    claimNames.includes(name) || suffixes.some((ending) => name.endsWith(ending));
  return {
    onUpdate: true,
    matching: (bounded) => [...bounded].filter(isClaimName),
    usage(object) {
      const { metadata, spec } = object as ApiObject & PersistentVolumeClaim;
      const used: AmountMap = new Map([
        ["count/persistentvolumeclaims", countOf(1)],
        ["persistentvolumeclaims", countOf(1)],
      ]);
      const storageClass = metadata.annotations?.get(betaStorageClass) ?? spec.storageClassName ?? "";
      if (storageClass !== "") used.set(`${storageClass}${suffix}persistentvolumeclaims`, countOf(1));
      const storage = readAmounts(spec.resources.requests).get("storage");
      if (storage === undefined) return used;
      used.set("requests.storage", storage);
      if (storageClass !== "") used.set(`${storageClass}${suffix}requests.storage`, storage);
      return used;
    },
  };
}
