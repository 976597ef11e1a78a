// ReplicaSet: replicas of a template of pods.
import type { FieldError } from "../../api/fielderror.ts";
import type { ReplicaSet, ReplicaSetSpec } from "../../api/gen/apps/v1.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { type Columns, selector } from "../columns.ts";
import { type PodRules, podRules } from "../core/validation/pod/rules.ts";
import { strategyFor } from "../generic.ts";
import { replicaScaling } from "../scale.ts";
import type { Strategy, StrategyContext } from "../strategy.ts";
import { addAll, checkNonNegative, type Errors } from "../validation/check.ts";
import {
  checkFixedSelector,
  checkReplicaSetStatus,
  checkReplicatedTemplate,
  checkSelector,
  rulesOfTemplate,
} from "../validation/replicas.ts";
import { replicaColumns, workload } from "../workload.ts";

/** Behaviour of replica sets. */
export function replicaSetBehaviour(resource: Resource): OwnBehaviour {
  return {
    strategy: replicaSetStrategy(resource),
    columns: replicaSetColumns(),
    scale: replicaScaling,
    metaRules: { update: [1, 1] },
  };
}

function replicaSetStrategy(resource: Resource): Strategy<ReplicaSet> {
  return strategyFor<ReplicaSet>(resource, {
    ...workload<ReplicaSet>(),
    validate: validateReplicaSet,
    validateUpdate: validateReplicaSetUpdate,
    validateStatus: validateReplicaSetStatusUpdate,
  });
}

/** Columns of replica sets. */
function replicaSetColumns(): Columns<ReplicaSet> {
  return replicaColumns(({ spec }) => selector(spec.selector));
}

/** Rules of a new ReplicaSet. */
export function validateReplicaSet(object: ReplicaSet, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  checkReplicaSetSpec(out, object.spec, podRules(context));
  return out;
}

/** Rules of a changed ReplicaSet. */
export function validateReplicaSetUpdate(object: ReplicaSet, old: ReplicaSet, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  const rules = rulesOfTemplate(context, old.spec.template);
  checkReplicaSetSpec(out, object.spec, rules);
  addAll(out, [...out]);
  checkFixedSelector(out, object.spec.selector, old.spec.selector);
  return out;
}

/** Rules of a changed status of a ReplicaSet. */
export function validateReplicaSetStatusUpdate(
  object: ReplicaSet,
  _old: ReplicaSet,
  _context: StrategyContext,
): FieldError[] {
  const out: Errors = [];
  checkReplicaSetStatus(out, object.status);
  return out;
}

function checkReplicaSetSpec(out: Errors, spec: ReplicaSetSpec, rules: PodRules): void {
  checkNonNegative(out, "spec.replicas", spec.replicas);
  checkNonNegative(out, "spec.minReadySeconds", spec.minReadySeconds);
  // Upstream says deployment here too.
  checkSelector(out, spec.selector, "deployment");
  checkReplicatedTemplate(out, spec, rules);
}
