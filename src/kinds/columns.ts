// Kinds with columns of their own, one line each. A kind that is not listed shows its name and when it was created.
import type { Identity } from "../api/identity.ts";
import type { Resource } from "../api/scheme.ts";
import { webhookColumns } from "./admissionregistration/webhooks.ts";
import { apiServiceColumns } from "./apiregistration/apiservice.ts";
import { storageVersionColumns } from "./apiserverinternal/storageversion.ts";
import { controllerRevisionColumns } from "./apps/controllerrevision.ts";
import { daemonSetColumns } from "./apps/daemonset.ts";
import { deploymentColumns } from "./apps/deployment.ts";
import { replicaSetColumns } from "./apps/replicaset.ts";
import { statefulSetColumns } from "./apps/statefulset.ts";
import { autoscalerColumns } from "./autoscaling/horizontalpodautoscaler.ts";
import { cronJobColumns } from "./batch/cronjob.ts";
import { jobColumns } from "./batch/job.ts";
import { signingRequestColumns } from "./certificates/certificatesigningrequest.ts";
import { type Columns, column, type MakeColumns, nameColumn } from "./columns/cells.ts";
import { leaseColumns } from "./coordination/lease.ts";
import { componentStatusColumns } from "./core/componentstatus.ts";
import { configMapColumns } from "./core/configmap.ts";
import { endpointsColumns } from "./core/endpoints.ts";
import { eventColumns } from "./core/event.ts";
import { namespaceColumns } from "./core/namespace.ts";
import { nodeColumns } from "./core/node.ts";
import { persistentVolumeColumns } from "./core/persistentvolume.ts";
import { persistentVolumeClaimColumns } from "./core/persistentvolumeclaim.ts";
import { podColumns } from "./core/podcolumns.ts";
import { podTemplateColumns } from "./core/podtemplate.ts";
import { replicationControllerColumns } from "./core/replicationcontroller.ts";
import { resourceQuotaColumns } from "./core/resourcequota.ts";
import { secretColumns } from "./core/secret.ts";
import { serviceColumns } from "./core/service.ts";
import { serviceAccountColumns } from "./core/serviceaccount.ts";
import { endpointSliceColumns } from "./discovery/endpointslice.ts";
import { flowSchemaColumns } from "./flowcontrol/flowschema.ts";
import { priorityLevelColumns } from "./flowcontrol/prioritylevelconfiguration.ts";
import { ingressColumns } from "./networking/ingress.ts";
import { ingressClassColumns } from "./networking/ingressclass.ts";
import { networkPolicyColumns } from "./networking/networkpolicy.ts";
import { runtimeClassColumns } from "./node/runtimeclass.ts";
import { disruptionBudgetColumns } from "./policy/poddisruptionbudget.ts";
import { podSecurityPolicyColumns } from "./policy/podsecuritypolicy.ts";
import { roleBindingColumns } from "./rbac/bindings.ts";
import { priorityClassColumns } from "./scheduling/priorityclass.ts";
import { csiDriverColumns } from "./storage/csidriver.ts";
import { csiNodeColumns } from "./storage/csinode.ts";
import { storageClassColumns } from "./storage/storageclass.ts";
import { volumeAttachmentColumns } from "./storage/volumeattachment.ts";

export type { Cell, Column, Columns, RowCondition } from "./columns/cells.ts";

/** By the message of the stored version, whose objects the cells read. */
const table: ReadonlyMap<string, MakeColumns> = new Map<string, MakeColumns>([
  ["admissionregistration/v1.MutatingWebhookConfiguration", webhookColumns],
  ["admissionregistration/v1.ValidatingWebhookConfiguration", webhookColumns],
  ["apiregistration/v1.APIService", apiServiceColumns],
  ["apiserverinternal/v1alpha1.StorageVersion", storageVersionColumns],
  ["apps/v1.ControllerRevision", controllerRevisionColumns],
  ["apps/v1.DaemonSet", daemonSetColumns],
  ["apps/v1.Deployment", deploymentColumns],
  ["apps/v1.ReplicaSet", replicaSetColumns],
  ["apps/v1.StatefulSet", statefulSetColumns],
  ["autoscaling/v1.HorizontalPodAutoscaler", autoscalerColumns],
  ["batch/v1.CronJob", cronJobColumns],
  ["batch/v1.Job", jobColumns],
  ["certificates/v1.CertificateSigningRequest", signingRequestColumns],
  ["coordination/v1.Lease", leaseColumns],
  ["core/v1.ComponentStatus", componentStatusColumns],
  ["core/v1.ConfigMap", configMapColumns],
  ["core/v1.Endpoints", endpointsColumns],
  ["core/v1.Event", eventColumns],
  ["core/v1.Namespace", namespaceColumns],
  ["core/v1.Node", nodeColumns],
  ["core/v1.PersistentVolume", persistentVolumeColumns],
  ["core/v1.PersistentVolumeClaim", persistentVolumeClaimColumns],
  ["core/v1.Pod", podColumns],
  ["core/v1.PodTemplate", podTemplateColumns],
  ["core/v1.ReplicationController", replicationControllerColumns],
  ["core/v1.ResourceQuota", resourceQuotaColumns],
  ["core/v1.Secret", secretColumns],
  ["core/v1.Service", serviceColumns],
  ["core/v1.ServiceAccount", serviceAccountColumns],
  ["discovery/v1beta1.EndpointSlice", endpointSliceColumns],
  ["flowcontrol/v1beta1.FlowSchema", flowSchemaColumns],
  ["flowcontrol/v1beta1.PriorityLevelConfiguration", priorityLevelColumns],
  ["networking/v1.Ingress", ingressColumns],
  ["networking/v1.IngressClass", ingressClassColumns],
  ["networking/v1.NetworkPolicy", networkPolicyColumns],
  ["node/v1.RuntimeClass", runtimeClassColumns],
  ["policy/v1beta1.PodDisruptionBudget", disruptionBudgetColumns],
  ["policy/v1beta1.PodSecurityPolicy", podSecurityPolicyColumns],
  ["rbac/v1.ClusterRoleBinding", roleBindingColumns],
  ["rbac/v1.RoleBinding", roleBindingColumns],
  ["scheduling/v1.PriorityClass", priorityClassColumns],
  ["storage/v1.CSIDriver", csiDriverColumns],
  ["storage/v1.CSINode", csiNodeColumns],
  ["storage/v1.StorageClass", storageClassColumns],
  ["storage/v1.VolumeAttachment", volumeAttachmentColumns],
]);

const plain: Columns = {
  columns: [
    nameColumn,
    column("Created At", "When the server created the object", ({ metadata }) => metadata.creationTimestamp ?? null, {
      type: "date",
    }),
  ],
};

const made = new WeakMap<Resource, Columns>();

/**
 * How a resource is shown as a Table; the same for all its versions. Cells read objects at the stored version (at the
 * only one, of what is not stored).
 */
export function columnsOf(resource: Resource, identity: Identity): Columns {
  const stored = resource.stored ?? resource;
  let columns = made.get(stored);
  if (columns === undefined) {
    columns = (table.get(stored.message.name)?.(identity) as Columns | undefined) ?? plain;
    made.set(stored, columns);
  }
  return columns;
}

/** Whether a resource has columns of its own. */
export function hasOwnColumns({ stored, message }: Resource): boolean {
  return table.has((stored?.message ?? message).name);
}

/** Messages with columns of their own. */
export const columnMessages: readonly string[] = [...table.keys()];
