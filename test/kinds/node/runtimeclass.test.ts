import { tested } from "../refused.ts";

tested(
  "node.k8s.io",
  "v1beta1",
  "runtimeclasses",
  [
    [
      "overhead and tolerations",
      {
        handler: "h",
        overhead: { podFixed: { cpu: "-1" } },
        scheduling: { tolerations: [{ key: "a" }, { key: "a" }] },
      },
      ["Invalid overhead.limits[cpu]", "Duplicate scheduling.tolerations[1]"],
    ],
  ],
  [["another handler", { handler: "i" }, { handler: "h" }, ["Invalid handler"]]],
);
