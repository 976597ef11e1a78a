import { tested } from "../refused.ts";

const subject = { kind: "User", user: { name: "u" } };
const flow = (of: object) => ({
  spec: { priorityLevelConfiguration: { name: "p" }, rules: [{ subjects: [subject], ...of }] },
});
const resources = (of: object) =>
  flow({ resourceRules: [{ verbs: ["get"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], ...of }] });
const place = "spec.rules[0]";
tested("flowcontrol.apiserver.k8s.io", "v1beta2", "flowschemas", [
  ["a good one", resources({}), []],
  [
    "no user and no resource",
    { spec: { priorityLevelConfiguration: { name: "p" }, rules: [{}] } },
    [`Required ${place}.subjects`, `Required ${place}`],
  ],
  [
    "a subject of two kinds",
    flow({
      subjects: [{ kind: "User", user: { name: "u" }, group: { name: "g" } }],
      nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
    }),
    [`Forbidden ${place}.subjects[0].group`],
  ],
  [
    "an account without a namespace",
    flow({
      subjects: [{ kind: "ServiceAccount", serviceAccount: { name: "*" } }],
      nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
    }),
    [`Required ${place}.subjects[0].serviceAccount.namespace`],
  ],
  ["no scope", resources({ namespaces: [] }), [`Required ${place}.resourceRules[0].namespaces`]],
  ["an unknown verb", resources({ verbs: ["fly"] }), [`NotSupported ${place}.resourceRules[0].verbs`]],
  [
    "urls",
    flow({ nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["a", "/b c", "/d//e", "/f*", "/g/*"] }] }),
    [0, 1, 2, 3].map((i) => `Invalid ${place}.nonResourceRules[0].nonResourceURLs[${i}]`),
  ],
  [
    "precedence",
    {
      spec: {
        matchingPrecedence: 10001,
        distinguisherMethod: { type: "X" },
        priorityLevelConfiguration: { name: "p" },
      },
    },
    ["Invalid spec.matchingPrecedence", "NotSupported spec.distinguisherMethod.type"],
  ],
]);
