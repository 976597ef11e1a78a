import { tested } from "../refused.ts";

const hook = (of: object) => ({
  webhooks: [
    { name: "a.b.c", sideEffects: "None", admissionReviewVersions: ["v1"], clientConfig: { url: "https://x" }, ...of },
  ],
});
const rule = (of: object) =>
  hook({ rules: [{ operations: ["CREATE"], apiGroups: ["g"], apiVersions: ["v1"], resources: ["r"], ...of }] });
tested("admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations", [
  ["a good one", rule({}), []],
  [
    "everything and more",
    rule({ operations: ["*", "CREATE"], apiGroups: ["*", "g"] }),
    ["Invalid webhooks[0].rules[0].operations", "Invalid webhooks[0].rules[0].apiGroups"],
  ],
  [
    "nothing at all",
    rule({ operations: [], apiVersions: [""], resources: [], scope: "X" }),
    [
      "Required webhooks[0].rules[0].operations",
      "Required webhooks[0].rules[0].apiVersions[0]",
      "Required webhooks[0].rules[0].resources",
      "NotSupported webhooks[0].rules[0].scope",
    ],
  ],
  [
    "subresources covered twice",
    rule({ resources: ["pods/*", "pods/log", "*/scale", "a/scale"] }),
    ["Invalid webhooks[0].rules[0].resources[1]", "Invalid webhooks[0].rules[0].resources[3]"],
  ],
  ["all resources and one", rule({ resources: ["*", "pods"] }), ["Invalid webhooks[0].rules[0].resources"]],
  [
    "url and service",
    hook({ clientConfig: { url: "https://x", service: { name: "a", namespace: "b" } } }),
    ["Required webhooks[0].clientConfig"],
  ],
  [
    "a url with everything",
    hook({ clientConfig: { url: "https://u@/p?q#f" } }),
    Array.from({ length: 4 }, () => "Invalid webhooks[0].clientConfig.url"),
  ],
  [
    "a bad service",
    hook({ clientConfig: { service: { path: "/x//Y", port: 0 } } }),
    [
      "Required webhooks[0].clientConfig.service.name",
      "Required webhooks[0].clientConfig.service.namespace",
      "Invalid webhooks[0].clientConfig.service.port",
      "Invalid webhooks[0].clientConfig.service.path",
      "Invalid webhooks[0].clientConfig.service.path",
    ],
  ],
  [
    "policies",
    hook({ failurePolicy: "X", matchPolicy: "Y", timeoutSeconds: 0 }),
    [
      "NotSupported webhooks[0].failurePolicy",
      "NotSupported webhooks[0].matchPolicy",
      "Invalid webhooks[0].timeoutSeconds",
    ],
  ],
]);
