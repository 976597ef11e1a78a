// Workloads of apps/v1, and ReplicationController: replicas of a template of pods, kept by a controller.
// Where the reference checks a changed object both as a new one and as a changed one, its faults are there twice.
import { type FieldError, forbiddenField, invalid, notSupported, required } from "../../api/fielderror.ts";
import type * as apps from "../../api/gen/apps/v1.ts";
import type * as core from "../../api/gen/core/v1.ts";
import { immutableMessage } from "../formats.ts";
import type { StrategyContext } from "../strategy.ts";
import { addAll, checkAnnotations, checkLabels, checkNonNegative, type Errors, empty } from "./check.ts";
import { checkImmutable } from "./equal.ts";
import { goIntOrString, goLabelSelector, goRaw, goStringMap } from "./gostruct.ts";
import { checkKeptRunning } from "./pod/podspec.ts";
import { type PodRules, podRules } from "./pod/rules.ts";
import { checkPodAnnotations, checkSharedDisks, checkTemplate } from "./pod/template.ts";
import {
  amountOf,
  checkAtMostAll,
  checkCollisions,
  checkCounts,
  checkFixedSelector,
  checkIntOrPercent,
  checkMatch,
  checkReplicaCounts,
  checkReplicatedTemplate,
  checkSelector,
  mismatch,
  rulesOfTemplate,
} from "./replicas.ts";
import { checkLabelSelector, isEmptySelector, selects } from "./selector.ts";

const statefulSetFrozen =
  "updates to statefulset spec for fields other than 'replicas', 'template', 'updateStrategy', " +
  "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

/** Rules of a new Deployment. */
export function validateDeployment(object: apps.Deployment, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  checkDeploymentSpec(out, object.spec, podRules(context));
  return out;
}

/** Rules of a changed Deployment. */
export function validateDeploymentUpdate(
  object: apps.Deployment,
  old: apps.Deployment,
  context: StrategyContext,
): FieldError[] {
  const out: Errors = [];
  checkDeploymentSpec(out, object.spec, rulesOfTemplate(context, old.spec.template));
  checkFixedSelector(out, object.spec.selector, old.spec.selector);
  return out;
}

/** Rules of a changed status of a Deployment. */
export function validateDeploymentStatusUpdate(
  object: apps.Deployment,
  old: apps.Deployment,
  _context: StrategyContext,
): FieldError[] {
  const out: Errors = [];
  const { status } = object;
  checkCounts(out, status, [
    "observedGeneration",
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
    "collisionCount",
  ]);
  checkReplicaCounts(out, status, ["updatedReplicas", "readyReplicas", "availableReplicas"], "readyReplicas");
  checkCollisions(out, status.collisionCount, old.status.collisionCount);
  return out;
}

