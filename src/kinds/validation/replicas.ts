// What the rules of workloads share: a selector that matches the template of the pods, amounts that may be a percentage,
// and counts of a status that fit together.
import { invalid, required } from "../../api/fielderror.ts";
import type { DeploymentSpec, ReplicaSetSpec, ReplicaSetStatus } from "../../api/gen/apps/v1.ts";
import type { PodTemplateSpec } from "../../api/gen/core/v1.ts";
import type { LabelSelector, ObjectMeta } from "../../api/gen/meta/v1.ts";
import { checkKeptRunning } from "../core/validation/pod/podspec.ts";
import { type PodRules, podRules } from "../core/validation/pod/rules.ts";
import { checkSharedDisks, checkTemplate } from "../core/validation/pod/template.ts";
import { isPercent, nonNegativeMessage } from "../formats.ts";
import type { StrategyContext } from "../strategy.ts";
import { checkNonNegative, type Errors, faults, type Integer } from "./check.ts";
import { checkImmutable } from "./equal.ts";
import { goIntOrString, goLabelSelector, goStringMap } from "./gostruct.ts";
import { checkLabelSelector, isEmptySelector, selects } from "./selector.ts";

/** A number, or a percentage. */
export type IntOrString = number | string;

/** Of a template that its own selector leaves out. */
export const mismatch = "`selector` does not match template `labels`";
const overReplicas = "cannot be greater than status.replicas";

/** The rules for a change of a template. */
export function rulesOfTemplate(context: StrategyContext, old: PodTemplateSpec | undefined): PodRules {
  if (old === undefined) return podRules(context);
  return podRules(context, undefined, { spec: old.spec, annotations: old.metadata.annotations });
}

/** A selector that must be there and select something. */
export function checkSelector(out: Errors, selector: LabelSelector | undefined, kind: string): void {
  if (selector === undefined) {
    out.push(required("spec.selector"));
    return;
  }
  checkLabelSelector(out, "spec.selector", selector);
  if (isEmptySelector(selector)) {
    out.push(invalid("spec.selector", goLabelSelector(selector), `empty selector is invalid for ${kind}`));
  }
}

/** A selector that may not change. */
export function checkFixedSelector(
  out: Errors,
  selector: LabelSelector | undefined,
  old: LabelSelector | undefined,
): void {
  checkImmutable(out, "spec.selector", "meta/v1.LabelSelector", selector, old, goLabelSelector(selector));
}

/** The template's labels match the selector. False when the selector is too broken to say. */
export function checkMatch(
  out: Errors,
  selector: LabelSelector | undefined,
  metadata: ObjectMeta,
  broken: string,
): boolean {
  const matches = selects(selector, metadata.labels);
  if (matches === undefined) out.push(invalid("spec.selector", goLabelSelector(selector), broken));
  if (matches === false) out.push(invalid("spec.template.metadata.labels", goStringMap(metadata.labels), mismatch));
  return matches !== undefined;
}

/** The template of a Deployment or ReplicaSet. */
export function checkReplicatedTemplate(out: Errors, spec: DeploymentSpec | ReplicaSetSpec, rules: PodRules): void {
  const { template, selector } = spec;
  if (!checkMatch(out, selector, template.metadata, "invalid label selector")) return;
  checkTemplate(out, "spec.template", template, rules);
  if ((spec.replicas ?? 0) > 1) checkSharedDisks(out, "spec.template.spec.volumes", template.spec.volumes);
  checkKeptRunning(out, "spec.template.spec", template.spec, "ReplicaSet");
}

/** A number that is not negative, or a percentage. */
export function checkIntOrPercent(out: Errors, path: string, value: IntOrString): void {
  if (typeof value === "string") faults(out, path, goIntOrString(value), isPercent(value));
  else if (value < 0) out.push(invalid(path, value, nonNegativeMessage));
}

/** The number of an int, of a percentage or of a text; 0 for what is none. */
export function amountOf(value: IntOrString): number {
  if (typeof value === "number") return value;
  const digits = isPercent(value).length === 0 ? value.slice(0, -1) : value;
  return /^[+-]?[0-9]+$/.test(digits) ? Number(digits) : 0;
}

/** A percentage is not above all. */
export function checkAtMostAll(out: Errors, path: string, value: IntOrString): void {
  if (typeof value !== "string" || isPercent(value).length > 0 || amountOf(value) <= 100) return;
  out.push(invalid(path, goIntOrString(value), "must not be greater than 100%"));
}

/** No count of a status is negative. */
export function checkCounts<T>(out: Errors, status: T, fields: readonly (keyof T & string)[]): void {
  for (const field of fields) checkNonNegative(out, `status.${field}`, status[field] as Integer | undefined);
}

/** No count exceeds the replicas, and what is available is ready. */
export function checkReplicaCounts<T extends { replicas?: number | undefined }>(
  out: Errors,
  status: T,
  fields: readonly (keyof T & string)[],
  readyShown: string,
): void {
  const count = (field: keyof T): number => (status[field] as number | undefined) ?? 0;
  for (const field of fields) {
    if (count(field) > (status.replicas ?? 0)) out.push(invalid(`status.${field}`, count(field), overReplicas));
  }
  const available = count("availableReplicas" as keyof T);
  if (available > count("readyReplicas" as keyof T)) {
    out.push(invalid("status.availableReplicas", available, `cannot be greater than ${readyShown}`));
  }
}

/** The count of hash collisions only grows. */
export function checkCollisions(out: Errors, count: number | undefined, old: number | undefined): void {
  if (old === undefined || (count !== undefined && count >= old)) return;
  out.push(invalid("status.collisionCount", count ?? 0, "cannot be decremented"));
}

/** ReplicaSet and ReplicationController count alike. */
export function checkReplicaSetStatus(out: Errors, status: ReplicaSetStatus): void {
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
