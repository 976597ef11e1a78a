// JSON of ours to protobuf in one way: it gives what decode and encode give, or leaves the document to them.
import t from "tap";
import { podText } from "../../../perf/corpus/pod.ts";
import { messageOf, messages } from "../../../src/api/messages.ts";
import type { Message } from "../../../src/api/schema.ts";
import { copyOf, copyRange, viewOf } from "../../../src/base/copy.ts";
import { decode, encode, Fault, parseText } from "../../../src/codec/engine/json.ts";
import { encodeMessage } from "../../../src/codec/proto/protobuf.ts";
import { transcode, transcodedRecord, transcodeHead } from "../../../src/codec/proto/transcode.ts";
import { ObjectSource } from "../../support/objects.ts";
import { draws, fuzzRun, random } from "../../support/random.ts";

function objectOf(message: Message, text: string): object {
  const value = parseText(text);
  const object = value instanceof Fault ? value : decode<object>(message, value);
  if (object instanceof Fault) throw new Error(object.message);
  return object;
}

/** In memory that threads share, and not at its beginning, as records are. */
function shared(text: string): Uint8Array {
  const bytes = Buffer.from(text);
  const memory = new Uint8Array(new SharedArrayBuffer(bytes.length + 64)).fill(0x7b);
  memory.set(bytes, 32);
  return memory.subarray(32, 32 + bytes.length);
}

/** The same as a message, by way of a record that holds it. */
function ofRecord(message: Message, json: Uint8Array): Uint8Array | undefined {
  const copyObject = (_at: number, from: number, target: Uint8Array, to: number): number =>
    copyRange(target, to, json, from, json.length);
  const made = transcodedRecord(message, { object: () => json, objectBytes: () => json.length, copyObject }, 1);
  return made && copyOf(viewOf(made));
}

/** Whether a document was taken; throws where it became something else than it should. */
function isTaken(message: Message, text: string): boolean {
  const bytes = shared(text);
  const record = ofRecord(message, bytes);
  const made = transcode(message, bytes);
  const isSame = made === undefined ? record === undefined : record !== undefined && Buffer.compare(record, made) === 0;
  if (!isSame) throw new Error(`${message.name} as a record: ${text}`);
  if (made === undefined) return false;
  if (!Buffer.from(encodeMessage(message, objectOf(message, text))).equals(made))
    throw new Error(`${message.name}: ${text}`);
  return true;
}

t.test("transcode() gives what decode and encode give, for objects of every kind", (t) => {
  const run = fuzzRun(30);
  const source = new ObjectSource(draws(run.seed));
  let [tried, taken] = [0, 0];
  for (const message of messages.values()) {
    for (let round = 0; round < run.rounds; round += 1) {
      const text = encode(message, objectOf(message, source.json(message)));
      tried += 1;
      if (isTaken(message, text)) taken += 1;
    }
  }
  t.ok(taken > tried * 0.3, `${taken} of ${tried} documents are taken`);
  t.end();
});

t.test("transcode() takes what clients list", (t) => {
  const pod = messageOf("core/v1.Pod");
  const own = (message: string, text: string): string => encode(messageOf(message), objectOf(messageOf(message), text));
  t.ok(isTaken(pod, own(pod.name, podText(1))), "a pod");
  const documents: readonly (readonly [string, string])[] = [
    [
      "core/v1.Secret",
      '{"kind":"Secret","apiVersion":"v1","metadata":{"name":"s"},"data":{"a":"","b":"AAEC","c":"/w=="}}',
    ],
    ["core/v1.ConfigMap", '{"metadata":{"name":"m"},"data":{"a":"line\\n\\"quoted\\" <b> \\u2028","é":"日本🙂"}}'],
    [
      "core/v1.Service",
      '{"metadata":{},"spec":{"ports":[{"port":80,"targetPort":"http"},{"port":1,"targetPort":-5}]}}',
    ],
    [
      "core/v1.Node",
      '{"metadata":{"creationTimestamp":"2024-02-29T23:59:59Z"},"status":{"capacity":{"cpu":"4","memory":"8Gi"}}}',
    ],
    [
      "coordination/v1.Lease",
      '{"metadata":{},"spec":{"renewTime":"2026-11-26T21:00:00.123456Z","leaseTransitions":3}}',
    ],
    [
      "apps/v1.Deployment",
      '{"metadata":{"generation":9007199254740},"spec":{"replicas":0,"strategy":{"rollingUpdate":{"maxSurge":"25%"}}}}',
    ],
    [
      "rbac/v1.ClusterRole",
      '{"metadata":{},"rules":[{"verbs":["*"],"apiGroups":[""],"resources":[]}],"aggregationRule":{}}',
    ],
  ];
  for (const [name, text] of documents) t.ok(isTaken(messageOf(name), own(name, text)), name);
  t.end();
});

