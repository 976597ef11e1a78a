import { tested } from "../refused.ts";

tested("rbac.authorization.k8s.io", "v1", "roles", [
  ["a role over urls", { rules: [{ verbs: ["get"], nonResourceURLs: ["/x"] }] }, ["Invalid rules[0].nonResourceURLs"]],
  ["no resources", { rules: [{ verbs: ["get"], apiGroups: [""] }] }, ["Required rules[0].resources"]],
]);
