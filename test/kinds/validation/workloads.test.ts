import t, { type Test } from "tap";
import type { FieldError } from "../../../src/api/fielderror.ts";
import type {
  ControllerRevision,
  DaemonSet,
  Deployment,
  ReplicaSet,
  StatefulSet,
} from "../../../src/api/gen/apps/v1.ts";
import type { ReplicationController } from "../../../src/api/gen/core/v1.ts";
import {
  validateControllerRevision,
  validateControllerRevisionUpdate,
} from "../../../src/kinds/apps/controllerrevision.ts";
import {
  validateDaemonSet,
  validateDaemonSetStatusUpdate,
  validateDaemonSetUpdate,
} from "../../../src/kinds/apps/daemonset.ts";
import {
  validateDeployment,
  validateDeploymentStatusUpdate,
  validateDeploymentUpdate,
} from "../../../src/kinds/apps/deployment.ts";
import {
  validateReplicaSet,
  validateReplicaSetStatusUpdate,
  validateReplicaSetUpdate,
} from "../../../src/kinds/apps/replicaset.ts";
import {
  validateStatefulSet,
  validateStatefulSetStatusUpdate,
  validateStatefulSetUpdate,
} from "../../../src/kinds/apps/statefulset.ts";
import {
  validateReplicationController,
  validateReplicationControllerStatusUpdate,
  validateReplicationControllerUpdate,
} from "../../../src/kinds/core/replicationcontroller.ts";
import { contextOf, type Json, lines, make, template, texts, workload } from "./build.ts";

const context = contextOf("apps");
type Row = readonly [why: string, spec: Json, expected: readonly string[]];

const deployment = (spec: Json, status: Json = {}): Deployment =>
  make("Deployment", { metadata: { name: "a" }, spec: workload(spec), status }, "apps");
const replicaSet = (spec: Json, status: Json = {}): ReplicaSet =>
  make("ReplicaSet", { metadata: { name: "a" }, spec: workload(spec), status }, "apps");
const statefulSet = (spec: Json, status: Json = {}): StatefulSet =>
  make("StatefulSet", { metadata: { name: "a" }, spec: { serviceName: "s", ...workload(spec) }, status }, "apps");
const daemonSet = (spec: Json, status: Json = {}): DaemonSet =>
  make("DaemonSet", { metadata: { name: "a" }, spec: workload(spec), status }, "apps");
const controller = (spec: Json, status: Json = {}): ReplicationController =>
  make("ReplicationController", {
    metadata: { name: "a" },
    spec: { selector: { app: "web" }, template: template(), ...spec },
    status,
  });

function check(t: Test, rows: readonly Row[], faults: (spec: Json) => FieldError[]): void {
  for (const [why, spec, expected] of rows) t.same(lines(faults(spec)), expected, why);
}

const mismatch = (labels: string): string =>
  `spec.template.metadata.labels: Invalid value: ${labels}: \`selector\` does not match template \`labels\``;
const web = 'map[string]string{"app":"web"}';
const selector = (labels: string): string =>
  `v1.LabelSelector{MatchLabels:${labels}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}`;
const noLabels = "map[string]string(nil)";
const intOrString = (type: number, int: number, text: string): string =>
  `intstr.IntOrString{Type:${type}, IntVal:${int}, StrVal:"${text}"}`;
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

t.test("validateReplicaSet() checks selector and template", (t) => {
  check(
    t,
    [
      ["a set", {}, []],
      [
        "counts",
        { replicas: -1, minReadySeconds: -1 },
        [
          `spec.replicas: Invalid value: -1: ${texts.nonNegative}`,
          `spec.minReadySeconds: Invalid value: -1: ${texts.nonNegative}`,
        ],
      ],
      [
        "an empty selector",
        { selector: {} },
        [`spec.selector: Invalid value: ${selector(noLabels)}: empty selector is invalid for deployment`],
      ],
    ],
    (spec) => validateReplicaSet(replicaSet(spec), context),
  );
  const twice = lines(validateReplicaSetUpdate(replicaSet({ replicas: -1 }), replicaSet({}), context));
  t.same(twice, Array(2).fill(`spec.replicas: Invalid value: -1: ${texts.nonNegative}`), "an update reports twice");
  t.end();
});

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

t.test("validateDaemonSet() checks selector, template and strategy", (t) => {
  const rolling = (rollingUpdate: Json): Json => ({ updateStrategy: { type: "RollingUpdate", rollingUpdate } });
  const at = "spec.updateStrategy.rollingUpdate";
  check(
    t,
    [
      ["a set", {}, []],
      ["no selector", { selector: undefined }, [mismatch(web)]],
      [
        "an empty selector",
        { selector: {} },
        [`spec.selector: Invalid value: ${selector(noLabels)}: empty selector is invalid for daemonset`],
      ],
      [
        "a disk",
        {
          template: template({
            volumes: [{ name: "v", gcePersistentDisk: { pdName: "d" } }],
            activeDeadlineSeconds: 1,
          }),
        },
        [
          "spec.template.spec.volumes[0].gcePersistentDisk.readOnly: Invalid value: false: must be true for replicated pods > 1; GCE PD can only be mounted on multiple machines if it is read-only",
          "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in DaemonSet is not Supported",
        ],
      ],
      [
        "counts",
        { minReadySeconds: -1, revisionHistoryLimit: -1 },
        [
          `spec.minReadySeconds: Invalid value: -1: ${texts.nonNegative}`,
          `spec.revisionHistoryLimit: Invalid value: -1: ${texts.nonNegative}`,
        ],
      ],
      [
        "strategy",
        { updateStrategy: { type: "X" } },
        ['spec.updateStrategy: Unsupported value: {"type":"X"}: supported values: "RollingUpdate", "OnDelete"'],
      ],
      [
        "both steps",
        rolling({ maxUnavailable: 1, maxSurge: 1 }),
        [`${at}.maxSurge: Invalid value: ${intOrString(0, 1, "")}: may not be set when maxUnavailable is non-zero`],
      ],
      [
        "no step",
        rolling({ maxUnavailable: 0, maxSurge: 0 }),
        [`${at}.maxUnavailable: Required value: cannot be 0 when maxSurge is 0`],
      ],
      [
        "too many",
        rolling({ maxUnavailable: "200%" }),
        [`${at}.maxUnavailable: Invalid value: ${intOrString(1, 0, "200%")}: must not be greater than 100%`],
      ],
    ],
    (spec) => validateDaemonSet(daemonSet(spec), context),
  );
  const changed = daemonSet({ selector: { matchLabels: { b: "1" } }, template: template({}, { labels: { b: "1" } }) });
  t.same(lines(validateDaemonSetUpdate(changed, daemonSet({}), context)), [
    `spec.selector: Invalid value: ${selector('map[string]string{"b":"1"}')}: field is immutable`,
  ]);
  t.end();
});

