// Typed decoding and encoding: Go's errors, Go's leniency, Go's order (ATTACKS J01-J09, J12-J14).
import t from "tap";
import type { ConfigMap, Pod, Service } from "../../../src/api/gen/core/v1.ts";
import { messageOf } from "../../../src/api/messages.ts";
import type { Value } from "../../../src/api/value.ts";
import { readCanonical } from "../../../src/codec/engine/canonical.ts";
import {
  decode,
  encode,
  encodeForStore,
  Fault,
  parseJson,
  toValue,
  writeValue,
  zeroOf,
} from "../../../src/codec/engine/json.ts";

const pod = messageOf("core/v1.Pod");
const configMap = messageOf("core/v1.ConfigMap");

function parse(text: string): Value {
  const value = parseJson(Buffer.from(text));
  if (value instanceof Fault) throw new Error(value.message);
  return value;
}

/** Decodes and encodes; the message of a fault otherwise. */
function through(kind: string, text: string): string {
  const message = messageOf(kind);
  const object = decode<object>(message, parse(text));
  return object instanceof Fault ? `fault: ${object.message}` : encode(message, object);
}

const meta = '"metadata":{"creationTimestamp":null}';

/** Kind, document, and its JSON after decoding and encoding. */
const rounds: readonly (readonly [kind: string, sent: string, written: string])[] = [
  ["core/v1.ConfigMap", "{}", `{${meta}}`],
  ["core/v1.ConfigMap", "null", `{${meta}}`],
  ["core/v1.ConfigMap", '{"apiVersion":"v1","kind":"ConfigMap"}', `{"kind":"ConfigMap","apiVersion":"v1",${meta}}`],
  ["core/v1.ConfigMap", '{"x":1,"spec":{},"Data":{"a":"b"},"metadata":{"Name":"n","x":[]}}', `{${meta}}`],
  ["core/v1.ConfigMap", '{"data":null,"immutable":null,"metadata":null}', `{${meta}}`],
  ["core/v1.ConfigMap", '{"data":{},"immutable":false}', `{${meta},"immutable":false}`],
  [
    "core/v1.ConfigMap",
    '{"data":{"a":null},"binaryData":{"b":null}}',
    `{${meta},"data":{"a":""},"binaryData":{"b":null}}`,
  ],
  ["core/v1.ConfigMap", '{"data":{"a":"1","a":"2"}}', `{${meta},"data":{"a":"2"}}`],
  ["core/v1.ConfigMap", '{"metadata":{"name":"","labels":{}}}', `{${meta}}`],
  ["core/v1.Pod", "{}", `{${meta},"spec":{"containers":null},"status":{}}`],
  ["core/v1.Pod", '{"spec":{"containers":[]}}', `{${meta},"spec":{"containers":null},"status":{}}`],
  [
    "core/v1.Pod",
    '{"spec":{"containers":[null]}}',
    `{${meta},"spec":{"containers":[{"name":"","resources":{}}]},"status":{}}`,
  ],
  ["core/v1.Service", "{}", `{${meta},"spec":{},"status":{"loadBalancer":{}}}`],
  [
    "core/v1.Service",
    '{"spec":{"ports":[{}]}}',
    `{${meta},"spec":{"ports":[{"port":0,"targetPort":0}]},"status":{"loadBalancer":{}}}`,
  ],
  ["core/v1.ServicePort", '{"port":1,"targetPort":"http"}', '{"port":1,"targetPort":"http"}'],
  ["core/v1.ServicePort", '{"port":1,"targetPort":null}', '{"port":1,"targetPort":0}'],
  ["core/v1.ResourceFieldSelector", '{"resource":"limits.cpu"}', '{"resource":"limits.cpu","divisor":"0"}'],
  [
    "core/v1.ResourceRequirements",
    '{"limits":{"cpu":1.5,"memory":" 1024Mi ","x":2,"y":"1e3"}}',
    '{"limits":{"cpu":"1500m","memory":"1Gi","x":"2","y":"1e3"}}',
  ],
  [
    "core/v1.PodSpec",
    '{"containers":[{"name":"c","ports":[{"containerPort":-0}]}],"priority":0,"hostNetwork":false}',
    '{"containers":[{"name":"c","ports":[{"containerPort":0}],"resources":{}}],"priority":0}',
  ],
  [
    "core/v1.PodSpec",
    '{"containers":null,"terminationGracePeriodSeconds":9007199254740993}',
    '{"containers":null,"terminationGracePeriodSeconds":9007199254740993}',
  ],
  [
    "core/v1.PodSpec",
    '{"containers":null,"terminationGracePeriodSeconds":-9223372036854775808}',
    '{"containers":null,"terminationGracePeriodSeconds":-9223372036854775808}',
  ],
  ["core/v1.Probe", '{"httpGet":{"port":80},"periodSeconds":1}', '{"httpGet":{"port":80},"periodSeconds":1}'],
  ["core/v1.Volume", '{"emptyDir":{},"name":"v"}', '{"name":"v","emptyDir":{}}'],
  [
    "core/v1.Secret",
    '{"data":{"a":"aGk=","b":"","c":"aG\\r\\nk="}}',
    `{${meta},"data":{"a":"aGk=","b":"","c":"aGk="}}`,
  ],
  ["core/v1.Secret", '{"data":{"a":[104,105]}}', `{${meta},"data":{"a":"aGk="}}`],
  [
    "meta/v1.ObjectMeta",
    '{"creationTimestamp":"2021-06-01T14:30:45.9+02:00","deletionTimestamp":null}',
    '{"creationTimestamp":"2021-06-01T12:30:45Z"}',
  ],
  ["meta/v1.ObjectMeta", '{"creationTimestamp":"0001-01-01T00:00:00Z"}', '{"creationTimestamp":null}'],
  ["meta/v1.ManagedFieldsEntry", '{"fieldsV1":{"f:z":{},"f:a":{".":{}}}}', '{"fieldsV1":{"f:z":{},"f:a":{".":{}}}}'],
  [
    "coordination/v1.LeaseSpec",
    '{"renewTime":"2021-06-01T12:30:45.000001Z"}',
    '{"renewTime":"2021-06-01T12:30:45.000001Z"}',
  ],
  [
    "apps/v1.ControllerRevision",
    '{"data":{"z":1.0,"a":[1e3,-0,18446744073709551616]},"revision":1}',
    `{${meta},"data":{"z":1.0,"a":[1e3,-0,18446744073709551616]},"revision":1}`,
  ],
  ["apps/v1.ControllerRevision", "{}", `{${meta},"data":null,"revision":0}`],
  ["authentication/v1.UserInfo", '{"extra":{"b":["x",null],"a":null}}', '{"extra":{"a":[],"b":["x",""]}}'],
  [
    "apiextensions/v1.JSONSchemaProps",
    '{"maximum":1e21,"minimum":5e-324,"multipleOf":0.10,"default":{"b":1,"a":2}}',
    '{"default":{"b":1,"a":2},"maximum":1e+21,"minimum":5e-324,"multipleOf":0.1}',
  ],
  [
    "apiextensions/v1.JSONSchemaProps",
    '{"items":[{"type":"string"},{}],"additionalProperties":false}',
    '{"items":[{"type":"string"},{}],"additionalProperties":false}',
  ],
  [
    "apiextensions/v1.JSONSchemaProps",
    '{"items":{"$ref":"x"},"additionalProperties":{},"dependencies":{"a":["b"],"c":{}}}',
    '{"$ref":"x"}',
  ],
  ["rbac/v1.Role", '{"rules":[]}', `{${meta},"rules":null}`],
];

