// Rules of jobs. Where upstream checks a changed object both as a new one and as a changed one, its faults are there twice.
import {
  duplicate,
  type FieldError,
  forbiddenField,
  invalid,
  notSupported,
  required,
} from "../../../api/fielderror.ts";
import type { Job, JobSpec, JobStatus } from "../../../api/gen/batch/v1.ts";
import type { Affinity, PodTemplateSpec } from "../../../api/gen/core/v1.ts";
import { type PodRules, podRules } from "../../core/validation/pod/rules.ts";
import { checkTemplate } from "../../core/validation/pod/template.ts";
import { immutableMessage, isDns1123Label } from "../../formats.ts";
import type { StrategyContext } from "../../strategy.ts";
import { checkNonNegative, type Errors, eachItem, empty } from "../../validation/check.ts";
import { checkImmutable, checkImmutableScalar, equal } from "../../validation/equal.ts";
import { goLabelSelector, goStringMap } from "../../validation/gostruct.ts";
import { namesOf } from "../../validation/names.ts";
import { rulesOfTemplate } from "../../validation/replicas.ts";
import { checkLabelSelector, selects } from "../../validation/selector.ts";

const modes = ["NonIndexed", "Indexed"];
const restartPolicies = ["OnFailure", "Never"];
const indexedParallelismMax = 100000;

/** Rules of a new Job. */
export function validateJob(object: Job, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  checkJob(out, object, podRules(context), context.gates.has("JobTrackingWithFinalizers"), context);
  return out;
}

/** Rules of a changed Job. Upstream checks its spec twice. */
export function validateJobUpdate(object: Job, old: Job, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  const rules = rulesOfTemplate(context, old.spec.template);
  const tracked = old.metadata.annotations?.has(namesOf(context.identity).jobTracking) === true;
  const { spec } = object;
  checkJob(out, object, rules, tracked, context);
  checkOwnJobSpec(out, "spec", spec, rules);
  checkImmutableScalar(out, "spec.completions", spec.completions, old.spec.completions);
  const shown = goLabelSelector(spec.selector);
  checkImmutable(out, "spec.selector", "meta/v1.LabelSelector", spec.selector, old.spec.selector, shown);
  const kept = isUnstarted(old) ? withScheduling(old.spec.template, spec.template) : old.spec.template;
  if (!equal("core/v1.PodTemplateSpec", spec.template, kept)) {
    out.push(invalid("spec.template", spec.template, immutableMessage));
  }
  checkImmutableScalar(out, "spec.completionMode", spec.completionMode, old.spec.completionMode);
  return out;
}

/** Rules of a changed status of a Job. */
export function validateJobStatusUpdate(object: Job, _old: Job, _context: StrategyContext): FieldError[] {
  const out: Errors = [];
  const { status } = object;
  checkNonNegative(out, "status.active", status.active);
  checkNonNegative(out, "status.succeeded", status.succeeded);
  checkNonNegative(out, "status.failed", status.failed);
  checkNonNegative(out, "status.ready", status.ready);
  checkUncounted(out, status);
  return out;
}

function checkUncounted(out: Errors, { uncountedTerminatedPods: pods }: JobStatus): void {
  const seen = new Set<string>();
  for (const field of ["succeeded", "failed"] as const) {
    eachItem(out, pods?.[field], `status.uncountedTerminatedPods.${field}`, (uid, path) => {
      if (uid === "") out.push(invalid(path, uid, "must not be empty"));
      else if (seen.has(uid)) out.push(duplicate(path, uid));
      seen.add(uid);
    });
  }
}

/** Suspended before it ever ran: where its pods will run may still change. */
function isUnstarted(job: Job): boolean {
  return job.spec.suspend === true && job.status.startTime === undefined;
}

/** The old template with the new one's scheduling directives, labels and annotations. */
function withScheduling(old: PodTemplateSpec, now: PodTemplateSpec): PodTemplateSpec {
  const { nodeSelector, tolerations } = now.spec;
  const { annotations, labels } = now.metadata;
  const affinity = withNodeAffinity(old.spec.affinity, now.spec.affinity);
  return {
    metadata: { ...old.metadata, annotations, labels },
    spec: { ...old.spec, affinity, nodeSelector, tolerations },
  };
}

