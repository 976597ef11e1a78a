import t from "tap";
import { validateDaemonSetStatusUpdate } from "../../src/kinds/apps/daemonset.ts";
import { validateDeploymentStatusUpdate } from "../../src/kinds/apps/deployment.ts";
import { validateReplicaSetStatusUpdate } from "../../src/kinds/apps/replicaset.ts";
import { validateStatefulSetStatusUpdate } from "../../src/kinds/apps/statefulset.ts";
import { validateReplicationControllerStatusUpdate } from "../../src/kinds/core/replicationcontroller.ts";
import { lines, texts } from "./build.ts";
import { context, controller, daemonSet, deployment, replicaSet, statefulSet } from "./workloads.ts";

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
