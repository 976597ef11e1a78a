// HorizontalPodAutoscaler, in the shape of v2: other versions are converted first.
import { type FieldError, forbiddenField, invalid, notSupported, required } from "../../../api/fielderror.ts";
import type * as autoscaling from "../../../api/gen/autoscaling/v2.ts";
import { isPathSegment } from "../../formats.ts";
import { isPositiveAmount } from "../../validation/amounts.ts";
import { checkNonNegative, type Errors, eachItem, empty, faults } from "../../validation/check.ts";

const windowSecondsMax = 3600;
const periodSecondsMax = 1800;

/** Rules of an autoscaler, new or changed. `toZero`: it may scale down to nothing. */
export function validateAutoscaler({ spec }: autoscaling.HorizontalPodAutoscaler, toZero: boolean): FieldError[] {
  const out: Errors = [];
  const { minReplicas, maxReplicas } = spec;
  const least = toZero ? 0 : 1;
  if (minReplicas !== undefined && minReplicas < least) {
    out.push(invalid("spec.minReplicas", minReplicas, `must be greater than or equal to ${least}`));
  }
  if (maxReplicas < 1) out.push(invalid("spec.maxReplicas", maxReplicas, "must be greater than 0"));
  if (minReplicas !== undefined && maxReplicas < minReplicas) {
    out.push(invalid("spec.maxReplicas", maxReplicas, "must be greater than or equal to `minReplicas`"));
  }
  checkReference(out, "spec.scaleTargetRef", spec.scaleTargetRef);
  eachItem(out, spec.metrics, "spec.metrics", (metric, place) => checkMetric(out, place, metric));
  if (minReplicas === 0 && !spec.metrics?.some(({ type }) => type === "Object" || type === "External")) {
    const why = "must specify at least one Object or External metric to support scaling to zero replicas";
    out.push(forbiddenField("spec.metrics", why));
  }
  checkRules(out, "spec.behavior.scaleUp", spec.behavior?.scaleUp);
  checkRules(out, "spec.behavior.scaleDown", spec.behavior?.scaleDown);
  return out;
}

/** Rules of a changed status. */
export function validateAutoscalerStatus({ status }: autoscaling.HorizontalPodAutoscaler): FieldError[] {
  const out: Errors = [];
  checkNonNegative(out, "status.currentReplicas", status.currentReplicas);
  checkNonNegative(out, "status.desiredReplicas", status.desiredReplicas);
  return out;
}

function checkReference(out: Errors, path: string, reference: autoscaling.CrossVersionObjectReference): void {
  for (const name of ["kind", "name"] as const) {
    if (empty(reference[name])) out.push(required(`${path}.${name}`));
    else faults(out, `${path}.${name}`, reference[name], isPathSegment(reference[name]));
  }
}

/** In the order in which upstream looks at them: of several members only the first is checked. */
const sources = [
  ["object", "Object"],
  ["external", "External"],
  ["pods", "Pods"],
  ["resource", "Resource"],
  ["containerResource", "ContainerResource"],
] as const;

function checkMetric(out: Errors, path: string, metric: autoscaling.MetricSpec): void {
  if (metric.type === "") out.push(required(`${path}.type`, "must specify a metric source type"));
  const source = sources.find(([, type]) => type === metric.type);
  const unknown = notSupported(`${path}.type`, metric.type, sources.map(([, type]) => type).sort());
  if (source === undefined) out.push(unknown);
  const present = sources.filter(([member]) => metric[member] !== undefined);
  if (present[0] !== undefined) checkSource(out, path, metric, present[0][0]);
  // Told twice, before and behind the sources (upstream).
  if (source === undefined) out.push(unknown);
  else if (metric[source[0]] === undefined) {
    const off = " (only allowed when HPAContainerMetrics feature is enabled)";
    const why = `must populate information for the given metric source${source[0] === "containerResource" ? off : ""}`;
    out.push(required(`${path}.${source[0]}`, why));
  }
  if (present.length === 1) return;
  for (const [member] of present) {
    if (member !== source?.[0]) {
      out.push(forbiddenField(`${path}.${member}`, "must populate the given metric source only"));
    }
  }
}

