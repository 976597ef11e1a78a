// Workloads of extensions/v1beta1 and apps/v1beta1, and ingresses and policies that began there. They took selector and
// labels from the labels of their pods, and other defaults for how they are rolled out.
import type { DaemonSet, Deployment, ReplicaSet, StatefulSet } from "../../api/gen/apps/v1.ts";
import type { PodTemplateSpec } from "../../api/gen/core/v1.ts";
import type { DaemonSet as OldDaemonSet, Deployment as OldDeployment } from "../../api/gen/extensions/v1beta1.ts";
import type { LabelSelector, ObjectMeta } from "../../api/gen/meta/v1.ts";
import { copyMap } from "../defaults/rule.ts";
import type { OlderVersion } from "./version.ts";

const apps = ["apps", "v1"] as const;

/** Versions of the kinds of apps. */
export const olderWorkloads: readonly OlderVersion[] = [
  { group: "apps", version: "v1beta1", kinds: ["ControllerRevision"], successor: apps },
  {
    group: "apps",
    version: "v1beta1",
    kinds: ["Deployment"],
    message: "extensions/v1beta1.Deployment",
    successor: apps,
    succeed: fromAppsDeployment,
  },
  { group: "apps", version: "v1beta1", kinds: ["StatefulSet"], successor: apps, succeed: fromStatefulSet },
  {
    group: "apps",
    version: "v1beta2",
    kinds: ["ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"],
    successor: apps,
  },
  {
    group: "extensions",
    version: "v1beta1",
    kinds: ["DaemonSet"],
    message: "extensions/v1beta1.DaemonSet",
    successor: apps,
    succeed: fromDaemonSet,
  },
  {
    group: "extensions",
    version: "v1beta1",
    kinds: ["Deployment"],
    message: "extensions/v1beta1.Deployment",
    successor: apps,
    succeed: fromExtensionsDeployment,
  },
  { group: "extensions", version: "v1beta1", kinds: ["ReplicaSet"], successor: apps, succeed: fromReplicaSet },
];

const historyCount = 2;
/** No limit: what these fields were before they had defaults. */
const unlimited = 2_147_483_647;
const rollbackKey = "deprecated.deployment.rollback.to";
const templateGenerationKey = "deprecated.daemonset.template.generation";

interface Workload {
  metadata: ObjectMeta;
  spec: { selector?: LabelSelector | undefined; template: PodTemplateSpec };
}

/** The labels of its pods select them, and become its own where it has none. */
function takeTemplateLabels({ metadata, spec }: Workload): void {
  const labels = spec.template.metadata.labels;
  if (labels === undefined) return;
  spec.selector ??= { matchLabels: copyMap(labels) };
  if (!metadata.labels?.size) metadata.labels = copyMap(labels);
}

function fromAppsDeployment(object: OldDeployment): Deployment {
  takeTemplateLabels(object);
  object.spec.revisionHistoryLimit ??= historyCount;
  return withoutRollback(object);
}

function fromExtensionsDeployment(object: OldDeployment): Deployment {
  takeTemplateLabels(object);
  const { spec } = object;
  const { strategy } = spec;
  if (!strategy.type) strategy.type = "RollingUpdate";
  if (strategy.type === "RollingUpdate" || strategy.rollingUpdate !== undefined) {
    strategy.rollingUpdate ??= {};
    strategy.rollingUpdate.maxUnavailable ??= 1;
    strategy.rollingUpdate.maxSurge ??= 1;
  }
  spec.progressDeadlineSeconds ??= unlimited;
  spec.revisionHistoryLimit ??= unlimited;
  return withoutRollback(object);
}

/** What a rollback asked for is an annotation now; one of that name says nothing without it. */
function withoutRollback(object: OldDeployment): Deployment {
  const { rollbackTo, ...spec } = object.spec;
  const { metadata } = object;
  if (rollbackTo === undefined) metadata.annotations?.delete(rollbackKey);
  else {
    metadata.annotations ??= new Map();
    metadata.annotations.set(rollbackKey, String(rollbackTo.revision ?? 0));
  }
  return { ...object, spec };
}

function fromStatefulSet(object: StatefulSet): StatefulSet {
  takeTemplateLabels(object);
  if (!object.spec.updateStrategy.type) object.spec.updateStrategy.type = "OnDelete";
  return object;
}

function fromDaemonSet(object: OldDaemonSet): DaemonSet {
  takeTemplateLabels(object);
  const { templateGeneration = 0, ...spec } = object.spec;
  if (!spec.updateStrategy.type) spec.updateStrategy.type = "OnDelete";
  object.metadata.annotations ??= new Map();
  object.metadata.annotations.set(templateGenerationKey, String(templateGeneration));
  return { ...object, spec };
}

function fromReplicaSet(object: ReplicaSet): ReplicaSet {
  takeTemplateLabels(object);
  return object;
}
