import { tested } from "../refused.ts";

tested("rbac.authorization.k8s.io", "v1", "clusterroles", [
  ["an empty aggregation", { aggregationRule: {} }, ["Required aggregationRule.clusterRoleSelectors"]],
  ["a role over urls", { rules: [{ verbs: ["get"], nonResourceURLs: ["/x"] }] }, []],
]);
