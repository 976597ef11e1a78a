import t from "tap";
import { eachRuled } from "../../../src/kinds/custom/expressions.ts";
import {
  integerAt,
  scalePaths,
  setAt,
  Unreadable,
  validateScalePaths,
  valueAt,
} from "../../../src/kinds/custom/scalepaths.ts";
import { stringFormat } from "../../../src/kinds/custom/stringformats.ts";
import { structuralFaults } from "../../../src/kinds/custom/structural.ts";
import { canonicalText } from "../../../src/kinds/custom/texts.ts";
import { compiled, documentOf, type Json, lines, schemaOf } from "./build.ts";

t.test("stringFormat() knows formats, dashes or not, and no others", (t) => {
  const rows: readonly (readonly [format: string, good: readonly string[], bad: readonly string[]])[] = [
    ["bsonobjectid", ["5f5b5e5a5f5b5e5a5f5b5e5a"], ["5f5b", "zf5b5e5a5f5b5e5a5f5b5e5a"]],
    [
      "uri",
      ["http://a.b/c?d#e", "/a", "*", "mailto:x", "http://u:p@[::1]:80/%20"],
      ["", "a/b", "http://a b", "http://a/%zz", "1:/"],
    ],
    ["email", ["a@b", "A B <a@b.c>", '"x y"@b.c', "a@b (it is (so))"], ["a", "@b", "a@", "a..b@c", "a@b>", "a@b (x"]],
    ["hostname", ["a.b.com", "localhost", "a-b.cd"], ["a..b", "x_y.com", "foo-.com", "a.1", `${"a".repeat(64)}.com`]],
    ["ipv4", ["1.2.3.4", "01.2.3.4"], ["1.2.3", "::1"]],
    ["ipv6", ["::1", "fe80::1"], ["1.2.3.4", "1::2::3"]],
    ["cidr", ["1.2.3.0/24", "::/0"], ["1.2.3.4", "1.2.3.4/33"]],
    ["mac", ["01:23:45:67:89:ab", "01-23-45-67-89-ab", "0123.4567.89ab"], ["01:23:45:67:89", "01:23-45:67:89:ab"]],
    ["uuid", ["f47ac10b-58cc-4372-a567-0e02b2c3d479", "F47AC10B58CC4372A5670E02B2C3D479"], ["f47ac10b"]],
    ["uuid3", ["f47ac10b-58cc-3372-a567-0e02b2c3d479"], ["f47ac10b-58cc-4372-a567-0e02b2c3d479"]],
    ["uuid4", ["f47ac10b-58cc-4372-a567-0e02b2c3d479"], ["f47ac10b-58cc-4372-c567-0e02b2c3d479"]],
    ["uuid5", ["f47ac10b-58cc-5372-a567-0e02b2c3d479"], ["f47ac10b-58cc-4372-a567-0e02b2c3d479"]],
    ["isbn", ["0321751043", "978-0321751041"], ["0321751044", "978"]],
    ["isbn10", ["0-8044-2957-X"], ["978-0321751041"]],
    ["isbn13", ["978-0321751041"], ["978-0321751042"]],
    ["creditcard", ["4111-1111-1111-1111", "378282246310005"], ["4111-1111-1111-1112", "1"]],
    ["ssn", ["123-45-6789", "123 45 6789"], ["123456789", "12-345-6789"]],
    ["hexcolor", ["#FFF", "abcdef"], ["#FFFF", "ggg"]],
    ["rgbcolor", ["rgb(1,2,255)", "rgb( 0 , 10,0)"], ["rgb(256,1,1)", "rgb(01,1,1)", "rgb(1,2)"]],
    ["byte", ["YWJj", "YQ=="], ["", "YQ", "Y===", "YW-j"]],
    ["password", ["", "x"], []],
    ["date", ["2020-02-29", "2000-02-29"], ["2021-02-29", "1900-02-29", "2020-1-1", "2020-13-01"]],
    ["duration", ["1h", "22 ns", "1 day", "3 weeks", "-1.5s"], ["", "5", "5 x", "day"]],
    ["date-time", ["2020-01-01T00:00:00Z", "2020-01-01t00:00:00.1+01:00"], ["2020-01-01", "2020-01-01T24:00:00Z"]],
  ];
  for (const [name, good, bad] of rows) {
    const format = stringFormat(name);
    for (const text of good) t.equal(format?.test(text), true, `${name} ${text}`);
    for (const text of bad) t.equal(format?.test(text), false, `${name} ${text}`);
    t.equal(name === "password" || format?.test("a".repeat(100_001)) === false, true);
  }
  t.match(stringFormat("uu-id"), { name: "uu-id" });
  for (const name of ["int32", "int64", "double", "quantity", "", "constructor"])
    t.equal(stringFormat(name), undefined);
  t.end();
});

