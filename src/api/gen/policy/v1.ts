// Written by scripts/gen from proto/: do not edit.
import type * as meta_v1 from "../meta/v1.ts";

/** policy/v1.Eviction. */
export interface Eviction {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  deleteOptions?: meta_v1.DeleteOptions | undefined;
}

/** policy/v1.PodDisruptionBudget. */
export interface PodDisruptionBudget {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: PodDisruptionBudgetSpec;
  status: PodDisruptionBudgetStatus;
}

/** policy/v1.PodDisruptionBudgetList. */
export interface PodDisruptionBudgetList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: PodDisruptionBudget[] | undefined;
}

/** policy/v1.PodDisruptionBudgetSpec. */
export interface PodDisruptionBudgetSpec {
  minAvailable?: number | string | undefined;
  selector?: meta_v1.LabelSelector | undefined;
  maxUnavailable?: number | string | undefined;
}

/** policy/v1.PodDisruptionBudgetStatus. */
export interface PodDisruptionBudgetStatus {
  observedGeneration?: number | bigint | undefined;
  disruptedPods?: Map<string, string> | undefined;
  disruptionsAllowed: number;
  currentHealthy: number;
  desiredHealthy: number;
  expectedPods: number;
  conditions?: meta_v1.Condition[] | undefined;
}
