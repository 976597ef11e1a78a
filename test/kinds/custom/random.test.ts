// Random structural schemas and objects against a slow validator that reads the schema anew for every value, and random
// definitions of any shape, which must never throw.
import fc from "fast-check";
import t from "tap";
import { NumberText, type Value } from "../../../src/api/value.ts";
import { writeValue } from "../../../src/codec/engine/json.ts";
import { checkDefaults } from "../../../src/kinds/custom/defaults.ts";
import { mergeTypeOf } from "../../../src/kinds/custom/mergetype.ts";
import { compileSchemas, settle, settleAndValidate, settleStored, validate } from "../../../src/kinds/custom/schema.ts";
import { structuralFaults } from "../../../src/kinds/custom/structural.ts";
import { canonicalText, copyValue } from "../../../src/kinds/custom/texts.ts";
import { checkType } from "../../../src/merge/typed.ts";
import { compiled, documentOf, identity, type Json, lines, schemaOf, withField } from "./build.ts";

const names = fc.constantFrom("a", "b", "c", "__proto__", "x.y");
const texts = fc.constantFrom("", "a", "ab", "abc", "\u65e5\u{1f600}", "10.0.0.1", "2020-02-30", "2020-02-29");
const numbers = fc.constantFrom(0, 1, 2, 3, -1, 1.5, 0.25, 1e21);

const values = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    texts,
    numbers,
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(names, tie("value"), { maxKeys: 3 }),
  ),
})).value;

const narrowing = fc.record(
  {
    minLength: fc.nat(2),
    maxLength: fc.nat(2),
    pattern: fc.constantFrom("^a", "b$", "^[a-c]*$"),
    minimum: fc.nat(2),
    maximum: fc.nat(2),
    exclusiveMinimum: fc.boolean(),
    exclusiveMaximum: fc.boolean(),
    multipleOf: fc.constantFrom(1, 2, 3, 0.5),
    minItems: fc.nat(2),
    maxItems: fc.nat(2),
    minProperties: fc.nat(2),
    maxProperties: fc.nat(2),
    required: fc.array(names, { maxLength: 2 }),
    enum: fc.array(values, { minLength: 1, maxLength: 3 }),
  },
  { requiredKeys: [] },
);

const schemas = fc.letrec<{ schema: Json; own: Json; part: Json }>((tie) => ({
  part: fc.tuple(narrowing, fc.option(tie("own"), { freq: 5, nil: undefined })).map(([part, of]) => {
    const { properties } = of ?? {};
    const inner = Object.entries((properties ?? {}) as Record<string, Json>).map(([name, { type: _type, ...rest }]) => [
      name,
      bare(rest),
    ]);
    return inner.length === 0 ? part : { ...part, properties: Object.fromEntries(inner) };
  }),
  own: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<Json>({ type: "string" }, { type: "integer" }, { type: "number" }, { type: "boolean" }),
    fc.constantFrom("ipv4", "date", "int32", "unheard-of").map((format): Json => ({ type: "string", format })),
    fc.constant<Json>({ "x-kubernetes-int-or-string": true }),
    fc.constant<Json>({ "x-kubernetes-preserve-unknown-fields": true }),
    tie("schema").map((items): Json => ({ type: "array", items })),
    tie("schema").map((additionalProperties): Json => ({ type: "object", additionalProperties })),
    fc.tuple(fc.dictionary(names, tie("schema"), { maxKeys: 3 }), fc.boolean()).map(([properties, open]): Json => {
      const more = open ? { "x-kubernetes-preserve-unknown-fields": true } : {};
      return { type: "object", ...(Object.keys(properties).length > 0 ? { properties } : {}), ...more };
    }),
  ),
  schema: fc
    .tuple(tie("own"), fc.option(narrowing, { freq: 3, nil: undefined }), fc.boolean(), junctorsOf(tie("part")))
    .map(([own, narrow, nullable, junctors]) => ({
      ...own,
      ...narrow,
      ...(nullable ? { nullable } : {}),
      ...junctors,
    })),
})).schema;

function junctorsOf(part: fc.Arbitrary<Json>): fc.Arbitrary<Json> {
  const parts = fc.array(part, { minLength: 1, maxLength: 2 });
  return fc.oneof(
    { weight: 5, arbitrary: fc.constant<Json>({}) },
    { weight: 1, arbitrary: parts.map((anyOf): Json => ({ anyOf })) },
    { weight: 1, arbitrary: parts.map((oneOf): Json => ({ oneOf })) },
    { weight: 1, arbitrary: parts.map((allOf): Json => ({ allOf })) },
    { weight: 1, arbitrary: part.map((not): Json => ({ not })) },
  );
}

