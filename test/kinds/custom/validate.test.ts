import t, { type Test } from "tap";
import { settle, validate } from "../../../src/kinds/custom/schema.ts";
import { documentOf, faultsOf, type Json, lines, withField } from "./build.ts";

/** A schema of the field `spec.a`, its value as text, and what is wrong with it. */
type Row = readonly [schema: Json, value: string, ...faults: string[]];

function check(t: Test, rows: readonly Row[]): void {
  for (const [schema, value, ...expected] of rows) {
    const found = faultsOf(withField(schema), `{"spec":{"a":${value}}}`);
    t.strictSame(found, expected, `${JSON.stringify(schema)} ${value}`);
  }
  t.end();
}

const bad = (value: string, says: string): string => `spec.a: Invalid value: ${value}: spec.a in body ${says}`;
const type = (wanted: string, found: string): string => bad(`"${found}"`, `must be of type ${wanted}: "${found}"`);
const whole = (says: string): string => `<nil>: Invalid value: "": "spec.a" ${says}`;

t.test("validate() tells values of another type", (t) => {
  const nullable = { type: "string", nullable: true };
  check(t, [
    [{ type: "string" }, '"x"'],
    [{ type: "string" }, "5", type("string", "integer")],
    [{ type: "string" }, "1.5", type("string", "number")],
    [{ type: "string" }, "true", type("string", "boolean")],
    [{ type: "string" }, "[]", type("string", "array")],
    [{ type: "string" }, "{}", type("string", "object")],
    [nullable, "null"],
    [{ type: "integer" }, "2.0"],
    [{ type: "integer" }, "-3e2"],
    [{ type: "integer" }, "1.5", type("integer", "number")],
    [{ type: "integer" }, "9223372036854775807"],
    [{ type: "integer" }, "9223372036854775808", type("integer", "number")],
    [{ type: "integer" }, "1e20", type("integer", "number")],
    [{ type: "integer" }, '"5"', type("integer", "string")],
    [{ type: "number" }, "5"],
    [{ type: "number" }, "1e300"],
    [{ type: "boolean" }, '"true"', type("boolean", "string")],
    [{ type: "object", properties: { k: { type: "string" } } }, "[1]", type("object", "array")],
    [{ type: "array", items: { type: "string" } }, '{"a":1}', type("array", "object")],
    // Items have the path of their list, so that what is wrong with many of them is told once.
    [{ type: "array", items: { type: "string" } }, '["a",5,null,6]', type("string", "integer"), type("string", "null")],
    [{ "x-kubernetes-int-or-string": true }, "5"],
    [{ "x-kubernetes-int-or-string": true }, '"5%"'],
    [{ "x-kubernetes-int-or-string": true }, "1.5", type("integer,string", "number")],
    [{ "x-kubernetes-preserve-unknown-fields": true }, '{"x":[1,null]}'],
  ]);
});

t.test("validate() tells bounds of numbers, integers by integers", (t) => {
  check(t, [
    [{ type: "integer", minimum: 2 }, "2"],
    [{ type: "integer", minimum: 2 }, "1", bad("1", "should be greater than or equal to 2")],
    [{ type: "integer", maximum: 5 }, "6", bad("6", "should be less than or equal to 5")],
    // The bound of an integer is cut to one.
    [{ type: "integer", maximum: 2.5 }, "3", bad("3", "should be less than or equal to 2")],
    [{ type: "number", maximum: 2.5 }, "2.75", bad("2.75", "should be less than or equal to 2.5")],
    [{ type: "number", minimum: 0, exclusiveMinimum: true }, "0", bad("0", "should be greater than 0")],
    [{ type: "number", maximum: 1, exclusiveMaximum: true }, "1", bad("1", "should be less than 1")],
    [{ type: "number", maximum: 1 }, "123456789.5", bad("1.234567895e+08", "should be less than or equal to 1")],
    [{ type: "number", minimum: 1 }, "0.00001", bad("1e-05", "should be greater than or equal to 1")],
    [
      { type: "integer", maximum: 9007199254740992 },
      "9007199254740993",
      bad("9007199254740993", "should be less than or equal to 9007199254740992"),
    ],
    [{ type: "integer", multipleOf: 3 }, "-9"],
    [{ type: "integer", multipleOf: 3 }, "4", bad("4", "should be a multiple of 3")],
    [{ type: "number", multipleOf: 0.25 }, "1.75"],
    [{ type: "number", multipleOf: 0.25 }, "0.3", bad("0.3", "should be a multiple of 0.25")],
    [{ type: "number", multipleOf: 0.25 }, "2"],
    [
      { type: "integer", multipleOf: -2 },
      "4",
      "spec.a: Invalid value: -2: factor MultipleOf declared for spec.a must be positive: -2",
    ],
  ]);
});

