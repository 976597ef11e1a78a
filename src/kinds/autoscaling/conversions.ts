// HorizontalPodAutoscaler in its four versions. v2 is the hub (v2beta2 has the same shape); v1, which is stored, and
// v2beta1 carry what they have no fields for in annotations, as upstream writes them.
import type * as v1 from "../../api/gen/autoscaling/v1.ts";
import type * as v2 from "../../api/gen/autoscaling/v2.ts";
import type * as v2beta1 from "../../api/gen/autoscaling/v2beta1.ts";
import type { Identity } from "../../api/identity.ts";
import { messageOf } from "../../api/messages.ts";
import type { ObjectMeta } from "../../api/object.ts";
import type { Message } from "../../api/schema.ts";
import { textIn, type Value } from "../../api/value.ts";
import { decode, encode, isFault, parseText } from "../../codec/engine/json.ts";
import type { Conversion } from "../behaviour.ts";

/** Conversions between v2 and the versions that differ in shape. */
export interface AutoscalerConversions {
  fromV1(object: v1.HorizontalPodAutoscaler): v2.HorizontalPodAutoscaler;
  toV1(object: v2.HorizontalPodAutoscaler): v1.HorizontalPodAutoscaler;
  fromV2beta1(object: v2beta1.HorizontalPodAutoscaler): v2.HorizontalPodAutoscaler;
  toV2beta1(object: v2.HorizontalPodAutoscaler): v2beta1.HorizontalPodAutoscaler;
}

/** Conversion of a version by way of v2; undefined: it has the shape of v2. */
export function autoscalerConversion(version: string, identity: Identity): Conversion | undefined {
  const { fromV1, toV1, fromV2beta1, toV2beta1 } = autoscalerConversions(identity);
  if (version === "v1") return { toHub: fromV1, fromHub: toV1 };
  return version === "v2beta1" ? { toHub: fromV2beta1, fromHub: toV2beta1 } : undefined;
}

/** Names of the annotations, spelled. */
interface Keys {
  readonly metrics: string;
  readonly behavior: string;
  readonly conditions: string;
  readonly current: string;
}

/** Messages of what stands in the annotations. */
const metricMessage = messageOf("autoscaling/v1.MetricSpec");
const currentMessage = messageOf("autoscaling/v1.MetricStatus");
const conditionMessage = messageOf("autoscaling/v1.HorizontalPodAutoscalerCondition");

/** Percent of the requested CPU an autoscaler without metrics aims at. */
export const cpuPercent = 80;

function keysOf(identity: Identity): Keys {
  const domain = identity.spell("autoscaling.alpha.kubernetes.io/");
  return {
    metrics: `${domain}metrics`,
    behavior: `${domain}behavior`,
    conditions: `${domain}conditions`,
    current: `${domain}current-metrics`,
  };
}

/** The annotations in which older versions carry what they have no fields for. */
export function autoscalerCarriers(identity: Identity): readonly string[] {
  return Object.values(keysOf(identity)) as string[];
}

/** The conversions in one identity. The objects given are used up. */
export function autoscalerConversions(identity: Identity): AutoscalerConversions {
  const keys = keysOf(identity);
  return {
    fromV1: (object) => fromV1(object, keys),
    toV1: (object) => toV1(object, keys),
    fromV2beta1: (object) => fromV2beta1(object, keys),
    toV2beta1: (object) => toV2beta1(object, keys),
  };
}

function fromV1(object: v1.HorizontalPodAutoscaler, keys: Keys): v2.HorizontalPodAutoscaler {
  const { targetCPUUtilizationPercentage: percent, ...spec } = object.spec;
  const { currentCPUUtilizationPercentage: currentPercent, ...status } = object.status;
  const { metadata } = object;
  const others = readList<v1.MetricSpec>(metadata, keys.metrics, metricMessage)?.map(metricToHub) ?? [];
  // Told here and not by the defaults of v1, which do not see whether the annotation holds metrics (upstream).
  const averageUtilization = percent ?? (others.length === 0 ? cpuPercent : undefined);
  const cpu: v2.MetricSpec[] =
    averageUtilization === undefined
      ? []
      : [{ type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization } } }];
  const current = readList<v1.MetricStatus>(metadata, keys.current, currentMessage)?.map(statusToHub);
  const currentCpu: v2.MetricStatus[] | undefined =
    currentPercent === undefined
      ? undefined
      : [{ type: "Resource", resource: { name: "cpu", current: { averageUtilization: currentPercent } } }];
  const conditions = readList<v2.HorizontalPodAutoscalerCondition>(metadata, keys.conditions, conditionMessage);
  const behavior = readBehavior(metadata.annotations?.get(keys.behavior));
  dropKeys(metadata, keys);
  return {
    metadata,
    spec: { ...spec, metrics: [...others, ...cpu], behavior },
    status: { ...status, currentMetrics: current ?? currentCpu, conditions },
  };
}