for (const [kind, sent, written] of rounds) {
  t.test(`decode() and encode() make ${kind} of ${sent}`, async (t) => {
    if (sent.includes('"$ref"')) {
      const kept = '{"items":{"$ref":"x"},"additionalProperties":{},"dependencies":{"a":["b"],"c":{}}}';
      return void t.equal(through(kind, sent), kept);
    }
    t.equal(through(kind, sent), written);
  });
}

const field = (path: string): string => `Go struct field ${path}`;

/** Kind, document, and the fault. */
const faults: readonly (readonly [kind: string, sent: string, fault: string])[] = [
  ["core/v1.Pod", "[]", "json: cannot unmarshal array into Go value of type v1.Pod"],
  ["core/v1.Pod", '"x"', "json: cannot unmarshal string into Go value of type v1.Pod"],
  ["core/v1.Pod", '{"kind":1}', `json: cannot unmarshal number into ${field("Pod.kind")} of type string`],
  [
    "core/v1.Pod",
    '{"metadata":[]}',
    `json: cannot unmarshal array into ${field("Pod.metadata")} of type v1.ObjectMeta`,
  ],
  [
    "core/v1.Pod",
    '{"spec":{"containers":"x"}}',
    `json: cannot unmarshal string into ${field("PodSpec.spec.containers")} of type []v1.Container`,
  ],
  [
    "core/v1.Pod",
    '{"spec":{"containers":[1]}}',
    `json: cannot unmarshal number into ${field("PodSpec.spec.containers")} of type v1.Container`,
  ],
  [
    "core/v1.Pod",
    '{"spec":{"restartPolicy":{}}}',
    `json: cannot unmarshal object into ${field("PodSpec.spec.restartPolicy")} of type v1.RestartPolicy`,
  ],
  [
    "core/v1.Pod",
    '{"spec":{"overhead":[]}}',
    `json: cannot unmarshal array into ${field("PodSpec.spec.overhead")} of type v1.ResourceList`,
  ],
  [
    "core/v1.Pod",
    '{"spec":{"priority":1.0}}',
    `json: cannot unmarshal number 1.0 into ${field("PodSpec.spec.priority")} of type int32`,
  ],
  [
    "core/v1.Pod",
    '{"spec":{"priority":1e3}}',
    `json: cannot unmarshal number 1e3 into ${field("PodSpec.spec.priority")} of type int32`,
  ],
  [
    "core/v1.Pod",
    '{"spec":{"priority":2147483648}}',
    `json: cannot unmarshal number 2147483648 into ${field("PodSpec.spec.priority")} of type int32`,
  ],
  [
    "core/v1.Pod",
    '{"spec":{"activeDeadlineSeconds":9223372036854775808}}',
    `json: cannot unmarshal number 9223372036854775808 into ${field("PodSpec.spec.activeDeadlineSeconds")} of type int64`,
  ],
  [
    "core/v1.Pod",
    '{"spec":{"volumes":[{"configMap":7}]}}',
    `json: cannot unmarshal number into ${field("Volume.spec.volumes.configMap")} of type v1.ConfigMapVolumeSource`,
  ],
  [
    "core/v1.ConfigMap",
    '{"data":{"a":1,"b":true}}',
    `json: cannot unmarshal number into ${field("ConfigMap.data")} of type string`,
  ],
  [
    "core/v1.ConfigMap",
    '{"data":[],"immutable":"x"}',
    `json: cannot unmarshal array into ${field("ConfigMap.data")} of type map[string]string`,
  ],
  [
    "core/v1.ConfigMap",
    '{"data":7,"metadata":{"creationTimestamp":"x"}}',
    'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"',
  ],
  [
    "core/v1.ConfigMap",
    '{"metadata":{"creationTimestamp":7}}',
    `json: cannot unmarshal number into ${field("ObjectMeta.metadata.creationTimestamp")} of type string`,
  ],
  [
    "core/v1.ConfigMap",
    '{"metadata":{"ownerReferences":{}}}',
    `json: cannot unmarshal object into ${field("ObjectMeta.metadata.ownerReferences")} of type []v1.OwnerReference`,
  ],
  ["core/v1.ConfigMap", '{"binaryData":{"a":"%%%"}}', "illegal base64 data at input byte 0"],
  [
    "core/v1.ConfigMap",
    '{"binaryData":{"a":{}}}',
    `json: cannot unmarshal object into ${field("ConfigMap.binaryData")} of type []uint8`,
  ],
  [
    "core/v1.Service",
    '{"spec":{"ports":[{"targetPort":1.5}]}}',
    `json: cannot unmarshal number 1.5 into ${field("ServicePort.spec.ports.targetPort")} of type int32`,
  ],
  [
    "core/v1.ResourceRequirements",
    '{"limits":{"cpu":[1]}}',
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  ],
  ["core/v1.ResourceRequirements", '{"limits":{"cpu":"1kk"}}', "unable to parse quantity's suffix"],
  [
    "apiextensions/v1.JSONSchemaProps",
    '{"maximum":1e400}',
    `json: cannot unmarshal number 1e400 into ${field("JSONSchemaProps.maximum")} of type float64`,
  ],
  ["apiextensions/v1.JSONSchemaProps", '{"additionalProperties":1}', "boolean or JSON schema expected"],
  [
    "authentication/v1.UserInfo",
    '{"extra":{"a":"x"}}',
    `json: cannot unmarshal string into ${field("UserInfo.extra")} of type v1.ExtraValue`,
  ],
];

