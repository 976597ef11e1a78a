// CronJob: jobs that are started by a schedule.
import { type FieldError, invalid, notSupported, required } from "../../api/fielderror.ts";
import type { CronJob, CronJobSpec } from "../../api/gen/batch/v1.ts";
import type { Identity } from "../../api/identity.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import {
  ageColumn,
  type Columns,
  column,
  integer,
  nameColumn,
  none,
  reads,
  selector,
  since,
  templateColumns,
  templateReads,
  unset,
  wide,
} from "../columns.ts";
import { copyServiceAccount, settleTemplateFields } from "../core/podfields.ts";
import { type PodRules, podRules } from "../core/validation/pod/rules.ts";
import { strategyFor } from "../generic.ts";
import type { Strategy, StrategyContext } from "../strategy.ts";
import { checkChoice, checkNonNegative, type Errors } from "../validation/check.ts";
import { goLabelSelector } from "../validation/gostruct.ts";
import { rulesOfTemplate } from "../validation/replicas.ts";
import { templateWarnings } from "../workload.ts";
import { checkJobSpec } from "./validation/job.ts";
import { scheduleFault } from "./validation/schedule.ts";

/** Behaviour of cron jobs. */
export function cronJobBehaviour(resource: Resource, identity: Identity): OwnBehaviour {
  return {
    strategy: cronJobStrategy(resource, identity),
    columns: cronJobColumns(),
    metaRules: { update: [0, 1], parts: { status: [0, 0] } },
  };
}

/** Cron jobs; the old version leaves the jobs behind when it is deleted. */
function cronJobStrategy(resource: Resource, identity: Identity): Strategy<CronJob> {
  return strategyFor<CronJob>(resource, {
    counts: ["spec"],
    canonicalize: ({ spec }) => copyServiceAccount(spec.jobTemplate.spec.template.spec),
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

/** Columns of cron jobs. */
function cronJobColumns(): Columns<CronJob> {
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
    reads: reads(
      ...["spec.schedule", "spec.suspend", "status.active", "status.lastScheduleTime"],
      ...["spec.jobTemplate.spec.selector", ...templateReads("spec.jobTemplate.spec.template")],
    ),
  };
}

/** A job's name is the CronJob's with a hyphen and ten digits, and must be a label for its pods. */
const cronJobNameMax = 52;

/** Rules of a new CronJob. */
export function validateCronJob(object: CronJob, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  checkCronJobSpec(out, object.spec, podRules(context));
  const name = object.metadata.name ?? "";
  if (Buffer.byteLength(name) > cronJobNameMax) {
    out.push(invalid("metadata.name", name, `must be no more than ${cronJobNameMax} characters`));
  }
  return out;
}

/** Rules of a changed CronJob. */
export function validateCronJobUpdate(object: CronJob, old: CronJob, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  checkCronJobSpec(out, object.spec, rulesOfTemplate(context, old.spec.jobTemplate.spec.template));
  return out;
}

/** A changed status of a CronJob has no rules. */
export function validateCronJobStatusUpdate(_object: CronJob, _old: CronJob, _context: StrategyContext): FieldError[] {
  return [];
}

function checkCronJobSpec(out: Errors, spec: CronJobSpec, rules: PodRules): void {
  if (spec.schedule === "") out.push(required("spec.schedule"));
  else {
    const fault = scheduleFault(spec.schedule);
    if (fault !== undefined) out.push(invalid("spec.schedule", spec.schedule, fault));
  }
  checkNonNegative(out, "spec.startingDeadlineSeconds", spec.startingDeadlineSeconds);
  checkChoice(out, "spec.concurrencyPolicy", spec.concurrencyPolicy, ["Allow", "Forbid", "Replace"]);
  const path = "spec.jobTemplate.spec";
  const job = spec.jobTemplate.spec;
  checkJobSpec(out, path, job, rules);
  if (job.selector !== undefined) {
    out.push(invalid(`${path}.selector`, goLabelSelector(job.selector), "`selector` will be auto-generated"));
  }
  if (job.manualSelector === true) out.push(notSupported(`${path}.manualSelector`, true, ["nil", "false"]));
  checkNonNegative(out, "spec.successfulJobsHistoryLimit", spec.successfulJobsHistoryLimit);
  checkNonNegative(out, "spec.failedJobsHistoryLimit", spec.failedJobsHistoryLimit);
}