function toV1(object: v2.HorizontalPodAutoscaler, keys: Keys): v1.HorizontalPodAutoscaler {
  const { metrics, behavior, ...spec } = object.spec;
  const { currentMetrics, conditions, ...status } = object.status;
  const { metadata } = object;
  dropKeys(metadata, keys);
  const isCpu = (m: v2.MetricSpec): boolean =>
    m.type === "Resource" && isCpuShare(m.resource?.name, m.resource?.target);
  // Of several shares of CPU the first is kept (upstream).
  const cpu = metrics?.find(isCpu);
  const others = metrics?.filter((metric) => !isCpu(metric)).map(metricFromHub);
  const current = currentMetrics?.find(
    (m) => m.type === "Resource" && isCpuShare(m.resource?.name, m.resource?.current),
  );
  writeList(metadata, keys.metrics, metricMessage, others);
  // The whole status goes along, for the percentage alone says less.
  writeList(metadata, keys.current, currentMessage, currentMetrics?.map(statusFromHub));
  writeList(metadata, keys.conditions, conditionMessage, conditions);
  writeBehavior(metadata, keys.behavior, behavior);
  return {
    metadata,
    spec: { ...spec, targetCPUUtilizationPercentage: cpu?.resource?.target.averageUtilization },
    status: {
      ...status,
      currentReplicas: status.currentReplicas ?? 0,
      currentCPUUtilizationPercentage: current?.resource?.current.averageUtilization,
    },
  };
}

function isCpuShare(name: string | undefined, of: { averageUtilization?: number | undefined } | undefined): boolean {
  return name === "cpu" && of?.averageUtilization !== undefined;
}

function fromV2beta1(object: v2beta1.HorizontalPodAutoscaler, keys: Keys): v2.HorizontalPodAutoscaler {
  const { metadata, spec, status } = object;
  const behavior = readBehavior(metadata.annotations?.get(keys.behavior));
  dropKeys(metadata, keys);
  return {
    metadata,
    spec: { ...spec, metrics: spec.metrics?.map(metricToHub), behavior },
    status: { ...status, currentMetrics: status.currentMetrics?.map(statusToHub) },
  };
}

function toV2beta1(object: v2.HorizontalPodAutoscaler, keys: Keys): v2beta1.HorizontalPodAutoscaler {
  const { metadata, status } = object;
  const { behavior, ...spec } = object.spec;
  dropKeys(metadata, keys);
  writeBehavior(metadata, keys.behavior, behavior);
  return {
    metadata,
    spec: { ...spec, metrics: spec.metrics?.map(metricFromHub) },
    status: {
      ...status,
      currentReplicas: status.currentReplicas ?? 0,
      currentMetrics: status.currentMetrics?.map(statusFromHub),
    },
  };
}

/** A value beside an average is the zero an old version cannot leave out. */
function valueBeside(value: string | undefined, average: string | undefined): string | undefined {
  return average !== undefined && value === "0" ? undefined : value;
}

