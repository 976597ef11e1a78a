// The kinds that run pods: apps, replication controllers, jobs and cron jobs.
import type { ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet } from "../api/gen/apps/v1.ts";
import type { CronJob, Job } from "../api/gen/batch/v1.ts";
import type { PodTemplateSpec, ReplicationController } from "../api/gen/core/v1.ts";
import type { Identity } from "../api/identity.ts";
import type { ApiObject } from "../api/object.ts";
import type { Resource } from "../api/scheme.ts";
import { type Rules, strategyFor } from "./generic.ts";
import { copyServiceAccount, settleTemplateFields } from "./podfields.ts";
import { podWarnings } from "./podwarnings.ts";
import type { Strategy, StrategyContext } from "./strategy.ts";
import {
  validateCronJob,
  validateCronJobStatusUpdate,
  validateCronJobUpdate,
  validateJob,
  validateJobStatusUpdate,
  validateJobUpdate,
} from "./validation/batch.ts";
import { equal, equalStrings } from "./validation/equal.ts";
import {
  validateControllerRevision,
  validateControllerRevisionUpdate,
  validateDaemonSet,
  validateDaemonSetStatusUpdate,
  validateDaemonSetUpdate,
  validateDeployment,
  validateDeploymentStatusUpdate,
  validateDeploymentUpdate,
  validateReplicaSet,
  validateReplicaSetStatusUpdate,
  validateReplicaSetUpdate,
  validateReplicationController,
  validateReplicationControllerStatusUpdate,
  validateReplicationControllerUpdate,
  validateStatefulSet,
  validateStatefulSetStatusUpdate,
  validateStatefulSetUpdate,
} from "./validation/workloads.ts";

interface Workload extends ApiObject {
  readonly spec: { readonly template?: PodTemplateSpec | undefined };
}

/** What all of them share: changes of the spec are counted, switched-off fields of the template dropped. */
function workload<T extends Workload>(): Pick<
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
function templateWarnings(
  { identity }: StrategyContext,
  path: string,
  { metadata }: ApiObject,
  old: ApiObject | undefined,
  template: PodTemplateSpec | undefined,
): string[] {
  const isSame = old !== undefined && metadata.generation === old.metadata.generation;
  return isSame || template === undefined ? [] : podWarnings(identity, path, template);
}

/** Deployments: a change of the annotations counts too, for they are copied to the replica sets. */
export function deploymentStrategy(resource: Resource): Strategy<Deployment> {
  const strategy = strategyFor<Deployment>(resource, {
    ...workload<Deployment>(),
    prepareForStatus(_context, object, old) {
      object.metadata.labels = old.metadata.labels;
    },
    validate: validateDeployment,
    validateUpdate: validateDeploymentUpdate,
    validateStatus: validateDeploymentStatusUpdate,
  });
  return {
    ...strategy,
    update: {
      ...strategy.update,
      prepare(context, object, old) {
        strategy.update.prepare(context, object, old);
        const counted = object.metadata.generation !== old.metadata.generation;
        if (!counted && !equalStrings(object.metadata.annotations, old.metadata.annotations)) countOne(object, old);
      },
    },
  };
}

function countOne(object: ApiObject, old: ApiObject): void {
  object.metadata.generation = Number(old.metadata.generation ?? 0) + 1;
}

/** Replica sets. */
export function replicaSetStrategy(resource: Resource): Strategy<ReplicaSet> {
  return strategyFor<ReplicaSet>(resource, {
    ...workload<ReplicaSet>(),
    validate: validateReplicaSet,
    validateUpdate: validateReplicaSetUpdate,
    validateStatus: validateReplicaSetStatusUpdate,
  });
}

