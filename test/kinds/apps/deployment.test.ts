import t from "tap";
import { validateDeployment, validateDeploymentUpdate } from "../../../src/kinds/apps/deployment.ts";
import { type Json, lines, template, texts } from "../build.ts";
import { check, context, deployment, intOrString, mismatch, noLabels, selector, web } from "../workloads.ts";

const percent =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";

t.test("validateDeployment() checks selector, template and strategy", (t) => {
  const rolling = (rollingUpdate: Json): Json => ({ strategy: { rollingUpdate } });
  const at = "spec.strategy.rollingUpdate";
  check(
    t,
    [
      ["a deployment", {}, []],
      [
        "expressions",
        {
          selector: {
            matchExpressions: [
              { key: "app", operator: "In", values: ["web"] },
              { key: "x", operator: "DoesNotExist" },
            ],
          },
        },
        [],
      ],
      [
        "counts",
        { replicas: -1, minReadySeconds: -2, revisionHistoryLimit: -3, progressDeadlineSeconds: -4 },
        [
          `spec.replicas: Invalid value: -1: ${texts.nonNegative}`,
          `spec.minReadySeconds: Invalid value: -2: ${texts.nonNegative}`,
          `spec.revisionHistoryLimit: Invalid value: -3: ${texts.nonNegative}`,
          `spec.progressDeadlineSeconds: Invalid value: -4: ${texts.nonNegative}`,
          "spec.progressDeadlineSeconds: Invalid value: -4: must be greater than minReadySeconds",
        ],
      ],
      ["no selector", { selector: undefined }, ["spec.selector: Required value", mismatch(web)]],
      [
        "an empty selector",
        { selector: {} },
        [`spec.selector: Invalid value: ${selector(noLabels)}: empty selector is invalid for deployment`],
      ],
      ["another selector", { selector: { matchLabels: { app: "x" } } }, [mismatch(web)]],
      [
        "a broken selector",
        { selector: { matchExpressions: [{ key: "app", operator: "X" }] } },
        [
          'spec.selector.matchExpressions[0].operator: Invalid value: "X": not a valid selector operator',
          `spec.selector: Invalid value: v1.LabelSelector{MatchLabels:${noLabels}, MatchExpressions:[]v1.LabelSelectorRequirement{v1.LabelSelectorRequirement{Key:"app", Operator:"X", Values:[]string(nil)}}}: invalid label selector`,
        ],
      ],
      [
        "expressions with and without values",
        {
          selector: {
            matchLabels: { app: "web" },
            matchExpressions: [
              { key: "a", operator: "NotIn" },
              { key: "b", operator: "Exists", values: ["x"] },
            ],
          },
        },
        [
          "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
          "spec.selector.matchExpressions[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
          `spec.selector: Invalid value: v1.LabelSelector{MatchLabels:${web}, MatchExpressions:[]v1.LabelSelectorRequirement{v1.LabelSelectorRequirement{Key:"a", Operator:"NotIn", Values:[]string(nil)}, v1.LabelSelectorRequirement{Key:"b", Operator:"Exists", Values:[]string{"x"}}}}: invalid label selector`,
        ],
      ],
      [
        "pods that end",
        { template: template({ restartPolicy: "Never", activeDeadlineSeconds: 5 }) },
        [
          'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
          "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported",
        ],
      ],
      [
        "a disk for several",
        { replicas: 2, template: template({ volumes: [{ name: "v", gcePersistentDisk: { pdName: "d" } }] }) },
        [
          "spec.template.spec.volumes[0].gcePersistentDisk.readOnly: Invalid value: false: must be true for replicated pods > 1; GCE PD can only be mounted on multiple machines if it is read-only",
        ],
      ],
      [
        "strategy",
        { strategy: { type: "X" } },
        ['spec.strategy: Unsupported value: {"type":"X"}: supported values: "Recreate", "RollingUpdate"'],
      ],
      [
        "recreate",
        { strategy: { type: "Recreate", rollingUpdate: {} } },
        [`${at}: Forbidden: may not be specified when strategy \`type\` is 'Recreate'`],
      ],
      [
        "percentages",
        rolling({ maxUnavailable: "101%", maxSurge: "x" }),
        [
          `${at}.maxSurge: Invalid value: ${intOrString(1, 0, "x")}: ${percent}`,
          `${at}.maxUnavailable: Invalid value: ${intOrString(1, 0, "101%")}: must not be greater than 100%`,
        ],
      ],
      [
        "no step at all",
        rolling({ maxUnavailable: "0%", maxSurge: 0 }),
        [`${at}.maxUnavailable: Invalid value: ${intOrString(1, 0, "0%")}: may not be 0 when \`maxSurge\` is 0`],
      ],
      ["negative", rolling({ maxUnavailable: -1 }), [`${at}.maxUnavailable: Invalid value: -1: ${texts.nonNegative}`]],
    ],
    (spec) => validateDeployment(deployment(spec), context),
  );
  t.end();
});

t.test("validateDeploymentUpdate() keeps the selector", (t) => {
  const more = {
    selector: { matchLabels: { app: "web", b: "1" } },
    template: template({}, { labels: { app: "web", b: "1" } }),
  };
  t.same(lines(validateDeploymentUpdate(deployment({ replicas: 5 }), deployment({}), context)), []);
  t.same(lines(validateDeploymentUpdate(deployment(more), deployment({}), context)), [
    `spec.selector: Invalid value: ${selector('map[string]string{"app":"web", "b":"1"}')}: field is immutable`,
  ]);
  const none = deployment({ selector: undefined });
  t.same(
    lines(validateDeploymentUpdate(none, deployment({}), context)).at(-1),
    'spec.selector: Invalid value: "null": field is immutable',
  );
  t.end();
});