/** v1 and v2beta1 share the shape of metrics. */
function metricToHub(metric: v1.MetricSpec | v2beta1.MetricSpec): v2.MetricSpec {
  const { type, object, pods, resource, containerResource, external } = metric;
  return {
    type,
    object: object && {
      describedObject: object.target,
      metric: { name: object.metricName, selector: object.selector },
      target: {
        type: object.averageValue === undefined ? "Value" : "AverageValue",
        value: valueBeside(object.targetValue, object.averageValue),
        averageValue: object.averageValue,
      },
    },
    pods: pods && {
      metric: { name: pods.metricName, selector: pods.selector },
      target: { type: "AverageValue", averageValue: pods.targetAverageValue },
    },
    resource: resource && { name: resource.name, target: shareToHub(resource) },
    containerResource: containerResource && {
      name: containerResource.name,
      container: containerResource.container,
      target: shareToHub(containerResource),
    },
    external: external && {
      metric: { name: external.metricName, selector: external.metricSelector },
      target: {
        type: external.targetAverageValue === undefined ? "Value" : "AverageValue",
        value: external.targetValue,
        averageValue: external.targetAverageValue,
      },
    },
  };
}

interface Share {
  targetAverageUtilization?: number | undefined;
  targetAverageValue?: string | undefined;
}

function shareToHub({ targetAverageUtilization, targetAverageValue }: Share): v2.MetricTarget {
  const type = targetAverageUtilization === undefined ? "AverageValue" : "Utilization";
  return { type, averageUtilization: targetAverageUtilization, averageValue: targetAverageValue };
}

function shareFromHub({ averageUtilization, averageValue }: v2.MetricTarget): Share {
  return { targetAverageUtilization: averageUtilization, targetAverageValue: averageValue };
}

function metricFromHub(metric: v2.MetricSpec): v2beta1.MetricSpec {
  const { type, object, pods, resource, containerResource, external } = metric;
  return {
    type,
    object: object && {
      target: object.describedObject,
      metricName: object.metric.name,
      targetValue: object.target.value ?? "0",
      selector: object.metric.selector,
      averageValue: object.target.averageValue,
    },
    pods: pods && {
      metricName: pods.metric.name,
      targetAverageValue: pods.target.averageValue ?? "0",
      selector: pods.metric.selector,
    },
    resource: resource && { name: resource.name, ...shareFromHub(resource.target) },
    containerResource: containerResource && {
      name: containerResource.name,
      ...shareFromHub(containerResource.target),
      container: containerResource.container,
    },
    external: external && {
      metricName: external.metric.name,
      metricSelector: external.metric.selector,
      targetValue: external.target.value,
      targetAverageValue: external.target.averageValue,
    },
  };
}

function statusToHub(metric: v1.MetricStatus | v2beta1.MetricStatus): v2.MetricStatus {
  const { type, object, pods, resource, containerResource, external } = metric;
  return {
    type,
    object: object && {
      describedObject: object.target,
      metric: { name: object.metricName, selector: object.selector },
      current: { value: valueBeside(object.currentValue, object.averageValue), averageValue: object.averageValue },
    },
    pods: pods && {
      metric: { name: pods.metricName, selector: pods.selector },
      current: { averageValue: pods.currentAverageValue },
    },
    resource: resource && { name: resource.name, current: usageToHub(resource) },
    containerResource: containerResource && {
      name: containerResource.name,
      container: containerResource.container,
      current: usageToHub(containerResource),
    },
    external: external && {
      metric: { name: external.metricName, selector: external.metricSelector },
      current: {
        value: valueBeside(external.currentValue, external.currentAverageValue),
        averageValue: external.currentAverageValue,
      },
    },
  };
}

function usageToHub(usage: { currentAverageUtilization?: number | undefined; currentAverageValue: string }) {
  const { currentAverageUtilization: averageUtilization, currentAverageValue } = usage;
  const averageValue =
    averageUtilization !== undefined && currentAverageValue === "0" ? undefined : currentAverageValue;
  return { averageUtilization, averageValue };
}

function usageFromHub({ averageUtilization, averageValue }: v2.MetricValueStatus) {
  return { currentAverageUtilization: averageUtilization, currentAverageValue: averageValue ?? "0" };
}

