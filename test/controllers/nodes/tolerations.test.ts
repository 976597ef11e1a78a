// How long pods stay under taints of the effect NoExecute.
import t from "tap";
import { stayMs } from "../../../src/controllers/nodes/tolerations.ts";

const effect = "NoExecute";
const [a, b] = [
  { key: "a", value: "1", effect },
  { key: "b", effect },
];
const forEver = Number.POSITIVE_INFINITY;

t.test("stayMs() is that of the toleration that ends first, and 0 when a taint is not tolerated", (t) => {
  const cases: readonly [name: string, ...Parameters<typeof stayMs>, ms: number][] = [
    ["no taint", [], [], forEver],
    ["no toleration", [a], undefined, 0],
    ["another key", [a], [{ key: "b", operator: "Exists" }], 0],
    ["another value", [a], [{ key: "a", value: "2", effect }], 0],
    ["another effect", [a], [{ key: "a", operator: "Exists", effect: "NoSchedule" }], 0],
    ["the same value", [a], [{ key: "a", value: "1" }], forEver],
    ["any value", [a], [{ key: "a", operator: "Exists", effect }], forEver],
    ["everything", [a, b], [{ operator: "Exists" }], forEver],
    ["an unknown operator", [a], [{ key: "a", operator: "In", value: "1" }], 0],
    ["for a time", [a], [{ key: "a", operator: "Exists", tolerationSeconds: 3 }], 3_000],
    [
      "for a long time",
      [a],
      [{ key: "a", operator: "Exists", tolerationSeconds: 9_007_199_254_740_993n }],
      9.007199254740992e18,
    ],
    ["for no time", [a], [{ key: "a", operator: "Exists", tolerationSeconds: -1 }], 0],
    ["one of two", [a, b], [{ key: "a", operator: "Exists" }], 0],
    [
      "the shorter of two",
      [a, b],
      [
        { key: "a", operator: "Exists", tolerationSeconds: 9 },
        { key: "b", operator: "Exists", tolerationSeconds: 4 },
      ],
      4_000,
    ],
    [
      "the first of two for one taint",
      [a],
      [
        { key: "a", operator: "Exists", tolerationSeconds: 9 },
        { key: "a", operator: "Exists", tolerationSeconds: 4 },
      ],
      9_000,
    ],
  ];
  for (const [name, taints, tolerations, ms] of cases) t.equal(stayMs(taints, tolerations), ms, name);
  t.end();
});