t.test("validateReplicationController() checks selector and template", (t) => {
  check(
    t,
    [
      ["a controller", {}, []],
      ["no selector is that of the labels", { selector: undefined }, []],
      [
        "nothing",
        { selector: undefined, template: undefined },
        ["spec.selector: Required value", "spec.template: Required value"],
      ],
      ["another selector", { selector: { app: "x" } }, [mismatch(web)]],
      [
        "pods that end",
        { template: template({ restartPolicy: "OnFailure" }) },
        ['spec.template.spec.restartPolicy: Unsupported value: "OnFailure": supported values: "Always"'],
      ],
      [
        "counts",
        { replicas: -1, minReadySeconds: -1 },
        [
          `spec.minReadySeconds: Invalid value: -1: ${texts.nonNegative}`,
          `spec.replicas: Invalid value: -1: ${texts.nonNegative}`,
        ],
      ],
    ],
    (spec) => validateReplicationController(controller(spec), context),
  );
  t.equal(
    validateReplicationControllerUpdate(controller({ replicas: -1 }), controller({}), context).length,
    2,
    "an update reports twice",
  );
  t.end();
});

t.test("status updates count what is there", (t) => {
  const over = "cannot be greater than status.replicas";
  t.same(
    lines(
      validateDeploymentStatusUpdate(
        deployment({}, { replicas: -1, collisionCount: 1 }),
        deployment({}, { collisionCount: 2 }),
        context,
      ),
    ),
    [
      `status.replicas: Invalid value: -1: ${texts.nonNegative}`,
      `status.updatedReplicas: Invalid value: 0: ${over}`,
      `status.readyReplicas: Invalid value: 0: ${over}`,
      `status.availableReplicas: Invalid value: 0: ${over}`,
      "status.collisionCount: Invalid value: 1: cannot be decremented",
    ],
  );
  t.same(
    lines(
      validateReplicaSetStatusUpdate(
        replicaSet({}, { replicas: 2, readyReplicas: 1, availableReplicas: 2, fullyLabeledReplicas: 3 }),
        replicaSet({}),
        context,
      ),
    ),
    [
      `status.fullyLabeledReplicas: Invalid value: 3: ${over}`,
      "status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas",
    ],
  );
  t.same(
    lines(
      validateReplicationControllerStatusUpdate(
        controller({}, { replicas: 1, readyReplicas: 2 }),
        controller({}),
        context,
      ),
    ),
    [`status.readyReplicas: Invalid value: 2: ${over}`],
  );
  t.same(
    lines(
      validateStatefulSetStatusUpdate(
        statefulSet({}, { replicas: 1, currentReplicas: 2, availableReplicas: 1 }),
        statefulSet({}, { collisionCount: 3 }),
        context,
      ),
    ),
    [
      `status.currentReplicas: Invalid value: 2: ${over}`,
      "status.availableReplicas: Invalid value: 1: cannot be greater than status.readyReplicas",
      "status.collisionCount: Invalid value: 0: cannot be decremented",
    ],
  );
  t.same(lines(validateDaemonSetStatusUpdate(daemonSet({}, { numberReady: -1 }), daemonSet({}), context)), [
    `status.numberReady: Invalid value: -1: ${texts.nonNegative}`,
  ]);
  t.end();
});

t.test("validateControllerRevision() keeps its data", (t) => {
  const revision = (more: Json): ControllerRevision =>
    make("ControllerRevision", { metadata: { name: "r" }, revision: 1, ...more }, "apps");
  t.same(lines(validateControllerRevision(revision({ revision: -1 }), context)), [
    "data: Required value: data is mandatory",
    `revision: Invalid value: -1: ${texts.nonNegative}`,
  ]);
  t.same(
    lines(
      validateControllerRevisionUpdate(
        revision({ data: { a: 1 }, revision: 2 }),
        revision({ data: { a: 1 } }),
        context,
      ),
    ),
    [],
  );
  t.same(lines(validateControllerRevisionUpdate(revision({ data: { a: 2 } }), revision({ data: { a: 1 } }), context)), [
    'data: Invalid value: runtime.Unknown{TypeMeta:runtime.TypeMeta{APIVersion:"", Kind:""}, Raw:[]uint8{0x7b, 0x22, 0x61, 0x22, 0x3a, 0x32, 0x7d}, ContentEncoding:"", ContentType:"application/json"}: field is immutable',
  ]);
  t.end();
});