/** Without what only declarations may say. */
function bare(schema: Json): Json {
  const { items: _items, additionalProperties: _of, nullable: _null, properties: _properties, ...rest } = schema;
  return Object.fromEntries(Object.entries(rest).filter(([name]) => !name.startsWith("x-")));
}

/** Whether a value holds by a schema, said as plainly as it can be. */
function holds(schema: Json, value: Value): boolean {
  if (value === null) {
    const isTyped = schema["type"] !== undefined || schema["x-kubernetes-int-or-string"] === true;
    return (!isTyped || schema["nullable"] === true) && schema["enum"] === undefined;
  }
  const list = (name: string): Json[] => (schema[name] ?? []) as Json[];
  const bound = (name: string, otherwise: number): number => Number(schema[name] ?? otherwise);
  const within = (size: number, what: string): boolean =>
    size >= bound(`min${what}`, 0) && size <= bound(`max${what}`, Number.POSITIVE_INFINITY);
  if (!isOfType(schema, value)) return false;
  if (schema["enum"] !== undefined) {
    const text = canonicalText(value, false);
    const listed = list("enum").map((item) => canonicalText(valueOfJson(item), false));
    if (!listed.some((item) => item === text && item !== "null")) return false;
  }
  if (list("anyOf").length > 0 && !list("anyOf").some((part) => holds(part, value))) return false;
  if (list("oneOf").length > 0 && list("oneOf").filter((part) => holds(part, value)).length !== 1) return false;
  if (!list("allOf").every((part) => holds(part, value))) return false;
  if (schema["not"] !== undefined && holds(schema["not"] as Json, value)) return false;
  if (typeof value === "string") {
    if (schema["type"] === "string" && formats.get(String(schema["format"]))?.(value) === false) return false;
    const pattern = schema["pattern"] as string | undefined;
    return within([...value].length, "Length") && (pattern === undefined || new RegExp(pattern, "u").test(value));
  }
  if (Array.isArray(value)) {
    const items = schema["items"] as Json | undefined;
    return within(value.length, "Items") && (items === undefined || value.every((item) => holds(items, item)));
  }
  if (value instanceof Map) {
    if (!within(value.size, "Properties")) return false;
    if (!((schema["required"] ?? []) as string[]).every((name) => value.has(name))) return false;
    const properties = new Map(Object.entries((schema["properties"] ?? {}) as Record<string, Json>));
    const others = schema["additionalProperties"] as Json | undefined;
    return [...value].every(([key, item]) => {
      const inner = properties.get(key) ?? others;
      return inner === undefined || holds(inner, item);
    });
  }
  if (typeof value === "boolean") return true;
  const number = value instanceof NumberText ? Number(value.text) : Number(value);
  const [least, most] = [bound("minimum", Number.NEGATIVE_INFINITY), bound("maximum", Number.POSITIVE_INFINITY)];
  if (schema["exclusiveMinimum"] === true ? number <= least : number < least) return false;
  if (schema["exclusiveMaximum"] === true ? number >= most : number > most) return false;
  return schema["multipleOf"] === undefined || Number.isInteger(number / Number(schema["multipleOf"]));
}

function isOfType(schema: Json, value: Value): boolean {
  const isInteger = typeof value === "number" || typeof value === "bigint";
  const isNumber = isInteger || value instanceof NumberText;
  if (schema["x-kubernetes-int-or-string"] === true) return typeof value === "string" || isInteger;
  switch (schema["type"]) {
    case "integer":
      return isInteger;
    case "number":
      return isNumber;
    case "array":
      return Array.isArray(value);
    case "object":
      return value instanceof Map;
    case undefined:
      return true;
    default:
      // Upstream takes lists for texts where there is a format it knows.
      if (Array.isArray(value) && formats.has(String(schema["format"]))) return true;
      return typeof value === schema["type"];
  }
}

/** Some formats, said plainly. */
const formats: ReadonlyMap<string, (text: string) => boolean> = new Map<string, (text: string) => boolean>([
  ["ipv4", (text) => text === "10.0.0.1"],
  ["date", (text) => text === "2020-02-29"],
]);

function valueOfJson(json: unknown): Value {
  return documentOf(JSON.stringify({ v: json })).get("v") as Value;
}

