import t from "tap";
import { mergeTypeOf } from "../../../src/kinds/custom/mergetype.ts";
import type { CompiledSchema } from "../../../src/kinds/custom/schema.ts";
import { canonicalText } from "../../../src/kinds/custom/texts.ts";
import { FieldSet } from "../../../src/merge/fieldset.ts";
import { checkType, fieldSetOf, mergeTyped, TypeFault } from "../../../src/merge/typed.ts";
import { compiled, documentOf, type Json, withField } from "./build.ts";

const text = { type: "string" };
const open = { "x-kubernetes-preserve-unknown-fields": true };

/** The paths a value of `spec.a` owns. */
function owned(schema: CompiledSchema, value: string): string {
  const set = fieldSetOf(mergeTypeOf(schema.root), documentOf(`{"spec":{"a":${value}}}`));
  const within = set.under("f:spec")?.under("f:a") ?? new FieldSet();
  return canonicalText(documentOf(within.encode()), false);
}

t.test("mergeTypeOf() has lists and maps as a definition says", (t) => {
  const item: Json = {
    type: "object",
    properties: { k: text, p: { type: "integer", default: 1 }, v: text },
    required: ["k"],
  };
  const keyed: Json = {
    type: "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["p", "k"],
    items: item,
  };
  const rows: readonly (readonly [schema: Json, value: string, expected: string])[] = [
    [{ type: "array", items: text }, '["a"]', "{}"],
    [{ type: "array", "x-kubernetes-list-type": "set", items: text }, '["a"]', '{"v:\\"a\\"":{}}'],
    [keyed, '[{"k":"x","v":"y"}]', '{"k:{\\"k\\":\\"x\\",\\"p\\":1}":{".":{},"f:k":{},"f:v":{}}}'],
    [{ type: "object", properties: { b: text, c: text } }, '{"b":"1"}', '{"f:b":{}}'],
    [{ type: "object", "x-kubernetes-map-type": "atomic", properties: { b: text } }, '{"b":"1"}', "{}"],
    [{ type: "object", additionalProperties: text }, '{"b":"1"}', '{"f:b":{}}'],
    [open, '{"p":{"q":1},"l":[{"z":1}]}', '{"f:l":{},"f:p":{".":{},"f:q":{}}}'],
    [
      { type: "object", properties: { b: text }, ...open },
      '{"b":"1","z":{"y":1}}',
      '{"f:b":{},"f:z":{".":{},"f:y":{}}}',
    ],
    [
      { type: "object", "x-kubernetes-embedded-resource": true, ...open },
      '{"kind":"K","metadata":{"labels":{"a":"b"}}}',
      '{"f:kind":{},"f:metadata":{"f:labels":{"f:a":{}}}}',
    ],
    [{ "x-kubernetes-int-or-string": true }, "5", "{}"],
  ];
  for (const [schema, value, expected] of rows)
    t.equal(owned(withField(schema), value), expected, JSON.stringify(schema));
  t.end();
});

t.test("mergeTypeOf() knows what is declared, and the metadata of every object", (t) => {
  const type = mergeTypeOf(
    compiled({ type: "object", properties: { spec: { type: "object", properties: { a: text } } } }).root,
  );
  const fault = (value: string) => {
    const found = checkType(type, documentOf(value));
    return found instanceof TypeFault ? found.message : "";
  };
  t.equal(fault('{"apiVersion":"v1","kind":"K","metadata":{"labels":{"a":"b"}},"spec":{"a":"x"}}'), "");
  t.match(fault('{"spec":{"zz":1}}'), /\.spec\.zz: field not declared in schema/);
  t.match(fault('{"spec":{"a":1}}'), /expected string/);
  t.end();
});

t.test("what a schema leaves open is merged key by key, its lists as a whole", (t) => {
  const type = mergeTypeOf(withField(open).root);
  const merged = mergeTyped(
    type,
    documentOf('{"spec":{"a":{"p":{"q":1,"l":[1]},"x":1}}}'),
    documentOf('{"spec":{"a":{"p":{"r":2,"l":[2]},"x":{"y":1}}}}'),
  );
  t.equal(canonicalText(merged ?? null, false), '{"spec":{"a":{"p":{"l":[2],"q":1,"r":2},"x":{"y":1}}}}');
  t.end();
});