t.test("transcodeHead() gives the metadata alone, for objects of every kind", (t) => {
  const run = fuzzRun(10);
  const source = new ObjectSource(draws(run.seed));
  const partial = messageOf("meta/v1.PartialObjectMetadata");
  const kinds = [...messages.values()].filter(({ fields }) => fields.some(({ json }) => json === "metadata"));
  let [tried, taken] = [0, 0];
  for (const message of kinds) {
    for (let round = 0; round < run.rounds; round += 1) {
      const text = encode(message, objectOf(message, source.json(message)));
      if (!text.includes('"metadata":{')) continue;
      tried += 1;
      const made = transcodeHead(partial, shared(text));
      if (made === undefined) continue;
      taken += 1;
      const known = encodeMessage(partial, objectOf(partial, text));
      if (!Buffer.from(known).equals(made)) t.fail(`${message.name}: ${text}`);
    }
  }
  t.ok(taken > tried * 0.3, `${taken} of ${tried} documents are taken`);
  t.end();
});

t.test("transcodeHead() of a document that is cut off is nothing, or what it is of the whole one", (t) => {
  const partial = messageOf("meta/v1.PartialObjectMetadata");
  const text = podText(1);
  const whole = transcodeHead(partial, shared(text));
  t.ok(whole !== undefined && whole.length > 50);
  for (let end = 0; end < text.length; end += 1) {
    const made = transcodeHead(partial, shared(text.slice(0, end)));
    if (made !== undefined && !Buffer.from(made).equals(Buffer.from(whole ?? []))) t.fail(text.slice(0, end));
  }
  t.equal(transcode(partial, shared(text)), undefined, "the whole document is not of that message");
  t.end();
});

