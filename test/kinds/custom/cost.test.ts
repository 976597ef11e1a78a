// What hostile schemas and objects cost: time in proportion to the object, whatever its author and the definition's wrote.
import t from "tap";
import { messageOf } from "../../../src/api/messages.ts";
import type { Value } from "../../../src/api/value.ts";
import { decode, isFault, parseText } from "../../../src/codec/engine/json.ts";
import { columnsOf } from "../../../src/kinds/custom/columns.ts";
import { mergeTypeOf } from "../../../src/kinds/custom/mergetype.ts";
import { compileSchemas, settleAndValidate } from "../../../src/kinds/custom/schema.ts";
import { structuralFaults } from "../../../src/kinds/custom/structural.ts";
import { excessOf, leastCostOf } from "../../support/cost.ts";
import { compiled, documentOf, identity, type Json, lines, schemaOf, schemaOfText, withField } from "./build.ts";

const open = { "x-kubernetes-preserve-unknown-fields": true };
const text = { type: "string" };
const pair = (of: Json): Json => ({ type: "object", properties: { b: of, c: of } });

/** Schemas of the field `spec.a`, and values of about so many characters for it. */
const cases: readonly (readonly [name: string, schema: Json, value: (size: number) => string])[] = [
  [
    "a wide object",
    { type: "object", additionalProperties: text },
    (n) => object(n / 12, (index) => `"k${index}":"x"`),
  ],
  ["unknown fields", pair(text), (n) => object(n / 12, (index) => `"k${index}":1`)],
  ["a wide list", { type: "array", items: pair(text) }, (n) => list(n / 16, () => '{"b":"x","z":1}')],
  ["a long text", { ...text, pattern: "^(a|ab)*c$" }, (n) => `"${"ab".repeat(n / 2)}"`],
  ["what a long text begins with", { ...text, pattern: "(a+)+$" }, (n) => `"${"a".repeat(n)}!"`],
  [
    "a set of texts",
    { type: "array", "x-kubernetes-list-type": "set", items: text },
    (n) => list(n / 10, (index) => `"x${index}"`),
  ],
  [
    "a set of one text",
    { type: "array", "x-kubernetes-list-type": "set", items: text },
    (n) => list(n / 4, () => '"x"'),
  ],
  [
    "a map of many keys",
    { type: "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["b", "c"], items: pair(text) },
    (n) => list(n / 20, (index) => `{"b":"x${index}","c":"y"}`),
  ],
  ["wrong items", { type: "array", items: { type: "integer" } }, (n) => list(n / 4, () => '"x"')],
  [
    "wrong values",
    { type: "object", additionalProperties: { type: "integer" } },
    (n) => object(n / 12, (index) => `"k${index}":"x"`),
  ],
  ["an enum of objects", { ...open, enum: [{ a: 1 }] }, (n) => object(n / 12, (index) => `"k${index}":1`)],
  [
    "defaults in items",
    { type: "array", items: { type: "object", properties: { b: { ...text, default: "x" } } } },
    (n) => list(n / 3, () => "{}"),
  ],
  [
    "schemas in turn",
    { type: "array", items: { ...pair(text), oneOf: many(20, (index) => ({ required: [`k${index}`] })) } },
    (n) => list(n / 10, () => '{"b":"x"}'),
  ],
  [
    "deep lists where there are none",
    text,
    (n) => "[".repeat(Math.min(n / 2, 9000)) + "]".repeat(Math.min(n / 2, 9000)),
  ],
  [
    "deep lists in an open field",
    { ...open, enum: [1] },
    (n) => "[".repeat(Math.min(n / 2, 9000)) + "]".repeat(Math.min(n / 2, 9000)),
  ],
];

function object(count: number, entry: (index: number) => string): string {
  return `{${many(count, entry).join()}}`;
}

function list(count: number, item: (index: number) => string): string {
  return `[${many(count, item).join()}]`;
}

function many<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: Math.ceil(count) }, (_, index) => make(index));
}

t.test("a walk costs what the object's size costs", async (t) => {
  for (const [name, schema, value] of cases) {
    const plan = withField(schema);
    const make = (size: number) => documentOf(`{"spec":{"a":${value(size)}}}`);
    const excess = await excessOf(make, (document) => settleAndValidate(plan, document), 4 * 1024, 512 * 1024);
    t.equal(excess, undefined, `${name}: ${JSON.stringify(excess)}`);
  }
});

t.test("an object of 1 MiB is walked in 1.5 s at most, and ordinary ones in 200 ms", async (t) => {
  for (const [name, schema, value] of cases) {
    const plan = withField(schema);
    const document = documentOf(`{"spec":{"a":${value(1024 * 1024)}}}`);
    const ms = await leastCostOf(1500, () => settleAndValidate(plan, document));
    t.ok(ms <= 1500, `${name}: ${ms} ms`);
  }
  const plan = withField({ type: "array", items: pair({ ...text, pattern: "^[a-z]+$", maxLength: 20 }) });
  const document = documentOf(`{"spec":{"a":${list(1024 * 32, () => '{"b":"some","c":"text"}')}}}`);
  const ms = await leastCostOf(400, () => settleAndValidate(plan, document));
  t.ok(ms <= 400, `${ms} ms`);
});