t.test("validate() tells one fault of a text: lengths in characters, then the pattern", (t) => {
  check(t, [
    [{ type: "string", minLength: 2, maxLength: 3 }, '"\u65e5\u672c\u{1f600}"'],
    [{ type: "string", minLength: 2 }, '"\u{1f600}"', bad('"\u{1f600}"', "should be at least 2 chars long")],
    [{ type: "string", maxLength: 3, pattern: "^x" }, '"abcd"', bad('"abcd"', "should be at most 3 chars long")],
    [{ type: "string", pattern: "^[a-c]+$" }, '"abd"', bad('"abd"', "should match '^[a-c]+$'")],
    [{ type: "string", pattern: "b" }, '"abc"'],
    [{ type: "string", format: "date" }, '"2020-02-29"'],
    [{ type: "string", format: "date" }, '"2021-02-29"', bad('"2021-02-29"', 'must be of type date: "2021-02-29"')],
    [{ type: "string", format: "date-time" }, '"x"', bad('"x"', 'must be of type date-time: "x"')],
    [{ type: "string", format: "date-time" }, "7", bad('"int64"', 'must be of type date-time: "int64"')],
    [{ type: "string", format: "unheard-of" }, '"x"'],
    [{ type: "integer", format: "int32" }, "2147483648"],
  ]);
});

t.test("validate() tells values that are not listed; null never is", (t) => {
  const any = { "x-kubernetes-preserve-unknown-fields": true, nullable: true, enum: ["x", 1, { a: [1] }, null] };
  const supported = 'supported values: "x", "1", "{\\"a\\":[1]}", "null"';
  check(t, [
    [any, '"x"'],
    [any, "1.0"],
    [any, '{"a":[1]}'],
    [any, "2", `spec.a: Unsupported value: 2: ${supported}`],
    [any, '{"a":[2]}', `spec.a: Unsupported value: map[string]interface {}{"a":[]interface {}{2}}: ${supported}`],
    [any, "null", `spec.a: Unsupported value: "null": ${supported}`],
    [{ type: "integer", enum: [1, 2] }, "3", 'spec.a: Unsupported value: 3: supported values: "1", "2"'],
  ]);
});

t.test("validate() tells counts and what is missing", (t) => {
  const list = { type: "array", items: { type: "integer", maximum: 5 } };
  const map = { type: "object", additionalProperties: { type: "string" } };
  const object = {
    type: "object",
    properties: { b: { type: "integer" }, c: { type: "string" } },
    required: ["b", "c"],
  };
  const missing = (name: string): string => `spec.a.${name}: Required value`;
  check(t, [
    [{ ...list, minItems: 2 }, "[1]", bad("1", "should have at least 2 items")],
    [
      { ...list, maxItems: 1 },
      "[9,1]",
      bad("9", "should be less than or equal to 5"),
      bad("2", "should have at most 1 items"),
    ],
    [{ ...map, minProperties: 2 }, '{"x":5}', bad("2", "should have at least 2 properties")],
    [{ ...map, maxProperties: 0 }, '{"x":5}', bad("0", "should have at most 0 properties")],
    [map, '{"x":5}', 'spec.a.x: Invalid value: "integer": spec.a.x in body must be of type string: "integer"'],
    [object, "{}", missing("b"), missing("c")],
    [
      object,
      '{"b":"x"}',
      'spec.a.b: Invalid value: "string": spec.a.b in body must be of type integer: "string"',
      missing("c"),
    ],
    [object, '{"b":null,"c":"x"}', missing("b")],
    [
      { type: "object", additionalProperties: false },
      '{"k":1}',
      bad('"k"', "").replace("spec.a in body ", "spec.a.k in body is a forbidden property"),
    ],
  ]);
});

