// What is read of a body whose parts came before is what is read of it alone.
import t from "tap";
import { identities } from "../../../src/api/identity.ts";
import { messageOf, messages } from "../../../src/api/messages.ts";
import type { ApiObject } from "../../../src/api/object.ts";
import { createScheme } from "../../../src/api/scheme.ts";
import { encodeForStore } from "../../../src/codec/engine/encode.ts";
import { decode, Fault, parseText, zeroOf } from "../../../src/codec/engine/json.ts";
import { settledOf } from "../../../src/codec/engine/settled.ts";
import { decodeProto, encodeMessage } from "../../../src/codec/proto/protobuf.ts";
import { decodeTemplated, settleTemplated, templateOf } from "../../../src/codec/proto/templates.ts";
import { limits } from "../../../src/config/limits.ts";
import { applyDefaults } from "../../../src/kinds/defaults.ts";
import { resetFields } from "../../../src/kinds/table.ts";
import { unowned } from "../../../src/merge/managedfields.ts";
import { ownedText } from "../../../src/request/write/ownedfields.ts";
import { ObjectSource } from "../../support/objects.ts";
import { draws, fuzzRun } from "../../support/random.ts";

const pod = messageOf("core/v1.Pod");
const { kubernetes: identity } = identities;
const scheme = createScheme({ identity, runtimeConfig: new Map() });

interface PodObject extends ApiObject {
  spec?: { containers: { env: object[] }[]; nodeSelector: Map<string, string> };
}

function bytesOf(json: string): Uint8Array {
  const value = parseText(json);
  const object = value instanceof Fault ? value : decode<object>(pod, value);
  if (object instanceof Fault) throw new Error(object.message);
  return encodeMessage(pod, object);
}

function decoded(bytes: Uint8Array): PodObject {
  const object = decodeTemplated<PodObject>(pod, bytes);
  if (object instanceof Fault) throw new Error(object.message);
  return object;
}

const isCopy = ({ spec }: PodObject): boolean => spec !== undefined && templateOf(spec) !== undefined;

/** A pod whose spec was named by `mark`, and seen in `times` bodies before. */
function seenPod(mark: string, times = 2): Uint8Array {
  const spec = `{"containers":[{"name":"c","image":"${mark}","env":[{"name":"A","value":"1"}]}],"nodeSelector":{"a":"b"}}`;
  const bytes = bytesOf(`{"metadata":{"name":"p"},"spec":${spec}}`);
  for (let time = 0; time < times; time += 1) decoded(bytes);
  return bytes;
}

/** Bytes of a field of a message: its number, and what is in it. */
const field = (number: number, bytes: Uint8Array): Buffer => {
  const { length } = bytes;
  const head = length < 0x80 ? [length] : [(length & 0x7f) | 0x80, length >> 7];
  return Buffer.concat([Uint8Array.of(number * 8 + 2, ...head), bytes]);
};

t.test("pods whose spec came before are read as others are, and own the same", (t) => {
  const run = fuzzRun(200);
  const source = new ObjectSource(draws(run.seed));
  const resource = scheme.findKind("", "v1", "Pod");
  if (resource === undefined) throw new Error("There are no pods");
  const exempt = { ignored: resetFields(resource, "", identity), unowned };
  const owned = (object: PodObject): string | undefined => {
    applyDefaults(resource, object, identity);
    return ownedText(pod, zeroOf(pod), object, exempt);
  };
  const spec = pod.fields.find(({ json }) => json === "spec")?.message;
  const meta = pod.fields.find(({ json }) => json === "metadata")?.message;
  if (spec === undefined || meta === undefined) throw new Error("Pods have no spec");
  let [copies, told] = [0, 0];
  for (let round = 0; round < run.rounds; round += 1) {
    const part = source.json(spec);
    for (let time = 0; time < 4; time += 1) {
      const bytes = bytesOf(`{"metadata":${source.json(meta)},"spec":${part}}`);
      const plain = decodeProto<PodObject>(pod, bytes);
      if (plain instanceof Fault) throw new Error(plain.message);
      const object = decoded(bytes);
      if (isCopy(object)) copies += 1;
      t.strictSame(object, plain, `${round} ${time}`);
      const text = owned(object);
      if (isCopy(object) && text !== undefined) told += 1;
      t.equal(text, owned(plain), `${round} ${time}`);
    }
  }
  t.ok(copies > run.rounds, `${copies} of ${run.rounds * 4} were copied`);
  t.ok(told > run.rounds / 2, `of ${told} copies it is told what is owned`);
  t.end();
});

