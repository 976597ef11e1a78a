import t from "tap";
import { messageOf } from "../../src/api/messages.ts";
import type { Value } from "../../src/api/value.ts";
import { PatchFault } from "../../src/merge/document.ts";
import { goText } from "../../src/merge/govalue.ts";
import { findMismatch } from "../../src/merge/mismatch.ts";
import { applyStrategicPatch } from "../../src/merge/strategic.ts";
import { calmMs, threadCpuMs } from "../support/cost.ts";
import { fromJson, toJson } from "../support/values.ts";

function check(name: string, document: string, patch: string): string {
  const before = fromJson(document);
  const change = fromJson(patch);
  const patched = applyStrategicPatch(before, change, messageOf(name), 100);
  if (toJson(before) !== document) return `document changed: ${toJson(before)}`;
  if (toJson(change) !== patch) return `patch changed: ${toJson(change)}`;
  return patched instanceof PatchFault ? `${patched.kind}: ${patched.message}` : toJson(patched.value);
}

type Table = [document: string, patch: string, expected: string][];

function checkAll(
  t: { equal(found: string, wanted: string, message: string): unknown; end(): void },
  name: string,
  table: Table,
): void {
  for (const [document, patch, expected] of table) {
    t.equal(check(name, document, patch), expected, `${document} + ${patch}`);
  }
  t.end();
}

t.test("applyStrategicPatch() merges maps", (t) => {
  checkAll(t, "core/v1.ConfigMap", [
    ['{"data":{"a":"1"}}', '{"data":{"b":"2"}}', '{"data":{"a":"1","b":"2"}}'],
    ['{"data":{"a":"1"}}', '{"data":{"a":null,"x":null}}', '{"data":{}}'],
    ['{"data":{"a":"1"}}', '{"data":null}', "{}"],
    ['{"data":{"a":"1"}}', '{"data":{"$patch":"replace","b":"2"}}', '{"data":{"b":"2"}}'],
    ['{"data":{"a":"1"}}', '{"data":{"$patch":"delete"}}', '{"data":{}}'],
    ['{"data":{"a":"1"}}', '{"data":{"$retainKeys":["b"],"b":"2"}}', '{"data":{"b":"2"}}'],
    ["{}", '{"data":{"$patch":"delete"}}', '{"data":{"$patch":"delete"}}'],
    ['{"data":{"a":"1"}}', '{"$patch":"replace","data":{}}', '{"data":{}}'],
    ['{"data":{"a":"1"}}', "null", '{"data":{"a":"1"}}'],
    ['{"data":{"a":"1"}}', '{"data":"x"}', '{"data":"x"}'],
    [
      "{}",
      '{"data":{"$patch":"x"},"$patch":"x"}',
      "failed: unknown patch type: x in map: map[$patch:x data:map[$patch:x]]",
    ],
    [
      '{"data":{"a":{}}}',
      '{"data":{"a":{}}}',
      "failed: merging an object in json but data type is not struct, instead is: map",
    ],
    ['{"odd":{}}', '{"odd":{}}', 'failed: unable to find api field in struct ConfigMap for the json field "odd"'],
    ["{}", "[]", "malformed: json: cannot unmarshal array into Go value of type map[string]interface {}"],
    ["{}", "3", "malformed: json: cannot unmarshal number into Go value of type map[string]interface {}"],
  ]);
});