/** Without what a schema does not know, as plainly as it can be said. */
function pruned(schema: Json | undefined, value: Value, open: boolean): Value {
  if (Array.isArray(value)) {
    const items = schema?.["items"] as Json | undefined;
    if (items === undefined && open) return value;
    return value.map((item) => pruned(items, item, open || isOpen(items)));
  }
  if (!(value instanceof Map)) return value;
  const kept = new Map<string, Value>();
  const properties = new Map(Object.entries((schema?.["properties"] ?? {}) as Record<string, Json>));
  for (const [key, item] of value) {
    const inner = properties.get(key) ?? (schema?.["additionalProperties"] as Json | undefined);
    if (inner === undefined) {
      if (open) kept.set(key, item);
    } else if (item !== null || inner["nullable"] === true || inner["default"] !== undefined)
      kept.set(key, pruned(inner, item, isOpen(inner)));
  }
  return kept;
}

function isOpen(schema: Json | undefined): boolean {
  return schema?.["x-kubernetes-preserve-unknown-fields"] === true;
}

function copyOf<T extends Value>(value: T): T {
  return copyValue(value, () => undefined) as T;
}

/** An assertion that costs nothing where it holds. */
function same(found: unknown, wanted: unknown, about: string): void {
  const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (a !== b) throw new Error(`${about}: ${a} is not ${b}`);
}

t.test("objects are pruned and validated as a slow validator says", (t) => {
  let [valid, all] = [0, 0];
  fc.assert(
    fc.property(schemas, values, (schema, value) => {
      const whole = { type: "object", properties: { spec: schema } };
      const plan = compiled(whole);
      const object = documentOf(JSON.stringify({ spec: value }));
      const expected = pruned(whole, copyOf(object), false);
      const twice = settleAndValidate(plan, copyOf(object));
      settle(plan, object);
      const about = `${JSON.stringify(schema)} ${writeValue(object)}`;
      same(canonicalText(object, false), canonicalText(expected, false), about);
      const { values: faults } = validate(plan, object);
      const isValid = holds(whole, object);
      same(faults.length === 0, isValid, `${about}: ${lines(faults).join("; ")}`);
      same(lines(twice.values), lines(faults), about);
      all += 1;
      if (isValid) valid += 1;
    }),
    { numRuns: 600, seed: 7 },
  );
  t.ok(valid > all / 20 && valid < all, `${valid} of ${all} are valid`);
  t.end();
});

t.test("defaults are filled in as a slow look fills them in", (t) => {
  const scalar = fc.constantFrom<unknown>("x", 7, true);
  const declared = fc.letrec<{ schema: Json }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.tuple(fc.option(scalar, { nil: undefined }), fc.boolean()).map(([value, nullable]): Json => {
        const own = { "x-kubernetes-preserve-unknown-fields": true, nullable };
        return value === undefined ? own : { ...own, default: value };
      }),
      fc.tuple(fc.dictionary(names, tie("schema"), { maxKeys: 3 }), fc.boolean()).map(([properties, fills]): Json => {
        const own = { type: "object", ...(Object.keys(properties).length > 0 ? { properties } : {}) };
        return fills ? { ...own, default: {} } : own;
      }),
      tie("schema").map((items): Json => ({ type: "array", items })),
      tie("schema").map((additionalProperties): Json => ({ type: "object", additionalProperties })),
    ),
  })).schema;
  const filled = (schema: Json, value: Value): Value => {
    const given = value === null && schema["nullable"] !== true ? schema["default"] : undefined;
    const known = given === undefined ? value : valueOfJson(given);
    if (Array.isArray(known)) {
      const items = schema["items"] as Json | undefined;
      return items === undefined ? known : known.map((item) => filled(items, item));
    }
    if (!(known instanceof Map)) return known;
    const out = new Map(known);
    const properties = new Map(Object.entries((schema["properties"] ?? {}) as Record<string, Json>));
    for (const [name, property] of properties) {
      if (property["default"] !== undefined && !out.has(name)) out.set(name, valueOfJson(property["default"]));
    }
    for (const [key, item] of out) {
      const inner = properties.get(key) ?? (schema["additionalProperties"] as Json | undefined);
      if (inner !== undefined) out.set(key, filled(inner, item));
    }
    return out;
  };
  fc.assert(
    fc.property(declared, values, (schema, value) => {
      const whole = { type: "object", properties: { spec: schema } };
      const object = documentOf(JSON.stringify({ spec: value }));
      const expected = filled(whole, pruned(whole, copyOf(object), false));
      settle(compiled(whole), object);
      same(
        canonicalText(object, false),
        canonicalText(expected, false),
        `${JSON.stringify(schema)} ${JSON.stringify(value)}`,
      );
    }),
    { numRuns: 400, seed: 13 },
  );
  t.pass("all of them");
  t.end();
});

