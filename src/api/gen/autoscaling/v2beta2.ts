// Written by scripts/gen from proto/: do not edit.
import type * as meta_v1 from "../meta/v1.ts";

/** autoscaling/v2beta2.ContainerResourceMetricSource. */
export interface ContainerResourceMetricSource {
  name: string;
  target: MetricTarget;
  container: string;
}

/** autoscaling/v2beta2.ContainerResourceMetricStatus. */
export interface ContainerResourceMetricStatus {
  name: string;
  current: MetricValueStatus;
  container: string;
}

/** autoscaling/v2beta2.CrossVersionObjectReference. */
export interface CrossVersionObjectReference {
  kind: string;
  name: string;
  apiVersion?: string | undefined;
}

/** autoscaling/v2beta2.ExternalMetricSource. */
export interface ExternalMetricSource {
  metric: MetricIdentifier;
  target: MetricTarget;
}

/** autoscaling/v2beta2.ExternalMetricStatus. */
export interface ExternalMetricStatus {
  metric: MetricIdentifier;
  current: MetricValueStatus;
}

/** autoscaling/v2beta2.HPAScalingPolicy. */
export interface HPAScalingPolicy {
  type: string;
  value: number;
  periodSeconds: number;
}

/** autoscaling/v2beta2.HPAScalingRules. */
export interface HPAScalingRules {
  stabilizationWindowSeconds?: number | undefined;
  selectPolicy?: string | undefined;
  policies?: HPAScalingPolicy[] | undefined;
}

/** autoscaling/v2beta2.HorizontalPodAutoscaler. */
export interface HorizontalPodAutoscaler {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: HorizontalPodAutoscalerSpec;
  status: HorizontalPodAutoscalerStatus;
}

/** autoscaling/v2beta2.HorizontalPodAutoscalerBehavior. */
export interface HorizontalPodAutoscalerBehavior {
  scaleUp?: HPAScalingRules | undefined;
  scaleDown?: HPAScalingRules | undefined;
}

/** autoscaling/v2beta2.HorizontalPodAutoscalerCondition. */
export interface HorizontalPodAutoscalerCondition {
  type: string;
  status: string;
  lastTransitionTime?: string | undefined;
  reason?: string | undefined;
  message?: string | undefined;
}

/** autoscaling/v2beta2.HorizontalPodAutoscalerList. */
export interface HorizontalPodAutoscalerList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: HorizontalPodAutoscaler[] | undefined;
}

/** autoscaling/v2beta2.HorizontalPodAutoscalerSpec. */
export interface HorizontalPodAutoscalerSpec {
  scaleTargetRef: CrossVersionObjectReference;
  minReplicas?: number | undefined;
  maxReplicas: number;
  metrics?: MetricSpec[] | undefined;
  behavior?: HorizontalPodAutoscalerBehavior | undefined;
}

/** autoscaling/v2beta2.HorizontalPodAutoscalerStatus. */
export interface HorizontalPodAutoscalerStatus {
  observedGeneration?: number | bigint | undefined;
  lastScaleTime?: string | undefined;
  currentReplicas: number;
  desiredReplicas: number;
  currentMetrics?: MetricStatus[] | undefined;
  conditions?: HorizontalPodAutoscalerCondition[] | undefined;
}

/** autoscaling/v2beta2.MetricIdentifier. */
export interface MetricIdentifier {
  name: string;
  selector?: meta_v1.LabelSelector | undefined;
}

/** autoscaling/v2beta2.MetricSpec. */
export interface MetricSpec {
  type: string;
  object?: ObjectMetricSource | undefined;
  pods?: PodsMetricSource | undefined;
  resource?: ResourceMetricSource | undefined;
  containerResource?: ContainerResourceMetricSource | undefined;
  external?: ExternalMetricSource | undefined;
}

/** autoscaling/v2beta2.MetricStatus. */
export interface MetricStatus {
  type: string;
  object?: ObjectMetricStatus | undefined;
  pods?: PodsMetricStatus | undefined;
  resource?: ResourceMetricStatus | undefined;
  containerResource?: ContainerResourceMetricStatus | undefined;
  external?: ExternalMetricStatus | undefined;
}

/** autoscaling/v2beta2.MetricTarget. */
export interface MetricTarget {
  type: string;
  value?: string | undefined;
  averageValue?: string | undefined;
  averageUtilization?: number | undefined;
}

/** autoscaling/v2beta2.MetricValueStatus. */
export interface MetricValueStatus {
  value?: string | undefined;
  averageValue?: string | undefined;
  averageUtilization?: number | undefined;
}

/** autoscaling/v2beta2.ObjectMetricSource. */
export interface ObjectMetricSource {
  describedObject: CrossVersionObjectReference;
  target: MetricTarget;
  metric: MetricIdentifier;
}

/** autoscaling/v2beta2.ObjectMetricStatus. */
export interface ObjectMetricStatus {
  metric: MetricIdentifier;
  current: MetricValueStatus;
  describedObject: CrossVersionObjectReference;
}

/** autoscaling/v2beta2.PodsMetricSource. */
export interface PodsMetricSource {
  metric: MetricIdentifier;
  target: MetricTarget;
}

/** autoscaling/v2beta2.PodsMetricStatus. */
export interface PodsMetricStatus {
  metric: MetricIdentifier;
  current: MetricValueStatus;
}

/** autoscaling/v2beta2.ResourceMetricSource. */
export interface ResourceMetricSource {
  name: string;
  target: MetricTarget;
}

/** autoscaling/v2beta2.ResourceMetricStatus. */
export interface ResourceMetricStatus {
  name: string;
  current: MetricValueStatus;
}
