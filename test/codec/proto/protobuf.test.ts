// Protobuf on both sides: the published fixtures are upstream's bytes for the JSON beside them, every encoding
// reads back as what was written, and no bytes are a fault of ours.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { messageOf, messages } from "../../../src/api/messages.ts";
import type { Message } from "../../../src/api/schema.ts";
import { decode, encode, Fault, parseText } from "../../../src/codec/engine/json.ts";
import { decodeProto, encodeProto, encodeWatchEvent, openEnvelope } from "../../../src/codec/proto/protobuf.ts";
import { random } from "../../support/random.ts";

const dir = "../shared/fixtures";
const files = existsSync(dir) ? readdirSync(dir).filter((name) => name.endsWith(".pb")) : [];

interface Typed {
  kind?: string;
  apiVersion?: string;
}

function messageFor(name: string, kind: string): Message | undefined {
  const [, group = "", version = ""] = /^(.*?)\.(v\d\w*)\.\w+\.pb$/.exec(name) ?? [];
  return messages.get(`${group.split(".")[0]}/${version}.${kind}`) ?? messages.get(`meta/v1.${kind}`);
}

/** What the body decoded to, or what is wrong with it. */
function read(message: Message, bytes: Uint8Array): object | string {
  const object = decodeProto(message, bytes);
  return object instanceof Fault ? object.message : object;
}

function fromJson<T extends object>(message: Message, text: string): T {
  const value = parseText(text);
  const object = value instanceof Fault ? value : decode<T>(message, value);
  if (object instanceof Fault) throw new Error(object.message);
  return object;
}

for (const name of files) {
  t.test(`protobuf and JSON of the fixture ${name} say the same, byte for byte`, (t) => {
    const bytes = readFileSync(join(dir, name));
    const envelope = openEnvelope(bytes);
    if (envelope instanceof Fault) throw new Error(envelope.message);
    const message = messageFor(name, envelope.kind);
    // Not served by the release: its type is not described.
    if (message === undefined) return void t.end();
    const object = fromJson<Typed>(message, readFileSync(join(dir, name.replace(/pb$/, "json")), "utf8"));
    object.kind = envelope.kind;
    object.apiVersion = envelope.apiVersion;
    t.ok(Buffer.from(encodeProto(message, object)).equals(bytes), "encoded");
    const decoded = decodeProto<Typed>(message, envelope.raw);
    if (decoded instanceof Fault) throw new Error(decoded.message);
    decoded.kind = envelope.kind;
    decoded.apiVersion = envelope.apiVersion;
    t.equal(encode(message, decoded), encode(message, object), "decoded");
    t.end();
  });
}

t.ok(files.length === 0 || files.length > 40, "fixtures are all there, or none");

t.test("encodeProto() and decodeProto() keep what JSON keeps", (t) => {
  const table: [message: string, json: string][] = [
    ["core/v1.Pod", "{}"],
    [
      "core/v1.Pod",
      '{"metadata":{"name":"a","creationTimestamp":"2001-02-03T04:05:06Z"},"spec":{"containers":[{"name":"c"}]}}',
    ],
    ["core/v1.Secret", '{"data":{"b":"AAEC","a":""},"immutable":false,"type":"Opaque"}'],
    ["core/v1.ConfigMap", '{"data":{"__proto__":"x","ключ":"значение 🙂","":""},"binaryData":{"b":"/w=="}}'],
    ["core/v1.Event", '{"eventTime":"2020-01-02T03:04:05.000006Z","count":-1,"metadata":{"name":"e"}}'],
    [
      "core/v1.Service",
      '{"spec":{"ports":[{"port":1,"targetPort":"http"},{"port":2,"targetPort":-3}],"clusterIPs":["None"]}}',
    ],
    ["core/v1.ResourceQuota", '{"spec":{"hard":{"cpu":"1500m","memory":"1Gi"}}}'],
    [
      "apps/v1.Deployment",
      '{"spec":{"replicas":0,"strategy":{"rollingUpdate":{"maxSurge":"25%","maxUnavailable":0}}}}',
    ],
    ["apps/v1.ControllerRevision", '{"data":{"x":[1,1.0,1e3,null]},"revision":9007199254740993}'],
    ["apps/v1.ControllerRevision", '{"revision":-9223372036854775808}'],
    [
      "apiextensions/v1.CustomResourceDefinition",
      '{"spec":{"versions":[{"name":"v1","schema":{"openAPIV3Schema":{"type":"object","maximum":1.5,"default":{"a":1},' +
        '"items":[{"type":"string"}],"additionalProperties":false,"dependencies":{"a":["b"]}}}}]}}',
    ],
    ["authorization/v1.SubjectAccessReview", '{"spec":{"extra":{"k":["a","b"],"none":[]}}}'],
  ];
  for (const [name, json] of table) {
    const message = messageOf(name);
    const object = fromJson<Typed>(message, json);
    object.kind = "K";
    object.apiVersion = "g/v1";
    const envelope = openEnvelope(encodeProto(message, object));
    if (envelope instanceof Fault) throw new Error(envelope.message);
    const back = decodeProto<Typed>(message, envelope.raw);
    if (back instanceof Fault) throw new Error(back.message);
    t.equal(
      encode(message, Object.assign(back, { kind: envelope.kind, apiVersion: envelope.apiVersion })),
      encode(message, object),
    );
  }
  t.end();
});

