import t from "tap";
import type { Value } from "../../src/api/value.ts";
import { PatchFault } from "../../src/merge/document.ts";
import { applyMergePatch } from "../../src/merge/mergepatch.ts";
import { fromJson, toJson } from "../support/values.ts";

function check(document: string, patch: string): string {
  const before = fromJson(document);
  const change = fromJson(patch);
  const patched = applyMergePatch(before, change);
  if (toJson(before) !== document) return `document changed: ${toJson(before)}`;
  if (toJson(change) !== patch) return `patch changed: ${toJson(change)}`;
  return patched instanceof PatchFault ? `${patched.kind}: ${patched.message}` : toJson(patched.value);
}

t.test("applyMergePatch() merges as upstream does", (t) => {
  const table: [document: string, patch: string, expected: string][] = [
    ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
    ['{"a":"b"}', '{"a":null}', "{}"],
    ['{"a":"b"}', '{"n":null}', '{"a":"b"}'],
    ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
    ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
    ['{"a":{"b":"c"}}', '{"a":[1]}', '{"a":[1]}'],
    ['{"a":{"b":"c"}}', '{"a":"x"}', '{"a":"x"}'],
    ['{"a":"x"}', '{"a":{"b":{"c":null,"d":1}}}', '{"a":{"b":{"d":1}}}'],
    ["{}", '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
    // A list in a new value loses the nulls of its objects; one that replaces an object's value does not.
    ['{"e":null}', '{"a":[{"x":null},null]}', '{"e":null,"a":[{},null]}'],
    ['{"a":{"b":1}}', '{"a":[{"x":null},null]}', '{"a":[{"x":null},null]}'],
    ['{"a":1}', "{}", '{"a":1}'],
    ['{"a":1}', "[]", "[]"],
    ['{"a":1}', '[{"x":null}]', "[{}]"],
    ['{"a":1}', "null", "malformed: Invalid JSON Patch"],
    ['{"a":1}', '"x"', "malformed: Invalid JSON Patch"],
    ['{"a":1}', "3", "malformed: Invalid JSON Patch"],
    ['{"a":1}', '{"__proto__":{"x":1}}', '{"a":1,"__proto__":{"x":1}}'],
    ['{"__proto__":{"y":1}}', '{"__proto__":{"x":1},"constructor":null}', '{"__proto__":{"y":1,"x":1}}'],
  ];
  for (const [document, patch, expected] of table) t.equal(check(document, patch), expected, `${document} + ${patch}`);
  t.equal(({} as { x?: number }).x, undefined);
  t.end();
});

t.test("applyMergePatch() is not deeper than its patch: no recursion", (t) => {
  const nest = (depth: number): Value => {
    let inner: Value = 1;
    for (let i = 0; i < depth; i++) inner = new Map<string, Value>([["a", inner]]);
    return inner;
  };
  const patched = applyMergePatch(nest(100_000), nest(100_000));
  t.notOk(patched instanceof PatchFault);
  t.notOk(applyMergePatch(new Map(), nest(100_000)) instanceof PatchFault);
  t.end();
});
