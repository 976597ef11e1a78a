import t from "tap";
import { messageOf } from "../../../src/api/messages.ts";
import type { RawJson } from "../../../src/api/schema.ts";
import type { Value } from "../../../src/api/value.ts";
import { decode, Fault, parseText, writeValue } from "../../../src/codec/engine/json.ts";
import { endOfRaw, rawOf } from "../../../src/codec/json/remembered.ts";
import { limits } from "../../../src/config/limits.ts";
import { PatchFault } from "../../../src/merge/document.ts";
import { applyMergePatch } from "../../../src/merge/mergepatch.ts";

const around = (fields: string): string => `{"metadata":{"managedFields":[{"fieldsV1":${fields}}]}}`;

function at(value: Value | Fault, ...path: (string | number)[]): Value | undefined {
  let inner: Value | undefined = value instanceof Fault ? undefined : value;
  for (const step of path) {
    inner = inner instanceof Map ? inner.get(String(step)) : Array.isArray(inner) ? inner[Number(step)] : undefined;
  }
  return inner;
}

const fieldsOf = (value: Value | Fault): Value | undefined => at(value, "metadata", "managedFields", 0, "fieldsV1");

t.test("parseText() shares what compact raw JSON stands for", (t) => {
  const text = around('{"f:a":{".":{},"f:b":{}}}');
  const first = fieldsOf(parseText(text));
  t.ok(first instanceof Map);
  t.equal(fieldsOf(parseText(text)), first, "the same text is the same value");
  t.not(fieldsOf(parseText(around('{"f:a":{}}'))), first);
  const spaced = around('{"f:a": {".":{},"f:b":{}}}');
  t.not(fieldsOf(parseText(spaced)), first, "text that is not compact is not remembered");
  t.strictSame(fieldsOf(parseText(spaced)), first);
  t.equal(rawOf(first ?? null), rawOf(first ?? null), "its raw form is one, too");
  t.end();
});

t.test("parseText() reads raw JSON as any other JSON", (t) => {
  const cases = [
    "{}",
    '{"a":1.5}',
    '{"a":1,"a":2}',
    '{"a":"}\\"{"}',
    '{"a":"\\u007d\\\\"}',
    '{"a":[{}]}',
    '{"a":[}',
    '{"a":]}',
    '{"a"}',
    '{"a":{}',
    '{"a":"',
    '{"fieldsV1":{"b":[{"fieldsV1":{"c":[{"fieldsV1":{}}]}}]}}',
    `{"a":${"[".repeat(limits.rawCharsMax)}`,
    `{"a":"${"x".repeat(limits.rawCharsMax)}"}`,
    "1",
    "null",
    "[]",
  ];
  for (const fields of cases) {
    for (let time = 0; time < 2; time += 1) {
      // The same at a place where nothing is remembered.
      const plain = parseText(around(fields).replace("fieldsV1", "fieldsV2"));
      const raw = parseText(around(fields));
      const shown = fields.slice(0, 40);
      if (plain instanceof Fault || raw instanceof Fault) {
        t.equal((raw as Fault).message, (plain as Fault).message, shown);
      } else {
        t.equal(writeValue(raw), writeValue(plain).replace("fieldsV2", "fieldsV1"), shown);
      }
    }
  }
  t.end();
});

t.test("parseText() forgets what was not asked for longest", (t) => {
  const fields = (n: number): string => around(`{"f:${"x".repeat(1000)}${n}":{}}`);
  const first = fieldsOf(parseText(fields(0)));
  t.equal(fieldsOf(parseText(fields(0))), first);
  const count = Math.ceil(limits.rawRememberedCharsMax / 1000) + 1;
  for (let n = 1; n <= count; n += 1) parseText(fields(n));
  t.not(fieldsOf(parseText(fields(0))), first);
  t.end();
});

t.test("a patch of one object does not change what is shared with others", (t) => {
  const text = around('{"f:shared":{}}');
  const before = parseText(text);
  const patch = parseText('{"metadata":{"managedFields":[{"fieldsV1":{"f:other":{}}}]}}');
  if (before instanceof Fault || patch instanceof Fault) throw new Error("JSON");
  t.notOk(applyMergePatch(before, patch) instanceof PatchFault);
  t.equal(writeValue(parseText(text) as Value), text);
  t.end();
});

t.test("decode() gives one raw form to what is remembered", (t) => {
  const message = messageOf("meta/v1.ManagedFieldsEntry");
  const raw = (): RawJson | undefined => {
    const entry = at(parseText(around('{"f:decoded":{}}')), "metadata", "managedFields", 0) ?? null;
    return (decode(message, entry) as { fieldsV1?: RawJson }).fieldsV1;
  };
  t.equal(raw()?.text, '{"f:decoded":{}}');
  t.equal(raw(), raw());
  t.end();
});

t.test("endOfRaw() finds the brace that closes an object", (t) => {
  t.equal(endOfRaw("{}", 0), 2);
  t.equal(endOfRaw(' {"a":"}"} ', 1), 10);
  t.equal(endOfRaw('{"a":"\\"}"}', 0), 11);
  t.equal(endOfRaw('{"a":{}', 0), -1);
  t.equal(endOfRaw(`{"a":"${"x".repeat(limits.rawCharsMax)}"}`, 0), -1);
  t.end();
});