t.test("decodeProto() fills in what is not there as JSON does", (t) => {
  for (const message of messages.values()) {
    if (message.special !== undefined) continue;
    t.same(read(message, new Uint8Array(0)), fromJson(message, "{}"), message.name);
  }
  t.end();
});

t.test("decodeProto() takes repeated fields as protobuf says", (t) => {
  const table: [what: string, message: string, bytes: number[], expected: string][] = [
    ["the last scalar", "meta/v1.ObjectMeta", [0x0a, 1, 0x61, 0x0a, 1, 0x62], '{"name":"b","creationTimestamp":null}'],
    [
      "messages merged",
      "core/v1.Pod",
      [0x0a, 3, 0x0a, 1, 0x61, 0x0a, 3, 0x1a, 1, 0x62],
      '{"metadata":{"name":"a","namespace":"b"}}',
    ],
    ["packed numbers", "core/v1.PodSecurityContext", [0x22, 2, 1, 2, 0x20, 3], '{"supplementalGroups":[1,2,3]}'],
    [
      "unknown fields",
      "core/v1.LocalObjectReference",
      [0xfa, 7, 1, 0, 0x0a, 1, 0x61, 0xfb, 7, 0x08, 1, 0xfc, 7],
      '{"name":"a"}',
    ],
  ];
  for (const [what, name, bytes, json] of table) {
    const message = messageOf(name);
    t.same(read(message, Uint8Array.from(bytes)), fromJson(message, json), what);
  }
  t.end();
});

t.test("openEnvelope() refuses what is none", (t) => {
  const prefix = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]";
  const table: [bytes: number[], expected: string][] = [
    [[], "empty data"],
    [[0x7b], prefix],
    [[0x6b, 0x38, 0x73], prefix],
    [[0x6b, 0x38, 0x73, 0x01], prefix],
    [[0x6b, 0x38, 0x73, 0], "empty body"],
    [[0x6b, 0x38, 0x73, 0, 0xff, 0xff, 0xff], "unexpected EOF"],
    [[0x6b, 0x38, 0x73, 0, 0x12, 0x05, 1], "unexpected EOF"],
    [[0x6b, 0x38, 0x73, 0, 0x02, 0], "proto: Unknown: illegal tag 0 (wire type 2)"],
  ];
  for (const [bytes, expected] of table) {
    const envelope = openEnvelope(Uint8Array.from(bytes));
    t.equal(envelope instanceof Fault ? envelope.message : envelope, expected);
  }
  t.end();
});