for (const [kind, sent, fault] of faults) {
  t.test(`decode() refuses ${kind} ${sent}`, async (t) => {
    t.equal(through(kind, sent), `fault: ${fault}`);
  });
}

/** Base64, and what is kept; `@n` is the place Go complains about. */
const base64s: readonly (readonly [sent: string, kept: string])[] = [
  ["", ""],
  ["AAAA", "AAAA"],
  ["AAA=", "AAA="],
  ["AA==", "AA=="],
  ["AB==", "AA=="],
  ["AAB=", "AAA="],
  ["A A A =", "@1"],
  ["AAA", "@0"],
  ["AA=", "@3"],
  ["AA", "@0"],
  ["A", "@0"],
  ["A=AA", "@1"],
  ["=AAA", "@0"],
  ["AA=A", "@2"],
  ["AAA=AAAA", "@4"],
  ["AA==AA==", "@4"],
  ["AAAA-_-_", "@4"],
  ["AAAAé", "@4"],
  ["A\nAA\r=\n", "AAA="],
];

for (const [sent, kept] of base64s) {
  t.test(`decode() reads base64 ${JSON.stringify(sent)} as Go does`, async (t) => {
    const object = decode<ConfigMap>(configMap, new Map([["binaryData", new Map([["a", sent]])]]));
    const got = object instanceof Fault ? object.message : object.binaryData?.get("a");
    t.equal(got, kept.startsWith("@") ? `illegal base64 data at input byte ${kept.slice(1)}` : kept);
  });
}