t.test("validate() tells which of several schemas holds, and the faults of the closest", (t) => {
  const properties = { x: { type: "string" }, y: { type: "string" }, n: { type: "integer" } };
  const of = (more: Json): Json => ({ type: "object", properties, ...more });
  const needs = (...required: string[]): Json => ({ required });
  const missing = (name: string): string => `spec.a.${name}: Required value`;
  check(t, [
    [of({ oneOf: [needs("x"), needs("y")] }), '{"x":"1"}'],
    [
      of({ oneOf: [needs("x"), needs("y")] }),
      "{}",
      whole("must validate one and only one schema (oneOf). Found none valid"),
      missing("x"),
    ],
    [
      of({ oneOf: [needs("x"), needs("y")] }),
      '{"x":"1","y":"2"}',
      whole("must validate one and only one schema (oneOf). Found 2 valid alternatives"),
    ],
    [of({ anyOf: [needs("x"), needs("y")] }), '{"x":"1","y":"2"}'],
    [of({ anyOf: [needs("x"), needs("y")] }), "{}", whole("must validate at least one schema (anyOf)"), missing("x")],
    // The one of which most holds: a property that is there and fine counts.
    [
      of({ anyOf: [needs("x"), { ...needs("y"), properties: { n: { minimum: 1 } } }] }),
      '{"n":2}',
      whole("must validate at least one schema (anyOf)"),
      missing("y"),
    ],
    [of({ allOf: [needs("x"), needs("n")] }), '{"n":2}', missing("x"), whole("must validate all the schemas (allOf)")],
    [
      of({ allOf: [needs("x"), needs("y")] }),
      '{"n":2}',
      missing("x"),
      missing("y"),
      whole("must validate all the schemas (allOf). None validated"),
    ],
    [of({ not: needs("x", "y") }), '{"x":"1"}'],
    [of({ not: needs("x", "y") }), '{"x":"1","y":"2"}', whole("must not validate the schema (not)")],
    [
      { type: "string", oneOf: [{ pattern: "^a" }, { pattern: "z$" }] },
      '"x"',
      whole("must validate one and only one schema (oneOf). Found none valid"),
      bad('"x"', "should match '^a'"),
    ],
    [
      { "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, { type: "string" }], pattern: "^[0-9]+%$" },
      '"abc"',
      bad('"abc"', "should match '^[0-9]+%$'"),
    ],
  ]);
});

t.test("validate() tells duplicates in sets and maps, each once", (t) => {
  const set = { type: "array", "x-kubernetes-list-type": "set" };
  const map = {
    type: "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k", "p"],
    items: {
      type: "object",
      properties: { k: { type: "string" }, p: { type: "integer", default: 1 } },
      required: ["k"],
    },
  };
  const twice = (at: number, value: string): string => `spec.a[${at}]: Duplicate value: ${value}`;
  check(t, [
    [{ ...set, items: { type: "string" } }, '["a","b","a","a"]', twice(2, '"a"')],
    [{ ...set, items: { type: "integer" } }, "[1,2,1]", twice(2, "1")],
    [{ ...set, items: { type: "number" } }, "[1,1.0]"],
    [
      {
        ...set,
        items: { type: "object", "x-kubernetes-map-type": "atomic", additionalProperties: { type: "string" } },
      },
      '[{"a":"1","b":"2"},{"b":"2","a":"1"}]',
      twice(1, 'map[string]interface {}{"a":"1", "b":"2"}'),
    ],
    [map, '[{"k":"a"},{"k":"a","p":2}]'],
    [map, '[{"k":"a"},{"k":"a","p":1}]', twice(1, 'map[string]interface {}{"k":"a", "p":1}')],
    [
      map,
      "[5]",
      'spec.a: Invalid value: "integer": spec.a in body must be of type object: "integer"',
      "spec.a[0]: Invalid value: 5: must be an object for an array of list-type map",
    ],
  ]);
});

t.test("validate() excuses duplicates that were there before", (t) => {
  const schema = withField({ type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } });
  const old = documentOf('{"spec":{"a":["x","x"]}}');
  const object = documentOf('{"spec":{"a":["x","x","y","y"]}}');
  t.strictSame(validate(schema, object, old).shapes, []);
  t.equal(validate(schema, object, documentOf('{"spec":{"a":["x"]}}')).shapes.length, 2);
  t.end();
});

t.test("embedded objects say what they are and have sound metadata", (t) => {
  const schema = withField({
    type: "object",
    "x-kubernetes-embedded-resource": true,
    "x-kubernetes-preserve-unknown-fields": true,
  });
  const of = (value: string): string[] => faultsOf(schema, `{"spec":{"a":${value}}}`);
  t.strictSame(of('{"apiVersion":"v1","kind":"K","metadata":{"name":"n"},"x":1}'), []);
  t.strictSame(of("{}"), [
    "spec.a.apiVersion: Required value: must not be empty",
    "spec.a.kind: Required value: must not be empty",
  ]);
  t.strictSame(of('{"apiVersion":"a/b/c","kind":""}'), [
    'spec.a.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
    'spec.a.kind: Invalid value: "": must not be empty',
  ]);
  t.match(of('{"apiVersion":"v1","kind":"a_b"}'), [/^spec.a.kind: .*may have mixed case, but should otherwise match/]);
  t.match(of('{"apiVersion":"v1","kind":"K","metadata":{"labels":{"#":"x"}}}'), [/^spec.a.metadata.labels: .*"#"/]);
  const misfit = (value: string) => {
    const object = documentOf(`{"spec":{"a":${value}}}`);
    const { misfit: found } = settle(schema, object);
    return found === undefined ? [] : lines([found]);
  };
  t.strictSame(misfit('{"apiVersion":5,"kind":"K"}'), ["spec.a.apiVersion: Invalid value: 5: must be a string"]);
  t.strictSame(misfit('{"apiVersion":"v1","kind":"K","metadata":{"labels":{"a":1}}}'), [
    'spec.a.metadata: Invalid value: map[string]interface {}{"labels":map[string]interface {}{"a":1}}: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string',
  ]);
  t.end();
});
