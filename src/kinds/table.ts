// Kinds with behaviour of their own, one line each, and the one look-up. A kind that is not listed behaves as all do.
import type { Identity } from "../api/identity.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import type { FieldSet } from "../merge/fieldset.ts";
import { mutatingWebhookConfigurationBehaviour } from "./admissionregistration/mutatingwebhookconfiguration.ts";
import { validatingWebhookConfigurationBehaviour } from "./admissionregistration/validatingwebhookconfiguration.ts";
import { customResourceDefinitionBehaviour } from "./apiextensions/customresourcedefinition.ts";
import { apiServiceBehaviour } from "./apiregistration/apiservice.ts";
import { storageVersionBehaviour } from "./apiserverinternal/storageversion.ts";
import { controllerRevisionBehaviour } from "./apps/controllerrevision.ts";
import { daemonSetBehaviour } from "./apps/daemonset.ts";
import { deploymentBehaviour } from "./apps/deployment.ts";
import { replicaSetBehaviour } from "./apps/replicaset.ts";
import { statefulSetBehaviour } from "./apps/statefulset.ts";
import { horizontalPodAutoscalerBehaviour } from "./autoscaling/horizontalpodautoscaler.ts";
import { cronJobBehaviour } from "./batch/cronjob.ts";
import { jobBehaviour } from "./batch/job.ts";
import { type Behaviour, commonEvaluator, completed, type OwnBehaviour } from "./behaviour.ts";
import { certificateSigningRequestBehaviour } from "./certificates/certificatesigningrequest.ts";
import { type Columns, plainColumns } from "./columns.ts";
import { leaseBehaviour } from "./coordination/lease.ts";
import { componentStatusBehaviour } from "./core/componentstatus.ts";
import { configMapBehaviour } from "./core/configmap.ts";
import { endpointsBehaviour } from "./core/endpoints.ts";
import { eventBehaviour } from "./core/event.ts";
import { limitRangeBehaviour } from "./core/limitrange.ts";
import { namespaceBehaviour } from "./core/namespace.ts";
import { nodeBehaviour } from "./core/node.ts";
import { persistentVolumeBehaviour } from "./core/persistentvolume.ts";
import { persistentVolumeClaimBehaviour } from "./core/persistentvolumeclaim.ts";
import { podBehaviour } from "./core/pod.ts";
import { podTemplateBehaviour } from "./core/podtemplate.ts";
import { replicationControllerBehaviour } from "./core/replicationcontroller.ts";
import { resourceQuotaBehaviour } from "./core/resourcequota.ts";
import { secretBehaviour } from "./core/secret.ts";
import { serviceBehaviour } from "./core/service.ts";
import { serviceAccountBehaviour } from "./core/serviceaccount.ts";
import { endpointSliceBehaviour } from "./discovery/endpointslice.ts";
import { flowSchemaBehaviour } from "./flowcontrol/flowschema.ts";
import { priorityLevelConfigurationBehaviour } from "./flowcontrol/prioritylevelconfiguration.ts";
import type { MetaRules } from "./metarules.ts";
import { ingressBehaviour } from "./networking/ingress.ts";
import { ingressClassBehaviour } from "./networking/ingressclass.ts";
import { networkPolicyBehaviour } from "./networking/networkpolicy.ts";
import { runtimeClassBehaviour } from "./node/runtimeclass.ts";
import { podDisruptionBudgetBehaviour } from "./policy/poddisruptionbudget.ts";
import { podSecurityPolicyBehaviour } from "./policy/podsecuritypolicy.ts";
import type { Evaluator } from "./quota/evaluator.ts";
import { clusterRoleBehaviour } from "./rbac/clusterrole.ts";
import { clusterRoleBindingBehaviour } from "./rbac/clusterrolebinding.ts";
import { roleBehaviour } from "./rbac/role.ts";
import { roleBindingBehaviour } from "./rbac/rolebinding.ts";
import { priorityClassBehaviour } from "./scheduling/priorityclass.ts";
import { csiDriverBehaviour } from "./storage/csidriver.ts";
import { csiNodeBehaviour } from "./storage/csinode.ts";
import { csiStorageCapacityBehaviour } from "./storage/csistoragecapacity.ts";
import { storageClassBehaviour } from "./storage/storageclass.ts";
import { volumeAttachmentBehaviour } from "./storage/volumeattachment.ts";
import type { Strategy } from "./strategy.ts";

type Make = (resource: Resource, identity: Identity) => OwnBehaviour;