t.test("what costs too much is refused, and not done", async (t) => {
  const parts = many(200, (index) => ({ properties: { b: { pattern: `^[a-z]{${index},}$` } } }));
  const dear = withField({ type: "array", items: { ...pair(text), allOf: parts } });
  const document = documentOf(`{"spec":{"a":${list(20_000, () => `{"b":"${"x".repeat(50)}"}`)}}}`);
  const ms = await leastCostOf(6_000, () => {
    const { values } = settleAndValidate(dear, document);
    t.match(lines(values).at(-1), /takes too many steps/);
  });
  t.ok(ms <= 6_000, `${ms} ms`);
  const bomb = withField({
    type: "array",
    items: { type: "object", properties: { b: { type: "array", items: text, default: many(2000, () => "x") } } },
  });
  const seeds = documentOf(`{"spec":{"a":${list(100_000, () => "{}")}}}`);
  t.match(settleAndValidate(bomb, seeds).misfit?.text, /takes too many steps/);
});

t.test("definitions cost what their size costs", async (t) => {
  const shapes: readonly (readonly [name: string, make: (count: number) => Json])[] = [
    ["wide", (count) => ({ type: "object", properties: Object.fromEntries(many(count, (i) => [`p${i}`, text])) })],
    [
      "deep",
      (count) =>
        many(Math.min(count, 150), () => 0).reduce<Json>(
          (inner) => ({ type: "object", properties: { a: inner } }),
          text,
        ),
    ],
    [
      "alike",
      (count) => ({ type: "object", properties: Object.fromEntries(many(count, (i) => [`p${i}`, pair(pair(text))])) }),
    ],
    [
      "patterns",
      (count) => ({
        type: "object",
        properties: Object.fromEntries(many(count, (i) => [`p${i}`, { ...text, pattern: `^a${i}{1,9}$` }])),
      }),
    ],
  ];
  for (const [name, make] of shapes) {
    const excess = await excessOf(
      (size) => schemaOf(make(size / 32)),
      (schema) => {
        structuralFaults(schema, "schema");
        const [plan] = compileSchemas([schema], identity);
        if (plan !== undefined) mergeTypeOf(plan.root);
      },
      4 * 1024,
      256 * 1024,
    );
    t.equal(excess, undefined, `${name}: ${JSON.stringify(excess)}`);
  }
});

t.test("equal subtrees are one, and a large definition is compiled in milliseconds", async (t) => {
  const twin = compiled({
    type: "object",
    properties: { a: pair(text), b: { ...pair(text), description: "x" }, c: pair(pair(text)) },
  });
  t.equal(twin.root.properties?.get("a"), twin.root.properties?.get("b"));
  t.equal(twin.root.properties?.get("c")?.properties?.get("b"), twin.root.properties?.get("a"));
  const fields = many(900, (index) => [`field${index}`, index % 9 === 0 ? pair({ ...text, maxLength: index }) : text]);
  const json = JSON.stringify({ type: "object", properties: Object.fromEntries(fields) });
  const document = parseText(json) as Value;
  const schema = decode(messageOf("apiextensions/v1.JSONSchemaProps"), document);
  if (isFault(schema)) throw new Error(schema.message);
  const ms = await leastCostOf(8, () => compileSchemas([schema], identity), 10);
  t.ok(ms <= 8, `${json.length} characters: ${ms} ms`);
});

t.test("schemas as deep as definitions may nest, and objects beyond, are walked", (t) => {
  const levels = 480;
  const wraps: readonly (readonly [wrap: (inner: string) => string, value: (inner: string) => string])[] = [
    [(inner) => `{"type":"object","properties":{"b":${inner}}}`, (inner) => `{"b":${inner}}`],
    [(inner) => `{"type":"array","items":${inner}}`, (inner) => `[${inner}]`],
    [(inner) => `{"x-kubernetes-preserve-unknown-fields":true,"not":${inner}}`, (inner) => inner],
  ];
  for (const [wrap, value] of wraps) {
    let [schema, given] = ['{"type":"string","minLength":2}', "[".repeat(9_000) + "]".repeat(9_000)];
    for (let level = 0; level < levels; level += 1) [schema, given] = [wrap(schema), value(given)];
    const typed = schemaOfText(`{"type":"object","properties":{"a":${schema}}}`);
    structuralFaults(typed, "schema");
    const [plan] = compileSchemas([typed], identity);
    t.ok(plan);
    if (plan === undefined) continue;
    mergeTypeOf(plan.root);
    settleAndValidate(plan, documentOf(`{"a":${given}}`));
  }
  t.end();
});

t.test("a path that asks for everything many times over finds nothing", async (t) => {
  const document = documentOf(`{"spec":${list(2_000, () => '{"b":[{"c":[1]}]}')}}`);
  const [, column] = columnsOf([{ name: "x", type: "string", jsonPath: ".spec..b..c..*..b..*" }]).columns;
  const [, union] = columnsOf([
    { name: "x", type: "string", jsonPath: `.spec${"[0,0]".repeat(1)}${"['b','b'][*]".repeat(40)}` },
  ]).columns;
  const ms = await leastCostOf(500, () => {
    column?.cell(document, () => 0);
    union?.cell(document, () => 0);
  });
  t.ok(ms <= 500, `${ms} ms`);
});
