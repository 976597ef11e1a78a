import t from "tap";
import { validateDaemonSet, validateDaemonSetUpdate } from "../../../src/kinds/apps/daemonset.ts";
import { type Json, lines, template, texts } from "../build.ts";
import { check, context, daemonSet, intOrString, mismatch, noLabels, selector, web } from "../workloads.ts";
import { created, kind, updated } from "../written.ts";

t.test("Daemon sets count their templates in an annotation", (t) => {
  const sets = kind("apps", "v1", "daemonsets");
  const key = "deprecated.daemonset.template.generation";
  t.hasStrict(created(sets, { metadata: { name: "d" } }), { metadata: { annotations: { [key]: "1" } } });
  const old = { metadata: { name: "d", annotations: { [key]: "3" } } };
  const changed = {
    metadata: { name: "d", annotations: { [key]: "9" } },
    spec: { template: { spec: { nodeName: "n" } } },
  };
  t.hasStrict(updated(sets, changed, old), { metadata: { annotations: { [key]: "4" } } });
  t.hasStrict(updated(sets, { metadata: { name: "d" } }, old), { metadata: { annotations: { [key]: "3" } } });
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
