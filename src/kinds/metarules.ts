// How often the rules of metadata run when a kind is written. The write path runs them once for all kinds; upstream's own
// rules of most kinds run them again, some twice, and a client is told of a fault each time.
import type { Resource } from "../api/scheme.ts";

/** Runs beyond those of the write path: of the rules of metadata, and of those of a change of metadata. */
export type MetaRuns = readonly [rules: number, change: number];

/** What a kind's own rules say about metadata. */
export interface MetaRules {
  /** On a change of the object; of its parts. */
  readonly update: MetaRuns;
  readonly parts?: Readonly<Record<string, MetaRuns>>;
  /** Names of finalizers are left alone, beyond being qualified names. */
  readonly anyFinalizer?: true;
  /** A new object's metadata is looked at only where all else is well. */
  readonly last?: true;
  /** A new object's name is looked at only where all else is well. */
  readonly nameLast?: true;
}

const once: MetaRules = { update: [0, 1] };
const both: MetaRules = { update: [1, 1] };
const unchecked: MetaRules = { update: [0, 0], parts: { status: [0, 0] }, last: true };
const flow: MetaRules = { update: [1, 0], parts: { status: [0, 0] } };
const webhooks: MetaRules = { update: [1, 0], anyFinalizer: true };

/** By resource; names that stand in two groups have one line. What is not listed has `once`. */
const table: ReadonlyMap<string, MetaRules> = new Map([
  ["apiservices", { ...both, anyFinalizer: true }],
  ["certificatesigningrequests", { update: [1, 1], parts: { status: [1, 1], approval: [1, 1] }, nameLast: true }],
  ["clusterrolebindings", { update: [2, 1] }],
  ["clusterroles", { update: [2, 1] }],
  ["configmaps", both],
  ["controllerrevisions", both],
  ["cronjobs", { update: [0, 1], parts: { status: [0, 0] } }],
  ["csinodes", { update: [2, 0] }],
  ["csistoragecapacities", both],
  ["customresourcedefinitions", { ...once, anyFinalizer: true }],
  ["daemonsets", both],
  ["endpoints", both],
  ["endpointslices", { update: [1, 0] }],
  ["flowschemas", flow],
  ["ingressclasses", both],
  ["ingresses", both],
  ["jobs", both],
  ["leases", { ...once, anyFinalizer: true }],
  ["limitranges", { update: [1, 0] }],
  ["mutatingwebhookconfigurations", webhooks],
  ["namespaces", both],
  ["networkpolicies", both],
  ["nodes", both],
  ["persistentvolumeclaims", { update: [2, 1] }],
  ["persistentvolumes", { update: [2, 0] }],
  ["poddisruptionbudgets", unchecked],
  ["pods", { update: [1, 1], parts: { ephemeralcontainers: [1, 1] } }],
  ["prioritylevelconfigurations", flow],
  ["replicasets", both],
  ["replicationcontrollers", both],
  ["rolebindings", { update: [2, 1] }],
  ["roles", { update: [2, 1] }],
  ["runtimeclasses", { ...both, anyFinalizer: true }],
  ["secrets", both],
  ["serviceaccounts", both],
  ["services", both],
  ["statefulsets", both],
  ["storageclasses", both],
  ["storageversions", { update: [0, 0], parts: { status: [0, 0] } }],
  ["validatingwebhookconfigurations", webhooks],
  ["volumeattachments", { update: [2, 0], parts: { status: [2, 0] } }],
] satisfies [string, MetaRules][]);

/** What the rules of a resource's kind say about metadata. */
export function metaRulesOf({ group, version, resource }: Resource): MetaRules {
  // Events in their first form, whichever group they come in, keep rules older than those of metadata.
  if (resource === "events") return group !== "" && version === "v1" ? once : unchecked;
  return table.get(resource) ?? once;
}

/** Runs on a change of an object (`subresource` empty) or of a part of it. */
export function metaRunsOf({ update, parts }: MetaRules, subresource: string): MetaRuns {
  if (subresource === "") return update;
  const part = parts !== undefined && Object.hasOwn(parts, subresource) ? parts[subresource] : undefined;
  return part ?? once.update;
}