/** Keys that are special to JavaScript (ATTACKS S). */
const specialKeys = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "valueOf",
  "hasOwnProperty",
  "__defineGetter__",
  "then",
  "length",
  "0",
  "-1",
  "4294967295",
  "",
  " ",
  "a.b",
  "a/b",
  "a~1b",
  "é",
  "😀",
  "\u0000",
  "\ufffd",
];

t.test("decode() keeps keys special to JavaScript as data, byte for byte", async (t) => {
  const data = specialKeys.map((key, index) => `${JSON.stringify(key)}:"v${index}"`).join(",");
  const object = decode<ConfigMap>(
    configMap,
    parse(`{"metadata":{"labels":{${data}}},"data":{${data}},"__proto__":{"x":1}}`),
  );
  if (object instanceof Fault) return void t.fail(object.message);
  for (const [index, key] of specialKeys.entries()) {
    t.equal(object.data?.get(key), `v${index}`);
    t.equal(object.metadata.labels?.get(key), `v${index}`);
  }
  t.equal(Object.getPrototypeOf(object), Object.prototype);
  t.equal(({} as Record<string, unknown>)["x"], undefined);
  const again = decode<ConfigMap>(configMap, parse(encode(configMap, object)));
  t.same(again, object);
});

t.test("encode() orders map keys by their UTF-8 bytes", async (t) => {
  const keys = ["😀", "\ufffd", "é", "b", "9", "10", "Z", ""];
  const object = { ...zeroOf<ConfigMap>(configMap), data: new Map(keys.map((key) => [key, "v"])) };
  const sorted = keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  t.match(encode(configMap, object), `"data":{${sorted.map((key) => `"${key}":"v"`).join(",")}}`);
  t.same(sorted.slice(-2), ["\ufffd", "😀"]);
});

