import t from "tap";
import { messageOf } from "../../../src/api/messages.ts";
import { duplicateFaults, strictFaults } from "../../../src/codec/engine/strict.ts";
import { limits } from "../../../src/config/limits.ts";

t.test("strictFaults() names fields that are unknown or come twice, with their place", (t) => {
  const table: [message: string, json: string, faults: string[]][] = [
    ["core/v1.Pod", "{}", []],
    ["core/v1.Pod", "null", []],
    [
      "core/v1.Pod",
      '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"spec":{"containers":[{"name":"c"}]}}',
      [],
    ],
    ["core/v1.Pod", '{"speck":1}', ['unknown field "speck"']],
    [
      "core/v1.Pod",
      '{ "spec" : { "containers" : [ { "name":"a" } , { "imag" : "x" } ] } }',
      ['unknown field "spec.containers[1].imag"'],
    ],
    ["core/v1.Pod", '{"metadata":{"name":"a","name":"b"}}', ['duplicate field "metadata.name"']],
    [
      "core/v1.Pod",
      '{"metadata":{"labels":{"a.b/c":"1","x":"","a.b/c":"2"}}}',
      ['duplicate field "metadata.labels.a.b/c"'],
    ],
    [
      "core/v1.Pod",
      '{"x":{"y":[1,{"z":"}\\"]"}],"y":2},"spec":{"x":-1.5e3,"y":true,"z":null,"nodeName":"n"},"x":[]}',
      ['unknown field "x"', 'unknown field "spec.x"', 'unknown field "spec.y"', 'unknown field "spec.z"'],
    ],
    [
      "core/v1.Pod",
      '{"spec":{"volumes":[{"name":"v","emptyDir":{"what":1}}]}}',
      ['unknown field "spec.volumes[0].emptyDir.what"'],
    ],
    ["core/v1.Pod", '{"spe\\u0063":{"hostPID":true,"hostPI\\u0044":false}}', ['duplicate field "spec.hostPID"']],
    ["core/v1.Pod", '{"spec":{"containers":[[],{"a":1}]}}', ['unknown field "spec.containers[1].a"']],
    ["apps/v1.ControllerRevision", '{"data":{"a":1,"a":2}}', []],
    ["core/v1.ConfigMap", '{"data":{"__proto__":"x","__proto__":"y"}}', ['duplicate field "data.__proto__"']],
    ["core/v1.Service", '{"spec":{"ports":[{"targetPort":{"x":1}}]}}', []],
  ];
  for (const [message, json, faults] of table) t.same(strictFaults(messageOf(message), json), faults, json);
  t.end();
});

t.test("duplicateFaults() looks into everything", (t) => {
  const table: [json: string, faults: string[]][] = [
    ["[]", []],
    ['{"a":{"b":1,"b":[{"c":1,"c":2}]}}', ['duplicate field "a.b"', 'duplicate field "a.b[0].c"']],
    ['[{"op":"add","op":"test"}]', ['duplicate field "[0].op"']],
  ];
  for (const [json, faults] of table) t.same(duplicateFaults(json), faults, json);
  t.end();
});

t.test("strictFaults() and duplicateFaults() are bounded in answers and in depth", (t) => {
  const long = "x".repeat(300_000);
  const below = `{${'"a":1,"a":1,"b":1,"b":1,'.repeat(50)}"c":1}`;
  const told = [`duplicate field ${JSON.stringify(`${long}.a`)}`, `duplicate field ${JSON.stringify(`${long}.b`)}`];
  t.same(duplicateFaults(`{"${long}":${below}}`), told, "each once");
  t.same(duplicateFaults(`{"${long}":${below.replace("}", ',"c":1}')}}`), told, "no third of this length");
  const many = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`x${index}`, 1]));
  t.equal(strictFaults(messageOf("core/v1.Pod"), JSON.stringify(many)).length, limits.strictFaultsMax);
  const deep = '{"a":['.repeat(limits.depthMax / 2) + "]}".repeat(limits.depthMax / 2);
  t.same(duplicateFaults(deep), []);
  t.same(strictFaults(messageOf("core/v1.Pod"), `{"x":${deep}}`), ['unknown field "x"']);
  t.end();
});