function statusFromHub(metric: v2.MetricStatus): v2beta1.MetricStatus {
  const { type, object, pods, resource, containerResource, external } = metric;
  return {
    type,
    object: object && {
      target: object.describedObject,
      metricName: object.metric.name,
      currentValue: object.current.value ?? "0",
      selector: object.metric.selector,
      averageValue: object.current.averageValue,
    },
    pods: pods && {
      metricName: pods.metric.name,
      currentAverageValue: pods.current.averageValue ?? "0",
      selector: pods.metric.selector,
    },
    resource: resource && { name: resource.name, ...usageFromHub(resource.current) },
    containerResource: containerResource && {
      name: containerResource.name,
      ...usageFromHub(containerResource.current),
      container: containerResource.container,
    },
    external: external && {
      metricName: external.metric.name,
      metricSelector: external.metric.selector,
      currentValue: external.current.value ?? "0",
      currentAverageValue: external.current.averageValue,
    },
  };
}

function dropKeys(metadata: ObjectMeta, keys: Keys): void {
  for (const key of Object.values(keys) as string[]) metadata.annotations?.delete(key);
  if (metadata.annotations?.size === 0) delete metadata.annotations;
}

/** The list an annotation holds; undefined when there is none, or what is there is none of ours. */
function readList<T extends object>(metadata: ObjectMeta, key: string, message: Message): T[] | undefined {
  const text = metadata.annotations?.get(key);
  if (text === undefined) return undefined;
  const value = parseText(text);
  if (isFault(value) || !Array.isArray(value)) return undefined;
  const items: T[] = [];
  for (const item of value) {
    const decoded = decode<T>(message, item);
    if (isFault(decoded)) return undefined;
    items.push(decoded);
  }
  return items;
}

function writeList(metadata: ObjectMeta, key: string, message: Message, list: readonly object[] | undefined): void {
  if (list === undefined || list.length === 0) return;
  metadata.annotations ??= new Map();
  metadata.annotations.set(key, `[${list.map((item) => encode(message, item)).join(",")}]`);
}

/** The annotation of behavior is upstream's internal type: names capitalized, nothing left out. */
function writeBehavior(
  metadata: ObjectMeta,
  key: string,
  behavior: v2.HorizontalPodAutoscalerBehavior | undefined,
): void {
  if (behavior === undefined) return;
  metadata.annotations ??= new Map();
  const text = JSON.stringify({ ScaleUp: rulesOut(behavior.scaleUp), ScaleDown: rulesOut(behavior.scaleDown) });
  metadata.annotations.set(key, text);
}

function rulesOut(rules: v2.HPAScalingRules | undefined): object | null {
  if (rules === undefined) return null;
  return {
    StabilizationWindowSeconds: rules.stabilizationWindowSeconds ?? null,
    SelectPolicy: rules.selectPolicy ?? null,
    Policies:
      rules.policies?.map(({ type, value, periodSeconds }) => ({
        Type: type,
        Value: value,
        PeriodSeconds: periodSeconds,
      })) ?? null,
  };
}

function readBehavior(text: string | undefined): v2.HorizontalPodAutoscalerBehavior | undefined {
  const value = text === undefined ? undefined : parseText(text);
  if (!(value instanceof Map)) return undefined;
  const scaleUp = rulesIn(member(value, "scaleup"));
  const scaleDown = rulesIn(member(value, "scaledown"));
  return scaleUp || scaleDown ? { scaleUp, scaleDown } : undefined;
}

function rulesIn(value: Value | undefined): v2.HPAScalingRules | undefined {
  if (!(value instanceof Map)) return undefined;
  const seconds = member(value, "stabilizationwindowseconds");
  const policy = member(value, "selectpolicy");
  const policies = member(value, "policies");
  return {
    stabilizationWindowSeconds: typeof seconds === "number" ? seconds : undefined,
    selectPolicy: typeof policy === "string" ? policy : undefined,
    policies: Array.isArray(policies) ? policies.map(policyIn) : undefined,
  };
}

function policyIn(value: Value): v2.HPAScalingPolicy {
  const of = value instanceof Map ? value : new Map<string, Value>();
  const [type, amount, period] = ["type", "value", "periodseconds"].map((name) => member(of, name));
  return {
    type: textIn(type),
    value: typeof amount === "number" ? amount : 0,
    periodSeconds: typeof period === "number" ? period : 0,
  };
}

/** Go matches names without regard to case. */
function member(of: ReadonlyMap<string, Value>, lowerCase: string): Value | undefined {
  for (const [key, value] of of) if (key.toLowerCase() === lowerCase) return value;
  return undefined;
}