function checkDeploymentSpec(out: Errors, spec: apps.DeploymentSpec, rules: PodRules): void {
  checkNonNegative(out, "spec.replicas", spec.replicas);
  checkSelector(out, spec.selector, "deployment");
  checkReplicatedTemplate(out, spec, rules);
  checkDeploymentStrategy(out, "spec.strategy", spec.strategy);
  checkNonNegative(out, "spec.minReadySeconds", spec.minReadySeconds);
  checkNonNegative(out, "spec.revisionHistoryLimit", spec.revisionHistoryLimit);
  const deadline = spec.progressDeadlineSeconds;
  checkNonNegative(out, "spec.progressDeadlineSeconds", deadline);
  if (deadline !== undefined && deadline <= (spec.minReadySeconds ?? 0)) {
    out.push(invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"));
  }
}

function checkDeploymentStrategy(out: Errors, path: string, strategy: apps.DeploymentStrategy): void {
  const rolling = strategy.rollingUpdate;
  switch (strategy.type) {
    case "Recreate":
      if (rolling !== undefined) {
        const why = "may not be specified when strategy `type` is 'Recreate'";
        out.push(forbiddenField(`${path}.rollingUpdate`, why));
      }
      break;
    case "RollingUpdate":
      if (rolling === undefined) {
        out.push(required(`${path}.rollingUpdate`, "this should be defaulted and never be nil"));
      } else checkRollingDeployment(out, `${path}.rollingUpdate`, rolling);
      break;
    default:
      out.push(notSupported(path, strategy, ["Recreate", "RollingUpdate"]));
  }
}

function checkRollingDeployment(out: Errors, path: string, rolling: apps.RollingUpdateDeployment): void {
  const { maxUnavailable = 0, maxSurge = 0 } = rolling;
  checkIntOrPercent(out, `${path}.maxUnavailable`, maxUnavailable);
  checkIntOrPercent(out, `${path}.maxSurge`, maxSurge);
  if (amountOf(maxUnavailable) === 0 && amountOf(maxSurge) === 0) {
    out.push(invalid(`${path}.maxUnavailable`, goIntOrString(maxUnavailable), "may not be 0 when `maxSurge` is 0"));
  }
  checkAtMostAll(out, `${path}.maxUnavailable`, maxUnavailable);
}

/** Rules of a new ReplicaSet. */
export function validateReplicaSet(object: apps.ReplicaSet, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  checkReplicaSetSpec(out, object.spec, podRules(context));
  return out;
}

/** Rules of a changed ReplicaSet. */
export function validateReplicaSetUpdate(
  object: apps.ReplicaSet,
  old: apps.ReplicaSet,
  context: StrategyContext,
): FieldError[] {
  const out: Errors = [];
  const rules = rulesOfTemplate(context, old.spec.template);
  checkReplicaSetSpec(out, object.spec, rules);
  addAll(out, [...out]);
  checkFixedSelector(out, object.spec.selector, old.spec.selector);
  return out;
}

/** Rules of a changed status of a ReplicaSet. */
export function validateReplicaSetStatusUpdate(
  object: apps.ReplicaSet,
  _old: apps.ReplicaSet,
  _context: StrategyContext,
): FieldError[] {
  const out: Errors = [];
  checkReplicaSetStatus(out, object.status);
  return out;
}

function checkReplicaSetSpec(out: Errors, spec: apps.ReplicaSetSpec, rules: PodRules): void {
  checkNonNegative(out, "spec.replicas", spec.replicas);
  checkNonNegative(out, "spec.minReadySeconds", spec.minReadySeconds);
  // The reference says deployment here too.
  checkSelector(out, spec.selector, "deployment");
  checkReplicatedTemplate(out, spec, rules);
}

/** ReplicaSet and ReplicationController count alike. */
function checkReplicaSetStatus(out: Errors, status: apps.ReplicaSetStatus): void {
  const fields = [
    "replicas",
    "fullyLabeledReplicas",
    "readyReplicas",
    "availableReplicas",
    "observedGeneration",
  ] as const;
  checkCounts(out, status, fields);
  checkReplicaCounts(out, status, ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"], "readyReplicas");
}

/** Rules of a new StatefulSet. */
export function validateStatefulSet(object: apps.StatefulSet, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  checkStatefulSetSpec(out, object.spec, podRules(context));
  return out;
}

/** Rules of a changed StatefulSet: some fields only. */
export function validateStatefulSetUpdate(
  object: apps.StatefulSet,
  old: apps.StatefulSet,
  context: StrategyContext,
): FieldError[] {
  const out: Errors = [];
  const { spec } = object;
  checkStatefulSetSpec(out, spec, rulesOfTemplate(context, old.spec.template));
  const { replicas, template, updateStrategy, minReadySeconds } = old.spec;
  const retention = old.spec.persistentVolumeClaimRetentionPolicy;
  const kept = { ...spec, replicas, template, updateStrategy, minReadySeconds };
  kept.persistentVolumeClaimRetentionPolicy = retention;
  const fault: Errors = [];
  checkImmutable(fault, "spec", "apps/v1.StatefulSetSpec", kept, old.spec);
  if (fault.length > 0) out.push(forbiddenField("spec", statefulSetFrozen));
  checkNonNegative(out, "spec.replicas", spec.replicas);
  checkNonNegative(out, "spec.minReadySeconds", spec.minReadySeconds);
  return out;
}

/** Rules of a changed status of a StatefulSet. */
export function validateStatefulSetStatusUpdate(
  object: apps.StatefulSet,
  old: apps.StatefulSet,
  _context: StrategyContext,
): FieldError[] {
  const out: Errors = [];
  const { status } = object;
  checkCounts(out, status, [
    "replicas",
    "readyReplicas",
    "currentReplicas",
    "updatedReplicas",
    "availableReplicas",
    "observedGeneration",
    "collisionCount",
  ]);
  const counts = ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"] as const;
  checkReplicaCounts(out, status, counts, "status.readyReplicas");
  checkCollisions(out, status.collisionCount, old.status.collisionCount);
  return out;
}

function checkStatefulSetSpec(out: Errors, spec: apps.StatefulSetSpec, rules: PodRules): void {
  const policy = spec.podManagementPolicy;
  if (empty(policy)) out.push(required("spec.podManagementPolicy"));
  else if (policy !== "OrderedReady" && policy !== "Parallel") {
    out.push(invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'"));
  }
  checkStatefulSetStrategy(out, "spec.updateStrategy", spec.updateStrategy);
  checkNonNegative(out, "spec.replicas", spec.replicas);
  checkNonNegative(out, "spec.minReadySeconds", spec.minReadySeconds);
  checkSelector(out, spec.selector, "statefulset");
  const { metadata, spec: pod } = spec.template;
  if (checkMatch(out, spec.selector, metadata, "")) {
    // The reference never looks into the pod of a StatefulSet's template beyond this.
    checkLabels(out, "spec.template.labels", metadata.labels);
    checkAnnotations(out, "spec.template.annotations", metadata.annotations);
    checkPodAnnotations(out, "spec.template.annotations", metadata.annotations, pod, rules);
  }
  checkKeptRunning(out, "spec.template.spec", pod, "StatefulSet");
}

function checkStatefulSetStrategy(out: Errors, path: string, strategy: apps.StatefulSetUpdateStrategy): void {
  const rolling = strategy.rollingUpdate;
  if (empty(strategy.type)) out.push(required(path));
  else if (strategy.type === "OnDelete") {
    if (rolling !== undefined) {
      out.push(invalid(`${path}.rollingUpdate`, rolling, "only allowed for updateStrategy 'RollingUpdate'"));
    }
  } else if (strategy.type === "RollingUpdate") {
    checkNonNegative(out, `${path}.rollingUpdate.partition`, rolling?.partition);
  } else out.push(invalid(path, strategy, "must be 'RollingUpdate' or 'OnDelete'"));
}

/** Rules of a new DaemonSet. */
export function validateDaemonSet(object: apps.DaemonSet, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  checkDaemonSetSpec(out, object.spec, podRules(context));
  return out;
}

/** Rules of a changed DaemonSet. */
export function validateDaemonSetUpdate(
  object: apps.DaemonSet,
  old: apps.DaemonSet,
  context: StrategyContext,
): FieldError[] {
  const out: Errors = [];
  checkDaemonSetSpec(out, object.spec, rulesOfTemplate(context, old.spec.template));
  addAll(out, [...out]);
  checkFixedSelector(out, object.spec.selector, old.spec.selector);
  return out;
}

/** Rules of a changed status of a DaemonSet. */
export function validateDaemonSetStatusUpdate(
  object: apps.DaemonSet,
  old: apps.DaemonSet,
  _context: StrategyContext,
): FieldError[] {
  const out: Errors = [];
  checkCounts(out, object.status, [
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
  ]);
  checkCollisions(out, object.status.collisionCount, old.status.collisionCount);
  return out;
}

/** An absent selector is not reported as such: it selects nothing, so the template does not match. */
function checkDaemonSetSpec(out: Errors, spec: apps.DaemonSetSpec, rules: PodRules): void {
  const { selector, template } = spec;
  checkLabelSelector(out, "spec.selector", selector);
  if (selects(selector, template.metadata.labels) === false) {
    out.push(invalid("spec.template.metadata.labels", goStringMap(template.metadata.labels), mismatch));
  }
  if (selector !== undefined && isEmptySelector(selector)) {
    out.push(invalid("spec.selector", goLabelSelector(selector), "empty selector is invalid for daemonset"));
  }
  checkTemplate(out, "spec.template", template, rules);
  checkSharedDisks(out, "spec.template.spec.volumes", template.spec.volumes);
  checkKeptRunning(out, "spec.template.spec", template.spec, "DaemonSet");
  checkNonNegative(out, "spec.minReadySeconds", spec.minReadySeconds);
  checkDaemonSetStrategy(out, "spec.updateStrategy", spec.updateStrategy);
  checkNonNegative(out, "spec.revisionHistoryLimit", spec.revisionHistoryLimit);
}

function checkDaemonSetStrategy(out: Errors, path: string, strategy: apps.DaemonSetUpdateStrategy): void {
  if (strategy.type === "OnDelete") return;
  if (strategy.type !== "RollingUpdate") {
    out.push(notSupported(path, strategy, ["RollingUpdate", "OnDelete"]));
    return;
  }
  if (strategy.rollingUpdate === undefined) {
    out.push(required(`${path}.rollingUpdate`));
    return;
  }
  const at = `${path}.rollingUpdate`;
  const { maxUnavailable = 0, maxSurge = 0 } = strategy.rollingUpdate;
  checkIntOrPercent(out, `${at}.maxUnavailable`, maxUnavailable);
  checkIntOrPercent(out, `${at}.maxSurge`, maxSurge);
  checkAtMostAll(out, `${at}.maxUnavailable`, maxUnavailable);
  checkAtMostAll(out, `${at}.maxSurge`, maxSurge);
  const [downs, extras] = [amountOf(maxUnavailable) !== 0, amountOf(maxSurge) !== 0];
  if (downs && extras) {
    out.push(invalid(`${at}.maxSurge`, goIntOrString(maxSurge), "may not be set when maxUnavailable is non-zero"));
  } else if (!downs && !extras) out.push(required(`${at}.maxUnavailable`, "cannot be 0 when maxSurge is 0"));
}

/** Rules of a new ControllerRevision. */
export function validateControllerRevision(object: apps.ControllerRevision, _context: StrategyContext): FieldError[] {
  const out: Errors = [];
  if (object.data === undefined) out.push(required("data", "data is mandatory"));
  checkNonNegative(out, "revision", object.revision);
  return out;
}

/** Rules of a changed ControllerRevision: its data stays. */
export function validateControllerRevisionUpdate(
  object: apps.ControllerRevision,
  old: apps.ControllerRevision,
  context: StrategyContext,
): FieldError[] {
  const out = validateControllerRevision(object, context);
  if (object.data?.text !== old.data?.text) out.push(invalid("data", goRaw(object.data), immutableMessage));
  return out;
}

/** Rules of a new ReplicationController. */
export function validateReplicationController(
  object: core.ReplicationController,
  context: StrategyContext,
): FieldError[] {
  const out: Errors = [];
  checkControllerSpec(out, object.spec, podRules(context));
  return out;
}

/** Rules of a changed ReplicationController. */
export function validateReplicationControllerUpdate(
  object: core.ReplicationController,
  old: core.ReplicationController,
  context: StrategyContext,
): FieldError[] {
  const out: Errors = [];
  checkControllerSpec(out, object.spec, rulesOfTemplate(context, old.spec.template));
  addAll(out, [...out]);
  return out;
}

/** Rules of a changed status of a ReplicationController. */
export function validateReplicationControllerStatusUpdate(
  object: core.ReplicationController,
  _old: core.ReplicationController,
  _context: StrategyContext,
): FieldError[] {
  const out: Errors = [];
  checkReplicaSetStatus(out, object.status);
  return out;
}

function checkControllerSpec(out: Errors, spec: core.ReplicationControllerSpec, rules: PodRules): void {
  const { template } = spec;
  checkNonNegative(out, "spec.minReadySeconds", spec.minReadySeconds);
  if ((spec.selector?.size ?? 0) === 0) out.push(required("spec.selector"));
  checkNonNegative(out, "spec.replicas", spec.replicas);
  if (template === undefined) {
    out.push(required("spec.template"));
    return;
  }
  const selected = [...(spec.selector ?? [])].every(([key, value]) => template.metadata.labels?.get(key) === value);
  if (!selected) out.push(invalid("spec.template.metadata.labels", goStringMap(template.metadata.labels), mismatch));
  checkTemplate(out, "spec.template", template, rules);
  if ((spec.replicas ?? 0) > 1) checkSharedDisks(out, "spec.template.spec.volumes", template.spec.volumes);
  checkKeptRunning(out, "spec.template.spec", template.spec, "ReplicationController");
}
