// Deployment: replicas of a template of pods, renewed step by step.
import { type FieldError, forbiddenField, invalid, notSupported, required } from "../../api/fielderror.ts";
import type { Deployment, DeploymentSpec, DeploymentStrategy, RollingUpdateDeployment } from "../../api/gen/apps/v1.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import { setOf } from "../../merge/fieldset.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, type Columns, column, nameColumn, reads, selector } from "../columns.ts";
import { type PodRules, podRules } from "../core/validation/pod/rules.ts";
import { strategyFor } from "../generic.ts";
import { replicaScaling } from "../scale.ts";
import type { Strategy, StrategyContext } from "../strategy.ts";
import { checkNonNegative, type Errors } from "../validation/check.ts";
import { equalStrings } from "../validation/equal.ts";
import { goIntOrString } from "../validation/gostruct.ts";
import {
  amountOf,
  checkAtMostAll,
  checkCollisions,
  checkCounts,
  checkFixedSelector,
  checkIntOrPercent,
  checkReplicaCounts,
  checkReplicatedTemplate,
  checkSelector,
  rulesOfTemplate,
} from "../validation/replicas.ts";
import { podColumns, podReads, readyOfWanted, workload } from "../workload.ts";

/** Behaviour of deployments. */
export function deploymentBehaviour(resource: Resource): OwnBehaviour {
  return {
    strategy: deploymentStrategy(resource),
    columns: deploymentColumns(),
    resetFields: new Map([["status", setOf(["f:spec"], ["f:metadata", "f:labels"])]]),
    scale: replicaScaling,
  };
}

/** Deployments: a change of the annotations counts too, for they are copied to the replica sets. */
function deploymentStrategy(resource: Resource): Strategy<Deployment> {
  const strategy = strategyFor<Deployment>(resource, {
    ...workload<Deployment>(),
    prepareForStatus(_context, object, old) {
      object.metadata.labels = old.metadata.labels;
    },
    validate: validateDeployment,
    validateUpdate: validateDeploymentUpdate,
    validateStatus: validateDeploymentStatusUpdate,
  });
  return {
    ...strategy,
    update: {
      ...strategy.update,
      prepare(context, object, old) {
        strategy.update.prepare(context, object, old);
        const counted = object.metadata.generation !== old.metadata.generation;
        if (!counted && !equalStrings(object.metadata.annotations, old.metadata.annotations)) countOne(object, old);
      },
    },
  };
}

function countOne(object: ApiObject, old: ApiObject): void {
  object.metadata.generation = Number(old.metadata.generation ?? 0) + 1;
}

/** Columns of deployments. */
function deploymentColumns(): Columns<Deployment> {
  return {
    columns: [
      nameColumn,
      readyOfWanted,
      column("Up-to-date", "Pods that follow the current template", ({ status }) => status.updatedReplicas ?? 0),
      column("Available", "Pods that are available", ({ status }) => status.availableReplicas ?? 0),
      ageColumn,
      ...podColumns<Deployment>(({ spec }) => selector(spec.selector, "")),
    ],
    reads: reads(
      "spec.replicas",
      ...["readyReplicas", "updatedReplicas", "availableReplicas"].map((field) => `status.${field}`),
      ...podReads,
    ),
  };
}

/** Rules of a new Deployment. */
export function validateDeployment(object: Deployment, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  checkDeploymentSpec(out, object.spec, podRules(context));
  return out;
}

/** Rules of a changed Deployment. */
export function validateDeploymentUpdate(object: Deployment, old: Deployment, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  checkDeploymentSpec(out, object.spec, rulesOfTemplate(context, old.spec.template));
  checkFixedSelector(out, object.spec.selector, old.spec.selector);
  return out;
}

/** Rules of a changed status of a Deployment. */
export function validateDeploymentStatusUpdate(
  object: Deployment,
  old: Deployment,
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

function checkDeploymentSpec(out: Errors, spec: DeploymentSpec, rules: PodRules): void {
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

function checkDeploymentStrategy(out: Errors, path: string, strategy: DeploymentStrategy): void {
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

function checkRollingDeployment(out: Errors, path: string, rolling: RollingUpdateDeployment): void {
  const { maxUnavailable = 0, maxSurge = 0 } = rolling;
  checkIntOrPercent(out, `${path}.maxUnavailable`, maxUnavailable);
  checkIntOrPercent(out, `${path}.maxSurge`, maxSurge);
  if (amountOf(maxUnavailable) === 0 && amountOf(maxSurge) === 0) {
    out.push(invalid(`${path}.maxUnavailable`, goIntOrString(maxUnavailable), "may not be 0 when `maxSurge` is 0"));
  }
  checkAtMostAll(out, `${path}.maxUnavailable`, maxUnavailable);
}
