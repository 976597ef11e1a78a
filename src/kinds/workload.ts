// What the kinds that run pods have in common: apps, replication controllers, jobs and cron jobs.
import type { Deployment, StatefulSet } from "../api/gen/apps/v1.ts";
import type { PodTemplateSpec } from "../api/gen/core/v1.ts";
import type { ApiObject } from "../api/object.ts";
import {
  ageColumn,
  type Column,
  type Columns,
  column,
  integer,
  nameColumn,
  reads,
  templateColumns,
  templateReads,
  wide,
} from "./columns.ts";
import { copyServiceAccount, settleTemplateFields } from "./core/podfields.ts";
import { podWarnings } from "./core/podwarnings.ts";
import type { Rules } from "./generic.ts";
import type { StrategyContext } from "./strategy.ts";

interface Workload extends ApiObject {
  readonly spec: { readonly template?: PodTemplateSpec | undefined };
}

/** What all of them share: changes of the spec are counted, switched-off fields of the template dropped. */
export function workload<T extends Workload>(): Pick<
  Rules<T>,
  "canonicalize" | "counts" | "prepareForCreate" | "prepareForUpdate" | "warnings"
> {
  return {
    counts: ["spec"],
    canonicalize(object) {
      if (object.spec.template !== undefined) copyServiceAccount(object.spec.template.spec);
    },
    prepareForCreate(context, object) {
      settleTemplateFields(context, object.spec.template, undefined);
    },
    prepareForUpdate(context, object, old) {
      settleTemplateFields(context, object.spec.template, old.spec.template);
    },
    warnings(context, object, old) {
      return templateWarnings(context, "spec.template", object, old, object.spec.template);
    },
  };
}

/** Warnings about a template when it may have changed: the generation tells. */
export function templateWarnings(
  { identity }: StrategyContext,
  path: string,
  { metadata }: ApiObject,
  old: ApiObject | undefined,
  template: PodTemplateSpec | undefined,
): string[] {
  const isSame = old !== undefined && metadata.generation === old.metadata.generation;
  return isSame || template === undefined ? [] : podWarnings(identity, path, template);
}

/** A workload with the template of its pods. */
interface Templated extends ApiObject {
  spec: { template?: PodTemplateSpec | undefined };
}

/** What wide output adds: the containers of the pods, and which pods they are. */
export function podColumns<T extends Templated>(selectorOf: (object: T) => string): Column<T>[] {
  return [
    ...templateColumns<T>(({ spec }) => spec.template),
    column("Selector", "Labels of the pods it counts as its own", selectorOf, wide),
  ];
}

/** What podColumns() reads, with the selector. */
export const podReads: readonly string[] = [...templateReads("spec.template"), "spec.selector"];

/** Ready pods of deployments and stateful sets. */
export const readyOfWanted = column<Deployment | StatefulSet>(
  "Ready",
  "Ready pods of those wanted",
  ({ spec, status }) => `${status.readyReplicas ?? 0}/${spec.replicas ?? 0}`,
);

/** What replication controllers and replica sets have in common. */
interface Replicas extends Templated {
  spec: { replicas?: number | undefined; template?: PodTemplateSpec | undefined };
  status: { replicas: number; readyReplicas?: number | undefined };
}

/** Columns of replication controllers and replica sets. */
export function replicaColumns<T extends Replicas>(selectorOf: (object: T) => string): Columns<T> {
  return {
    columns: [
      nameColumn,
      column("Desired", "Pods wanted", ({ spec }) => spec.replicas ?? 0, integer),
      column("Current", "Pods there are", ({ status }) => status.replicas, integer),
      column("Ready", "Pods that are ready", ({ status }) => status.readyReplicas ?? 0, integer),
      ageColumn,
      ...podColumns(selectorOf),
    ],
    reads: reads("spec.replicas", "status.replicas", "status.readyReplicas", ...podReads),
  };
}
