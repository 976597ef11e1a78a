// Job: pods that run to an end.
import type { Job } from "../../api/gen/batch/v1.ts";
import type { Identity } from "../../api/identity.ts";
import type { Resource } from "../../api/scheme.ts";
import { parseTime } from "../../api/time.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, type Columns, column, elapsed, nameColumn, reads, selector } from "../columns.ts";
import { strategyFor } from "../generic.ts";
import type { Strategy } from "../strategy.ts";
import { podColumns, podReads, workload } from "../workload.ts";
import { validateJob, validateJobStatusUpdate, validateJobUpdate } from "./validation/job.ts";

/** Behaviour of jobs. */
export function jobBehaviour(resource: Resource, identity: Identity): OwnBehaviour {
  return {
    strategy: jobStrategy(resource, identity),
    columns: jobColumns(),
    metaRules: { update: [1, 1] },
  };
}

/** Jobs: their pods are told by a label with the job's uid, unless the user chose the selector. */
function jobStrategy(resource: Resource, identity: Identity): Strategy<Job> {
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
    // The selector needs uid and name, which are known only after preparation: so it is made here, as in upstream.
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

/** Columns of jobs. */
function jobColumns(): Columns<Job> {
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
        return elapsed((parseTime(status.completionTime ?? "") ?? now()) - from);
      }),
      ageColumn,
      ...podColumns<Job>(({ spec }) => selector(spec.selector)),
    ],
    reads: reads(
      ...["spec.completions", "spec.parallelism"],
      ...["succeeded", "startTime", "completionTime"].map((field) => `status.${field}`),
      ...podReads,
    ),
  };
}
