// Defaults of the autoscaling group.
import type { HorizontalPodAutoscaler as V1 } from "../../api/gen/autoscaling/v1.ts";
import type { HPAScalingRules, HorizontalPodAutoscaler as V2 } from "../../api/gen/autoscaling/v2.ts";
import type { HorizontalPodAutoscaler as V2beta1 } from "../../api/gen/autoscaling/v2beta1.ts";
import type { HorizontalPodAutoscaler as V2beta2 } from "../../api/gen/autoscaling/v2beta2.ts";
import { cpuPercent } from "../autoscaling/conversions.ts";
import { type DefaultRule, rule } from "./rule.ts";

/** Rules of every version of HorizontalPodAutoscaler. */
export const autoscalingDefaults: readonly DefaultRule[] = [
  rule<V1>("autoscaling/v1.HorizontalPodAutoscaler", ({ spec }) => {
    spec.minReplicas ??= 1;
  }),
  rule<V2>("autoscaling/v2.HorizontalPodAutoscaler", autoscalerDefaults),
  rule<V2beta2>("autoscaling/v2beta2.HorizontalPodAutoscaler", autoscalerDefaults),
  rule<V2beta1>("autoscaling/v2beta1.HorizontalPodAutoscaler", ({ spec }) => {
    spec.minReplicas ??= 1;
    if (!spec.metrics?.length) {
      spec.metrics = [{ type: "Resource", resource: { name: "cpu", targetAverageUtilization: cpuPercent } }];
    }
  }),
];

function autoscalerDefaults({ spec }: V2 | V2beta2): void {
  spec.minReplicas ??= 1;
  if (!spec.metrics?.length) {
    const target = { type: "Utilization", averageUtilization: cpuPercent };
    spec.metrics = [{ type: "Resource", resource: { name: "cpu", target } }];
  }
  if (spec.behavior === undefined) return;
  spec.behavior.scaleUp = merged(spec.behavior.scaleUp, {
    stabilizationWindowSeconds: 0,
    selectPolicy: "Max",
    policies: [
      { type: "Pods", value: 4, periodSeconds: 15 },
      { type: "Percent", value: 100, periodSeconds: 15 },
    ],
  });
  spec.behavior.scaleDown = merged(spec.behavior.scaleDown, {
    selectPolicy: "Max",
    policies: [{ type: "Percent", value: 100, periodSeconds: 15 }],
  });
}

function merged(rules: HPAScalingRules | undefined, fallback: HPAScalingRules): HPAScalingRules {
  return {
    stabilizationWindowSeconds: rules?.stabilizationWindowSeconds ?? fallback.stabilizationWindowSeconds,
    selectPolicy: rules?.selectPolicy ?? fallback.selectPolicy,
    policies: rules?.policies ?? fallback.policies,
  };
}
