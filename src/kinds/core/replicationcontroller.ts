// ReplicationController: replicas of a template of pods, selected by a plain map.
import { type FieldError, invalid, required } from "../../api/fielderror.ts";
import type { ReplicationController, ReplicationControllerSpec } from "../../api/gen/core/v1.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { type Columns, labels } from "../columns.ts";
import { strategyFor } from "../generic.ts";
import { countEvaluator } from "../quota/evaluator.ts";
import { replicaScaling } from "../scale.ts";
import type { Strategy, StrategyContext } from "../strategy.ts";
import { addAll, checkNonNegative, type Errors } from "../validation/check.ts";
import { goStringMap } from "../validation/gostruct.ts";
import { checkReplicaSetStatus, mismatch, rulesOfTemplate } from "../validation/replicas.ts";
import { replicaColumns, templateWarnings, workload } from "../workload.ts";
import { checkKeptRunning } from "./validation/pod/podspec.ts";
import { type PodRules, podRules } from "./validation/pod/rules.ts";
import { checkSharedDisks, checkTemplate } from "./validation/pod/template.ts";

/** Behaviour of replication controllers. */
export function replicationControllerBehaviour(resource: Resource): OwnBehaviour {
  return {
    strategy: replicationControllerStrategy(resource),
    columns: replicationControllerColumns(),
    evaluator: countEvaluator(resource, resource.resource),
    scale: replicaScaling,
    metaRules: { update: [1, 1] },
  };
}

function replicationControllerStrategy(resource: Resource): Strategy<ReplicationController> {
  return strategyFor<ReplicationController>(resource, {
    ...workload<ReplicationController>(),
    // Another path on create, and on update those of the template that goes (so upstream).
    warnings(context, object, old) {
      if (old === undefined) return templateWarnings(context, "template", object, old, object.spec.template);
      return templateWarnings(context, "spec.template", object, old, old.spec.template);
    },
    validate: validateReplicationController,
    validateUpdate: validateReplicationControllerUpdate,
    validateStatus: validateReplicationControllerStatusUpdate,
    selectableFields: ({ status }) => [["status.replicas", String(status.replicas)]],
    fieldLabels: ["status.replicas"],
    defaultOrphan: true,
  });
}

/** Columns of replication controllers. */
function replicationControllerColumns(): Columns<ReplicationController> {
  return replicaColumns(({ spec }) => labels(spec.selector));
}

/** Rules of a new ReplicationController. */
export function validateReplicationController(object: ReplicationController, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  checkControllerSpec(out, object.spec, podRules(context));
  return out;
}

/** Rules of a changed ReplicationController. */
export function validateReplicationControllerUpdate(
  object: ReplicationController,
  old: ReplicationController,
  context: StrategyContext,
): FieldError[] {
  const out: Errors = [];
  checkControllerSpec(out, object.spec, rulesOfTemplate(context, old.spec.template));
  addAll(out, [...out]);
  return out;
}

/** Rules of a changed status of a ReplicationController. */
export function validateReplicationControllerStatusUpdate(
  object: ReplicationController,
  _old: ReplicationController,
  _context: StrategyContext,
): FieldError[] {
  const out: Errors = [];
  checkReplicaSetStatus(out, object.status);
  return out;
}

function checkControllerSpec(out: Errors, spec: ReplicationControllerSpec, rules: PodRules): void {
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
