import { tested } from "../refused.ts";

tested("policy", "v1", "poddisruptionbudgets", [
  ["both", { spec: { minAvailable: 1, maxUnavailable: "5%" } }, ["Invalid spec"]],
  ["numbers", { spec: { minAvailable: -1 } }, ["Invalid spec.minAvailable"]],
  ["percents", { spec: { maxUnavailable: "101%" } }, ["Invalid spec.maxUnavailable"]],
  ["words", { spec: { maxUnavailable: "half" } }, ["Invalid spec.maxUnavailable"]],
]);
