import { tested } from "../refused.ts";

const scale = (metric: object) => ({
  spec: { maxReplicas: 2, scaleTargetRef: { kind: "D", name: "d" }, metrics: [metric] },
});
const metric = "spec.metrics[0]";
tested("autoscaling", "v2", "horizontalpodautoscalers", [
  ["an unknown type, told twice", scale({ type: "X" }), [`NotSupported ${metric}.type`, `NotSupported ${metric}.type`]],
  [
    "the wrong member",
    scale({ type: "Pods", external: { metric: { name: "a" }, target: { type: "Value", value: "1" } } }),
    [`Required ${metric}.pods`],
  ],
  [
    "two members",
    scale({
      type: "Resource",
      resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 5 } },
      pods: {},
    }),
    [
      `Required ${metric}.pods.metric.name`,
      `Required ${metric}.pods.target.type`,
      `Invalid ${metric}.pods.target.type`,
      `Required ${metric}.pods.target.averageValue`,
      `Forbidden ${metric}.pods`,
    ],
  ],
  [
    "nothing to aim at",
    scale({ type: "Resource", resource: { name: "cpu", target: { type: "Utilization" } } }),
    [`Required ${metric}.resource.target.averageUtilization`],
  ],
  [
    "two things to aim at",
    scale({
      type: "Resource",
      resource: { name: "cpu", target: { type: "Value", averageUtilization: 5, averageValue: "1" } },
    }),
    [`Forbidden ${metric}.resource.target.averageValue`],
  ],
  [
    "a negative value",
    scale({ type: "External", external: { metric: { name: "a" }, target: { type: "Value", value: "-1" } } }),
    [`Invalid ${metric}.external.target.value`],
  ],
  [
    "behavior",
    {
      spec: {
        maxReplicas: 2,
        scaleTargetRef: { kind: "D", name: "d/e" },
        behavior: {
          scaleUp: {
            stabilizationWindowSeconds: 3601,
            selectPolicy: "X",
            policies: [{ type: "Y", value: 0, periodSeconds: 1801 }],
          },
        },
      },
    },
    [
      "Invalid spec.scaleTargetRef.name",
      "Invalid spec.behavior.scaleUp.stabilizationWindowSeconds",
      "NotSupported spec.behavior.scaleUp.selectPolicy",
      "NotSupported spec.behavior.scaleUp.policies[0].type",
      "Invalid spec.behavior.scaleUp.policies[0].value",
      "Invalid spec.behavior.scaleUp.policies[0].periodSeconds",
    ],
  ],
]);
for (const version of ["v1", "v2beta1", "v2beta2"]) {
  tested("autoscaling", version, "horizontalpodautoscalers", [
    [
      "the same rules in old versions",
      { spec: { minReplicas: 0, maxReplicas: 0 } },
      [
        "Invalid spec.minReplicas",
        "Invalid spec.maxReplicas",
        "Required spec.scaleTargetRef.kind",
        "Required spec.scaleTargetRef.name",
        "Forbidden spec.metrics",
      ],
    ],
  ]);
}
