import t from "tap";
import { validateStatefulSet, validateStatefulSetUpdate } from "../../../src/kinds/apps/statefulset.ts";
import { type Json, lines, template, texts } from "../build.ts";
import { check, context, mismatch, noLabels, selector, statefulSet, web } from "../workloads.ts";

t.test("validateStatefulSet() checks policies and hardly the template", (t) => {
  check(
    t,
    [
      ["a set", {}, []],
      ["pods are not looked into", { template: template({ containers: [] }) }, []],
      [
        "policy",
        { podManagementPolicy: "X" },
        ["spec.podManagementPolicy: Invalid value: \"X\": must be 'OrderedReady' or 'Parallel'"],
      ],
      [
        "strategy",
        { updateStrategy: { type: "X" } },
        ["spec.updateStrategy: Invalid value: {\"type\":\"X\"}: must be 'RollingUpdate' or 'OnDelete'"],
      ],
      [
        "on delete",
        { updateStrategy: { type: "OnDelete", rollingUpdate: { partition: 1 } } },
        [
          "spec.updateStrategy.rollingUpdate: Invalid value: {\"partition\":1}: only allowed for updateStrategy 'RollingUpdate'",
        ],
      ],
      [
        "counts",
        {
          replicas: -1,
          minReadySeconds: -2,
          updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: -3 } },
        },
        [
          `spec.updateStrategy.rollingUpdate.partition: Invalid value: -3: ${texts.nonNegative}`,
          `spec.replicas: Invalid value: -1: ${texts.nonNegative}`,
          `spec.minReadySeconds: Invalid value: -2: ${texts.nonNegative}`,
        ],
      ],
      ["no selector", { selector: undefined }, ["spec.selector: Required value", mismatch(web)]],
      [
        "an empty selector",
        { selector: {} },
        [`spec.selector: Invalid value: ${selector(noLabels)}: empty selector is invalid for statefulset`],
      ],
      [
        "labels",
        {
          template: template(
            { restartPolicy: "Never", activeDeadlineSeconds: 1 },
            { labels: { app: "web", "a b": "" } },
          ),
        },
        [
          `spec.template.labels: Invalid value: "a b": ${texts.name}`,
          'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
          "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in StatefulSet is not Supported",
        ],
      ],
    ],
    (spec) => validateStatefulSet(statefulSet(spec), context),
  );
  t.end();
});

t.test("validateStatefulSetUpdate() lets some fields change", (t) => {
  const frozen =
    "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'template', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
  const rows: [why: string, spec: Json, expected: string[]][] = [
    [
      "what may change",
      { replicas: 5, minReadySeconds: 1, updateStrategy: { type: "OnDelete" }, template: template({ hostname: "h" }) },
      [],
    ],
    ["the service", { serviceName: "t" }, [frozen]],
    ["the policy", { podManagementPolicy: "Parallel" }, [frozen]],
    ["claims", { volumeClaimTemplates: [{ metadata: { name: "d" }, spec: {} }] }, [frozen]],
    [
      "negative, twice",
      { replicas: -1 },
      Array<string>(2).fill(`spec.replicas: Invalid value: -1: ${texts.nonNegative}`),
    ],
  ];
  for (const [why, spec, expected] of rows) {
    t.same(lines(validateStatefulSetUpdate(statefulSet(spec), statefulSet({}), context)), expected, why);
  }
  t.end();
});
