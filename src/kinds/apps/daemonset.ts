// DaemonSet: one pod on each node.
import { type FieldError, invalid, notSupported, required } from "../../api/fielderror.ts";
import type { DaemonSet, DaemonSetSpec, DaemonSetUpdateStrategy } from "../../api/gen/apps/v1.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, type Columns, column, integer, labels, nameColumn, reads, selector } from "../columns.ts";
import { podWarnings } from "../core/podwarnings.ts";
import { checkKeptRunning } from "../core/validation/pod/podspec.ts";
import { type PodRules, podRules } from "../core/validation/pod/rules.ts";
import { checkSharedDisks, checkTemplate } from "../core/validation/pod/template.ts";
import { strategyFor } from "../generic.ts";
import type { Strategy, StrategyContext } from "../strategy.ts";
import { addAll, checkNonNegative, type Errors } from "../validation/check.ts";
import { equal } from "../validation/equal.ts";
import { goIntOrString, goLabelSelector, goStringMap } from "../validation/gostruct.ts";
import {
  amountOf,
  checkAtMostAll,
  checkCollisions,
  checkCounts,
  checkFixedSelector,
  checkIntOrPercent,
  mismatch,
  rulesOfTemplate,
} from "../validation/replicas.ts";
import { checkLabelSelector, isEmptySelector, selects } from "../validation/selector.ts";
import { podColumns, podReads, workload } from "../workload.ts";

/** Behaviour of daemon sets. */
export function daemonSetBehaviour(resource: Resource): OwnBehaviour {
  return {
    strategy: daemonSetStrategy(resource),
    columns: daemonSetColumns(),
    metaRules: { update: [1, 1] },
  };
}

const templateGeneration = "deprecated.daemonset.template.generation";

/** Daemon sets: changes of the template are counted in an annotation, which is what is left of a field of long ago. */
function daemonSetStrategy(resource: Resource): Strategy<DaemonSet> {
  const shared = workload<DaemonSet>();
  return strategyFor<DaemonSet>(resource, {
    ...shared,
    carriers: [templateGeneration],
    // Told when the template changed, and no more of the spec than that.
    warnings({ identity }, object, old) {
      const isSame = old !== undefined && templateGenerationOf(object) === templateGenerationOf(old);
      return isSame ? [] : podWarnings(identity, "spec.template", object.spec.template);
    },
    canonicalize(object) {
      shared.canonicalize?.(object);
      setTemplateGeneration(object, templateGenerationOf(object));
    },
    prepareForCreate(context, object) {
      shared.prepareForCreate?.(context, object);
      setTemplateGeneration(object, 1);
    },
    prepareForUpdate(context, object, old) {
      shared.prepareForUpdate?.(context, object, old);
      const changed = !equal("core/v1.PodTemplateSpec", object.spec.template, old.spec.template);
      setTemplateGeneration(object, templateGenerationOf(old) + (changed ? 1 : 0));
    },
    validate: validateDaemonSet,
    validateUpdate: validateDaemonSetUpdate,
    validateStatus: validateDaemonSetStatusUpdate,
    prepareForStatus(_context, object, old) {
      setTemplateGeneration(object, templateGenerationOf(old));
    },
  });
}

function templateGenerationOf(object: DaemonSet): number {
  const text = object.metadata.annotations?.get(templateGeneration) ?? "";
  return /^[0-9]{1,15}$/.test(text) ? Number(text) : 0;
}

function setTemplateGeneration(object: DaemonSet, generation: number): void {
  object.metadata.annotations ??= new Map();
  object.metadata.annotations.set(templateGeneration, String(generation));
}

/** Columns of daemon sets. */
function daemonSetColumns(): Columns<DaemonSet> {
  return {
    columns: [
      nameColumn,
      column("Desired", "Nodes that should run the pod", ({ status }) => status.desiredNumberScheduled, integer),
      column("Current", "Nodes that run the pod and should", ({ status }) => status.currentNumberScheduled, integer),
      column("Ready", "Nodes whose pod is ready", ({ status }) => status.numberReady, integer),
      column(
        "Up-to-date",
        "Nodes whose pod follows the current template",
        ({ status }) => status.updatedNumberScheduled ?? 0,
        integer,
      ),
      column("Available", "Nodes whose pod is available", ({ status }) => status.numberAvailable ?? 0, integer),
      column("Node Selector", "Labels of the nodes that run the pod", ({ spec }) =>
        labels(spec.template.spec.nodeSelector),
      ),
      ageColumn,
      ...podColumns<DaemonSet>(({ spec }) => selector(spec.selector)),
    ],
    // Of the status nearly all is shown.
    reads: reads("status", "spec.template.spec.nodeSelector", ...podReads),
  };
}

/** Rules of a new DaemonSet. */
export function validateDaemonSet(object: DaemonSet, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  checkDaemonSetSpec(out, object.spec, podRules(context));
  return out;
}

/** Rules of a changed DaemonSet. */
export function validateDaemonSetUpdate(object: DaemonSet, old: DaemonSet, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  checkDaemonSetSpec(out, object.spec, rulesOfTemplate(context, old.spec.template));
  addAll(out, [...out]);
  checkFixedSelector(out, object.spec.selector, old.spec.selector);
  return out;
}

/** Rules of a changed status of a DaemonSet. */
export function validateDaemonSetStatusUpdate(
  object: DaemonSet,
  old: DaemonSet,
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
function checkDaemonSetSpec(out: Errors, spec: DaemonSetSpec, rules: PodRules): void {
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

function checkDaemonSetStrategy(out: Errors, path: string, strategy: DaemonSetUpdateStrategy): void {
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
