// Kinds with columns of their own, one line each. A kind that is not listed shows its name and when it was created.
import type { Identity } from "../api/identity.ts";
import type { Resource } from "../api/scheme.ts";
import { type Columns, column, type MakeColumns, nameColumn } from "./columns/cells.ts";
import * as cluster from "./columns/cluster.ts";
import * as core from "./columns/core.ts";
import * as network from "./columns/network.ts";
import * as pods from "./columns/pods.ts";
import * as workloads from "./columns/workloads.ts";

export type { Cell, Column, Columns, RowCondition } from "./columns/cells.ts";

/** By the message of the stored version, whose objects the cells read. */
const table: ReadonlyMap<string, MakeColumns> = new Map<string, MakeColumns>([
  ["admissionregistration/v1.MutatingWebhookConfiguration", cluster.webhookColumns],
  ["admissionregistration/v1.ValidatingWebhookConfiguration", cluster.webhookColumns],
  ["apiregistration/v1.APIService", cluster.apiServiceColumns],
  ["apiserverinternal/v1alpha1.StorageVersion", cluster.storageVersionColumns],
  ["apps/v1.ControllerRevision", workloads.controllerRevisionColumns],
  ["apps/v1.DaemonSet", workloads.daemonSetColumns],
  ["apps/v1.Deployment", workloads.deploymentColumns],
  ["apps/v1.ReplicaSet", workloads.replicaSetColumns],
  ["apps/v1.StatefulSet", workloads.statefulSetColumns],
  ["autoscaling/v1.HorizontalPodAutoscaler", workloads.autoscalerColumns],
  ["batch/v1.CronJob", workloads.cronJobColumns],
  ["batch/v1.Job", workloads.jobColumns],
  ["certificates/v1.CertificateSigningRequest", cluster.signingRequestColumns],
  ["coordination/v1.Lease", cluster.leaseColumns],
  ["core/v1.ComponentStatus", core.componentStatusColumns],
  ["core/v1.ConfigMap", core.configMapColumns],
  ["core/v1.Endpoints", network.endpointsColumns],
  ["core/v1.Event", core.eventColumns],
  ["core/v1.Namespace", core.namespaceColumns],
  ["core/v1.Node", core.nodeColumns],
  ["core/v1.PersistentVolume", core.persistentVolumeColumns],
  ["core/v1.PersistentVolumeClaim", core.persistentVolumeClaimColumns],
  ["core/v1.Pod", pods.podColumns],
  ["core/v1.PodTemplate", pods.podTemplateColumns],
  ["core/v1.ReplicationController", workloads.replicationControllerColumns],
  ["core/v1.ResourceQuota", core.resourceQuotaColumns],
  ["core/v1.Secret", core.secretColumns],
  ["core/v1.Service", network.serviceColumns],
  ["core/v1.ServiceAccount", core.serviceAccountColumns],
  ["discovery/v1beta1.EndpointSlice", network.endpointSliceColumns],
  ["flowcontrol/v1beta1.FlowSchema", cluster.flowSchemaColumns],
  ["flowcontrol/v1beta1.PriorityLevelConfiguration", cluster.priorityLevelColumns],
  ["networking/v1.Ingress", network.ingressColumns],
  ["networking/v1.IngressClass", network.ingressClassColumns],
  ["networking/v1.NetworkPolicy", network.networkPolicyColumns],
  ["node/v1.RuntimeClass", cluster.runtimeClassColumns],
  ["policy/v1beta1.PodDisruptionBudget", workloads.disruptionBudgetColumns],
  ["policy/v1beta1.PodSecurityPolicy", cluster.podSecurityPolicyColumns],
  ["rbac/v1.ClusterRoleBinding", cluster.roleBindingColumns],
  ["rbac/v1.RoleBinding", cluster.roleBindingColumns],
  ["scheduling/v1.PriorityClass", cluster.priorityClassColumns],
  ["storage/v1.CSIDriver", cluster.csiDriverColumns],
  ["storage/v1.CSINode", cluster.csiNodeColumns],
  ["storage/v1.StorageClass", cluster.storageClassColumns],
  ["storage/v1.VolumeAttachment", cluster.volumeAttachmentColumns],
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