t.test("transcode() leaves alone what is not as our encoder writes it", (t) => {
  const message = messageOf("core/v1.ConfigMap");
  for (const text of [
    "",
    "{",
    "[]",
    '{"metadata":{}} ',
    '{ "metadata":{}}',
    '{"metadata":{},"metadata":{}}',
    '{"data":{},"metadata":{}}',
    '{"metadata":{},"unknown":1}',
    '{"metadata":{"name":1}}',
    '{"metadata":{"name":"a}}',
    '{"metadata":{"name":"\\x"}}',
    '{"metadata":{"name":"a","generation":1.5}}',
    '{"metadata":{"name":"a","generation":01}}',
    '{"metadata":{"name":"a","generation":99999999999999999999}}',
    '{"metadata":{"creationTimestamp":"2024-02-30T00:00:00Z"}}',
    '{"metadata":{"creationTimestamp":"0001-01-01T00:00:00Z"}}',
    '{"metadata":{"creationTimestamp":"2024-02-20T00:00:00.5Z"}}',
    '{"metadata":{"creationTimestamp":"2024-02-20T00:00:00+01:00"}}',
    '{"metadata":{},"data":{"b":"1","a":"2"}}',
    '{"metadata":{},"data":{"a":"1","a":"2"}}',
    '{"metadata":{},"data":{"a":null}}',
    '{"metadata":{},"data":["a"]}',
    '{"metadata":{},"immutable":tru}',
    '{"metadata":{},"immutable":nul}',
    '{"metadata":{},"binaryData":{"a":"A"}}',
    '{"metadata":{},"binaryData":{"a":"-_=="}}',
    '{"metadata":{"finalizers":[null]}}',
    '{"metadata":{"managedFields":[{"fieldsV1":{"f:a": {}}}]}}',
    '{"metadata":{"managedFields":[{"fieldsV1":{"f:a":{}}]}}',
    '{"metadata":{"managedFields":[{"fieldsV1":{"<":{}}}]}}',
    '{"metadata":{"managedFields":[{"fieldsV1":"text"}]}}',
  ])
    t.equal(transcode(message, shared(text)), undefined, text);
  const latin = Buffer.from('{"metadata":{"name":"\xff"}}', "latin1");
  t.equal(transcode(message, latin), undefined, "no UTF-8");
  t.equal(ofRecord(message, latin), undefined, "no UTF-8 in a record");
  t.equal(transcode(messageOf("core/v1.Pod"), shared('{"metadata":{},"spec":{},"status":{}}x')), undefined);
  t.equal(
    transcode(messageOf("core/v1.Pod"), shared(`{"metadata":{},"spec":{"containers":[${"{},".repeat(100_000)}{}]}}`)),
    undefined,
    "more values than there is room for",
  );
  t.ok(transcode(message, shared('{"metadata":{"name":"a"}}')), "and goes on with the next document");
  t.end();
});

t.test("transcode() survives every truncation and any changed byte", (t) => {
  const next = random(7);
  const message = messageOf("core/v1.Pod");
  const bytes = Buffer.from(encode(message, objectOf(message, podText(3))));
  t.ok(transcode(message, bytes));
  for (let end = 0; end < bytes.length; end += 1) t.equal(transcode(message, bytes.subarray(0, end)), undefined);
  for (let round = 0; round < 5_000; round += 1) {
    const changed = Buffer.from(bytes);
    changed[next(bytes.length)] = next(128);
    const made = transcode(message, changed);
    if (made === undefined) continue;
    const value = parseText(changed.toString());
    const object = value instanceof Fault ? value : decode<object>(message, value);
    if (object instanceof Fault) t.fail(`${object.message}: ${changed.toString()}`);
    else if (!Buffer.from(encodeMessage(message, object)).equals(made)) t.fail(changed.toString());
  }
  t.end();
});

t.test("transcode() reads times as decode does, or leaves them to it", (t) => {
  const lease = (time: string): string => `{"metadata":{"creationTimestamp":"${time}"},"spec":{}}`;
  const micro = (time: string): string => `{"metadata":{},"spec":{"renewTime":"${time}"}}`;
  const { name } = messageOf("coordination/v1.Lease");
  const message = messageOf(name);
  for (let days = 0; days < 60_000; days += 3) {
    const text = new Date(days * 86_400_000 + ((days * 7_919_000) % 86_400_000)).toISOString().slice(0, 19);
    const isSame =
      isTaken(message, lease(`${text}Z`)) && isTaken(message, micro(`${text}.${String(days).padStart(6, "0")}Z`));
    if (!isSame) t.fail(text);
  }
  for (const year of [1972, 2000, 2100, 2400]) {
    for (const day of ["02-28", "02-29", "03-01", "12-31"]) {
      const date = new Date(`${year}-${day}T00:00:00Z`);
      const exists = !Number.isNaN(date.getTime()) && date.toISOString().startsWith(`${year}-${day}`);
      t.equal(transcode(message, shared(lease(`${year}-${day}T23:59:59Z`))) !== undefined, exists, `${year}-${day}`);
    }
  }
  for (const text of [
    "1969-12-31T23:59:59Z",
    "2023-02-29T00:00:00Z",
    "2024-00-01T00:00:00Z",
    "2024-13-01T00:00:00Z",
    "2024-01-00T00:00:00Z",
    "2024-01-01T24:00:00Z",
    "2024-01-01T00:60:00Z",
    "2024-01-01T00:00:60Z",
    "2024-1-01T00:00:000Z",
    "2024-01-01T00:00:00z",
    "2024/01/01T00:00:00Z",
    "20-4-01-01T00:00:00Z",
  ])
    t.equal(transcode(message, shared(lease(text))), undefined, text);
  for (const text of ["2024-01-01T00:00:00Z", "2024-01-01T00:00:00,123456Z", "2024-01-01T00:00:00.12345xZ"])
    t.equal(transcode(message, shared(micro(text))), undefined, text);
  t.end();
});

