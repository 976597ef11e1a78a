// Kinds with behaviour, one line each. A kind that is not listed has the generic behaviour.
import type { Identity } from "../api/identity.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { webhookConfigurationStrategy } from "./admissionregistration/webhooks.ts";
import { definitionStrategy } from "./apiextensions/customresourcedefinition.ts";
import { apiServiceStrategy } from "./apiregistration/apiservice.ts";
import { controllerRevisionStrategy } from "./apps/controllerrevision.ts";
import { daemonSetStrategy } from "./apps/daemonset.ts";
import { deploymentStrategy } from "./apps/deployment.ts";
import { replicaSetStrategy } from "./apps/replicaset.ts";
import { statefulSetStrategy } from "./apps/statefulset.ts";
import { autoscalerStrategy } from "./autoscaling/horizontalpodautoscaler.ts";
import { cronJobStrategy } from "./batch/cronjob.ts";
import { jobStrategy } from "./batch/job.ts";
import { signingRequestStrategy } from "./certificates/certificatesigningrequest.ts";
import { leaseStrategy } from "./coordination/lease.ts";
import { configMapStrategy } from "./core/configmap.ts";
import { endpointsStrategy } from "./core/endpoints.ts";
import { eventStrategy } from "./core/event.ts";
import { limitRangeStrategy } from "./core/limitrange.ts";
import { namespaceStrategy } from "./core/namespace.ts";
import { nodeStrategy } from "./core/node.ts";
import { persistentVolumeStrategy } from "./core/persistentvolume.ts";
import { persistentVolumeClaimStrategy } from "./core/persistentvolumeclaim.ts";
import { podStrategy } from "./core/pod.ts";
import { podTemplateStrategy } from "./core/podtemplate.ts";
import { replicationControllerStrategy } from "./core/replicationcontroller.ts";
import { resourceQuotaStrategy } from "./core/resourcequota.ts";
import { secretStrategy } from "./core/secret.ts";
import { serviceStrategy } from "./core/service.ts";
import { serviceAccountStrategy } from "./core/serviceaccount.ts";
import { endpointSliceStrategy } from "./discovery/endpointslice.ts";
import { flowSchemaStrategy } from "./flowcontrol/flowschema.ts";
import { priorityLevelStrategy } from "./flowcontrol/prioritylevelconfiguration.ts";
import { strategyFor } from "./generic.ts";
import { ingressStrategy } from "./networking/ingress.ts";
import { ingressClassStrategy } from "./networking/ingressclass.ts";
import { networkPolicyStrategy } from "./networking/networkpolicy.ts";
import { runtimeClassStrategy } from "./node/runtimeclass.ts";
import { disruptionBudgetStrategy } from "./policy/poddisruptionbudget.ts";
import { podSecurityPolicyStrategy } from "./policy/podsecuritypolicy.ts";
import { clusterRoleStrategy } from "./rbac/clusterrole.ts";
import { clusterRoleBindingStrategy } from "./rbac/clusterrolebinding.ts";
import { roleStrategy } from "./rbac/role.ts";
import { roleBindingStrategy } from "./rbac/rolebinding.ts";
import { priorityClassStrategy } from "./scheduling/priorityclass.ts";
import { csiDriverStrategy } from "./storage/csidriver.ts";
import { csiNodeStrategy } from "./storage/csinode.ts";
import { csiStorageCapacityStrategy } from "./storage/csistoragecapacity.ts";
import { storageClassStrategy } from "./storage/storageclass.ts";
import { volumeAttachmentStrategy } from "./storage/volumeattachment.ts";
import type { Strategy } from "./strategy.ts";

type Make = (resource: Resource, identity: Identity) => Strategy<ApiObject>;

/** Group (canonical spelling), resource, and what makes its behaviour; the same for all versions of a kind. */
const table: readonly (readonly [group: string, resource: string, make: Make])[] = [
  ["", "configmaps", configMapStrategy],
  ["", "endpoints", endpointsStrategy],
  ["", "events", eventStrategy],
  ["", "limitranges", limitRangeStrategy],
  ["", "namespaces", namespaceStrategy],
  ["", "nodes", nodeStrategy],
  ["", "persistentvolumeclaims", persistentVolumeClaimStrategy],
  ["", "persistentvolumes", persistentVolumeStrategy],
  ["", "pods", podStrategy],
  ["", "podtemplates", podTemplateStrategy],
  ["", "replicationcontrollers", replicationControllerStrategy],
  ["", "resourcequotas", resourceQuotaStrategy],
  ["", "secrets", secretStrategy],
  ["", "serviceaccounts", serviceAccountStrategy],
  ["", "services", serviceStrategy],
  ["admissionregistration.k8s.io", "mutatingwebhookconfigurations", webhookConfigurationStrategy],
  ["admissionregistration.k8s.io", "validatingwebhookconfigurations", webhookConfigurationStrategy],
  ["apiextensions.k8s.io", "customresourcedefinitions", definitionStrategy],
  ["apiregistration.k8s.io", "apiservices", apiServiceStrategy],
  ["apps", "controllerrevisions", controllerRevisionStrategy],
  ["apps", "daemonsets", daemonSetStrategy],
  ["apps", "deployments", deploymentStrategy],
  ["apps", "replicasets", replicaSetStrategy],
  ["apps", "statefulsets", statefulSetStrategy],
  ["autoscaling", "horizontalpodautoscalers", autoscalerStrategy],
  ["batch", "cronjobs", cronJobStrategy],
  ["batch", "jobs", jobStrategy],
  ["certificates.k8s.io", "certificatesigningrequests", signingRequestStrategy],
  ["coordination.k8s.io", "leases", leaseStrategy],
  ["discovery.k8s.io", "endpointslices", endpointSliceStrategy],
  ["events.k8s.io", "events", eventStrategy],
  ["flowcontrol.apiserver.k8s.io", "flowschemas", flowSchemaStrategy],
  ["flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", priorityLevelStrategy],
  [
    "internal.apiserver.k8s.io",
    "storageversions",
    (resource) => strategyFor(resource, { allowUnconditionalUpdate: false }),
  ],
  ["networking.k8s.io", "ingressclasses", ingressClassStrategy],
  ["networking.k8s.io", "ingresses", ingressStrategy],
  ["networking.k8s.io", "networkpolicies", networkPolicyStrategy],
  ["node.k8s.io", "runtimeclasses", runtimeClassStrategy],
  ["policy", "poddisruptionbudgets", disruptionBudgetStrategy],
  ["policy", "podsecuritypolicies", podSecurityPolicyStrategy],
  ["rbac.authorization.k8s.io", "clusterrolebindings", clusterRoleBindingStrategy],
  ["rbac.authorization.k8s.io", "clusterroles", clusterRoleStrategy],
  ["rbac.authorization.k8s.io", "rolebindings", roleBindingStrategy],
  ["rbac.authorization.k8s.io", "roles", roleStrategy],
  ["scheduling.k8s.io", "priorityclasses", priorityClassStrategy],
  ["storage.k8s.io", "csidrivers", csiDriverStrategy],
  ["storage.k8s.io", "csinodes", csiNodeStrategy],
  ["storage.k8s.io", "csistoragecapacities", csiStorageCapacityStrategy],
  ["storage.k8s.io", "storageclasses", storageClassStrategy],
  ["storage.k8s.io", "volumeattachments", volumeAttachmentStrategy],
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
