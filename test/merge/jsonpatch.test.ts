import t from "tap";
import { assert } from "../../src/base/assert.ts";
import { asPrinted, PatchFault } from "../../src/merge/document.ts";
import { applyJsonPatch, type JsonPatchLimits } from "../../src/merge/jsonpatch.ts";
import { fromJson, toJson } from "../support/values.ts";

const limits: JsonPatchLimits = { operationsMax: 5, copyBytesMax: 100, depthMax: 20, shiftedItemsMax: 30 };

/** The patched document's JSON, or `kind: message` of the fault. The document must stay as it was. */
function check(document: string, patch: string): string {
  const before = fromJson(document);
  const patched = applyJsonPatch(before, fromJson(patch), limits);
  if (toJson(before) !== document) return `document changed: ${toJson(before)}`;
  return patched instanceof PatchFault ? patched.kind : toJson(patched.value);
}

const doc = '{"a":{"x":"1","n":null},"l":["p","q"],"s":1}';

t.test("applyJsonPatch() applies each operation as upstream does", (t) => {
  const table: [what: string, patch: string, expected: string][] = [
    ["add a key", '[{"op":"add","path":"/a/y","value":2}]', '{"a":{"x":"1","n":null,"y":2},"l":["p","q"],"s":1}'],
    ["add over a key", '[{"op":"add","path":"/s","value":[]}]', '{"a":{"x":"1","n":null},"l":["p","q"],"s":[]}'],
    ["add without value", '[{"op":"add","path":"/s"}]', '{"a":{"x":"1","n":null},"l":["p","q"],"s":null}'],
    ["add an item", '[{"op":"add","path":"/l/1","value":"n"}]', '{"a":{"x":"1","n":null},"l":["p","n","q"],"s":1}'],
    ["append", '[{"op":"add","path":"/l/-","value":"n"}]', '{"a":{"x":"1","n":null},"l":["p","q","n"],"s":1}'],
    ["add at the end", '[{"op":"add","path":"/l/2","value":"n"}]', '{"a":{"x":"1","n":null},"l":["p","q","n"],"s":1}'],
    [
      "add from the end",
      '[{"op":"add","path":"/l/-1","value":"n"}]',
      '{"a":{"x":"1","n":null},"l":["p","q","n"],"s":1}',
    ],
    ["add past the end", '[{"op":"add","path":"/l/3","value":"n"}]', "inapplicable"],
    ["add before the start", '[{"op":"add","path":"/l/-4","value":"n"}]', "inapplicable"],
    ["add at a word", '[{"op":"add","path":"/l/abc","value":"n"}]', "inapplicable"],
    ["add below nothing", '[{"op":"add","path":"/none/x","value":"n"}]', "inapplicable"],
    ["add below null", '[{"op":"add","path":"/a/n/x","value":"n"}]', "inapplicable"],
    ["add below a scalar", '[{"op":"add","path":"/s/x","value":"n"}]', "inapplicable"],
    [
      "add without a slash",
      '[{"op":"add","path":"k/y","value":2}]',
      '{"a":{"x":"1","n":null},"l":["p","q"],"s":1,"y":2}',
    ],
    ["add the whole", '[{"op":"add","path":"","value":{}}]', "inapplicable"],
    ["add an empty key", '[{"op":"add","path":"/","value":1}]', '{"a":{"x":"1","n":null},"l":["p","q"],"s":1,"":1}'],
    ["escapes", '[{"op":"add","path":"/a/x~1~0y","value":1}]', '{"a":{"x":"1","n":null,"x/~y":1},"l":["p","q"],"s":1}'],
    ["escapes once", '[{"op":"add","path":"/a/~01","value":1}]', '{"a":{"x":"1","n":null,"~1":1},"l":["p","q"],"s":1}'],
    ["remove", '[{"op":"remove","path":"/a"}]', '{"l":["p","q"],"s":1}'],
    ["remove nothing", '[{"op":"remove","path":"/none"}]', "inapplicable"],
    ["remove an item", '[{"op":"remove","path":"/l/0"}]', '{"a":{"x":"1","n":null},"l":["q"],"s":1}'],
    ["remove the last", '[{"op":"remove","path":"/l/-1"}]', '{"a":{"x":"1","n":null},"l":["p"],"s":1}'],
    ["remove past the end", '[{"op":"remove","path":"/l/2"}]', "inapplicable"],
    ["replace", '[{"op":"replace","path":"/l/+1","value":3}]', '{"a":{"x":"1","n":null},"l":["p",3],"s":1}'],
    ["replace past the end", '[{"op":"replace","path":"/l/2","value":3}]', "inapplicable"],
    [
      "replace adds a key",
      '[{"op":"replace","path":"/z","value":3}]',
      '{"a":{"x":"1","n":null},"l":["p","q"],"s":1,"z":3}',
    ],
    ["move", '[{"op":"move","from":"/a","path":"/l/0"}]', '{"l":[{"x":"1","n":null},"p","q"],"s":1}'],
    ["move into itself", '[{"op":"move","from":"/a","path":"/a/b"}]', "inapplicable"],
    ["move nothing", '[{"op":"move","from":"/none","path":"/b"}]', "inapplicable"],
    ["move without from", '[{"op":"move","path":"/b"}]', "inapplicable"],
    ["copy", '[{"op":"copy","from":"/s","path":"/a/s"}]', '{"a":{"x":"1","n":null,"s":1},"l":["p","q"],"s":1}'],
    [
      "copy into itself",
      '[{"op":"copy","from":"/l","path":"/l/0"}]',
      '{"a":{"x":"1","n":null},"l":[["p","q"],"p","q"],"s":1}',
    ],
    [
      "copy nothing",
      '[{"op":"copy","from":"/none","path":"/k"}]',
      '{"a":{"x":"1","n":null},"l":["p","q"],"s":1,"k":null}',
    ],
    [
      "a copy is its own",
      '[{"op":"copy","from":"/a","path":"/b"},{"op":"add","path":"/b/x","value":2}]',
      '{"a":{"x":"1","n":null},"l":["p","q"],"s":1,"b":{"x":2,"n":null}}',
    ],
    [
      "an original is its own",
      '[{"op":"copy","from":"/a","path":"/b"},{"op":"add","path":"/a/x","value":2}]',
      '{"a":{"x":2,"n":null},"l":["p","q"],"s":1,"b":{"x":"1","n":null}}',
    ],
    [
      "test",
      '[{"op":"test","path":"/a","value":{"n":null,"x":"1"}},{"op":"remove","path":"/a"}]',
      '{"l":["p","q"],"s":1}',
    ],
    ["test fails", '[{"op":"test","path":"/s","value":2}]', "inapplicable"],
    ["test of a type", '[{"op":"test","path":"/s","value":"1"}]', "inapplicable"],
    [
      "test of absence",
      '[{"op":"test","path":"/none","value":null},{"op":"remove","path":"/a"}]',
      '{"l":["p","q"],"s":1}',
    ],
    ["test without value", '[{"op":"test","path":"/a/n"},{"op":"remove","path":"/a"}]', "inapplicable"],
    ["test past the end", '[{"op":"test","path":"/l/7","value":null}]', "inapplicable"],
    ["test of a missing parent", '[{"op":"test","path":"/none/x","value":null}]', "inapplicable"],
    ["test the whole", `[{"op":"test","path":"","value":${doc}},{"op":"remove","path":"/a"}]`, '{"l":["p","q"],"s":1}'],
    ["test the whole fails", '[{"op":"test","path":"","value":{}}]', "inapplicable"],
    [
      "replace the whole",
      '[{"op":"replace","path":"","value":{"n":{}}},{"op":"add","path":"/n/x","value":1}]',
      '{"n":{"x":1}}',
    ],
    ["replace the whole by a scalar", '[{"op":"replace","path":"","value":1}]', doc],
    ["all or nothing", '[{"op":"remove","path":"/a"},{"op":"fly","path":"/a"}]', "inapplicable"],
    ["no operation", '[{"path":"/a","value":1}]', "inapplicable"],
    ["no path", '[{"op":"add","value":1}]', "inapplicable"],
    ["a number as path", '[{"op":"add","path":1,"value":1}]', "inapplicable"],
    ["null operation", "[null]", "inapplicable"],
    ["nothing", "[]", doc],
    ["null", "null", doc],
    ["an object", "{}", "malformed"],
    ["a word", '["a"]', "malformed"],
    ["a nested list", "[[]]", "malformed"],
  ];
  for (const [what, patch, expected] of table) t.equal(check(doc, patch), expected, what);
  t.end();
});

