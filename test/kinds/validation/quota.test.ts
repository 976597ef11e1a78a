import t from "tap";
import type { LimitRange, ResourceQuota } from "../../../src/api/gen/core/v1.ts";
import { validateLimitRange, validateLimitRangeUpdate } from "../../../src/kinds/core/limitrange.ts";
import {
  validateResourceQuota,
  validateResourceQuotaStatusUpdate,
  validateResourceQuotaUpdate,
} from "../../../src/kinds/core/validation/resourcequota.ts";
import { context, type Json, lines, make, texts } from "./build.ts";

const quota = (spec: Json, status: Json = {}): ResourceQuota =>
  make("ResourceQuota", { metadata: { name: "q" }, spec, status });
const range = (...limits: Json[]): LimitRange => make("LimitRange", { metadata: { name: "l" }, spec: { limits } });
const scopes = (...list: string[]): string => `[]core.ResourceQuotaScope{${list.map((s) => `"${s}"`).join(", ")}}`;
const quantity = (value: number, scale: number, text: string): string =>
  `resource.Quantity{i:resource.int64Amount{value:${value}, scale:${scale}}, d:resource.infDecAmount{Dec:(*inf.Dec)(nil)}, s:"${text}", Format:"DecimalSI"}`;

t.test("validateResourceQuota() checks names, amounts and scopes", (t) => {
  const path = "spec.scopeSelector.matchExpressions";
  const selected = (...matchExpressions: Json[]): Json => ({ scopeSelector: { matchExpressions } });
  const rows: [why: string, spec: Json, expected: string[]][] = [
    [
      "a quota",
      { hard: { cpu: "1", pods: "5", "requests.a.b/gpu": "1", "count/x.y": "1" }, scopes: ["NotTerminating"] },
      [],
    ],
    [
      "names",
      { hard: { storage: "1", x: "1" } },
      [
        'spec.hard[storage]: Invalid value: "storage": must be a standard resource for quota',
        'spec.hard[x]: Invalid value: "x": must be a standard resource type or fully qualified',
        'spec.hard[x]: Invalid value: "x": must be a standard resource for quota',
      ],
    ],
    [
      "amounts",
      { hard: { cpu: "-1", pods: "1500m" } },
      [
        `spec.hard[cpu]: Invalid value: "-1": ${texts.nonNegative}`,
        `spec.hard[pods]: Invalid value: ${quantity(1500, -3, "1500m")}: must be an integer`,
      ],
    ],
    ["scopes", { scopes: ["X"] }, [`spec.scopes: Invalid value: ${scopes("X")}: unsupported scope`]],
    [
      "scopes of others",
      { hard: { cpu: "1", services: "1" }, scopes: ["BestEffort"] },
      Array<string>(2).fill(
        `spec.scopes: Invalid value: ${scopes("BestEffort")}: unsupported scope applied to resource`,
      ),
    ],
    [
      "scopes at odds",
      { scopes: ["Terminating", "NotTerminating"] },
      [`spec.scopes: Invalid value: ${scopes("Terminating", "NotTerminating")}: conflicting scopes`],
    ],
    ["selected", selected({ scopeName: "PriorityClass", operator: "In", values: ["high"] }), []],
    [
      "selected badly",
      selected(
        { scopeName: "X", operator: "Y" },
        { scopeName: "BestEffort", operator: "In" },
        { scopeName: "PriorityClass", operator: "Exists", values: ["a"] },
      ),
      [
        `${path}.scopeName: Invalid value: "X": unsupported scope`,
        `${path}.operator: Invalid value: "Y": not a valid selector operator`,
        `${path}.operator: Invalid value: "In": must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity`,
        `${path}.values: Required value: must be at least one value when \`operator\` is 'In' or 'NotIn' for scope selector`,
        `${path}.values: Invalid value: []string{"a"}: must be no value when \`operator\` is 'Exist' or 'DoesNotExist' for scope selector`,
      ],
    ],
  ];
  for (const [why, spec, expected] of rows) t.same(lines(validateResourceQuota(quota(spec), context)), expected, why);
  t.end();
});

t.test("validateResourceQuotaUpdate() keeps the scopes", (t) => {
  const update = (now: Json, old: Json): string[] =>
    lines(validateResourceQuotaUpdate(quota(now), quota(old), context));
  t.same(update({ hard: { pods: "2" } }, { hard: { pods: "1" } }), []);
  t.same(
    update({ scopes: ["Terminating", "BestEffort"] }, { scopes: ["BestEffort", "Terminating"] }),
    [],
    "in any order",
  );
  t.same(update({ scopes: ["BestEffort"] }, {}), [
    `spec.scopes: Invalid value: ${scopes("BestEffort")}: field is immutable`,
  ]);
  t.same(
    lines(validateResourceQuotaStatusUpdate(quota({}, { hard: { x: "1" }, used: { cpu: "-1" } }), quota({}), context)),
    [
      'status.hard[x]: Invalid value: "x": must be a standard resource type or fully qualified',
      'status.hard[x]: Invalid value: "x": must be a standard resource for quota',
      `status.used[cpu]: Invalid value: "-1": ${texts.nonNegative}`,
    ],
  );
  t.end();
});

