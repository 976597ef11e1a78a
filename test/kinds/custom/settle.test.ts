import t from "tap";
import { settle, settleAndValidate, settleStored, validate } from "../../../src/kinds/custom/schema.ts";
import { canonicalText } from "../../../src/kinds/custom/texts.ts";
import { compiled, documentOf, type Json, lines, settledText, withField } from "./build.ts";

const open = { "x-kubernetes-preserve-unknown-fields": true };
const text = { type: "string" };

t.test("settle() drops what the schema does not know, and says where it stood", (t) => {
  const inner: Json = { type: "object", properties: { b: text } };
  const rows: readonly (readonly [schema: Json, value: string, settled: string, ...dropped: string[]])[] = [
    [inner, '{"b":"1","z":{"y":1}}', '{"b":"1"}', "spec.a.z"],
    [{ type: "array", items: inner }, '[{"z":1},{"b":"1","y":2}]', '[{},{"b":"1"}]', "spec.a[0].z", "spec.a[1].y"],
    [{ type: "object", additionalProperties: inner }, '{"k":{"z":1}}', '{"k":{}}', "spec.a.k.z"],
    [{ type: "object" }, '{"z":1}', "{}", "spec.a.z"],
    [open, '{"z":{"y":[{}]}}', '{"z":{"y":[{}]}}'],
    [{ ...inner, ...open }, '{"z":1,"b":"1"}', '{"b":"1","z":1}'],
    // What is declared within an open object is not open itself.
    [{ type: "object", properties: { c: inner }, ...open }, '{"z":1,"c":{"z":1}}', '{"c":{},"z":1}', "spec.a.c.z"],
    // But items of an open list are.
    [{ ...open, items: inner }, '[{"z":1}]', '[{"z":1}]'],
    // Anything goes, as far as it has no fields.
    [
      { type: "object", additionalProperties: true },
      '{"k":{"z":1},"l":[1,[{"y":1}]]}',
      '{"k":{},"l":[1,[{}]]}',
      "spec.a.k.z",
      "spec.a.l[1][0].y",
    ],
    [inner, '[[{"z":1}]]', "[[{}]]", "spec.a[0][0].z"],
    [text, '{"z":1}', "{}", "spec.a.z"],
    [{ "x-kubernetes-int-or-string": true }, '"5"', '"5"'],
  ];
  for (const [schema, value, expected, ...dropped] of rows) {
    const object = documentOf(`{"spec":{"a":${value}}}`);
    const { dropped: found } = settle(withField(schema), object);
    t.equal(canonicalText(object, false), `{"spec":{"a":${expected}}}`, JSON.stringify(schema));
    t.strictSame(found, dropped, JSON.stringify(schema));
  }
  const whole = compiled({ type: "object", properties: { metadata: { type: "object", properties: { name: text } } } });
  const root = '{"apiVersion":"v1","kind":"K","metadata":{"labels":{"a":"b"},"name":"n"},"z":1}';
  t.equal(settledText(whole, root), root.replace(',"z":1', ""), "metadata of the object itself is not the schema's");
  t.end();
});

t.test("settle() keeps unknown fields where the definition does", (t) => {
  const schema = { ...withField(text), prunes: false };
  const object = documentOf('{"spec":{"z":1,"a":null}}');
  t.strictSame(settle(schema, object).dropped, []);
  t.equal(canonicalText(object, false), '{"spec":{"a":null,"z":1}}');
  t.end();
});

t.test("settle() fills in defaults, in place of nulls too, and drops nulls that are none", (t) => {
  const spec: Json = {
    a: { type: "string", default: "da" },
    nul: { type: "string", nullable: true, default: "dn" },
    may: { type: "string", nullable: true },
    none: { type: "string" },
    in: { type: "object", properties: { b: { type: "integer", default: 0 } } },
    made: { type: "object", default: {}, properties: { b: { type: "string", default: "db" } } },
    list: { type: "array", items: { type: "object", properties: { d: { type: "string", default: "dd" } } } },
    items: { type: "array", items: { type: "string", default: "i" } },
    map: { type: "object", additionalProperties: { type: "string", default: "m" } },
    gone: { type: "object", additionalProperties: { type: "string" } },
  };
  const schema = compiled({ type: "object", properties: { spec: { type: "object", properties: spec } } });
  const made = '"made":{"b":"db"}';
  const rows: readonly (readonly [given: string, settled: string])[] = [
    ["{}", "{}"],
    ['{"spec":{}}', `{"spec":{"a":"da",${made},"nul":"dn"}}`],
    ['{"spec":{"a":null,"nul":null,"may":null,"none":null}}', `{"spec":{"a":"da",${made},"may":null,"nul":null}}`],
    [
      '{"spec":{"in":{},"list":[{},null]}}',
      `{"spec":{"a":"da","in":{"b":0},"list":[{"d":"dd"},null],${made},"nul":"dn"}}`,
    ],
    [
      '{"spec":{"items":[null,"x"],"map":{"k":null},"gone":{"k":null}}}',
      `{"spec":{"a":"da","gone":{},"items":["i","x"],${made},"map":{"k":"m"},"nul":"dn"}}`,
    ],
    ['{"spec":{"made":{"b":"x"}}}', '{"spec":{"a":"da","made":{"b":"x"},"nul":"dn"}}'],
  ];
  for (const [given, expected] of rows) t.equal(settledText(schema, given), expected, given);
  const first = documentOf('{"spec":{}}');
  settle(schema, first);
  (first.get("spec") as Map<string, Map<string, string>>).get("made")?.set("b", "changed");
  t.match(settledText(schema, '{"spec":{}}'), /"b":"db"/, "a default is a copy");
  t.end();
});

t.test("settleStored() drops what does not fit, where settle() refuses it", (t) => {
  const schema = withField({ type: "object", "x-kubernetes-embedded-resource": true, ...open });
  const given = '{"spec":{"a":{"apiVersion":5,"kind":"K","metadata":{"name":"n","labels":"x","zz":1},"x":1}}}';
  t.match(settle(schema, documentOf(given)).misfit, { field: "spec.a.apiVersion" });
  const object = documentOf(given);
  t.equal(settleStored(schema, object).misfit, undefined);
  t.equal(canonicalText(object, false), '{"spec":{"a":{"kind":"K","metadata":{"name":"n"},"x":1}}}');
  t.end();
});

t.test("defaults of older definitions are used without undeclared fields", (t) => {
  const schema = withField({ type: "object", properties: { b: text }, default: { b: "x", c: 1 } });
  t.equal(settledText(schema, '{"spec":{}}'), '{"spec":{"a":{"b":"x"}}}');
  t.end();
});

t.test("settleAndValidate() does both in one walk", (t) => {
  const schema = withField(
    { type: "object", properties: { b: { type: "string", default: "long", maxLength: 2 } } },
    { required: ["c"] },
  );
  const object = documentOf('{"spec":{"a":{"z":1}}}');
  const { dropped, values, shapes } = settleAndValidate(schema, object);
  t.strictSame(dropped, ["spec.a.z"]);
  t.strictSame(shapes, []);
  t.strictSame(lines(values), lines(validate(schema, object).values));
  t.equal(values.length, 2);
  t.end();
});

t.test("keys of clients are data", (t) => {
  const schema = compiled({ type: "object", properties: { spec: { type: "object", additionalProperties: text } } });
  t.equal(
    settledText(schema, '{"spec":{"__proto__":"x","constructor":"y"},"__proto__":{"a":1}}'),
    '{"spec":{"__proto__":"x","constructor":"y"}}',
  );
  t.end();
});