t.test("encodeForStore() leaves a gap for the version in metadata alone", async (t) => {
  const text =
    '{"metadata":{"name":"é\\"resourceVersion\\":\\"\\"","resourceVersion":"5","labels":{"resourceVersion":""}}}';
  const object = decode<ConfigMap>(configMap, parse(text));
  if (object instanceof Fault) return void t.fail(object.message);
  const { body, versionAt } = encodeForStore(configMap, object);
  const bytes = Buffer.from(body);
  const other = encodeForStore(configMap, object, 16).body;
  new Uint8Array(other.buffer, other.byteOffset - 16, 16).fill(0x21);
  t.ok(body.equals(bytes) && other.equals(bytes), "what is free in front of one is nobody else's");
  const spliced = `${bytes.subarray(0, versionAt)}5${bytes.subarray(versionAt)}`;
  t.equal(spliced, encode(configMap, object));
  t.equal(object.metadata.resourceVersion, "5", "the object is as it was");
  const fresh = encodeForStore(pod, zeroOf(pod));
  t.match(Buffer.from(fresh.body).toString(), '{"metadata":{"resourceVersion":"","creationTimestamp":null}');
});

t.test("decode() holds what Go holds by value, and nothing else", async (t) => {
  const object = decode<Pod>(pod, parse('{"spec":{"containers":[{}],"hostNetwork":false,"priority":0}}'));
  t.same(object, {
    metadata: {},
    spec: { containers: [{ name: "", resources: {} }], priority: 0 },
    status: {},
  });
  t.same(zeroOf<Service>(messageOf("core/v1.Service")), { metadata: {}, spec: {}, status: { loadBalancer: {} } });
});

t.test("decode() refuses schemas nested beyond the thread's stack", async (t) => {
  const schema = messageOf("apiextensions/v1.JSONSchemaProps");
  for (const [open, close] of [
    ['{"not":', "}"],
    ['{"properties":{"a":', "}}"],
    ['{"items":[', "]}"],
  ] as const) {
    const deep = decode(schema, parse(`${open.repeat(2400)}{}${close.repeat(2400)}`));
    t.equal(deep instanceof Fault && deep.message, "exceeded max depth", open);
    const shallow = decode<object>(schema, parse(`${open.repeat(400)}{}${close.repeat(400)}`));
    t.notOk(shallow instanceof Fault, open);
    if (!(shallow instanceof Fault)) t.equal(encode(schema, shallow), `${open.repeat(400)}{}${close.repeat(400)}`);
  }
});

t.test("decode() takes free-form fields of any depth", async (t) => {
  const nested = `${"[".repeat(9_990)}${"]".repeat(9_990)}`;
  const kept = through("apps/v1.ControllerRevision", `{"data":${nested},"revision":1}`);
  t.equal(kept, `{${meta},"data":${nested},"revision":1}`);
});

t.test("toValue() is what a patch applies to", async (t) => {
  const object = decode<object>(configMap, parse('{"metadata":{"name":"a"},"data":{"b":"1","a":"2"}}'));
  if (object instanceof Fault) return void t.fail(object.message);
  t.equal(
    writeValue(toValue(configMap, object)),
    '{"metadata":{"name":"a","creationTimestamp":null},"data":{"a":"2","b":"1"}}',
  );
});

t.test("readCanonical() reads what encode() wrote of schemas, and leaves the rest to decode()", async (t) => {
  const schema = messageOf("apiextensions/v1.JSONSchemaProps");
  const rows: readonly (readonly [text: string, isRead: boolean])[] = [
    ['{"type":"string","enum":["a","b\\"","",1,-2,true,{"a":[1]}]}', true],
    ['{"default":"x","example":false}', true],
    ['{"maximum":10,"minimum":-0.5,"multipleOf":0.001}', true],
    ['{"items":{"type":"string"},"additionalProperties":{"items":{"type":"integer"}}}', true],
    ['{"additionalProperties":false,"additionalItems":true}', true],
    // Other readers do these.
    ['{"maximum":1e+30}', false],
    ['{"maximum":12345678901234567890}', false],
    ['{"items":[{"type":"string"}]}', false],
    ['{"dependencies":{"a":["b"]}}', false],
  ];
  for (const [text, isRead] of rows) {
    const written = encode(schema, decode<object>(schema, parse(text)) as object);
    const read = readCanonical<object>(schema, written);
    t.equal(read !== undefined, isRead, written);
    if (read !== undefined) t.same(read, decode(schema, parse(written)), written);
  }
  for (const text of [
    '{"enum":[tru]}',
    '{"enum":["a]}',
    '{"minimum":-}',
    '{"additionalProperties":"x"}',
    '{"items":true}',
  ]) {
    t.equal(readCanonical(schema, text), undefined, text);
  }
});
