import { tested } from "../refused.ts";

tested(
  "storage.k8s.io",
  "v1",
  "csinodes",
  [
    [
      "a driver without a node",
      { spec: { drivers: [{ name: "d", topologyKeys: ["k", "k"] }] } },
      ["Required spec.drivers[0].nodeID", "Duplicate spec.drivers[0]"],
    ],
  ],
  [
    [
      "a driver that moved",
      { spec: { drivers: [{ name: "d", nodeID: "m" }] } },
      { spec: { drivers: [{ name: "d", nodeID: "n" }] } },
      ["Invalid CSINodeDriver"],
    ],
    ["a driver that left", { spec: { drivers: [] } }, { spec: { drivers: [{ name: "d", nodeID: "n" }] } }, []],
  ],
);
