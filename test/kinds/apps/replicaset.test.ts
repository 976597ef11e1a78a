import t from "tap";
import { validateReplicaSet, validateReplicaSetUpdate } from "../../../src/kinds/apps/replicaset.ts";
import { lines, texts } from "../build.ts";
import { check, context, noLabels, replicaSet, selector } from "../workloads.ts";

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
