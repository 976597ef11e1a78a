// How what makes pods is shown: apps, batch, autoscaling, disruption budgets.
import type { ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet } from "../../api/gen/apps/v1.ts";
import type { HorizontalPodAutoscaler as AutoscalerV1 } from "../../api/gen/autoscaling/v1.ts";
import type {
  HorizontalPodAutoscaler,
  MetricSpec,
  MetricStatus,
  MetricTarget,
  MetricValueStatus,
} from "../../api/gen/autoscaling/v2.ts";
import type { CronJob, Job } from "../../api/gen/batch/v1.ts";
import type { PodTemplateSpec, ReplicationController } from "../../api/gen/core/v1.ts";
import type { PodDisruptionBudget } from "../../api/gen/policy/v1beta1.ts";
import type { Identity } from "../../api/identity.ts";
import { messageOf } from "../../api/messages.ts";
import type { ApiObject } from "../../api/object.ts";
import { parseTime } from "../../api/time.ts";
import { copyObject } from "../../codec/engine/copy.ts";
import { autoscalerConversions } from "../conversions/autoscaling.ts";
import {
  ageColumn,
  type Column,
  type Columns,
  column,
  elapsed,
  labels,
  nameColumn,
  none,
  selector,
  since,
  templateColumns,
  unknown,
  unset,
} from "./cells.ts";

const integer = { type: "integer" } as const;
const wide = { wide: true } as const;

/** A workload with the template of its pods. */
interface Templated extends ApiObject {
  spec: { template?: PodTemplateSpec | undefined };
}

/** What wide output adds: the containers of the pods, and which pods they are. */
function podColumns<T extends Templated>(selectorOf: (object: T) => string): Column<T>[] {
  return [
    ...templateColumns<T>(({ spec }) => spec.template),
    column("Selector", "Labels of the pods it counts as its own", selectorOf, wide),
  ];
}

/** Ready pods of deployments and stateful sets. */
const readyOfWanted = column<Deployment | StatefulSet>(
  "Ready",
  "Ready pods of those wanted",
  ({ spec, status }) => `${status.readyReplicas ?? 0}/${spec.replicas ?? 0}`,
);

/** What replication controllers and replica sets have in common. */
interface Replicas extends Templated {
  spec: { replicas?: number | undefined; template?: PodTemplateSpec | undefined };
  status: { replicas: number; readyReplicas?: number | undefined };
}

function replicaColumns<T extends Replicas>(selectorOf: (object: T) => string): Columns<T> {
  return {
    columns: [
      nameColumn,
      column("Desired", "Pods wanted", ({ spec }) => spec.replicas ?? 0, integer),
      column("Current", "Pods there are", ({ status }) => status.replicas, integer),
      column("Ready", "Pods that are ready", ({ status }) => status.readyReplicas ?? 0, integer),
      ageColumn,
      ...podColumns(selectorOf),
    ],
  };
}

/** Columns of replication controllers. */
export function replicationControllerColumns(): Columns<ReplicationController> {
  return replicaColumns(({ spec }) => labels(spec.selector));
}

/** Columns of replica sets. */
export function replicaSetColumns(): Columns<ReplicaSet> {
  return replicaColumns(({ spec }) => selector(spec.selector));
}

/** Columns of daemon sets. */
export function daemonSetColumns(): Columns<DaemonSet> {
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
  };
}

/** Columns of stateful sets. */
export function statefulSetColumns(): Columns<StatefulSet> {
  return {
    columns: [nameColumn, readyOfWanted, ageColumn, ...templateColumns<StatefulSet>(({ spec }) => spec.template)],
  };
}

/** Columns of deployments. */
export function deploymentColumns(): Columns<Deployment> {
  return {
    columns: [
      nameColumn,
      readyOfWanted,
      column("Up-to-date", "Pods that follow the current template", ({ status }) => status.updatedReplicas ?? 0),
      column("Available", "Pods that are available", ({ status }) => status.availableReplicas ?? 0),
      ageColumn,
      ...podColumns<Deployment>(({ spec }) => selector(spec.selector, "")),
    ],
  };
}

/** Columns of controller revisions. */
export function controllerRevisionColumns(): Columns<ControllerRevision> {
  return {
    columns: [
      nameColumn,
      column("Controller", "What the revision belongs to", ({ metadata }) => {
        const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
        if (owner === undefined) return none;
        const slash = owner.apiVersion.indexOf("/");
        const group = slash < 0 ? "" : `.${owner.apiVersion.slice(0, slash)}`;
        return `${`${owner.kind}${group}`.toLowerCase()}/${owner.name}`;
      }),
      column("Revision", "Number of the revision", ({ revision }) => revision),
      ageColumn,
    ],
  };
}

/** Columns of jobs. */
export function jobColumns(): Columns<Job> {
  return {
    columns: [
      nameColumn,
      column("Completions", "Pods that succeeded, of those needed", ({ spec, status }) => {
        const succeeded = status.succeeded ?? 0;
        if (spec.completions !== undefined) return `${succeeded}/${spec.completions}`;
        const parallel = spec.parallelism ?? 0;
        return parallel > 1 ? `${succeeded}/1 of ${parallel}` : `${succeeded}/1`;
      }),
      column("Duration", "How long the job took, or has been running", ({ status }, now) => {
        const from = parseTime(status.startTime ?? "");
        if (from === undefined) return "";
        return elapsed((parseTime(status.completionTime ?? "") ?? now) - from);
      }),
      ageColumn,
      ...podColumns<Job>(({ spec }) => selector(spec.selector)),
    ],
  };
}

/** Columns of cron jobs. */
export function cronJobColumns(): Columns<CronJob> {
  return {
    columns: [
      nameColumn,
      column("Schedule", "When jobs start, in Cron's notation", ({ spec }) => spec.schedule),
      column(
        "Suspend",
        "No further job is started",
        ({ spec }) => (spec.suspend === undefined ? unset : spec.suspend ? "True" : "False"),
        { type: "boolean" },
      ),
      column("Active", "Jobs that are running", ({ status }) => status.active?.length ?? 0, integer),
      column("Last Schedule", "Time since a job was last started", ({ status }, now) =>
        status.lastScheduleTime === undefined ? none : since(status.lastScheduleTime, now),
      ),
      ageColumn,
      ...templateColumns<CronJob>(({ spec }) => spec.jobTemplate.spec.template),
      column(
        "Selector",
        "Labels of the pods its jobs count as their own",
        ({ spec }) => selector(spec.jobTemplate.spec.selector),
        wide,
      ),
    ],
  };
}

/** Columns of disruption budgets. */
export function disruptionBudgetColumns(): Columns<PodDisruptionBudget> {
  const amount = (value: number | string | undefined): string => (value === undefined ? "N/A" : String(value));
  return {
    columns: [
      nameColumn,
      column("Min Available", "Pods that must stay available", ({ spec }) => amount(spec.minAvailable)),
      column("Max Unavailable", "Pods that may be unavailable", ({ spec }) => amount(spec.maxUnavailable)),
      column("Allowed Disruptions", "Pods that may be evicted now", ({ status }) => status.disruptionsAllowed, integer),
      ageColumn,
    ],
  };
}

/** Columns of autoscalers. They are stored in a version whose metrics stand in annotations. */
export function autoscalerColumns(identity: Identity): Columns<AutoscalerV1> {
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