t.test("validateLimitRange() checks types and bounds", (t) => {
  const at = "spec.limits[0]";
  const odd = "must be a standard limit type or fully qualified";
  const rows: [why: string, limits: Json[], expected: string[]][] = [
    [
      "a range",
      [
        {
          type: "Container",
          min: { cpu: "100m" },
          max: { cpu: "2" },
          default: { cpu: "1" },
          defaultRequest: { cpu: "500m" },
          maxLimitRequestRatio: { cpu: "4" },
        },
      ],
      [],
    ],
    [
      "types",
      [{ type: "X" }, { type: "X" }, { type: "a.b/c" }],
      [
        `${at}.type: Invalid value: "X": ${odd}`,
        `spec.limits[1].type: Invalid value: "X": ${odd}`,
        'spec.limits[1].type: Duplicate value: "X"',
      ],
    ],
    [
      "names",
      [{ type: "Container", max: { storage: "1" } }],
      ["max", "default", "defaultRequest"].map(
        (f) => `${at}.${f}[storage]: Invalid value: "storage": must be a standard resource for containers`,
      ),
    ],
    [
      "defaults of pods",
      [{ type: "Pod", default: { cpu: "1" }, defaultRequest: { cpu: "1" } }],
      [
        `${at}.default: Forbidden: may not be specified when \`type\` is 'Pod'`,
        `${at}.defaultRequest: Forbidden: may not be specified when \`type\` is 'Pod'`,
      ],
    ],
    [
      "claims",
      [{ type: "PersistentVolumeClaim" }],
      [`${at}.limits: Required value: either minimum or maximum storage value is required, but neither was provided`],
    ],
    [
      "min over max",
      [{ type: "Pod", min: { cpu: "2" }, max: { cpu: "1" } }],
      [`${at}.min[cpu]: Invalid value: ${quantity(2, 0, "2")}: min value 2 is greater than max value 1`],
    ],
    [
      "defaults under min",
      [{ type: "Container", min: { cpu: "2" }, default: { cpu: "1" }, defaultRequest: { cpu: "1" } }],
      [
        `${at}.defaultRequest[cpu]: Invalid value: ${quantity(1, 0, "1")}: min value 2 is greater than default request value 1`,
        `${at}.default[cpu]: Invalid value: ${quantity(2, 0, "2")}: min value 2 is greater than default value 1`,
      ],
    ],
    [
      "defaults over max",
      [{ type: "Container", max: { cpu: "1" }, default: { cpu: "2" }, defaultRequest: { cpu: "3" } }],
      [
        `${at}.defaultRequest[cpu]: Invalid value: ${quantity(3, 0, "3")}: default request value 3 is greater than max value 1`,
        `${at}.defaultRequest[cpu]: Invalid value: ${quantity(3, 0, "3")}: default request value 3 is greater than default limit value 2`,
        `${at}.default[cpu]: Invalid value: ${quantity(1, 0, "1")}: default value 2 is greater than max value 1`,
      ],
    ],
    [
      "a ratio below one",
      [{ type: "Container", maxLimitRequestRatio: { cpu: "500m" } }],
      [`${at}.maxLimitRequestRatio[cpu]: Invalid value: ${quantity(500, -3, "500m")}: ratio 500m is less than 1`],
    ],
    [
      "a ratio out of bounds",
      [{ type: "Container", min: { cpu: "1" }, max: { cpu: "2" }, maxLimitRequestRatio: { cpu: "3" } }],
      [
        `${at}.maxLimitRequestRatio[cpu]: Invalid value: ${quantity(3, 0, "3")}: ratio 3 is greater than max/min = 2.000000`,
      ],
    ],
    [
      "what cannot be overcommitted",
      [{ type: "Container", default: { "a.b/c": "2" }, defaultRequest: { "a.b/c": "1" } }],
      [
        `${at}.defaultRequest[a.b/c]: Invalid value: ${quantity(1, 0, "1")}: default value 2 must equal to defaultRequest value 1 in a.b/c`,
      ],
    ],
  ];
  for (const [why, limits, expected] of rows) {
    t.same(lines(validateLimitRange(range(...limits), context)), expected, why);
    t.same(lines(validateLimitRangeUpdate(range(...limits), range(), context)), expected, `${why}, changed`);
  }
  t.end();
});
