import { tested } from "../refused.ts";

tested("coordination.k8s.io", "v1", "leases", [
  [
    "numbers",
    { spec: { leaseDurationSeconds: 0, leaseTransitions: -1 } },
    ["Invalid spec.leaseDurationSeconds", "Invalid spec.leaseTransitions"],
  ],
]);
