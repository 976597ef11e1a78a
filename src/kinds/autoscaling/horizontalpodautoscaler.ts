// HorizontalPodAutoscaler, in every version; its rules are those of v2.
import type { HorizontalPodAutoscaler as V1 } from "../../api/gen/autoscaling/v1.ts";
import type {
  HorizontalPodAutoscaler,
  MetricSpec,
  MetricStatus,
  MetricTarget,
  MetricValueStatus,
} from "../../api/gen/autoscaling/v2.ts";
import type { HorizontalPodAutoscaler as V2beta1 } from "../../api/gen/autoscaling/v2beta1.ts";
import type { Identity } from "../../api/identity.ts";
import { messageOf } from "../../api/messages.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import { copyObject } from "../../codec/engine/copy.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, type Columns, column, nameColumn, none, unknown, unset } from "../columns.ts";
import { strategyFor } from "../generic.ts";
import type { Strategy, StrategyContext } from "../strategy.ts";
import { autoscalerCarriers, autoscalerConversion, autoscalerConversions } from "./conversions.ts";
import { validateAutoscaler, validateAutoscalerStatus } from "./validation/horizontalpodautoscaler.ts";

/** Behaviour of autoscalers. */
export function horizontalPodAutoscalerBehaviour(resource: Resource, identity: Identity): OwnBehaviour {
  return {
    strategy: autoscalerStrategy(resource, identity),
    columns: autoscalerColumns(identity),
    conversion: autoscalerConversion(resource.version, identity),
  };
}

/**
 * Autoscalers, in every version; rules are those of v2, and what a version says is what it says by way of v2. Metrics of
 * single containers are behind a gate.
 */
function autoscalerStrategy(resource: Resource, identity: Identity): Strategy<ApiObject> {
  const { fromV1, toV1, fromV2beta1, toV2beta1 } = autoscalerConversions(identity);
  const carriers = autoscalerCarriers(identity);
  const hub = (object: ApiObject): HorizontalPodAutoscaler => {
    // A conversion uses up what it is given, and it takes annotations away.
    const { annotations } = object.metadata;
    const copy = { ...object, metadata: { ...object.metadata, annotations: annotations && new Map(annotations) } };
    if (resource.version === "v1") return fromV1(copy as V1);
    return resource.version === "v2beta1" ? fromV2beta1(copy as V2beta1) : (object as HorizontalPodAutoscaler);
  };
  const drop = ({ gates }: StrategyContext, object: ApiObject, old: ApiObject | undefined) => {
    if (gates.has("HPAContainerMetrics")) return;
    const metricsOf = (of: ApiObject | undefined) => (of as HorizontalPodAutoscaler | undefined)?.spec.metrics ?? [];
    if (metricsOf(old).some((metric) => metric.containerResource !== undefined)) return;
    for (const metric of metricsOf(object)) metric.containerResource = undefined;
  };
  return strategyFor<ApiObject>(resource, {
    carriers,
    canonicalize(object) {
      if (resource.version === "v1") Object.assign(object, toV1(fromV1(object as V1)));
      else if (resource.version === "v2beta1") Object.assign(object, toV2beta1(fromV2beta1(object as V2beta1)));
      else dropAnnotations(object, carriers);
    },
    prepareForCreate: (context, object) => drop(context, object, undefined),
    prepareForUpdate: (context, object, old) => drop(context, object, old),
    validate: (object, { gates }) => validateAutoscaler(hub(object), gates.has("HPAScaleToZero")),
    validateUpdate: (object, old, { gates }) =>
      validateAutoscaler(hub(object), gates.has("HPAScaleToZero") || hub(old).spec.minReplicas === 0),
    validateStatus: (object) => validateAutoscalerStatus(hub(object)),
  });
}

function dropAnnotations({ metadata }: ApiObject, keys: readonly string[]): void {
  for (const key of keys) metadata.annotations?.delete(key);
  if (metadata.annotations?.size === 0) delete metadata.annotations;
}

/** Columns of autoscalers. They are stored in a version whose metrics stand in annotations. */
function autoscalerColumns(identity: Identity): Columns<V1> {
  const { fromV1 } = autoscalerConversions(identity);
  return {
    columns: [
      nameColumn,
      column("Reference", "What is scaled", ({ spec }) => `${spec.scaleTargetRef.kind}/${spec.scaleTargetRef.name}`),
      column("Targets", "Measured and wanted value of each metric", (object) =>
        targets(fromV1(copyObject(messageOf("autoscaling/v1.HorizontalPodAutoscaler"), object))),
      ),
      column("MinPods", "Fewest pods", ({ spec }) =>
        spec.minReplicas === undefined ? unset : String(spec.minReplicas),
      ),
      column("MaxPods", "Most pods", ({ spec }) => spec.maxReplicas),
      column("Replicas", "Pods there are", ({ status }) => status.currentReplicas),
      ageColumn,
    ],
  };
}

function targets({ spec, status }: HorizontalPodAutoscaler): string {
  const metrics = spec.metrics ?? [];
  if (metrics.length === 0) return none;
  const shown = metrics.slice(0, 2).map((metric, index) => target(metric, status.currentMetrics?.[index]));
  const more = metrics.length > 2 ? ` + ${metrics.length - 2} more...` : "";
  return `${shown.join(", ")}${more}`;
}

function target(metric: MetricSpec, measured: MetricStatus | undefined): string {
  switch (metric.type) {
    case "External":
      return amount(metric.external?.target, measured?.external?.current);
    case "Object":
      return amount(metric.object?.target, measured?.object?.current);
    case "Pods":
      return `${measured?.pods?.current.averageValue ?? unknown}/${metric.pods?.target.averageValue ?? "0"}`;
    case "Resource":
      return share(metric.resource?.target, measured?.resource?.current);
    case "ContainerResource":
      return share(metric.containerResource?.target, measured?.containerResource?.current);
    default:
      return "<unknown type>";
  }
}

/** A total, or an average per pod. */
function amount(wanted: MetricTarget | undefined, current: MetricValueStatus | undefined): string {
  if (wanted?.averageValue !== undefined) return `${current?.averageValue ?? unknown}/${wanted.averageValue} (avg)`;
  return `${current?.value ?? unknown}/${wanted?.value ?? "0"}`;
}

/** An average per pod, or a percentage of what pods requested. */
function share(wanted: MetricTarget | undefined, current: MetricValueStatus | undefined): string {
  if (wanted?.averageValue !== undefined) return `${current?.averageValue ?? unknown}/${wanted.averageValue}`;
  const percent = (value: number | undefined, without: string) => (value === undefined ? without : `${value}%`);
  return `${percent(current?.averageUtilization, unknown)}/${percent(wanted?.averageUtilization, "<auto>")}`;
}