t.test("duplicates in sets and maps are found as a slow look finds them", (t) => {
  const item = fc.constantFrom<unknown>("a", "b", 1, 2, true);
  const pair = fc.record({ a: fc.constantFrom("x", "y"), b: fc.nat(2), c: item }, { requiredKeys: ["a"] });
  const open = { "x-kubernetes-preserve-unknown-fields": true };
  const set = withField({ type: "array", "x-kubernetes-list-type": "set", items: open });
  const map = withField({
    type: "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["a", "b"],
    items: { type: "object", properties: { a: { type: "string" }, b: { type: "integer" }, c: open } },
  });
  const twice = (list: readonly unknown[]): string[] => {
    const keys = list.map((each) => JSON.stringify(each));
    return keys.flatMap((key, at) =>
      keys.slice(0, at).filter((one) => one === key).length === 1 ? `spec.a[${at}]` : [],
    );
  };
  const check = (schema: typeof set, list: readonly unknown[], keys: readonly unknown[]): void => {
    const found = settleAndValidate(schema, documentOf(JSON.stringify({ spec: { a: list } })));
    same([found.values, found.shapes.map(({ field }) => field)], [[], twice(keys)], JSON.stringify(list));
  };
  const lists = [fc.array(item, { maxLength: 8 }), fc.array(pair, { maxLength: 8 })] as const;
  fc.assert(
    fc.property(...lists, (items, pairs) => {
      check(set, items, items);
      check(
        map,
        pairs,
        pairs.map(({ a, b }) => [a, b]),
      );
    }),
    { numRuns: 300, seed: 17 },
  );
  t.pass("all of them");
  t.end();
});

const keywords = {
  type: fc.constantFrom("object", "array", "string", "integer", "null", "foo"),
  default: values,
  enum: fc.array(values, { maxLength: 2 }),
  pattern: fc.constantFrom("^a", "", "[a-z]+"),
  format: fc.constantFrom("date", "email", "x"),
  multipleOf: fc.constantFrom(0, -1, 0.5, 3),
  minimum: fc.constantFrom(-1e300, 0, 1e300),
  "x-kubernetes-list-type": fc.constantFrom("set", "map", "bag"),
  "x-kubernetes-list-map-keys": fc.array(fc.constantFrom("a", "b"), { maxLength: 2 }),
  "x-kubernetes-embedded-resource": fc.boolean(),
  "x-kubernetes-preserve-unknown-fields": fc.boolean(),
  "x-kubernetes-int-or-string": fc.boolean(),
};

/** Anything a client might put where a schema belongs. */
const anything = fc.letrec<{ schema: Json; part: Json }>((tie) => ({
  part: fc.oneof({ maxDepth: 3, withCrossShrink: true }, fc.record(keywords, { requiredKeys: [] }), tie("schema")),
  schema: fc
    .tuple(
      fc.record(keywords, { requiredKeys: [] }),
      fc.constantFrom("properties", "items", "additionalProperties", "anyOf", "not"),
      tie("part"),
      tie("part"),
      fc.constantFrom("a", "metadata", "kind", "__proto__"),
    )
    .map(([own, keyword, part, other, name]): Json => {
      if (keyword === "properties") return { ...own, properties: { [name]: part, b: other } };
      return { ...own, [keyword]: keyword === "anyOf" ? [part, other] : part };
    }),
})).schema;

t.test("no definition and no object makes anything throw", (t) => {
  fc.assert(
    fc.property(anything, values, (schema, value) => {
      const typed = schemaOf(schema);
      structuralFaults(typed, "schema");
      checkDefaults(typed, "schema", identity, () => true);
      const [plan] = compileSchemas([typed], identity);
      if (plan === undefined) return;
      const document = documentOf(JSON.stringify({ a: value, metadata: value, kind: "K" }));
      settleStored(plan, copyOf(document));
      checkType(mergeTypeOf(plan.root), document);
      settleAndValidate(plan, document);
    }),
    { numRuns: 600, seed: 11 },
  );
  t.pass("nothing was thrown");
  t.end();
});
