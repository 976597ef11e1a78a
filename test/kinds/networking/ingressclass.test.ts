import { tested } from "../refused.ts";

tested(
  "networking.k8s.io",
  "v1",
  "ingressclasses",
  [
    ["a long controller", { spec: { controller: `a.b/${"c".repeat(250)}` } }, ["TooLong spec.controller"]],
    [
      "cluster parameters with a namespace",
      { spec: { controller: "a.b/c", parameters: { kind: "K", name: "n", namespace: "x" } } },
      ["Forbidden spec.parameters.namespace"],
    ],
    [
      "namespaced parameters without one",
      { spec: { controller: "a.b/c", parameters: { kind: "K", name: "n", scope: "Namespace" } } },
      ["Required spec.parameters.namespace"],
    ],
    [
      "empty parameters",
      { spec: { controller: "a.b/c", parameters: { scope: "X" } } },
      ["Required spec.parameters.kind", "Required spec.parameters.name", "NotSupported spec.parameters.scope"],
    ],
  ],
  [
    [
      "another controller",
      { spec: { controller: "a.b/d" } },
      { spec: { controller: "a.b/c" } },
      ["Invalid spec.controller"],
    ],
  ],
);