t.test("a copy shares nothing that is changed", (t) => {
  const bytes = seenPod("shared");
  const plain = decoded(bytes);
  t.ok(isCopy(plain), "it came before");
  const changed = decoded(bytes);
  const { spec } = changed;
  if (spec === undefined) throw new Error("It has no spec");
  for (const { env } of spec.containers) env.push({ name: "B", value: "2" });
  spec.nodeSelector.set("c", "d");
  spec.containers.pop();
  t.strictSame(decoded(bytes), plain);
  t.end();
});

t.test("a part is kept when it comes again, and copied from then on", (t) => {
  t.notOk(isCopy(decoded(seenPod("once", 1))), "the second one");
  t.ok(isCopy(decoded(seenPod("once", 0))), "the third one");
  t.end();
});

t.test("pods that are stored with the same spec share one, which is written as their own", (t) => {
  const run = fuzzRun(200);
  const source = new ObjectSource(draws(run.seed));
  const spec = pod.fields.find(({ json }) => json === "spec")?.message;
  const resource = scheme.findKind("", "v1", "Pod");
  if (spec === undefined || resource === undefined) throw new Error("Pods have no spec");
  /** As plugins do it: most pods of a template get the same, some another thing. */
  const finished = (bytes: Uint8Array, node: string, read: typeof decodeProto): PodObject => {
    const object = read<PodObject>(pod, bytes);
    if (object instanceof Fault) throw new Error(object.message);
    applyDefaults(resource, object, identity);
    (object.spec as { nodeName?: string }).nodeName = node;
    return object;
  };
  let shared = 0;
  for (let round = 0; round < run.rounds; round += 1) {
    const part = source.json(spec);
    let last: object | undefined;
    for (let time = 0; time < 8; time += 1) {
      const bytes = bytesOf(`{"metadata":{"name":"p${time}"},"spec":${part}}`);
      const node = time === 5 ? "other" : "node";
      const object = finished(bytes, node, decodeTemplated);
      const plain = finished(bytes, node, decodeProto);
      settleTemplated(pod, object);
      t.strictSame(encodeForStore(pod, object), encodeForStore(pod, plain), `${round} ${time}`);
      t.strictSame(object, plain);
      if (object.spec === last) shared += 1;
      last = object.spec;
    }
  }
  t.ok(shared > run.rounds, `${shared} pods have the spec of the one before`);
  t.end();
});

t.test("what is shared refuses changes, and tells what differs by anything", (t) => {
  const bytes = seenPod("frozen");
  const [one, other] = [decoded(bytes), decoded(bytes)];
  for (const object of [one, other]) settleTemplated(pod, object);
  t.equal(one.spec, other.spec, "it is one");
  t.throws(() => other.spec?.containers.push({ env: [] }), TypeError);
  t.throws(() => Object.assign(other.spec?.containers[0] ?? {}, { image: "b" }), TypeError);
  const changes: ((spec: NonNullable<PodObject["spec"]>) => void)[] = [
    (spec) => spec.containers.push(...spec.containers),
    (spec) => spec.containers.pop(),
    (spec) => spec.nodeSelector.set("a", "c"),
    (spec) => spec.nodeSelector.set("b", "b"),
    (spec) => spec.nodeSelector.delete("a"),
    (spec) => Object.assign(spec, { hostNetwork: true }),
    (spec) => Object.assign(spec, { nodeSelector: undefined }),
    (spec) => Object.assign(spec, { priority: 1n }),
    (spec) => Object.assign(spec.containers[0]?.env[0] ?? {}, { value: "2" }),
    (spec) => Object.assign(spec.containers[0]?.env[0] ?? {}, { valueFrom: {} }),
  ];
  for (const change of changes) {
    const [changed, plain] = [decoded(bytes), decodeProto<PodObject>(pod, bytes) as PodObject];
    for (const { spec } of [changed, plain]) if (spec !== undefined) change(spec);
    settleTemplated(pod, changed);
    t.not(changed.spec, one.spec, String(change));
    t.strictSame(encodeForStore(pod, changed), encodeForStore(pod, plain));
  }
  t.end();
});

t.test("rules are asked once about what is shared, and again under other terms", (t) => {
  const bytes = seenPod("sound");
  const { spec } = decoded(bytes);
  const object = { ...decoded(bytes), spec };
  settleTemplated(pod, object);
  const shared = settledOf(object.spec ?? {});
  if (shared === undefined) throw new Error("It is not shared");
  t.notOk(shared.isSound([identity]), "nothing is known");
  shared.keepSound([identity]);
  t.ok(shared.isSound([identity]));
  t.notOk(shared.isSound([identities.orch]));
  t.notOk(shared.isSound([identity, undefined]));
  t.notOk(shared.isSound([]));
  t.end();
});