t.test("structuralFaults() tells what declares nothing, and what is declared nowhere", (t) => {
  const text = { type: "string" };
  const rows: readonly (readonly [schema: Json, ...faults: string[]])[] = [
    [{ type: "object", properties: { a: text }, anyOf: [{ properties: { a: { minLength: 1 } } }] }],
    [{ type: "object", properties: { a: { ...text, allOf: [{ minLength: 1 }] } } }],
    [{}, "s.type: Required value: must not be empty at the root"],
    [{ type: "string" }, 's.type: Invalid value: "string": must be object at the root'],
    [{ type: "object", additionalProperties: text }, "s.additionalProperties: Forbidden: must not be used at the root"],
    [
      { type: "object", properties: { a: {}, b: { type: "array" }, c: { type: "array", items: {} } } },
      "s.properties[a].type: Required value: must not be empty for specified object fields",
      "s.properties[b].items: Required value: must be specified",
      "s.properties[c].items.type: Required value: must not be empty for specified array items",
    ],
    [
      {
        type: "object",
        not: { type: "object", description: "x", title: "y", nullable: true, default: 1, additionalProperties: true },
      },
      "s.not.additionalProperties: Forbidden: must be undefined to be structural",
      "s.not.default: Forbidden: must be undefined to be structural",
      "s.not.description: Forbidden: must be empty to be structural",
      "s.not.nullable: Forbidden: must be false to be structural",
      "s.not.title: Forbidden: must be empty to be structural",
      "s.not.type: Forbidden: must be empty to be structural",
    ],
    [
      { type: "object", oneOf: [{ properties: { a: {}, metadata: {} } }] },
      "s.oneOf[0].properties[metadata]: Forbidden: must not be specified in a nested context",
      "s.properties[a]: Required value: because it is defined in s.oneOf[0].properties[a]",
      "s.properties[metadata]: Required value: because it is defined in s.oneOf[0].properties[metadata]",
    ],
    [
      { type: "object", properties: { kind: { type: "integer" }, metadata: { type: "string" } } },
      's.properties[kind].type: Invalid value: "integer": must be string',
      's.properties[metadata].type: Invalid value: "string": must be object',
    ],
    [
      { type: "object", properties: { metadata: { type: "object", properties: { labels: { type: "object" } } } } },
      "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified",
    ],
    [
      { type: "object", properties: { a: { type: "object", "x-kubernetes-embedded-resource": true } } },
      "s.properties[a].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
    ],
  ];
  for (const [schema, ...expected] of rows) {
    t.strictSame(lines(structuralFaults(schemaOf(schema), "s")), expected, JSON.stringify(schema));
  }
  t.end();
});

t.test("paths of a scale lead through objects to integers and texts", (t) => {
  const paths = scalePaths({
    specReplicasPath: ".spec.n",
    statusReplicasPath: ".status.n",
    labelSelectorPath: ".status.s",
  });
  const faults = (text: string, statusOnly = false) => lines(validateScalePaths(documentOf(text), paths, statusOnly));
  t.strictSame(faults('{"spec":{"n":3},"status":{"n":0,"s":"a=b"}}'), []);
  t.strictSame(faults("{}"), []);
  t.strictSame(faults('{"spec":{"n":-1},"status":{"n":2147483648,"s":5}}'), [
    ".spec.n: Invalid value: -1: should be a non-negative integer",
    ".status.n: Invalid value: 2147483648: should be less than or equal to 2147483647",
    '.status.s: Invalid value: "": .status.s accessor error: 5 is of the type int64, expected string',
  ]);
  t.strictSame(faults('{"spec":"x"}', true), []);
  t.strictSame(faults('{"spec":{"n":1.5},"status":"x"}'), [
    ".spec.n: Invalid value: 0: .spec.n accessor error: 1.5 is of the type float64, expected int64",
    ".status.n: Invalid value: 0: .status.n accessor error: x is of the type string, expected map[string]interface{}",
    '.status.s: Invalid value: "": .status.s accessor error: x is of the type string, expected map[string]interface{}',
  ]);
  const object = documentOf('{"spec":{"n":1,"x":2}}');
  t.equal(integerAt(object, paths.specReplicas), 1);
  t.equal(setAt(object, paths.specReplicas, 4), true);
  t.equal(setAt(object, paths.statusReplicas, 5), true);
  t.equal(setAt(object, ["spec", "x", "y"], 5), false);
  t.equal(canonicalText(object, false), '{"spec":{"n":4,"x":2},"status":{"n":5}}');
  t.ok(valueAt(object, ["spec", "n", "o"]) instanceof Unreadable);
  t.end();
});

t.test("eachRuled() finds values with rules, and what each replaces", (t) => {
  const rule = (text: string): Json => ({ "x-kubernetes-validations": [{ rule: text, message: "no" }] });
  const item = {
    type: "object",
    properties: { k: { type: "string" }, v: { type: "integer", ...rule("v") } },
    ...rule("item"),
  };
  const schema = compiled({
    type: "object",
    ...rule("root"),
    properties: {
      spec: {
        type: "object",
        properties: {
          list: { type: "array", items: item },
          map: { type: "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], items: item },
          keys: { type: "object", additionalProperties: { type: "integer", ...rule("key") } },
          none: { type: "string" },
        },
      },
    },
  });
  const object = documentOf('{"spec":{"list":[{"v":1}],"map":[{"k":"b","v":2},{"k":"a","v":3}],"keys":{"x":1,"y":2}}}');
  const old = documentOf('{"spec":{"list":[{"v":9}],"map":[{"k":"a","v":8}],"keys":{"y":7}}}');
  const found: string[] = [];
  eachRuled(schema.root, object, old, ({ path, rules, old: before }) => {
    found.push(`${path()} ${rules[0]?.rule} ${before === undefined ? "-" : canonicalText(before, false)}`);
    return false;
  });
  t.strictSame(found, [
    `<nil> root ${canonicalText(old, false)}`,
    "spec.list[0] item -",
    "spec.list[0].v v -",
    "spec.map[0] item -",
    "spec.map[0].v v -",
    'spec.map[1] item {"k":"a","v":8}',
    "spec.map[1].v v 8",
    "spec.keys[x] key -",
    "spec.keys[y] key 7",
  ]);
  let visits = 0;
  eachRuled(schema.root, object, old, () => ++visits === 3);
  t.equal(visits, 3, "the visitor ends it");
  eachRuled(compiled({ type: "object" }).root, object, old, () => t.fail("there are no rules"));
  t.end();
});
