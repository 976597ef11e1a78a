import t from "tap";
import { RawJson } from "../../../src/api/schema.ts";
import { changeText, equal } from "../../../src/kinds/validation/equal.ts";

t.test("equal() compares what values mean", (t) => {
  const rows: [why: string, type: string, a: object | undefined, b: object | undefined, expected: boolean][] = [
    ["nothing and nothing", "core/v1.Probe", undefined, undefined, true],
    ["nothing and something", "core/v1.Probe", undefined, {}, false],
    ["an absent and an empty list", "core/v1.Container", { command: [] }, {}, true],
    ["an absent and an empty map", "meta/v1.LabelSelector", { matchLabels: new Map() }, {}, true],
    ["an absent and a zero value", "core/v1.Container", { stdin: false, workingDir: "" }, {}, true],
    ["an absent and a zero pointer", "core/v1.PodSpec", { enableServiceLinks: false }, {}, false],
    ["lists in another order", "core/v1.Container", { command: ["a", "b"] }, { command: ["b", "a"] }, false],
    [
      "maps in another order",
      "meta/v1.LabelSelector",
      {
        matchLabels: new Map([
          ["a", "1"],
          ["b", "2"],
        ]),
      },
      {
        matchLabels: new Map([
          ["b", "2"],
          ["a", "1"],
        ]),
      },
      true,
    ],
    [
      "special keys",
      "meta/v1.LabelSelector",
      { matchLabels: new Map([["__proto__", "1"]]) },
      { matchLabels: new Map([["constructor", "1"]]) },
      false,
    ],
    [
      "amounts",
      "core/v1.ResourceRequirements",
      { limits: new Map([["a", "1024Mi"]]) },
      { limits: new Map([["a", "1Gi"]]) },
      true,
    ],
    [
      "other amounts",
      "core/v1.ResourceRequirements",
      { limits: new Map([["a", "1G"]]) },
      { limits: new Map([["a", "1Gi"]]) },
      false,
    ],
    ["inlined fields", "core/v1.Volume", { name: "v", emptyDir: {} }, { name: "v", hostPath: { path: "/" } }, false],
    ["raw JSON", "apps/v1.ControllerRevision", { data: new RawJson("1") }, { data: new RawJson("1") }, true],
    ["other raw JSON", "apps/v1.ControllerRevision", { data: new RawJson("1") }, { data: new RawJson("2") }, false],
  ];
  for (const [why, type, a, b, expected] of rows) {
    t.equal(equal(type, a, b), expected, why);
    t.equal(equal(type, b, a), expected, `${why}, the other way`);
  }
  t.end();
});

t.test("changeText() says what changed, the first ten fields", (t) => {
  const container = (more: object): object => ({ containers: [{ name: "c", resources: {}, ...more }] });
  t.equal(
    changeText("core/v1.PodSpec", "spec", container({ image: "a" }), container({ image: "b" })),
    '  spec.containers[0].image: "a" → "b"\n',
  );
  t.equal(
    changeText("core/v1.PodSpec", "spec", {}, container({})),
    '  spec.containers: unset → [{"name":"c","resources":{}}]\n',
  );
  const args = (count: number, value: string): object => ({
    containers: Array.from({ length: count }, () => ({ name: value, resources: {} })),
  });
  const lines = changeText("core/v1.PodSpec", "spec", args(13, "a"), args(13, "b")).trimEnd().split("\n");
  t.equal(lines.length, 11);
  t.equal(lines.at(-1), "  … and 3 more");
  t.match(
    changeText("core/v1.PodSpec", "spec", {}, { hostname: "h".repeat(500) }),
    /unset → "h{99}…\n$/,
    "long values are cut",
  );
  t.end();
});