function checkSource(
  out: Errors,
  path: string,
  metric: autoscaling.MetricSpec,
  member: (typeof sources)[number][0],
): void {
  const { object, external, pods, resource, containerResource } = metric;
  const place = `${path}.${member}`;
  if (member === "object" && object) {
    checkReference(out, `${place}.describedObject`, object.describedObject);
    checkIdentifier(out, `${place}.metric`, object.metric);
    checkTarget(out, `${place}.target`, object.target);
    if (object.target.value === undefined && object.target.averageValue === undefined) {
      out.push(required(`${place}.target.averageValue`, "must set either a target value or averageValue"));
    }
  } else if (member === "external" && external) {
    checkIdentifier(out, `${place}.metric`, external.metric);
    checkTarget(out, `${place}.target`, external.target);
    const what = "a target value for metric";
    if (external.target.value === undefined && external.target.averageValue === undefined) {
      out.push(required(`${place}.target.averageValue`, `must set either ${what} or a per-pod target`));
    } else if (external.target.value !== undefined && external.target.averageValue !== undefined) {
      out.push(forbiddenField(`${place}.target.value`, `may not set both ${what} and a per-pod target`));
    }
  } else if (member === "pods" && pods) {
    checkIdentifier(out, `${place}.metric`, pods.metric);
    checkTarget(out, `${place}.target`, pods.target);
    if (pods.target.averageValue === undefined) {
      out.push(required(`${place}.target.averageValue`, "must specify a positive target averageValue"));
    }
  } else if (member === "resource" && resource) {
    checkShare(out, place, resource);
  } else if (containerResource) {
    if (containerResource.container === "") out.push(required(`${place}.container`, "must specify a container"));
    checkShare(out, place, containerResource);
  }
}

function checkShare(out: Errors, path: string, { name, target }: autoscaling.ResourceMetricSource): void {
  if (name === "") out.push(required(`${path}.name`, "must specify a resource name"));
  checkTarget(out, `${path}.target`, target);
  const { averageUtilization, averageValue } = target;
  const what = "a target raw value";
  if (averageUtilization === undefined && averageValue === undefined) {
    out.push(required(`${path}.target.averageUtilization`, `must set either ${what} or a target utilization`));
  } else if (averageUtilization !== undefined && averageValue !== undefined) {
    out.push(forbiddenField(`${path}.target.averageValue`, `may not set both ${what} and a target utilization`));
  }
}

function checkIdentifier(out: Errors, path: string, { name }: autoscaling.MetricIdentifier): void {
  if (name === "") out.push(required(`${path}.name`, "must specify a metric name"));
  else faults(out, `${path}.name`, name, isPathSegment(name));
}

function checkTarget(out: Errors, path: string, target: autoscaling.MetricTarget): void {
  if (target.type === "") out.push(required(`${path}.type`, "must specify a metric target type"));
  if (!["Utilization", "Value", "AverageValue"].includes(target.type)) {
    out.push(invalid(`${path}.type`, target.type, "must be either Utilization, Value, or AverageValue"));
  }
  for (const member of ["value", "averageValue"] as const) {
    const amount = target[member];
    if (amount !== undefined && !isPositiveAmount(amount)) {
      out.push(invalid(`${path}.${member}`, amount, "must be positive"));
    }
  }
  if (target.averageUtilization !== undefined && target.averageUtilization < 1) {
    out.push(invalid(`${path}.averageUtilization`, target.averageUtilization, "must be greater than 0"));
  }
}

function checkRules(out: Errors, path: string, rules: autoscaling.HPAScalingRules | undefined): void {
  if (rules === undefined) return;
  const { stabilizationWindowSeconds: seconds, selectPolicy, policies } = rules;
  const window = `${path}.stabilizationWindowSeconds`;
  if (seconds !== undefined && seconds < 0) out.push(invalid(window, seconds, "must be greater than or equal to zero"));
  if (seconds !== undefined && seconds > windowSecondsMax) {
    out.push(invalid(window, seconds, `must be less than or equal to ${windowSecondsMax}`));
  }
  const choices = ["Disabled", "Max", "Min"];
  if (selectPolicy !== undefined && !choices.includes(selectPolicy)) {
    out.push(notSupported(`${path}.selectPolicy`, selectPolicy, choices));
  }
  if (!policies?.length) out.push(required(`${path}.policies`, "must specify at least one Policy"));
  eachItem(out, policies, `${path}.policies`, (policy, place) => checkPolicy(out, place, policy));
}

function checkPolicy(out: Errors, path: string, { type, value, periodSeconds }: autoscaling.HPAScalingPolicy): void {
  const types = ["Percent", "Pods"];
  if (!types.includes(type)) out.push(notSupported(`${path}.type`, type, types));
  if (value <= 0) out.push(invalid(`${path}.value`, value, "must be greater than zero"));
  if (periodSeconds <= 0) out.push(invalid(`${path}.periodSeconds`, periodSeconds, "must be greater than zero"));
  if (periodSeconds > periodSecondsMax) {
    out.push(invalid(`${path}.periodSeconds`, periodSeconds, `must be less than or equal to ${periodSecondsMax}`));
  }
}
