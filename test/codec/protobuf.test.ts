// Protobuf bodies: the published fixtures say the same in JSON, and no bytes are a fault of ours.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { messages } from "../../src/api/messages.ts";
import { decode, encode, Fault, parseJson } from "../../src/codec/json.ts";
import { openEnvelope, protobufValue } from "../../src/codec/protobuf.ts";
import { random } from "../support/random.ts";

const dir = "../shared/fixtures";
const files = existsSync(dir) ? readdirSync(dir).filter((name) => name.endsWith(".pb")) : [];

function messageFor(name: string): ReturnType<typeof messages.get> {
  const [, group = "", version = "", kind = ""] = /^(.*)\.(v\d\w*)\.(\w+)\.pb$/.exec(name) ?? [];
  return messages.get(`${group.split(".")[0]}/${version}.${kind}`) ?? messages.get(`meta/v1.${kind}`);
}

/** The object's JSON in our words, read from protobuf; the fault's message when it cannot be read. */
function read(name: string, bytes: Uint8Array): string {
  const message = messageFor(name);
  const envelope = openEnvelope(bytes);
  if (message === undefined) return "not served";
  if (envelope instanceof Fault) return envelope.message;
  const value = protobufValue(message, envelope.raw);
  if (value instanceof Fault) return value.message;
  const object = decode<object>(message, value);
  if (object instanceof Fault) return object.message;
  // The type is the envelope's, and one fixture's envelope is of another version than its name.
  return encode(message, object);
}

for (const name of files) {
  t.test(`protobufValue() reads the fixture ${name} as its JSON`, (t) => {
    const message = messageFor(name);
    if (message === undefined) {
      t.end();
      return;
    }
    const json = parseJson(readFileSync(join(dir, name.replace(/pb$/, "json"))));
    if (json instanceof Fault) throw new Error(json.message);
    const object = decode<{ kind?: string; apiVersion?: string }>(message, json);
    if (object instanceof Fault) throw new Error(object.message);
    const { kind, apiVersion } = object;
    const envelope = openEnvelope(readFileSync(join(dir, name)));
    if (envelope instanceof Fault) throw new Error(envelope.message);
    if (message.typeMeta) t.equal(envelope.kind, kind);
    if (message.typeMeta && !name.startsWith("autoscaling")) t.equal(envelope.apiVersion, apiVersion);
    delete object.kind;
    delete object.apiVersion;
    t.equal(read(name, readFileSync(join(dir, name))), encode(message, object));
    t.end();
  });
}

t.ok(files.length === 0 || files.length > 40, "fixtures are all there, or none");

t.test("openEnvelope() refuses what is none", (t) => {
  const table = [[], [0x7b], [0x6b, 0x38, 0x73], [0x6b, 0x38, 0x73, 0x01]];
  for (const bytes of table) {
    const envelope = openEnvelope(Uint8Array.from(bytes));
    if (!(envelope instanceof Fault)) return void t.fail("It was opened");
    t.match(
      envelope.message,
      /^provided data does not appear to be a protobuf message, expected prefix \[107 56 115 0\]/,
    );
  }
  t.end();
});

const pod = messages.get("core/v1.Pod");
const sample = "core.v1.Pod.pb";

t.test("protobufValue() survives every truncation and any flipped bits", (t) => {
  if (!files.includes(sample)) {
    t.end();
    return;
  }
  const whole = readFileSync(join(dir, sample));
  for (let length = 0; length < whole.length; length += 1) read(sample, whole.subarray(0, length));
  const seed = Number(process.env["ORCH_SEED"] ?? Date.now() % 1_000_000);
  const pick = random(seed);
  for (let round = 0; round < 300; round++) {
    const bytes = Buffer.from(whole);
    for (let flips = 1 + pick(4); flips > 0; flips--) bytes[pick(bytes.length)] = pick(256);
    read(sample, bytes);
  }
  t.pass(`nothing was thrown (seed ${seed})`);
  t.end();
});

t.test("protobufValue() names what is wrong", (t) => {
  const table: [what: string, bytes: number[], expected: string][] = [
    ["cut in a length", [0x0a], "unexpected EOF"],
    ["cut in a message", [0x0a, 0x05, 0x0a], "unexpected EOF"],
    ["a length beyond everything", [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], "unexpected EOF"],
    ["field 0", [0x02, 0x00], "illegal tag 0"],
    ["a number that never ends", [0x78, ...Array.from({ length: 11 }, () => 0x80)], "integer overflow"],
    ["a number for a message", [0x08, 0x01], "wrong wireType = 0 for field 1"],
    ["a group", [0x7b], "illegal wireType 3"],
  ];
  for (const [what, bytes, expected] of table) {
    const value = pod === undefined ? undefined : protobufValue(pod, Uint8Array.from(bytes));
    t.equal(value instanceof Fault ? value.message : value, expected, what);
  }
  t.end();
});

t.test("protobufValue() is no deeper than its bound", (t) => {
  const schema = messages.get("apiextensions/v1.JSONSchemaProps");
  if (schema === undefined) throw new Error("Schemas are described");
  const not = schema.fields.find(({ json }) => json === "not")?.number ?? 0;
  let bytes = Buffer.alloc(0);
  const varint = (n: number): number[] => (n < 0x80 ? [n] : [(n & 0x7f) | 0x80, ...varint(n >>> 7)]);
  for (let depth = 0; depth < 2000; depth++) {
    bytes = Buffer.concat([Buffer.from([...varint((not << 3) | 2), ...varint(bytes.length)]), bytes]);
  }
  const value = protobufValue(schema, bytes);
  t.equal(value instanceof Fault ? value.message : value, "exceeded max depth");
  t.end();
});
