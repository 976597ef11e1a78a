import t from "tap";
import type { CronJob } from "../../../src/api/gen/batch/v1.ts";
import {
  validateCronJob,
  validateCronJobStatusUpdate,
  validateCronJobUpdate,
} from "../../../src/kinds/batch/cronjob.ts";
import { type Json, lines, make, podSpec, texts } from "../build.ts";
import { context } from "./jobs.ts";

function cronJob(spec: Json = {}, job: Json = {}, name = "c"): CronJob {
  const jobSpec = { template: { spec: podSpec({ restartPolicy: "Never" }) }, ...job };
  return make(
    "CronJob",
    { metadata: { name }, spec: { schedule: "* * * * *", jobTemplate: { spec: jobSpec }, ...spec } },
    "batch",
  );
}

t.test("validateCronJob() checks schedule, policy and jobs", (t) => {
  const selector =
    'v1.LabelSelector{MatchLabels:map[string]string{"a":"b"}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}';
  const rows: [why: string, object: CronJob, expected: string[]][] = [
    ["a cron job", cronJob(), []],
    ["no schedule", cronJob({ schedule: "" }), ["spec.schedule: Required value"]],
    [
      "a bad schedule",
      cronJob({ schedule: "x" }),
      ['spec.schedule: Invalid value: "x": expected exactly 5 fields, found 1: [x]'],
    ],
    [
      "policy",
      cronJob({ concurrencyPolicy: "X" }),
      ['spec.concurrencyPolicy: Unsupported value: "X": supported values: "Allow", "Forbid", "Replace"'],
    ],
    [
      "counts",
      cronJob({ startingDeadlineSeconds: -1, successfulJobsHistoryLimit: -2, failedJobsHistoryLimit: -3 }),
      [
        `spec.startingDeadlineSeconds: Invalid value: -1: ${texts.nonNegative}`,
        `spec.successfulJobsHistoryLimit: Invalid value: -2: ${texts.nonNegative}`,
        `spec.failedJobsHistoryLimit: Invalid value: -3: ${texts.nonNegative}`,
      ],
    ],
    [
      "a selector",
      cronJob({}, { selector: { matchLabels: { a: "b" } }, manualSelector: true }),
      [
        `spec.jobTemplate.spec.selector: Invalid value: ${selector}: \`selector\` will be auto-generated`,
        'spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"',
      ],
    ],
    [
      "a long name",
      cronJob({}, {}, "c".repeat(53)),
      [`metadata.name: Invalid value: "${"c".repeat(53)}": must be no more than 52 characters`],
    ],
  ];
  for (const [why, object, expected] of rows) t.same(lines(validateCronJob(object, context)), expected, why);
  t.same(lines(validateCronJobUpdate(cronJob({}, {}, "c".repeat(53)), cronJob(), context)), [], "a long name may stay");
  t.same(validateCronJobStatusUpdate(cronJob(), cronJob(), context), []);
  t.end();
});
