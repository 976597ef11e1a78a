import t from "tap";
import type { LimitRange } from "../../../src/api/gen/core/v1.ts";
import { validateLimitRange, validateLimitRangeUpdate } from "../../../src/kinds/core/limitrange.ts";
import { context, type Json, lines, make } from "../build.ts";

const range = (...limits: Json[]): LimitRange => make("LimitRange", { metadata: { name: "l" }, spec: { limits } });

const quantity = (value: number, scale: number, text: string): string =>
  `resource.Quantity{i:resource.int64Amount{value:${value}, scale:${scale}}, d:resource.infDecAmount{Dec:(*inf.Dec)(nil)}, s:"${text}", Format:"DecimalSI"}`;

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
