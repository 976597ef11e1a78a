import t, { type Test } from "tap";
import type { Job } from "../../../../src/api/gen/batch/v1.ts";
import { validateJob, validateJobStatusUpdate, validateJobUpdate } from "../../../../src/kinds/batch/validation/job.ts";
import { type Json, lines, podSpec, texts } from "../../build.ts";
import { context, job, jobTemplate } from "../jobs.ts";

const goLabels = 'map[string]string{"controller-uid":"u", "job-name":"j"}';

type Row = readonly [why: string, object: Job, expected: readonly string[]];

function check(t: Test, rows: readonly Row[]): void {
  for (const [why, object, expected] of rows) t.same(lines(validateJob(object, context)), expected, why);
}

t.test("validateJob() checks counts, completions and pods", (t) => {
  const long = "x".repeat(62);
  check(t, [
    ["a job", job(), []],
    [
      "counts",
      job({
        parallelism: -1,
        completions: -2,
        activeDeadlineSeconds: -3,
        backoffLimit: -4,
        ttlSecondsAfterFinished: -5,
      }),
      [
        `spec.parallelism: Invalid value: -1: ${texts.nonNegative}`,
        `spec.completions: Invalid value: -2: ${texts.nonNegative}`,
        `spec.activeDeadlineSeconds: Invalid value: -3: ${texts.nonNegative}`,
        `spec.backoffLimit: Invalid value: -4: ${texts.nonNegative}`,
        `spec.ttlSecondsAfterFinished: Invalid value: -5: ${texts.nonNegative}`,
      ],
    ],
    [
      "mode",
      job({ completionMode: "X" }),
      ['spec.completionMode: Unsupported value: "X": supported values: "NonIndexed", "Indexed"'],
    ],
    [
      "indexed",
      job({ completionMode: "Indexed", parallelism: 100001 }),
      [
        "spec.completions: Required value: when completion mode is Indexed",
        "spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when completion mode is Indexed",
      ],
    ],
    [
      "a long name of indexed pods",
      job({ completionMode: "Indexed", completions: 2, manualSelector: true }, { name: long }),
      [`metadata.name: Invalid value: "${long}": will not able to create pod with invalid DNS label: ${long}-1`],
    ],
    [
      "pods that stay",
      job({ template: jobTemplate({ restartPolicy: "Always" }) }),
      ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
    ],
    [
      "tracking",
      job({}, { annotations: { "batch.kubernetes.io/job-tracking": "" } }),
      ["metadata.annotations[batch.kubernetes.io/job-tracking]: Forbidden: cannot add this annotation"],
    ],
  ]);
  t.end();
});

t.test("validateJob() checks the selector", (t) => {
  const other =
    'v1.LabelSelector{MatchLabels:map[string]string{"a":"b"}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}';
  const mismatch = `spec.template.metadata.labels: Invalid value: ${goLabels}: \`selector\` does not match template \`labels\``;
  check(t, [
    [
      "none given by hand",
      job({ manualSelector: true, selector: undefined }),
      ["spec.selector: Required value", mismatch],
    ],
    [
      "one of one's own",
      job({ selector: { matchLabels: { a: "b" } } }),
      [`spec.selector: Invalid value: ${other}: \`selector\` not auto-generated`, mismatch],
    ],
    [
      "labels that are not the job's",
      job({ template: { metadata: { labels: { "controller-uid": "x" } }, spec: podSpec({ restartPolicy: "Never" }) } }),
      [
        'spec.template.metadata.labels[controller-uid]: Invalid value: map[string]string{"controller-uid":"x"}: must be \'u\'',
        "spec.template.metadata.labels[job-name]: Required value: must be 'j'",
        'spec.template.metadata.labels: Invalid value: map[string]string{"controller-uid":"x"}: `selector` does not match template `labels`',
      ],
    ],
  ]);
  t.end();
});

t.test("validateJobUpdate() keeps completions, selector and template", (t) => {
  const node = {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchExpressions: [{ key: "a", operator: "Exists" }] }],
    },
  };
  const near = { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "k" }] };
  const placed = (affinity: Json, more: Json = {}): Json => ({ template: jobTemplate({ affinity, ...more }) });
  const suspended = { suspend: true };
  const rows: [why: string, now: Job, old: Job, expected: (string | RegExp)[]][] = [
    ["parallelism", job({ parallelism: 5, completions: 1 }), job(), []],
    [
      "completions",
      job({ completions: 5 }),
      job({ completions: 1 }),
      ["spec.completions: Invalid value: 5: field is immutable"],
    ],
    [
      "mode",
      job({ completionMode: "Indexed", completions: 1 }),
      job({ completions: 1 }),
      ['spec.completionMode: Invalid value: "Indexed": field is immutable'],
    ],
    [
      "template",
      job({ template: jobTemplate({ hostname: "h" }) }),
      job(),
      [/^spec.template: Invalid value: .*: field is immutable$/],
    ],
    [
      "placing of a suspended one",
      job({ ...suspended, ...placed({ nodeAffinity: node }, { nodeSelector: { a: "b" } }) }),
      job(suspended),
      [],
    ],
    ["placing taken back", job(suspended), job({ ...suspended, ...placed({ nodeAffinity: node }) }), []],
    [
      "placing of one that ran",
      job({ ...suspended, ...placed({ nodeAffinity: node }) }),
      job(suspended, {}, { startTime: "2026-01-01T00:00:00Z" }),
      [/^spec.template: .*: field is immutable$/],
    ],
    [
      "placing by other pods",
      job({ ...suspended, ...placed({ podAffinity: near }) }),
      job(suspended),
      [/^spec.template: .*: field is immutable$/],
    ],
    [
      "dropping it",
      job(suspended),
      job({ ...suspended, ...placed({ podAffinity: near, nodeAffinity: node }) }),
      [/^spec.template: .*: field is immutable$/],
    ],
    [
      "faults are there twice",
      job({ parallelism: -1, completions: 1 }),
      job(),
      Array<string>(2).fill(`spec.parallelism: Invalid value: -1: ${texts.nonNegative}`),
    ],
  ];
  for (const [why, now, old, expected] of rows) t.match(lines(validateJobUpdate(now, old, context)), expected, why);
  for (const [why, now, old, expected] of rows)
    t.equal(validateJobUpdate(now, old, context).length, expected.length, why);
  t.end();
});

t.test("validateJobStatusUpdate() counts pods", (t) => {
  const status = { active: -1, uncountedTerminatedPods: { succeeded: ["a", ""], failed: ["a"] } };
  t.same(lines(validateJobStatusUpdate(job({}, {}, status), job(), context)), [
    `status.active: Invalid value: -1: ${texts.nonNegative}`,
    'status.uncountedTerminatedPods.succeeded[1]: Invalid value: "": must not be empty',
    'status.uncountedTerminatedPods.failed[0]: Duplicate value: "a"',
  ]);
  t.end();
});