t.test("whatever is wrong or unusual beside the part is told as of a body alone", (t) => {
  const bytes = seenPod("wrong");
  const kept = decoded(bytes);
  t.ok(isCopy(kept), "its spec came before");
  const spec = encodeMessage(messageOf("core/v1.PodSpec"), kept.spec ?? {});
  const [second, status] = [field(2, Buffer.of(0x1a, 1, 0x61)), field(3, Buffer.of(0x0a, 1, 0x61))];
  // 18 + 2^35: field 2, as far as 32 bits tell.
  const farKey = Buffer.of(0x92, 0x80, 0x80, 0x80, 0x80, 0x01);
  const bodies = new Map<string, Uint8Array>([
    ["twice", Buffer.concat([bytes, second])],
    ["twice the same", Buffer.concat([bytes, field(2, spec)])],
    ["with a status", Buffer.concat([bytes, status])],
    ["before the metadata", Buffer.concat([field(2, spec), field(1, Buffer.of(0x0a, 1, 0x70))])],
    ["with an unknown field", Buffer.concat([bytes, field(9, Buffer.of(1, 2, 3))])],
    ["with an unknown number", Buffer.concat([bytes, Buffer.of(0x48, 1)])],
    ["with a group", Buffer.concat([bytes, Buffer.of(0x4b, 0x4c)])],
    ["with the end of a group", Buffer.concat([bytes, Buffer.of(0x4c)])],
    ["with field 0", Buffer.concat([bytes, Buffer.of(2, 0)])],
    ["twice, by a number beyond 32 bits", Buffer.concat([bytes, farKey, second.subarray(1)])],
    ["with metadata of another type", Buffer.concat([bytes, Buffer.of(8, 1)])],
    ["with metadata that ends too early", Buffer.concat([bytes, Buffer.of(0x0a, 9, 1)])],
    ["with a length beyond its end", Buffer.concat([field(2, spec), Buffer.of(0x0a, 0xff, 0xff, 0xff, 0x0f)])],
  ]);
  for (let length = 0; length < bytes.length; length += 1) bodies.set(`cut at ${length}`, bytes.subarray(0, length));
  const shown = (object: object): unknown => (object instanceof Fault ? object.message : object);
  for (const [name, body] of bodies)
    t.strictSame(shown(decodeTemplated(pod, body)), shown(decodeProto(pod, body)), name);
  t.end();
});

t.test("what is kept is bounded", (t) => {
  const names = (count: number): string => Array.from({ length: count }, (_, i) => `{"name":"c${i}"}`).join();
  const pods = new Map([
    ["many values", `{"containers":[${names(limits.templateValuesMax)}]}`],
    ["many bytes", `{"containers":[{"name":"${"x".repeat(limits.templateBytesMax)}"}]}`],
  ]);
  for (const [name, spec] of pods) {
    const bytes = bytesOf(`{"spec":${spec}}`);
    for (let time = 0; time < 4; time += 1) t.notOk(isCopy(decoded(bytes)), name);
  }
  const first = seenPod("first");
  t.ok(isCopy(decoded(first)), "kept");
  const most = (limits.templatesBytesMax / limits.templateBytesMax) * 2;
  const long = "y".repeat(limits.templateBytesMax - 200);
  for (let count = 0; count < most; count += 1) seenPod(`${count}${long}`, 1);
  t.notOk(isCopy(decoded(first)), "forgotten when others came");
  const small = seenPod("small");
  t.ok(isCopy(decoded(small)), "kept");
  // Field 100 is unknown: a part that holds nothing counts as an entry, too.
  const entries = limits.templatesBytesMax / limits.templateValueBytes;
  for (let count = 0; count < entries; count += 1) {
    const bytes = [0xa0, 0x06, (count & 0x7f) | 0x80, ((count >> 7) & 0x7f) | 0x80, (count >> 14) & 0x7f];
    decoded(field(2, Uint8Array.from(bytes)));
  }
  t.notOk(isCopy(decoded(small)), "forgotten when many small ones came");
  const owned = templateOf(decoded(seenPod("owned")).spec ?? {});
  owned?.keepOwned("x".repeat(limits.templateDefaultsChars + limits.templateBytesMax));
  t.equal(owned?.owned, undefined, "FieldsV1 that is far longer than its part");
  owned?.keepOwned("{}");
  t.equal(owned?.owned, "{}");
  t.end();
});

t.test("other kinds are read as ever", (t) => {
  for (const message of messages.values()) {
    const plain = decodeProto<object>(message, new Uint8Array(0));
    t.strictSame(decodeTemplated<object>(message, new Uint8Array(0)), plain, message.name);
  }
  t.end();
});
