import { tested } from "../refused.ts";

tested(
  "storage.k8s.io",
  "v1",
  "storageclasses",
  [
    [
      "many parameters",
      { provisioner: "p", parameters: Object.fromEntries(Array.from({ length: 513 }, (_, i) => [`k${i}`, ""])) },
      ["TooLong parameters"],
    ],
    ["large parameters", { provisioner: "p", parameters: { k: "x".repeat(262144) } }, ["TooLong parameters"]],
  ],
  [
    [
      "everything",
      { provisioner: "q", parameters: { a: "b" }, reclaimPolicy: "Retain", volumeBindingMode: "WaitForFirstConsumer" },
      { provisioner: "p" },
      ["Forbidden parameters", "Forbidden provisioner", "Forbidden reclaimPolicy", "Invalid volumeBindingMode"],
    ],
  ],
);
