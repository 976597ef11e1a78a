// Written by scripts/gen from proto/: do not edit.
import type * as core_v1 from "../core/v1.ts";
import type * as meta_v1 from "../meta/v1.ts";

/** policy/v1beta1.AllowedCSIDriver. */
export interface AllowedCSIDriver {
  name: string;
}

/** policy/v1beta1.AllowedFlexVolume. */
export interface AllowedFlexVolume {
  driver: string;
}

/** policy/v1beta1.AllowedHostPath. */
export interface AllowedHostPath {
  pathPrefix?: string | undefined;
  readOnly?: boolean | undefined;
}

/** policy/v1beta1.Eviction. */
export interface Eviction {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  deleteOptions?: meta_v1.DeleteOptions | undefined;
}

/** policy/v1beta1.FSGroupStrategyOptions. */
export interface FSGroupStrategyOptions {
  rule?: string | undefined;
  ranges?: IDRange[] | undefined;
}

/** policy/v1beta1.HostPortRange. */
export interface HostPortRange {
  min: number;
  max: number;
}

/** policy/v1beta1.IDRange. */
export interface IDRange {
  min: number | bigint;
  max: number | bigint;
}

/** policy/v1beta1.PodDisruptionBudget. */
export interface PodDisruptionBudget {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: PodDisruptionBudgetSpec;
  status: PodDisruptionBudgetStatus;
}

/** policy/v1beta1.PodDisruptionBudgetList. */
export interface PodDisruptionBudgetList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: PodDisruptionBudget[] | undefined;
}

/** policy/v1beta1.PodDisruptionBudgetSpec. */
export interface PodDisruptionBudgetSpec {
  minAvailable?: number | string | undefined;
  selector?: meta_v1.LabelSelector | undefined;
  maxUnavailable?: number | string | undefined;
}

/** policy/v1beta1.PodDisruptionBudgetStatus. */
export interface PodDisruptionBudgetStatus {
  observedGeneration?: number | bigint | undefined;
  disruptedPods?: Map<string, string> | undefined;
  disruptionsAllowed: number;
  currentHealthy: number;
  desiredHealthy: number;
  expectedPods: number;
  conditions?: meta_v1.Condition[] | undefined;
}

/** policy/v1beta1.PodSecurityPolicy. */
export interface PodSecurityPolicy {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: PodSecurityPolicySpec;
}

/** policy/v1beta1.PodSecurityPolicyList. */
export interface PodSecurityPolicyList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: PodSecurityPolicy[] | undefined;
}

/** policy/v1beta1.PodSecurityPolicySpec. */
export interface PodSecurityPolicySpec {
  privileged?: boolean | undefined;
  defaultAddCapabilities?: string[] | undefined;
  requiredDropCapabilities?: string[] | undefined;
  allowedCapabilities?: string[] | undefined;
  volumes?: string[] | undefined;
  hostNetwork?: boolean | undefined;
  hostPorts?: HostPortRange[] | undefined;
  hostPID?: boolean | undefined;
  hostIPC?: boolean | undefined;
  seLinux: SELinuxStrategyOptions;
  runAsUser: RunAsUserStrategyOptions;
  runAsGroup?: RunAsGroupStrategyOptions | undefined;
  supplementalGroups: SupplementalGroupsStrategyOptions;
  fsGroup: FSGroupStrategyOptions;
  readOnlyRootFilesystem?: boolean | undefined;
  defaultAllowPrivilegeEscalation?: boolean | undefined;
  allowPrivilegeEscalation?: boolean | undefined;
  allowedHostPaths?: AllowedHostPath[] | undefined;
  allowedFlexVolumes?: AllowedFlexVolume[] | undefined;
  allowedCSIDrivers?: AllowedCSIDriver[] | undefined;
  allowedUnsafeSysctls?: string[] | undefined;
  forbiddenSysctls?: string[] | undefined;
  allowedProcMountTypes?: string[] | undefined;
  runtimeClass?: RuntimeClassStrategyOptions | undefined;
}

/** policy/v1beta1.RunAsGroupStrategyOptions. */
export interface RunAsGroupStrategyOptions {
  rule: string;
  ranges?: IDRange[] | undefined;
}

/** policy/v1beta1.RunAsUserStrategyOptions. */
export interface RunAsUserStrategyOptions {
  rule: string;
  ranges?: IDRange[] | undefined;
}

/** policy/v1beta1.RuntimeClassStrategyOptions. */
export interface RuntimeClassStrategyOptions {
  allowedRuntimeClassNames?: string[] | undefined;
  defaultRuntimeClassName?: string | undefined;
}

/** policy/v1beta1.SELinuxStrategyOptions. */
export interface SELinuxStrategyOptions {
  rule: string;
  seLinuxOptions?: core_v1.SELinuxOptions | undefined;
}

/** policy/v1beta1.SupplementalGroupsStrategyOptions. */
export interface SupplementalGroupsStrategyOptions {
  rule?: string | undefined;
  ranges?: IDRange[] | undefined;
}
