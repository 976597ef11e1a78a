// Written by scripts/gen from proto/: do not edit.
import type * as meta_v1 from "../meta/v1.ts";

/** autoscaling/v1.ContainerResourceMetricSource. */
export interface ContainerResourceMetricSource {
  name: string;
  targetAverageUtilization?: number | undefined;
  targetAverageValue?: string | undefined;
  container: string;
}

/** autoscaling/v1.ContainerResourceMetricStatus. */
export interface ContainerResourceMetricStatus {
  name: string;
  currentAverageUtilization?: number | undefined;
  currentAverageValue: string;
  container: string;
}

/** autoscaling/v1.CrossVersionObjectReference. */
export interface CrossVersionObjectReference {
  kind: string;
  name: string;
  apiVersion?: string | undefined;
}

/** autoscaling/v1.ExternalMetricSource. */
export interface ExternalMetricSource {
  metricName: string;
  metricSelector?: meta_v1.LabelSelector | undefined;
  targetValue?: string | undefined;
  targetAverageValue?: string | undefined;
}

/** autoscaling/v1.ExternalMetricStatus. */
export interface ExternalMetricStatus {
  metricName: string;
  metricSelector?: meta_v1.LabelSelector | undefined;
  currentValue: string;
  currentAverageValue?: string | undefined;
}

/** autoscaling/v1.HorizontalPodAutoscaler. */
export interface HorizontalPodAutoscaler {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: HorizontalPodAutoscalerSpec;
  status: HorizontalPodAutoscalerStatus;
}

/** autoscaling/v1.HorizontalPodAutoscalerCondition. */
export interface HorizontalPodAutoscalerCondition {
  type: string;
  status: string;
  lastTransitionTime?: string | undefined;
  reason?: string | undefined;
  message?: string | undefined;
}

/** autoscaling/v1.HorizontalPodAutoscalerList. */
export interface HorizontalPodAutoscalerList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: HorizontalPodAutoscaler[] | undefined;
}

/** autoscaling/v1.HorizontalPodAutoscalerSpec. */
export interface HorizontalPodAutoscalerSpec {
  scaleTargetRef: CrossVersionObjectReference;
  minReplicas?: number | undefined;
  maxReplicas: number;
  targetCPUUtilizationPercentage?: number | undefined;
}

/** autoscaling/v1.HorizontalPodAutoscalerStatus. */
export interface HorizontalPodAutoscalerStatus {
  observedGeneration?: number | bigint | undefined;
  lastScaleTime?: string | undefined;
  currentReplicas: number;
  desiredReplicas: number;
  currentCPUUtilizationPercentage?: number | undefined;
}

/** autoscaling/v1.MetricSpec. */
export interface MetricSpec {
  type: string;
  object?: ObjectMetricSource | undefined;
  pods?: PodsMetricSource | undefined;
  resource?: ResourceMetricSource | undefined;
  containerResource?: ContainerResourceMetricSource | undefined;
  external?: ExternalMetricSource | undefined;
}

/** autoscaling/v1.MetricStatus. */
export interface MetricStatus {
  type: string;
  object?: ObjectMetricStatus | undefined;
  pods?: PodsMetricStatus | undefined;
  resource?: ResourceMetricStatus | undefined;
  containerResource?: ContainerResourceMetricStatus | undefined;
  external?: ExternalMetricStatus | undefined;
}

/** autoscaling/v1.ObjectMetricSource. */
export interface ObjectMetricSource {
  target: CrossVersionObjectReference;
  metricName: string;
  targetValue: string;
  selector?: meta_v1.LabelSelector | undefined;
  averageValue?: string | undefined;
}

/** autoscaling/v1.ObjectMetricStatus. */
export interface ObjectMetricStatus {
  target: CrossVersionObjectReference;
  metricName: string;
  currentValue: string;
  selector?: meta_v1.LabelSelector | undefined;
  averageValue?: string | undefined;
}

/** autoscaling/v1.PodsMetricSource. */
export interface PodsMetricSource {
  metricName: string;
  targetAverageValue: string;
  selector?: meta_v1.LabelSelector | undefined;
}

/** autoscaling/v1.PodsMetricStatus. */
export interface PodsMetricStatus {
  metricName: string;
  currentAverageValue: string;
  selector?: meta_v1.LabelSelector | undefined;
}

/** autoscaling/v1.ResourceMetricSource. */
export interface ResourceMetricSource {
  name: string;
  targetAverageUtilization?: number | undefined;
  targetAverageValue?: string | undefined;
}

/** autoscaling/v1.ResourceMetricStatus. */
export interface ResourceMetricStatus {
  name: string;
  currentAverageUtilization?: number | undefined;
  currentAverageValue: string;
}

/** autoscaling/v1.Scale. */
export interface Scale {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: ScaleSpec;
  status: ScaleStatus;
}

/** autoscaling/v1.ScaleSpec. */
export interface ScaleSpec {
  replicas?: number | undefined;
}

/** autoscaling/v1.ScaleStatus. */
export interface ScaleStatus {
  replicas: number;
  selector?: string | undefined;
}