t.test("decodeProto() names what is wrong", (t) => {
  const table: [what: string, bytes: number[], expected: string][] = [
    ["cut in a length", [0x0a], "unexpected EOF"],
    ["cut in a message", [0x0a, 0x05, 0x0a], "unexpected EOF"],
    ["a length beyond everything", [0x0a, ...Array.from({ length: 7 }, () => 0xff), 0x7f], "unexpected EOF"],
    [
      "a negative length",
      [0x0a, ...Array.from({ length: 9 }, () => 0xff), 0x01],
      "proto: negative length found during unmarshaling",
    ],
    ["field 0", [0x02, 0x00], "proto: Pod: illegal tag 0 (wire type 2)"],
    ["a number that never ends", [0x78, ...Array.from({ length: 11 }, () => 0x80)], "proto: integer overflow"],
    ["a number for a message", [0x08, 0x01], "proto: wrong wireType = 0 for field Metadata"],
    ["the end of no group", [0x7c], "proto: Pod: wiretype end group for non-group"],
    ["a group without end", [0x7b], "unexpected EOF"],
    ["a wire type that is none", [0x7e], "proto: illegal wireType 6"],
  ];
  for (const [what, bytes, expected] of table)
    t.equal(read(messageOf("core/v1.Pod"), Uint8Array.from(bytes)), expected, what);
  const quantity = Uint8Array.from([0x0a, 9, 0x0a, 1, 0x61, 0x12, 4, 0x0a, 2, 0x78, 0x78]);
  t.match(read(messageOf("core/v1.ResourceRequirements"), quantity), /^quantities must match/);
  const raw = Uint8Array.from([0x12, 4, 0x0a, 2, 0x7b, 0x78]);
  t.type(read(messageOf("apps/v1.ControllerRevision"), raw), "string", "raw bytes that are no JSON");
  t.end();
});

t.test("decodeProto() is no deeper than its bound", (t) => {
  const schema = messageOf("apiextensions/v1.JSONSchemaProps");
  const not = schema.fields.find(({ json }) => json === "not")?.number ?? 0;
  let bytes = Buffer.alloc(0);
  const varint = (n: number): number[] => (n < 0x80 ? [n] : [(n & 0x7f) | 0x80, ...varint(n >>> 7)]);
  for (let depth = 0; depth < 2000; depth++) {
    bytes = Buffer.concat([Buffer.from([...varint((not << 3) | 2), ...varint(bytes.length)]), bytes]);
  }
  t.equal(read(schema, bytes), "exceeded max depth");
  t.end();
});

t.test("decodeProto() survives every truncation and any flipped bytes", (t) => {
  const seed = Number(process.env["ORCH_SEED"] ?? Date.now() % 1_000_000);
  const pick = random(seed);
  for (const name of files) {
    const envelope = openEnvelope(readFileSync(join(dir, name)));
    const message = envelope instanceof Fault ? undefined : messageFor(name, envelope.kind);
    if (envelope instanceof Fault || message === undefined) continue;
    const whole = envelope.raw;
    for (let length = 0; length < whole.length; length += 1 + pick(40)) read(message, whole.subarray(0, length));
    for (let round = 0; round < 15; round++) {
      const bytes = Uint8Array.from(whole);
      for (let flips = 1 + pick(4); flips > 0; flips--) bytes[pick(bytes.length)] = pick(256);
      const object = read(message, bytes);
      // What was read can be shown.
      if (typeof object !== "string") {
        const json = encode(message, object);
        if (parseText(json) instanceof Fault) t.fail(`${name} reads as broken JSON (seed ${seed})`);
        encodeProto(message, object);
      }
    }
  }
  t.pass(`nothing was thrown (seed ${seed})`);
  t.end();
});

t.test("encodeWatchEvent() frames an event", (t) => {
  const frame = Buffer.from(encodeWatchEvent("ADDED", Uint8Array.of(1, 2, 3)));
  t.equal(frame.readUInt32BE(0), frame.length - 4);
  const event = decodeProto<{ type: string }>(messageOf("meta/v1.WatchEvent"), frame.subarray(4));
  // The object is an envelope here and raw JSON in no way: only the type can be read by the type engine.
  t.ok(event instanceof Fault);
  t.same([...frame.subarray(4)], [0x0a, 5, ...Buffer.from("ADDED"), 0x12, 5, 0x0a, 3, 1, 2, 3]);
  t.end();
});