/** Stateful sets. */
export function statefulSetStrategy(resource: Resource): Strategy<StatefulSet> {
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

const templateGeneration = "deprecated.daemonset.template.generation";

/** Daemon sets: changes of the template are counted in an annotation, which is what is left of a field of long ago. */
export function daemonSetStrategy(resource: Resource): Strategy<DaemonSet> {
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

/** Controller revisions. */
export function controllerRevisionStrategy(resource: Resource): Strategy<ControllerRevision> {
  return strategyFor<ControllerRevision>(resource, {
    validate: validateControllerRevision,
    validateUpdate: validateControllerRevisionUpdate,
  });
}

/** Replication controllers. */
export function replicationControllerStrategy(resource: Resource): Strategy<ReplicationController> {
  return strategyFor<ReplicationController>(resource, {
    ...workload<ReplicationController>(),
    // Another path on create, and on update those of the template that goes (so upstream).
    warnings(context, object, old) {
      if (old === undefined) return templateWarnings(context, "template", object, old, object.spec.template);
      return templateWarnings(context, "spec.template", object, old, old.spec.template);
    },
    validate: validateReplicationController,
    validateUpdate: validateReplicationControllerUpdate,
    validateStatus: validateReplicationControllerStatusUpdate,
    selectableFields: ({ status }) => [["status.replicas", String(status.replicas)]],
    fieldLabels: ["status.replicas"],
    defaultOrphan: true,
  });
}

/** Jobs: their pods are told by a label with the job's uid, unless the user chose the selector. */
export function jobStrategy(resource: Resource, identity: Identity): Strategy<Job> {
  const shared = workload<Job>();
  const tracking = identity.spell("batch.kubernetes.io/job-tracking");
  return strategyFor<Job>(resource, {
    ...shared,
    prepareForCreate(context, object) {
      shared.prepareForCreate?.(context, object);
      if (!context.gates.has("JobTrackingWithFinalizers")) object.metadata.annotations?.delete(tracking);
      else (object.metadata.annotations ??= new Map()).set(tracking, "");
    },
    // The annotation is the server's: it goes and comes with the gate, and not by hand.
    prepareForUpdate(context, object, old) {
      shared.prepareForUpdate?.(context, object, old);
      const tracked = old.metadata.annotations?.get(tracking);
      if (tracked !== undefined) (object.metadata.annotations ??= new Map()).set(tracking, tracked);
      else if (!context.gates.has("JobTrackingWithFinalizers")) object.metadata.annotations?.delete(tracking);
    },
    // The selector needs uid and name, which are known only after preparation: so it is made here, as in the reference.
    validate(object, context) {
      if (!object.spec.manualSelector) selectByUid(object);
      return validateJob(object, context);
    },
    validateUpdate: validateJobUpdate,
    validateStatus: validateJobStatusUpdate,
    selectableFields: ({ status }) => [["status.successful", String(status.succeeded ?? 0)]],
    fieldLabels: ["status.successful"],
    defaultOrphan: true,
    unnamedPolicyWarning: orphanedPods,
  });
}

/** Pods of a job outlive it unless a policy says otherwise. */
const orphanedPods =
  "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set " +
  "propagationPolicy=Orphan to suppress this warning";

function selectByUid({ metadata, spec }: Job): void {
  const labels = (spec.template.metadata.labels ??= new Map());
  // What has no labels by itself shares its pods' (defaults say so, too).
  if (!metadata.labels?.size) metadata.labels = labels;
  if (!labels.has("job-name")) labels.set("job-name", metadata.name ?? "");
  if (!labels.has("controller-uid")) labels.set("controller-uid", metadata.uid ?? "");
  spec.selector ??= {};
  spec.selector.matchLabels ??= new Map();
  if (!spec.selector.matchLabels.has("controller-uid")) {
    spec.selector.matchLabels.set("controller-uid", metadata.uid ?? "");
  }
}

/** Cron jobs; the old version leaves the jobs behind when it is deleted. */
export function cronJobStrategy(resource: Resource, identity: Identity): Strategy<CronJob> {
  return strategyFor<CronJob>(resource, {
    counts: ["spec"],
    prepareForCreate(context, object) {
      settleTemplateFields(context, object.spec.jobTemplate.spec.template, undefined);
    },
    prepareForUpdate(context, object, old) {
      settleTemplateFields(context, object.spec.jobTemplate.spec.template, old.spec.jobTemplate.spec.template);
    },
    validate: validateCronJob,
    validateUpdate: validateCronJobUpdate,
    validateStatus: validateCronJobStatusUpdate,
    warnings: scheduleWarnings(identity),
    defaultOrphan: resource.version === "v1beta1",
  });
}

/** A time zone inside the schedule works by accident of the parser. */
function scheduleWarnings(
  identity: Identity,
): (context: StrategyContext, object: CronJob, old: CronJob | undefined) => string[] {
  const page = identity.spell("https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/");
  const text = `CRON_TZ or TZ used in spec.spec.schedule is not officially supported, see ${page} for more details`;
  return (context, object, old) => [
    ...templateWarnings(context, "spec.jobTemplate.spec.template", object, old, object.spec.jobTemplate.spec.template),
    ...(object.spec.schedule.includes("TZ") ? [text] : []),
  ];
}