/** Group (canonical spelling), resource, and what makes its behaviour; the same for all versions of a kind. */
export const kindTable: readonly (readonly [group: string, resource: string, make: Make])[] = [
  ["admissionregistration.k8s.io", "mutatingwebhookconfigurations", mutatingWebhookConfigurationBehaviour],
  ["admissionregistration.k8s.io", "validatingwebhookconfigurations", validatingWebhookConfigurationBehaviour],
  ["apiextensions.k8s.io", "customresourcedefinitions", customResourceDefinitionBehaviour],
  ["apiregistration.k8s.io", "apiservices", apiServiceBehaviour],
  ["internal.apiserver.k8s.io", "storageversions", storageVersionBehaviour],
  ["apps", "controllerrevisions", controllerRevisionBehaviour],
  ["apps", "daemonsets", daemonSetBehaviour],
  ["apps", "deployments", deploymentBehaviour],
  ["apps", "replicasets", replicaSetBehaviour],
  ["apps", "statefulsets", statefulSetBehaviour],
  ["autoscaling", "horizontalpodautoscalers", horizontalPodAutoscalerBehaviour],
  ["batch", "cronjobs", cronJobBehaviour],
  ["batch", "jobs", jobBehaviour],
  ["certificates.k8s.io", "certificatesigningrequests", certificateSigningRequestBehaviour],
  ["coordination.k8s.io", "leases", leaseBehaviour],
  ["", "componentstatuses", componentStatusBehaviour],
  ["", "configmaps", configMapBehaviour],
  ["", "endpoints", endpointsBehaviour],
  ["", "events", eventBehaviour],
  ["", "limitranges", limitRangeBehaviour],
  ["", "namespaces", namespaceBehaviour],
  ["", "nodes", nodeBehaviour],
  ["", "persistentvolumeclaims", persistentVolumeClaimBehaviour],
  ["", "persistentvolumes", persistentVolumeBehaviour],
  ["", "pods", podBehaviour],
  ["", "podtemplates", podTemplateBehaviour],
  ["", "replicationcontrollers", replicationControllerBehaviour],
  ["", "resourcequotas", resourceQuotaBehaviour],
  ["", "secrets", secretBehaviour],
  ["", "serviceaccounts", serviceAccountBehaviour],
  ["", "services", serviceBehaviour],
  ["discovery.k8s.io", "endpointslices", endpointSliceBehaviour],
  ["events.k8s.io", "events", eventBehaviour],
  ["flowcontrol.apiserver.k8s.io", "flowschemas", flowSchemaBehaviour],
  ["flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", priorityLevelConfigurationBehaviour],
  ["networking.k8s.io", "ingressclasses", ingressClassBehaviour],
  ["networking.k8s.io", "ingresses", ingressBehaviour],
  ["networking.k8s.io", "networkpolicies", networkPolicyBehaviour],
  ["node.k8s.io", "runtimeclasses", runtimeClassBehaviour],
  ["policy", "poddisruptionbudgets", podDisruptionBudgetBehaviour],
  ["policy", "podsecuritypolicies", podSecurityPolicyBehaviour],
  ["rbac.authorization.k8s.io", "clusterrolebindings", clusterRoleBindingBehaviour],
  ["rbac.authorization.k8s.io", "clusterroles", clusterRoleBehaviour],
  ["rbac.authorization.k8s.io", "rolebindings", roleBindingBehaviour],
  ["rbac.authorization.k8s.io", "roles", roleBehaviour],
  ["scheduling.k8s.io", "priorityclasses", priorityClassBehaviour],
  ["storage.k8s.io", "csidrivers", csiDriverBehaviour],
  ["storage.k8s.io", "csinodes", csiNodeBehaviour],
  ["storage.k8s.io", "csistoragecapacities", csiStorageCapacityBehaviour],
  ["storage.k8s.io", "storageclasses", storageClassBehaviour],
  ["storage.k8s.io", "volumeattachments", volumeAttachmentBehaviour],
];

const made = new WeakMap<Resource, Behaviour>();

/** The behaviour of a resource at its version; made once per resource. */
export function behaviourOf(resource: Resource, identity: Identity): Behaviour {
  const known = made.get(resource);
  if (known !== undefined) return known;
  const behaviour = makers.get(resource)?.() ?? builtIn(resource, identity);
  made.set(resource, behaviour);
  return behaviour;
}

function builtIn(resource: Resource, identity: Identity): Behaviour {
  const line = kindTable.find(
    ([group, name]) => name === resource.resource && identity.spell(group) === resource.group,
  );
  return completed(resource, line?.[2](resource, identity) ?? {});
}

const makers = new WeakMap<Resource, () => Behaviour>();

/** Gives a resource the behaviour its definition says, made when it is first asked for; it carries it as long as it lives. */
export function carryBehaviour(resource: Resource, make: () => Behaviour): void {
  makers.set(resource, make);
}

/**
 * The strategy of a resource at the version asked for. Selectable fields are those of the stored version: take them from
 * `strategyOf(resource.stored)`.
 */
export function strategyOf(resource: Resource, identity: Identity): Strategy<ApiObject> {
  return behaviourOf(resource, identity).strategy;
}

/**
 * How a resource is shown as a Table. The versions of a built-in kind share that, and cells read objects at the stored
 * version (at the only one, of what is not stored); those of a custom resource have their own, which read their own.
 */
export function columnsOf(resource: Resource, identity: Identity): Columns {
  if (resource.provided === true) return behaviourOf(resource, identity).columns;
  return behaviourOf(resource.stored ?? resource, identity).columns;
}

/** Whether a resource has columns of its own. */
export function hasOwnColumns(resource: Resource, identity: Identity): boolean {
  return columnsOf(resource, identity) !== plainColumns;
}

/** What a write of a resource, or of its subresource, does not own; undefined: it owns all it changes. */
export function resetFields(resource: Resource, subresource: string, identity: Identity): FieldSet | undefined {
  return behaviourOf(resource, identity).resetFields.get(subresource);
}

/** How a resource is counted; undefined: it is not. */
export function evaluatorOf(resource: Resource, identity: Identity): Evaluator | undefined {
  // Custom resources are counted alike, and counting them takes no schema.
  const known = made.get(resource);
  return known === undefined && resource.provided === true
    ? commonEvaluator(resource)
    : behaviourOf(resource, identity).evaluator;
}

/** What the rules of a resource's kind say about metadata. */
export function metaRulesOf(resource: Resource, identity: Identity): MetaRules {
  return behaviourOf(resource, identity).metaRules;
}