t.test("applyStrategicPatch() merges lists by their key", (t) => {
  checkAll(t, "core/v1.PodSpec", [
    [
      '{"volumes":[{"name":"a"},{"name":"b"}]}',
      '{"volumes":[{"name":"c"}]}',
      '{"volumes":[{"name":"c"},{"name":"a"},{"name":"b"}]}',
    ],
    [
      '{"volumes":[{"name":"a"},{"name":"b"}]}',
      '{"volumes":[{"name":"b","x":1}]}',
      '{"volumes":[{"name":"a"},{"name":"b","x":1}]}',
    ],
    [
      '{"volumes":[{"name":"a"},{"name":"b"}]}',
      '{"volumes":[{"name":"b"},{"name":"a"}]}',
      '{"volumes":[{"name":"b"},{"name":"a"}]}',
    ],
    [
      '{"volumes":[{"name":"a"},{"name":"b"}]}',
      '{"volumes":[{"name":"a","$patch":"delete"}]}',
      '{"volumes":[{"name":"b"}]}',
    ],
    ['{"volumes":[{"name":"a"}]}', '{"volumes":[{"$patch":"replace"},{"name":"z"}]}', '{"volumes":[{"name":"z"}]}'],
    ['{"volumes":[{"name":"a"}]}', '{"volumes":[{"name":"a","$retainKeys":["name"]}]}', '{"volumes":[{"name":"a"}]}'],
    [
      '{"volumes":[{"name":"a"}]}',
      '{"volumes":[{"x":1}]}',
      "failed: map: map[x:1] does not contain declared merge key: name",
    ],
    [
      '{"volumes":[{"name":"a"}]}',
      '{"volumes":[{"name":{}}]}',
      "malformed: map: map[name:map[]] has a merge key name that is no scalar",
    ],
    [
      '{"volumes":[{"name":"a"}]}',
      '{"volumes":[{"name":"a","$patch":"merge"}]}',
      "failed: merging lists cannot yet be specified in the patch",
    ],
    [
      '{"volumes":[{"name":"a"}]}',
      '{"volumes":[1]}',
      "failed: list element types are not identical: [[map[name:a]] [1]]",
    ],
    ['{"volumes":[[]]}', '{"volumes":[[]]}', "inapplicable: lists of lists are not supported"],
    [
      '{"volumes":[{"name":"a"}]}',
      '{"volumes":[null]}',
      "failed: list element types are not identical: [[map[name:a]] [<nil>]]",
    ],
    ['{"volumes":[]}', '{"volumes":[]}', '{"volumes":[]}'],
    ['{"tolerations":[{"key":"a"}]}', '{"tolerations":[{"key":"b"}]}', '{"tolerations":[{"key":"b"}]}'],
  ]);
});

t.test("applyStrategicPatch() orders lists by $setElementOrder", (t) => {
  const order = (list: string, patch = ""): string => `{"$setElementOrder/volumes":${list}${patch}}`;
  checkAll(t, "core/v1.PodSpec", [
    [
      '{"volumes":[{"name":"a"},{"name":"b"}]}',
      order('[{"name":"b"},{"name":"a"}]'),
      '{"volumes":[{"name":"b"},{"name":"a"}]}',
    ],
    [
      '{"volumes":[{"name":"a"},{"name":"b"},{"name":"c"}]}',
      order('[{"name":"c"},{"name":"b"}]'),
      '{"volumes":[{"name":"a"},{"name":"c"},{"name":"b"}]}',
    ],
    [
      '{"volumes":[{"name":"a"}]}',
      order('[{"name":"z"},{"name":"a"}]', ',"volumes":[{"name":"z"}]'),
      '{"volumes":[{"name":"z"},{"name":"a"}]}',
    ],
    ["{}", order('[{"name":"z"}]', ',"volumes":[{"name":"z"}]'), '{"volumes":[{"name":"z"}]}'],
    ["{}", order('[{"name":"z"}]'), "{}"],
    [
      '{"volumes":[{"name":"a"}]}',
      order('[{"name":"a"}]', ',"volumes":[{"name":"z"}]'),
      "failed: The order in patch list:\n[map[name:z]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n",
    ],
    ['{"volumes":[{"name":"a"}]}', order('"x"'), "failed: expected a []interface {}, but received a string"],
    ['{"volumes":{}}', order("[]"), "failed: expected a []interface {}, but received a map[string]interface {}"],
    ["{}", '{"$setElementOrder":[]}', "malformed: invalid patch format of setElementOrder list"],
    [
      "{}",
      '{"$setElementOrder/__proto__":[]}',
      'failed: unable to find api field in struct PodSpec for the json field "__proto__"',
    ],
    ["{}", '{"$setElementOrder/hostname":[]}', "failed: expected slice or array type, but got: struct"],
    ['{"volumes":[{"name":"a"}]}', order("[3]"), "failed: expected a map[string]interface {}, but received a int64"],
  ]);
});