/** The old affinity with the new one's to nodes; cleared with the new one when that leaves nothing. */
function withNodeAffinity(old: Affinity | undefined, now: Affinity | undefined): Affinity | undefined {
  const affinity = { ...old, nodeAffinity: now?.nodeAffinity };
  const ofPods = affinity.podAffinity !== undefined || affinity.podAntiAffinity !== undefined;
  return now === undefined && !ofPods ? undefined : affinity;
}

function checkJob(out: Errors, object: Job, rules: PodRules, tracked: boolean, context: StrategyContext): void {
  checkGeneratedSelector(out, object);
  checkOwnJobSpec(out, "spec", object.spec, rules);
  const tracking = namesOf(context.identity).jobTracking;
  if (!tracked && object.metadata.annotations?.has(tracking) === true) {
    out.push(forbiddenField(`metadata.annotations[${tracking}]`, "cannot add this annotation"));
  }
  const { completionMode, completions = 0 } = object.spec;
  const name = object.metadata.name ?? "";
  if (completionMode === "Indexed" && completions > 0) {
    const hostname = `${name}-${completions - 1}`;
    if (isDns1123Label(hostname).length > 0) {
      const why = `will not able to create pod with invalid DNS label: ${hostname}`;
      out.push(invalid("metadata.name", name, why));
    }
  }
}

/** A selector the server made: by the job's uid, which its pods carry as a label, as they do its name. */
function checkGeneratedSelector(out: Errors, { metadata, spec }: Job): void {
  if (spec.manualSelector === true || spec.selector === undefined) return;
  const uid = metadata.uid ?? "";
  const name = metadata.name ?? "";
  if (uid === "") out.push(required("metadata.uid"));
  const wanted = new Map([
    ["controller-uid", uid],
    ["job-name", name],
  ]);
  const labels = spec.template.metadata.labels;
  for (const [key, value] of wanted) {
    const path = `spec.template.metadata.labels[${key}]`;
    const found = labels?.get(key);
    if (found === undefined) out.push(required(path, `must be '${value}'`));
    else if (found !== value) out.push(invalid(path, goStringMap(labels), `must be '${value}'`));
  }
  if (selects(spec.selector, wanted) === false) {
    out.push(invalid("spec.selector", goLabelSelector(spec.selector), "`selector` not auto-generated"));
  }
}

/** The spec of a Job that stands for itself: with a selector. */
function checkOwnJobSpec(out: Errors, path: string, spec: JobSpec, rules: PodRules): void {
  checkJobSpec(out, path, spec, rules);
  if (spec.selector === undefined) out.push(required(`${path}.selector`));
  else checkLabelSelector(out, `${path}.selector`, spec.selector);
  const labels = spec.template.metadata.labels;
  if (selects(spec.selector, labels) === false) {
    const why = "`selector` does not match template `labels`";
    out.push(invalid(`${path}.template.metadata.labels`, goStringMap(labels), why));
  }
}

/** The spec of a Job, its own or a CronJob's. */
export function checkJobSpec(out: Errors, path: string, spec: JobSpec, rules: PodRules): void {
  const fields = [
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
  ] as const;
  for (const field of fields) checkNonNegative(out, `${path}.${field}`, spec[field]);
  checkCompletionMode(out, path, spec);
  checkTemplate(out, `${path}.template`, spec.template, rules);
  const policy = spec.template.spec.restartPolicy;
  const at = `${path}.template.spec.restartPolicy`;
  if (empty(policy) || policy === "Always") out.push(required(at, 'valid values: "OnFailure", "Never"'));
  else if (!restartPolicies.includes(policy)) out.push(notSupported(at, policy, restartPolicies));
}

function checkCompletionMode(out: Errors, path: string, spec: JobSpec): void {
  const mode = spec.completionMode;
  if (mode === undefined) return;
  if (!modes.includes(mode)) out.push(notSupported(`${path}.completionMode`, mode, modes));
  if (mode !== "Indexed") return;
  if (spec.completions === undefined) {
    out.push(required(`${path}.completions`, "when completion mode is Indexed"));
  }
  if (spec.parallelism !== undefined && spec.parallelism > indexedParallelismMax) {
    const why = `must be less than or equal to ${indexedParallelismMax} when completion mode is Indexed`;
    out.push(invalid(`${path}.parallelism`, spec.parallelism, why));
  }
}
