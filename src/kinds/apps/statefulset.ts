// StatefulSet: replicas with names and volumes of their own.
import { type FieldError, forbiddenField, invalid, required } from "../../api/fielderror.ts";
import type { StatefulSet, StatefulSetSpec, StatefulSetUpdateStrategy } from "../../api/gen/apps/v1.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, type Columns, nameColumn, reads, templateColumns, templateReads } from "../columns.ts";
import { checkKeptRunning } from "../core/validation/pod/podspec.ts";
import { type PodRules, podRules } from "../core/validation/pod/rules.ts";
import { checkPodAnnotations } from "../core/validation/pod/template.ts";
import { strategyFor } from "../generic.ts";
import { replicaScaling } from "../scale.ts";
import type { Strategy, StrategyContext } from "../strategy.ts";
import { checkAnnotations, checkLabels, checkNonNegative, type Errors, empty } from "../validation/check.ts";
import { checkImmutable } from "../validation/equal.ts";
import {
  checkCollisions,
  checkCounts,
  checkMatch,
  checkReplicaCounts,
  checkSelector,
  rulesOfTemplate,
} from "../validation/replicas.ts";
import { readyOfWanted, workload } from "../workload.ts";

/** Behaviour of stateful sets. */
export function statefulSetBehaviour(resource: Resource): OwnBehaviour {
  return {
    strategy: statefulSetStrategy(resource),
    columns: statefulSetColumns(),
    scale: replicaScaling,
    metaRules: { update: [1, 1] },
  };
}

function statefulSetStrategy(resource: Resource): Strategy<StatefulSet> {
  const shared = workload<StatefulSet>();
  const drop = ({ gates }: StrategyContext, object: StatefulSet, old: StatefulSet | undefined) => {
    if (!gates.has("StatefulSetAutoDeletePVC") && old?.spec.persistentVolumeClaimRetentionPolicy === undefined) {
      object.spec.persistentVolumeClaimRetentionPolicy = undefined;
    }
  };
  return strategyFor<StatefulSet>(resource, {
    ...shared,
    canonicalize(object) {
      shared.canonicalize?.(object);
      for (const claim of object.spec.volumeClaimTemplates ?? []) {
        claim.kind = "PersistentVolumeClaim";
        claim.apiVersion = "v1";
      }
    },
    prepareForCreate(context, object) {
      shared.prepareForCreate?.(context, object);
      drop(context, object, undefined);
    },
    prepareForUpdate(context, object, old) {
      shared.prepareForUpdate?.(context, object, old);
      drop(context, object, old);
    },
    validate: validateStatefulSet,
    validateUpdate: validateStatefulSetUpdate,
    validateStatus: validateStatefulSetStatusUpdate,
  });
}

/** Columns of stateful sets. */
function statefulSetColumns(): Columns<StatefulSet> {
  return {
    columns: [nameColumn, readyOfWanted, ageColumn, ...templateColumns<StatefulSet>(({ spec }) => spec.template)],
    reads: reads("spec.replicas", "status.readyReplicas", ...templateReads("spec.template")),
  };
}

const statefulSetFrozen =
  "updates to statefulset spec for fields other than 'replicas', 'template', 'updateStrategy', " +
  "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

/** Rules of a new StatefulSet. */
export function validateStatefulSet(object: StatefulSet, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  checkStatefulSetSpec(out, object.spec, podRules(context));
  return out;
}

/** Rules of a changed StatefulSet: some fields only. */
export function validateStatefulSetUpdate(
  object: StatefulSet,
  old: StatefulSet,
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
  object: StatefulSet,
  old: StatefulSet,
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

function checkStatefulSetSpec(out: Errors, spec: StatefulSetSpec, rules: PodRules): void {
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
    // Upstream never looks into the pod of a StatefulSet's template beyond this.
    checkLabels(out, "spec.template.labels", metadata.labels);
    checkAnnotations(out, "spec.template.annotations", metadata.annotations);
    checkPodAnnotations(out, "spec.template.annotations", metadata.annotations, pod, rules);
  }
  checkKeptRunning(out, "spec.template.spec", pod, "StatefulSet");
}

function checkStatefulSetStrategy(out: Errors, path: string, strategy: StatefulSetUpdateStrategy): void {
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
