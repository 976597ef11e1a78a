import { tested } from "../refused.ts";

tested(
  "storage.k8s.io",
  "v1beta1",
  "csistoragecapacities",
  [["less than nothing", { storageClassName: "s", capacity: "-1Gi" }, ["Invalid capacity"]]],
  [
    [
      "another class and place",
      { storageClassName: "t", nodeTopology: {} },
      { storageClassName: "s" },
      ["Invalid nodeTopology", "Invalid storageClassName"],
    ],
  ],
);
