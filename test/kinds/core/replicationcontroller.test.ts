import t from "tap";
import {
  validateReplicationController,
  validateReplicationControllerUpdate,
} from "../../../src/kinds/core/replicationcontroller.ts";
import { template, texts } from "../build.ts";
import { check, context, controller, mismatch, web } from "../workloads.ts";

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
