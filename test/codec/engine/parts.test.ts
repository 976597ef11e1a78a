// Parts of documents, read without the rest.
import t from "tap";
import type { Value } from "../../../src/api/value.ts";
import { parseText, writeValue } from "../../../src/codec/engine/json.ts";
import { type Parts, partsOf, readParts } from "../../../src/codec/engine/parts.ts";

/** What is to be read of a value, told from all of it. */
function cut(value: Value, parts: Parts | "all"): Value {
  if (parts === "all" || !(value instanceof Map)) return value;
  const found = new Map<string, Value>();
  for (const [key, inner] of value) {
    const part = parts.get(key);
    if (part !== undefined) found.set(key, cut(inner, part));
  }
  return found;
}

const document = {
  apiVersion: "example.com/v1",
  kind: "Widget",
  metadata: { name: 'a"b\\', labels: { "}": "{", metadata: "x" }, managedFields: [{ fieldsV1: { "f:a": {} } }] },
  spec: {
    "a.b": [1, 2.5, -3, true, null, { c: "]" }],
    empty: {},
    list: [],
    'odd"\\key': { deep: { er: [[{}]] } },
    text: "é\\u",
  },
  status: null,
};

const rows: readonly (readonly string[])[][] = [
  [["metadata", "name"]],
  [["metadata"], ["metadata", "name"]],
  [["metadata", "name"], ["metadata"]],
  [
    ["spec", "a.b"],
    ["spec", 'odd"\\key', "deep", "er"],
    ["status", "x"],
  ],
  [
    ["spec", "empty", "x"],
    ["spec", "list", "x"],
    ["spec", "text", "x"],
    ["nothing", "here"],
  ],
  [["kind"], ["status"]],
];

t.test("readParts() reads what paths lead to, and says where metadata ends", (t) => {
  const text = JSON.stringify(document);
  for (const paths of rows) {
    const parts = partsOf(paths);
    t.ok(parts);
    const read = parts && readParts(text, parts);
    t.equal(read && writeValue(read.document), writeValue(cut(parseText(text) as Value, parts ?? "all")));
    t.equal(text.slice(read?.metadataEnd).startsWith(',"spec":'), true);
  }
  t.equal(partsOf([["a"], []]), undefined, "a path without keys leads to all of it");
  t.equal(readParts('{"a":{}}', partsOf([["a", "b"]]) as Parts)?.metadataEnd, 0);
  t.end();
});

t.test("readParts() reads nothing of what our encoder does not write", (t) => {
  const parts = partsOf([["a", "b"]]) as Parts;
  for (const text of ["{", '{"a"}', '{"a":}', '{"a":{"b":1}', '{"a":1}x', '{"a" :1}', '{"c":[1}', '{"a":{"b":1]}']) {
    t.equal(readParts(text, parts), undefined, text);
  }
  t.end();
});
