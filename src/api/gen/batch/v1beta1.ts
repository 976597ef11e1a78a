// Written by scripts/gen from proto/: do not edit.
import type * as batch_v1 from "../batch/v1.ts";
import type * as core_v1 from "../core/v1.ts";
import type * as meta_v1 from "../meta/v1.ts";

/** batch/v1beta1.CronJob. */
export interface CronJob {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: CronJobSpec;
  status: CronJobStatus;
}

/** batch/v1beta1.CronJobList. */
export interface CronJobList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: CronJob[] | undefined;
}

/** batch/v1beta1.CronJobSpec. */
export interface CronJobSpec {
  schedule: string;
  startingDeadlineSeconds?: number | bigint | undefined;
  concurrencyPolicy?: string | undefined;
  suspend?: boolean | undefined;
  jobTemplate: JobTemplateSpec;
  successfulJobsHistoryLimit?: number | undefined;
  failedJobsHistoryLimit?: number | undefined;
}

/** batch/v1beta1.CronJobStatus. */
export interface CronJobStatus {
  active?: core_v1.ObjectReference[] | undefined;
  lastScheduleTime?: string | undefined;
  lastSuccessfulTime?: string | undefined;
}

/** batch/v1beta1.JobTemplate. */
export interface JobTemplate {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  template: JobTemplateSpec;
}

/** batch/v1beta1.JobTemplateSpec. */
export interface JobTemplateSpec {
  metadata: meta_v1.ObjectMeta;
  spec: batch_v1.JobSpec;
}
