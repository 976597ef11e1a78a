// Kinds with behaviour, one line each. A kind that is not listed has the generic behaviour.
import type { Identity } from "../api/identity.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import * as access from "./access.ts";
import * as cluster from "./cluster.ts";
import * as config from "./config.ts";
import { strategyFor } from "./generic.ts";
import * as pods from "./pods.ts";
import * as policies from "./policies.ts";
import * as services from "./services.ts";
import * as storage from "./storage.ts";
import type { Strategy } from "./strategy.ts";
import * as workloads from "./workloads.ts";

type Make = (resource: Resource, identity: Identity) => Strategy<ApiObject>;

/** Group (canonical spelling), resource, and what makes its behaviour; the same for all versions of a kind. */
const table: readonly (readonly [group: string, resource: string, make: Make])[] = [
  ["", "configmaps", config.configMapStrategy],
  ["", "endpoints", services.endpointsStrategy],
  ["", "events", cluster.eventStrategy],
  ["", "limitranges", cluster.limitRangeStrategy],
  ["", "namespaces", cluster.namespaceStrategy],
  ["", "nodes", cluster.nodeStrategy],
  ["", "persistentvolumeclaims", storage.persistentVolumeClaimStrategy],
  ["", "persistentvolumes", storage.persistentVolumeStrategy],
  ["", "pods", pods.podStrategy],
  ["", "podtemplates", pods.podTemplateStrategy],
  ["", "replicationcontrollers", workloads.replicationControllerStrategy],
  ["", "resourcequotas", cluster.resourceQuotaStrategy],
  ["", "secrets", config.secretStrategy],
  ["", "serviceaccounts", config.serviceAccountStrategy],
  ["", "services", services.serviceStrategy],
  ["admissionregistration.k8s.io", "mutatingwebhookconfigurations", policies.webhookConfigurationStrategy],
  ["admissionregistration.k8s.io", "validatingwebhookconfigurations", policies.webhookConfigurationStrategy],
  ["apiextensions.k8s.io", "customresourcedefinitions", policies.definitionStrategy],
  ["apiregistration.k8s.io", "apiservices", policies.apiServiceStrategy],
  ["apps", "controllerrevisions", workloads.controllerRevisionStrategy],
  ["apps", "daemonsets", workloads.daemonSetStrategy],
  ["apps", "deployments", workloads.deploymentStrategy],
  ["apps", "replicasets", workloads.replicaSetStrategy],
  ["apps", "statefulsets", workloads.statefulSetStrategy],
  ["autoscaling", "horizontalpodautoscalers", policies.autoscalerStrategy],
  ["batch", "cronjobs", workloads.cronJobStrategy],
  ["batch", "jobs", workloads.jobStrategy],
  ["certificates.k8s.io", "certificatesigningrequests", access.signingRequestStrategy],
  ["coordination.k8s.io", "leases", policies.leaseStrategy],
  ["discovery.k8s.io", "endpointslices", services.endpointSliceStrategy],
  ["events.k8s.io", "events", cluster.eventStrategy],
  ["flowcontrol.apiserver.k8s.io", "flowschemas", policies.flowSchemaStrategy],
  ["flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", policies.priorityLevelStrategy],
  [
    "internal.apiserver.k8s.io",
    "storageversions",
    (resource) => strategyFor(resource, { allowUnconditionalUpdate: false }),
  ],
  ["networking.k8s.io", "ingressclasses", policies.ingressClassStrategy],
  ["networking.k8s.io", "ingresses", policies.ingressStrategy],
  ["networking.k8s.io", "networkpolicies", policies.networkPolicyStrategy],
  ["node.k8s.io", "runtimeclasses", policies.runtimeClassStrategy],
  ["policy", "poddisruptionbudgets", policies.disruptionBudgetStrategy],
  ["policy", "podsecuritypolicies", access.podSecurityPolicyStrategy],
  ["rbac.authorization.k8s.io", "clusterrolebindings", access.clusterRoleBindingStrategy],
  ["rbac.authorization.k8s.io", "clusterroles", access.clusterRoleStrategy],
  ["rbac.authorization.k8s.io", "rolebindings", access.roleBindingStrategy],
  ["rbac.authorization.k8s.io", "roles", access.roleStrategy],
  ["scheduling.k8s.io", "priorityclasses", access.priorityClassStrategy],
  ["storage.k8s.io", "csidrivers", storage.csiDriverStrategy],
  ["storage.k8s.io", "csinodes", storage.csiNodeStrategy],
  ["storage.k8s.io", "csistoragecapacities", storage.csiStorageCapacityStrategy],
  ["storage.k8s.io", "storageclasses", storage.storageClassStrategy],
  ["storage.k8s.io", "volumeattachments", storage.volumeAttachmentStrategy],
];

const made = new WeakMap<Resource, Strategy<ApiObject>>();

/**
 * The behaviour of a resource at the version asked for; made once per resource. Selectable fields are those of the
 * stored version: take them from `strategyOf(resource.stored)`.
 */
export function strategyOf(resource: Resource, identity: Identity): Strategy<ApiObject> {
  const known = made.get(resource);
  if (known !== undefined) return known;
  const line = table.find(([group, name]) => name === resource.resource && identity.spell(group) === resource.group);
  const strategy =
    line === undefined ? strategyFor(resource, { nameFormat: "path-segment" }) : line[2](resource, identity);
  made.set(resource, strategy);
  return strategy;
}
