import t from "tap";
import type { ResourceQuota } from "../../../../src/api/gen/core/v1.ts";
import {
  validateResourceQuota,
  validateResourceQuotaStatusUpdate,
  validateResourceQuotaUpdate,
} from "../../../../src/kinds/core/validation/resourcequota.ts";
import { context, type Json, lines, make, texts } from "../../build.ts";

const quota = (spec: Json, status: Json = {}): ResourceQuota =>
  make("ResourceQuota", { metadata: { name: "q" }, spec, status });

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
