import t from "tap";
import type { ConfigMap } from "../../../src/api/gen/core/v1.ts";
import { validateConfigMap, validateConfigMapUpdate } from "../../../src/kinds/core/configmap.ts";
import { context, type Json, lines, make, texts } from "../build.ts";

const map = (more: Json): ConfigMap => make("ConfigMap", { metadata: { name: "m" }, ...more });

const frozen = "Forbidden: field is immutable when `immutable` is set";

t.test("validateConfigMap() checks keys and sizes", (t) => {
  const long = "k".repeat(254);
  const rows: [why: string, object: Json, expected: string[]][] = [
    ["values", { data: { a: "", "b.c-D_1": "2" }, binaryData: { c: "AA==" } }, []],
    ["special keys", { data: { ["__proto__"]: "1", constructor: "2" } }, []],
    [
      "keys",
      { data: { "a b": "", "..": "" }, binaryData: { "": "", "..x": "" } },
      [
        `data[a b]: Invalid value: "a b": ${texts.configKey}`,
        "data[..]: Invalid value: \"..\": must not be '..'",
        `binaryData[]: Invalid value: "": ${texts.configKey}`,
        "binaryData[..x]: Invalid value: \"..x\": must not start with '..'",
      ],
    ],
    [
      "a long key",
      { data: { [long]: "" } },
      [`data[${long}]: Invalid value: "${long}": must be no more than 253 characters`],
    ],
    [
      "a key in both",
      { data: { k: "" }, binaryData: { k: "" } },
      ['data[k]: Invalid value: "k": duplicate of key present in binaryData'],
    ],
    ["just fits", { data: { k: "x".repeat(1048573) }, binaryData: { b: "AAAA" } }, []],
    [
      "one byte more",
      { data: { k: "x".repeat(1048574) }, binaryData: { b: "AAAA" } },
      [": Too long: must have at most 1048576 bytes"],
    ],
  ];
  for (const [why, object, expected] of rows) t.same(lines(validateConfigMap(map(object), context)), expected, why);
  t.end();
});

t.test("validateConfigMapUpdate() keeps immutable maps", (t) => {
  const fixed = { data: { a: "1" }, binaryData: { b: "AA==" }, immutable: true };
  const update = (now: Json, old: Json): string[] => lines(validateConfigMapUpdate(map(now), map(old), context));
  t.same(update({ data: { a: "2" } }, { data: { a: "1" } }), []);
  t.same(update(fixed, { data: { a: "1" } }), [], "it may become immutable");
  t.same(update({ ...fixed, data: { a: "2" } }, fixed), [`data: ${frozen}`]);
  t.same(update({ ...fixed, data: { a: "1", b: "1" }, binaryData: {} }, fixed), [
    `data: ${frozen}`,
    `binaryData: ${frozen}`,
  ]);
  t.same(update({ data: fixed.data, binaryData: fixed.binaryData, immutable: false }, fixed), [`immutable: ${frozen}`]);
  t.end();
});
