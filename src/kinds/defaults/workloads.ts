// Defaults of the apps and batch groups.
import type { DaemonSet, Deployment, ReplicaSet, StatefulSet } from "../../api/gen/apps/v1.ts";
import type { CronJob, Job } from "../../api/gen/batch/v1.ts";
import type { CronJob as CronJobV1beta1 } from "../../api/gen/batch/v1beta1.ts";
import { type DefaultRule, rule } from "./rule.ts";

const historyCount = 10;
const progressSeconds = 600;
const backoffCount = 6;

/** Rules of apps/v1 and batch. */
export const workloadDefaults: readonly DefaultRule[] = [
  rule<Deployment>("apps/v1.Deployment", ({ spec }) => {
    spec.replicas ??= 1;
    if (!spec.strategy.type) spec.strategy.type = "RollingUpdate";
    if (spec.strategy.type === "RollingUpdate") {
      spec.strategy.rollingUpdate ??= {};
      spec.strategy.rollingUpdate.maxUnavailable ??= "25%";
      spec.strategy.rollingUpdate.maxSurge ??= "25%";
    }
    spec.revisionHistoryLimit ??= historyCount;
    spec.progressDeadlineSeconds ??= progressSeconds;
  }),
  rule<DaemonSet>("apps/v1.DaemonSet", ({ spec }) => {
    if (!spec.updateStrategy.type) spec.updateStrategy.type = "RollingUpdate";
    if (spec.updateStrategy.type === "RollingUpdate") {
      spec.updateStrategy.rollingUpdate ??= {};
      spec.updateStrategy.rollingUpdate.maxUnavailable ??= 1;
      spec.updateStrategy.rollingUpdate.maxSurge ??= 0;
    }
    spec.revisionHistoryLimit ??= historyCount;
  }),
  rule<StatefulSet>("apps/v1.StatefulSet", ({ spec }) => {
    if (!spec.podManagementPolicy) spec.podManagementPolicy = "OrderedReady";
    if (!spec.updateStrategy.type) {
      spec.updateStrategy.type = "RollingUpdate";
      spec.updateStrategy.rollingUpdate ??= {};
    }
    if (spec.updateStrategy.type === "RollingUpdate" && spec.updateStrategy.rollingUpdate) {
      spec.updateStrategy.rollingUpdate.partition ??= 0;
    }
    spec.replicas ??= 1;
    spec.revisionHistoryLimit ??= historyCount;
  }),
  rule<ReplicaSet>("apps/v1.ReplicaSet", ({ spec }) => {
    spec.replicas ??= 1;
  }),
  rule<Job>("batch/v1.Job", ({ metadata, spec }) => {
    if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1;
    spec.parallelism ??= 1;
    spec.backoffLimit ??= backoffCount;
    const labels = spec.template.metadata.labels;
    // The same map on purpose: the labels a new job gets for its pods become its own, too.
    if (labels !== undefined && !metadata.labels?.size) metadata.labels = labels;
    spec.completionMode ??= "NonIndexed";
    spec.suspend ??= false;
  }),
  rule<CronJob>("batch/v1.CronJob", cronDefaults),
  rule<CronJobV1beta1>("batch/v1beta1.CronJob", cronDefaults),
];

function cronDefaults({ spec }: CronJob | CronJobV1beta1): void {
  if (!spec.concurrencyPolicy) spec.concurrencyPolicy = "Allow";
  spec.suspend ??= false;
  spec.successfulJobsHistoryLimit ??= 3;
  spec.failedJobsHistoryLimit ??= 1;
}
