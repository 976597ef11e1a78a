// Written by scripts/gen from proto/: do not edit.
import type * as core_v1 from "../core/v1.ts";
import type * as meta_v1 from "../meta/v1.ts";

/** batch/v1.CronJob. */
export interface CronJob {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: CronJobSpec;
  status: CronJobStatus;
}

/** batch/v1.CronJobList. */
export interface CronJobList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: CronJob[] | undefined;
}

/** batch/v1.CronJobSpec. */
export interface CronJobSpec {
  schedule: string;
  startingDeadlineSeconds?: number | bigint | undefined;
  concurrencyPolicy?: string | undefined;
  suspend?: boolean | undefined;
  jobTemplate: JobTemplateSpec;
  successfulJobsHistoryLimit?: number | undefined;
  failedJobsHistoryLimit?: number | undefined;
}

/** batch/v1.CronJobStatus. */
export interface CronJobStatus {
  active?: core_v1.ObjectReference[] | undefined;
  lastScheduleTime?: string | undefined;
  lastSuccessfulTime?: string | undefined;
}

/** batch/v1.Job. */
export interface Job {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: JobSpec;
  status: JobStatus;
}

/** batch/v1.JobCondition. */
export interface JobCondition {
  type: string;
  status: string;
  lastProbeTime?: string | undefined;
  lastTransitionTime?: string | undefined;
  reason?: string | undefined;
  message?: string | undefined;
}

/** batch/v1.JobList. */
export interface JobList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: Job[] | undefined;
}

/** batch/v1.JobSpec. */
export interface JobSpec {
  parallelism?: number | undefined;
  completions?: number | undefined;
  activeDeadlineSeconds?: number | bigint | undefined;
  backoffLimit?: number | undefined;
  selector?: meta_v1.LabelSelector | undefined;
  manualSelector?: boolean | undefined;
  template: core_v1.PodTemplateSpec;
  ttlSecondsAfterFinished?: number | undefined;
  completionMode?: string | undefined;
  suspend?: boolean | undefined;
}

/** batch/v1.JobStatus. */
export interface JobStatus {
  conditions?: JobCondition[] | undefined;
  startTime?: string | undefined;
  completionTime?: string | undefined;
  active?: number | undefined;
  succeeded?: number | undefined;
  failed?: number | undefined;
  completedIndexes?: string | undefined;
  uncountedTerminatedPods?: UncountedTerminatedPods | undefined;
  ready?: number | undefined;
}

/** batch/v1.JobTemplateSpec. */
export interface JobTemplateSpec {
  metadata: meta_v1.ObjectMeta;
  spec: JobSpec;
}

/** batch/v1.UncountedTerminatedPods. */
export interface UncountedTerminatedPods {
  succeeded?: string[] | undefined;
  failed?: string[] | undefined;
}
