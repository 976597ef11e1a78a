import { tested } from "../refused.ts";

const roleRef = { kind: "Role", name: "r" };
tested(
  "rbac.authorization.k8s.io",
  "v1",
  "rolebindings",
  [
    [
      "subjects",
      {
        roleRef,
        subjects: [
          { kind: "User", name: "" },
          { kind: "ServiceAccount", name: "a", apiGroup: "x" },
          { kind: "Group", name: "g", apiGroup: "x" },
        ],
      },
      ["Required subjects[0].name", "NotSupported subjects[1].apiGroup", "NotSupported subjects[2].apiGroup"],
    ],
    ["another group", { roleRef: { ...roleRef, apiGroup: "x" } }, ["NotSupported roleRef.apiGroup"]],
  ],
  [["another role", { roleRef: { ...roleRef, name: "s" } }, { roleRef }, ["Invalid roleRef"]]],
);
