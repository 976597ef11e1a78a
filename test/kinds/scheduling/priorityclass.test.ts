import { tested } from "../refused.ts";

tested(
  "scheduling.k8s.io",
  "v1",
  "priorityclasses",
  [["a class of the system with its value", { metadata: { name: "system-node-critical" }, value: 2000001000 }, []]],
  [
    [
      "what pods were given",
      { value: 2, preemptionPolicy: "Never" },
      { value: 1 },
      ["Forbidden Value", "Invalid preemptionPolicy"],
    ],
  ],
);