t.test("applyStrategicPatch() unites sets and takes from them", (t) => {
  const of = (list: string): string => `{"finalizers":${list}}`;
  const remove = (list: string): string => `{"$deleteFromPrimitiveList/finalizers":${list}}`;
  checkAll(t, "meta/v1.ObjectMeta", [
    [of('["a","b"]'), of('["c"]'), of('["c","a","b"]')],
    [of('["a","b"]'), of('["b"]'), of('["a","b"]')],
    [of('["a","b"]'), remove('["a","x"]'), of('["b"]')],
    ["{}", remove('["a"]'), "{}"],
    [of('["a"]'), remove("null"), "{}"],
    [of('["a"]'), remove('"a"'), of('["a"]')],
    [of('["a"]'), '{"$deleteFromPrimitiveList":["a"]}', "malformed: invalid patch format of primitive list"],
    [of('["a","b"]'), '{"$setElementOrder/finalizers":["b","a"]}', of('["b","a"]')],
    [of('["a"]'), '{"$retainKeys":["x"],"finalizers":["b"]}', "malformed: invalid patch format of retainKeys"],
    [of('["a"]'), '{"$retainKeys":"x"}', "malformed: invalid patch format of retainKeys"],
  ]);
});

t.test("applyStrategicPatch() treats prototype names as data", (t) => {
  const document = '{"data":{"__proto__":"1","constructor":"2"}}';
  const patch = '{"data":{"__proto__":"3","constructor":null,"toString":"4"}}';
  t.equal(check("core/v1.ConfigMap", document, patch), '{"data":{"__proto__":"3","toString":"4"}}');
  t.equal(check("core/v1.ConfigMap", "{}", '{"__proto__":{"x":1}}'), '{"__proto__":{"x":1}}');
  t.equal(({} as { x?: number }).x, undefined);
  t.end();
});

t.test("applyStrategicPatch() works in proportion to its input", (t) => {
  const list = (from: number): Value =>
    Array.from({ length: 50_000 }, (_, index) => new Map<string, Value>([["name", `n${from + index}`]]));
  const document = new Map([["volumes", list(0)]]);
  const patch = new Map([["volumes", list(25_000)]]);
  const started = threadCpuMs();
  const patched = applyStrategicPatch(document, patch, messageOf("core/v1.PodSpec"), 9);
  const ms = calmMs(threadCpuMs() - started, 5_000);
  t.ok(ms < 5_000, `a list is not searched for every item: ${ms} ms`);
  const volumes = patched instanceof PatchFault ? undefined : (patched.value as Map<string, Value>).get("volumes");
  t.equal((volumes as Value[]).length, 75_000);
  t.end();
});

t.test("applyStrategicPatch() and what prints its refusals do not recurse without bound", (t) => {
  let deep: Value = new Map<string, Value>([["x", 1]]);
  for (let depth = 0; depth < 100_000; depth++) deep = new Map([["not", depth % 2 === 0 ? deep : [deep]]]);
  t.equal(goText(deep).length > 100_000, true);
  let chain: Value = new Map();
  for (let depth = 0; depth < 100_000; depth++) chain = new Map([["spec", chain]]);
  const patched = applyStrategicPatch(chain, chain, messageOf("core/v1.Pod"), 1);
  t.ok(patched instanceof PatchFault);
  t.end();
});

t.test("findMismatch() names the first field of another kind", (t) => {
  const table: [document: string, expected: string | undefined][] = [
    ['{"spec":{"replicas":"x"}}', "unrecognized type: int32"],
    ['{"spec":{"replicas":1.5}}', "cannot convert float64 to int32"],
    ['{"spec":{"paused":1}}', "unrecognized type: bool"],
    ['{"metadata":{"name":5}}', "cannot convert int64 to string"],
    ['{"metadata":{"name":[]}}', "unrecognized type: string"],
    ['{"spec":3}', "cannot restore struct from: int64"],
    ['{"metadata":{"labels":[]}}', "cannot restore map from slice"],
    ['{"metadata":{"labels":{"a":5}}}', "cannot convert int64 to string"],
    ['{"spec":{"template":{"spec":{"containers":{}}}}}', "cannot restore slice from map"],
    ['{"spec":{"replicas":null},"odd":{"name":5}}', undefined],
  ];
  for (const [document, expected] of table) {
    t.equal(findMismatch(messageOf("apps/v1.Deployment"), fromJson(document)), expected, document);
  }
  t.end();
});