t.test("applyJsonPatch() names the type it cannot read as upstream does", (t) => {
  const fault = (patch: string) => (applyJsonPatch(fromJson(doc), fromJson(patch), limits) as PatchFault).message;
  t.equal(fault("{}"), "json: cannot unmarshal object into Go value of type jsonpatch.Patch");
  t.equal(fault("3"), "json: cannot unmarshal number into Go value of type jsonpatch.Patch");
  t.equal(fault('["a"]'), "json: cannot unmarshal string into Go value of type jsonpatch.Operation");
  t.equal(fault("[true]"), "json: cannot unmarshal bool into Go value of type jsonpatch.Operation");
  t.end();
});

t.test("applyJsonPatch() refuses what exceeds its limits", (t) => {
  const operations = (n: number, operation: string) => `[${Array.from({ length: n }, () => operation).join(",")}]`;
  t.equal(check(doc, operations(5, '{"op":"test","path":"/s","value":1}')), doc);
  t.equal(check(doc, operations(6, '{"op":"test","path":"/s","value":1}')), "too-large");
  const wide = `{"w":"${"x".repeat(40)}"}`;
  t.match(check(wide, operations(2, '{"op":"copy","from":"/w","path":"/v"}')), /"v"/);
  t.equal(check(wide, operations(3, '{"op":"copy","from":"/w","path":"/v"}')), "inapplicable", "copied bytes");
  const deep = `{"d":${"[".repeat(15)}${"]".repeat(15)},"e":{}}`;
  const deeper = operations(5, '{"op":"copy","from":"/d","path":"/d/0"}');
  t.equal(check(deep, deeper), "inapplicable", "nesting");
  const list = `{"l":[${Array.from({ length: 12 }, (_, i) => i).join(",")}]}`;
  t.match(check(list, operations(2, '{"op":"add","path":"/l/0","value":1}')), /^\{/);
  t.equal(check(list, operations(3, '{"op":"add","path":"/l/0","value":1}')), "too-large", "shifted items");
  t.end();
});

t.test("applyJsonPatch() treats the names of JavaScript's own properties as any key", (t) => {
  const patch = '[{"op":"add","path":"/__proto__/x","value":1},{"op":"add","path":"/constructor","value":{}}]';
  t.equal(check('{"__proto__":{"toString":1}}', patch), '{"__proto__":{"toString":1,"x":1},"constructor":{}}');
  t.equal(check("{}", '[{"op":"add","path":"/__proto__/x","value":1}]'), "inapplicable");
  t.equal(({} as { x?: number }).x, undefined);
  t.end();
});

t.test("asPrinted() sorts the keys of what a patch edited and leaves the rest", (t) => {
  const document = fromJson('{"z":{"b":1,"a":2},"m":{"d":1,"c":2},"a":0}');
  const patched = applyJsonPatch(document, fromJson('[{"op":"add","path":"/z/c","value":{"y":1,"x":2}}]'), limits);
  assert(!(patched instanceof PatchFault), "The patch applies");
  t.equal(toJson(asPrinted(patched)), '{"a":0,"m":{"d":1,"c":2},"z":{"a":2,"b":1,"c":{"y":1,"x":2}}}');
  t.equal(toJson(patched.value), '{"z":{"b":1,"a":2,"c":{"y":1,"x":2}},"m":{"d":1,"c":2},"a":0}');
  t.end();
});
