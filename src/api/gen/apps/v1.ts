// Written by scripts/gen from proto/: do not edit.
import type { RawJson } from "../../schema.ts";
import type * as core_v1 from "../core/v1.ts";
import type * as meta_v1 from "../meta/v1.ts";

/** apps/v1.ControllerRevision. */
export interface ControllerRevision {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  data?: RawJson | undefined;
  revision: number | bigint;
}

/** apps/v1.ControllerRevisionList. */
export interface ControllerRevisionList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: ControllerRevision[] | undefined;
}

/** apps/v1.DaemonSet. */
export interface DaemonSet {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: DaemonSetSpec;
  status: DaemonSetStatus;
}

/** apps/v1.DaemonSetCondition. */
export interface DaemonSetCondition {
  type: string;
  status: string;
  lastTransitionTime?: string | undefined;
  reason?: string | undefined;
  message?: string | undefined;
}

/** apps/v1.DaemonSetList. */
export interface DaemonSetList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: DaemonSet[] | undefined;
}

/** apps/v1.DaemonSetSpec. */
export interface DaemonSetSpec {
  selector?: meta_v1.LabelSelector | undefined;
  template: core_v1.PodTemplateSpec;
  updateStrategy: DaemonSetUpdateStrategy;
  minReadySeconds?: number | undefined;
  revisionHistoryLimit?: number | undefined;
}

/** apps/v1.DaemonSetStatus. */
export interface DaemonSetStatus {
  currentNumberScheduled: number;
  numberMisscheduled: number;
  desiredNumberScheduled: number;
  numberReady: number;
  observedGeneration?: number | bigint | undefined;
  updatedNumberScheduled?: number | undefined;
  numberAvailable?: number | undefined;
  numberUnavailable?: number | undefined;
  collisionCount?: number | undefined;
  conditions?: DaemonSetCondition[] | undefined;
}

/** apps/v1.DaemonSetUpdateStrategy. */
export interface DaemonSetUpdateStrategy {
  type?: string | undefined;
  rollingUpdate?: RollingUpdateDaemonSet | undefined;
}

/** apps/v1.Deployment. */
export interface Deployment {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: DeploymentSpec;
  status: DeploymentStatus;
}

/** apps/v1.DeploymentCondition. */
export interface DeploymentCondition {
  type: string;
  status: string;
  lastUpdateTime?: string | undefined;
  lastTransitionTime?: string | undefined;
  reason?: string | undefined;
  message?: string | undefined;
}

/** apps/v1.DeploymentList. */
export interface DeploymentList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: Deployment[] | undefined;
}

/** apps/v1.DeploymentSpec. */
export interface DeploymentSpec {
  replicas?: number | undefined;
  selector?: meta_v1.LabelSelector | undefined;
  template: core_v1.PodTemplateSpec;
  strategy: DeploymentStrategy;
  minReadySeconds?: number | undefined;
  revisionHistoryLimit?: number | undefined;
  paused?: boolean | undefined;
  progressDeadlineSeconds?: number | undefined;
}

/** apps/v1.DeploymentStatus. */
export interface DeploymentStatus {
  observedGeneration?: number | bigint | undefined;
  replicas?: number | undefined;
  updatedReplicas?: number | undefined;
  readyReplicas?: number | undefined;
  availableReplicas?: number | undefined;
  unavailableReplicas?: number | undefined;
  conditions?: DeploymentCondition[] | undefined;
  collisionCount?: number | undefined;
}

/** apps/v1.DeploymentStrategy. */
export interface DeploymentStrategy {
  type?: string | undefined;
  rollingUpdate?: RollingUpdateDeployment | undefined;
}

/** apps/v1.ReplicaSet. */
export interface ReplicaSet {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: ReplicaSetSpec;
  status: ReplicaSetStatus;
}

/** apps/v1.ReplicaSetCondition. */
export interface ReplicaSetCondition {
  type: string;
  status: string;
  lastTransitionTime?: string | undefined;
  reason?: string | undefined;
  message?: string | undefined;
}

/** apps/v1.ReplicaSetList. */
export interface ReplicaSetList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: ReplicaSet[] | undefined;
}

/** apps/v1.ReplicaSetSpec. */
export interface ReplicaSetSpec {
  replicas?: number | undefined;
  minReadySeconds?: number | undefined;
  selector?: meta_v1.LabelSelector | undefined;
  template: core_v1.PodTemplateSpec;
}

/** apps/v1.ReplicaSetStatus. */
export interface ReplicaSetStatus {
  replicas: number;
  fullyLabeledReplicas?: number | undefined;
  readyReplicas?: number | undefined;
  availableReplicas?: number | undefined;
  observedGeneration?: number | bigint | undefined;
  conditions?: ReplicaSetCondition[] | undefined;
}

/** apps/v1.RollingUpdateDaemonSet. */
export interface RollingUpdateDaemonSet {
  maxUnavailable?: number | string | undefined;
  maxSurge?: number | string | undefined;
}

/** apps/v1.RollingUpdateDeployment. */
export interface RollingUpdateDeployment {
  maxUnavailable?: number | string | undefined;
  maxSurge?: number | string | undefined;
}

/** apps/v1.RollingUpdateStatefulSetStrategy. */
export interface RollingUpdateStatefulSetStrategy {
  partition?: number | undefined;
}

/** apps/v1.StatefulSet. */
export interface StatefulSet {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: StatefulSetSpec;
  status: StatefulSetStatus;
}

/** apps/v1.StatefulSetCondition. */
export interface StatefulSetCondition {
  type: string;
  status: string;
  lastTransitionTime?: string | undefined;
  reason?: string | undefined;
  message?: string | undefined;
}

/** apps/v1.StatefulSetList. */
export interface StatefulSetList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: StatefulSet[] | undefined;
}

/** apps/v1.StatefulSetPersistentVolumeClaimRetentionPolicy. */
export interface StatefulSetPersistentVolumeClaimRetentionPolicy {
  whenDeleted?: string | undefined;
  whenScaled?: string | undefined;
}

/** apps/v1.StatefulSetSpec. */
export interface StatefulSetSpec {
  replicas?: number | undefined;
  selector?: meta_v1.LabelSelector | undefined;
  template: core_v1.PodTemplateSpec;
  volumeClaimTemplates?: core_v1.PersistentVolumeClaim[] | undefined;
  serviceName: string;
  podManagementPolicy?: string | undefined;
  updateStrategy: StatefulSetUpdateStrategy;
  revisionHistoryLimit?: number | undefined;
  minReadySeconds?: number | undefined;
  persistentVolumeClaimRetentionPolicy?: StatefulSetPersistentVolumeClaimRetentionPolicy | undefined;
}

/** apps/v1.StatefulSetStatus. */
export interface StatefulSetStatus {
  observedGeneration?: number | bigint | undefined;
  replicas: number;
  readyReplicas?: number | undefined;
  currentReplicas?: number | undefined;
  updatedReplicas?: number | undefined;
  currentRevision?: string | undefined;
  updateRevision?: string | undefined;
  collisionCount?: number | undefined;
  conditions?: StatefulSetCondition[] | undefined;
  availableReplicas: number;
}

/** apps/v1.StatefulSetUpdateStrategy. */
export interface StatefulSetUpdateStrategy {
  type?: string | undefined;
  rollingUpdate?: RollingUpdateStatefulSetStrategy | undefined;
}