t.test("transcode() reads what is escaped, base64 and raw JSON as decode does", (t) => {
  const map = messageOf("core/v1.ConfigMap");
  const data = (text: string): string => `{"metadata":{},"data":{"a":"${text}"}}`;
  const long = "x".repeat(40);
  for (const text of [
    '\\"\\\\\\/\\b\\f\\n\\r\\t',
    "\\u0000\\u001f\\u003c\\u00e9\\u2028\\uFFFD\\uffff",
    `${long}\\n${long}\\u20ac${long}`,
    `${"\\n".repeat(50)}`,
    "é日本🙂",
  ])
    t.ok(isTaken(map, data(text)), text);
  for (const text of ["\\ud83d\\ude42", "\\ud83d", "\\u12", "\\u12g4", "\\", "a\u0001"])
    t.notOk(isTaken(map, data(text)), `${text} is left alone`);
  const binary = (text: string): string => `{"metadata":{},"binaryData":{"a":"${text}"}}`;
  const secret = messageOf("core/v1.Secret");
  for (let length = 0; length < 70; length += 1) {
    const bytes = Buffer.from(Array.from({ length }, (_, at) => (at * 89 + length * 7) % 256));
    if (!isTaken(map, binary(bytes.toString("base64")))) t.fail(`${length} bytes`);
    if (!isTaken(secret, `{"metadata":{},"data":{"a":"${bytes.toString("base64")}"}}`)) t.fail(`${length} bytes`);
  }
  for (const text of ["A", "AA", "AAA", "AB==", "AAB=", "A===", "====", "AA=A", "AA==AAAA", "A-A="])
    t.equal(transcode(map, shared(binary(text))), undefined, text);
  const fields = (json: string): string => `{"metadata":{"managedFields":[{"fieldsV1":${json}}]}}`;
  for (const json of [
    '{"f:a":{".":{},"k:{\\"name\\":\\"a\\\\b\\"}":[1,true,null]}}',
    "[]",
    '{"":{}}',
    `{"${long}${long}":{}}`,
  ])
    t.ok(isTaken(map, fields(json)), json);
  for (const json of ['{"é":{}}', '{"a>":{}}', '{"\\n":{}}', '{"a b":{}}', "{", '{"a', "1", '{"\u007f":1}'])
    t.equal(transcode(map, shared(fields(json))), undefined, json);
  t.end();
});

t.test("transcode() has room for what it takes", (t) => {
  const map = messageOf("core/v1.ConfigMap");
  const data = (length: number): string => `{"metadata":{},"data":{"a":"${"x".repeat(length)}"}}`;
  for (const length of [255, 256, 257, 70_000, 2 * 1024 * 1024 - 100])
    t.ok(isTaken(map, data(length)), `${length} bytes`);
  t.equal(transcode(map, shared(data(2 * 1024 * 1024))), undefined, "larger than the input");
  // An empty message is far larger in protobuf.
  const pod = `{"metadata":{},"spec":{"containers":[${"{},".repeat(4_000)}{}]}}`;
  t.ok(isTaken(messageOf("core/v1.Pod"), pod), "an answer that is larger than what it is made of");
  t.ok(isTaken(map, data(3)), "and goes on with the next one");
  t.end();
});
