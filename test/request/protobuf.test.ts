// Protobuf through the whole request path: bodies, objects, lists of several chunks, Status, discovery, and what is not
// offered.
import t, { type Test } from "tap";
import { messageOf } from "../../src/api/messages.ts";
import { encode, Fault } from "../../src/codec/engine/json.ts";
import { decodeProto, encodeProto, openEnvelope } from "../../src/codec/proto/protobuf.ts";
import { protoDocument } from "../../src/request/answer/protoanswer.ts";
import { type Answer, openInProcess } from "../support/inprocess.ts";

const protobuf = "application/vnd.kubernetes.protobuf";
const accept = { accept: protobuf };
const send = { "content-type": protobuf };

/** An answer's object as JSON; its kind names its message unless `message` does. */
function open(t: Test, answer: Answer, message: string): Record<string, unknown> {
  t.equal(answer.headers.find(([name]) => name === "Content-Type")?.[1], protobuf);
  const envelope = openEnvelope(answer.bytes);
  if (envelope instanceof Fault) throw new Error(envelope.message);
  const { apiVersion, kind } = envelope;
  const object = decodeProto<object>(messageOf(message), envelope.raw);
  if (object instanceof Fault) throw new Error(object.message);
  return JSON.parse(encode(messageOf(message), Object.assign(object, { apiVersion, kind }))) as Record<string, unknown>;
}

function configMap(name: string, data: ReadonlyMap<string, string> = new Map([["k", "v"]])): Uint8Array {
  return encodeProto(messageOf("core/v1.ConfigMap"), { kind: "ConfigMap", apiVersion: "v1", metadata: { name }, data });
}

const base = "/api/v1/namespaces/default/configmaps";

t.test("protobuf bodies are created, replaced and deleted, and answered as asked for", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  const created = await server.call("POST", base, configMap("a"), send);
  t.equal(created.code, 201);
  t.match(created.json, { kind: "ConfigMap", metadata: { name: "a", namespace: "default" }, data: { k: "v" } });
  const read = await server.call("GET", `${base}/a`, undefined, accept);
  t.same(open(t, read, "core/v1.ConfigMap"), created.json);
  const replaced = await server.call("PUT", `${base}/a`, configMap("a", new Map([["x", "é"]])), { ...send, ...accept });
  t.match(open(t, replaced, "core/v1.ConfigMap"), { data: { x: "é" } });
  const options = encodeProto(messageOf("meta/v1.DeleteOptions"), {
    kind: "DeleteOptions",
    apiVersion: "v1",
    preconditions: { uid: "other" },
  });
  const kept = await server.call("DELETE", `${base}/a`, options, { ...send, ...accept });
  t.equal(kept.code, 409);
  t.match(open(t, kept, "meta/v1.Status"), { kind: "Status", status: "Failure", reason: "Conflict", code: 409 });
  const gone = await server.call("DELETE", `${base}/a`, undefined, accept);
  t.match(open(t, gone, "meta/v1.Status"), { kind: "Status", status: "Success" });
});

t.test("an object in protobuf is what its JSON says, after each write and from what is kept", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  const message = messageOf("core/v1.ConfigMap");
  const isSame = async (what: string): Promise<void> => {
    const json = await server.call("GET", `${base}/a`);
    for (const time of ["first", "second"]) {
      const read = await server.call("GET", `${base}/a`, undefined, accept);
      t.same(read.bytes, Buffer.from(protoDocument(message, json.bytes)), `${what}, ${time}`);
    }
    const at = `${base}/a?resourceVersion=${json.json.metadata.resourceVersion}`;
    t.same((await server.call("GET", at, undefined, accept)).code, 200);
  };
  for (const write of [send, { ...send, ...accept }]) {
    t.equal((await server.call("POST", base, configMap("a"), write)).code, 201);
    await isSame("created");
    const data = { data: { more: "é", k: null } };
    const patch = { ...write, "content-type": "application/merge-patch+json" };
    t.equal((await server.call("PATCH", `${base}/a`, data, patch)).code, 200);
    await isSame("patched");
    t.equal((await server.call("DELETE", `${base}/a`)).code, 200);
    const gone = await server.call("GET", `${base}/a`, undefined, accept);
    t.match(open(t, gone, "meta/v1.Status"), { kind: "Status", reason: "NotFound", code: 404 });
  }
  const early = await server.call("GET", `${base}/a?resourceVersion=x`, undefined, accept);
  t.match(open(t, early, "meta/v1.Status"), { kind: "Status", code: 400 });
});

t.test("protobuf bodies that are none are refused in upstream's words", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  const frame = "the object provided is unrecognized (must be of type ConfigMap): ";
  const pod = encodeProto(messageOf("core/v1.Pod"), { kind: "Pod", apiVersion: "v1", metadata: { name: "x" } });
  const broken = Uint8Array.from([...configMap("b").subarray(0, 21), 0x12, 0x03, 0x0a, 0x09, 0x61]);
  const table: [what: string, body: Uint8Array | string, message: string][] = [
    ["nothing", Uint8Array.of(0x6b, 0x38, 0x73, 0), `${frame}empty body (6b387300)`],
    ["garbage", Buffer.from("k8s\0\xff\xff\xff", "latin1"), `${frame}unexpected EOF (6b387300ffffff)`],
    ["a broken object", broken, 'ConfigMap in version "v1" cannot be handled as a ConfigMap: unexpected EOF'],
    [
      "another kind",
      pod,
      'Pod in version "v1" cannot be handled as a ConfigMap: converting (v1.Pod) to (core.ConfigMap): unknown conversion',
    ],
  ];
  for (const [what, body, message] of table) {
    const answer = await server.call("POST", base, body, send);
    t.match(answer.json, { code: 400, reason: "BadRequest", message }, what);
  }
  t.same(server.faults, []);
});

t.test("protobuf lists hold what JSON lists hold, in one chunk or many, page by page", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  const empty = await server.call("GET", base, undefined, accept);
  t.match(open(t, empty, "core/v1.ConfigMapList"), { kind: "ConfigMapList", apiVersion: "v1", items: null });
  const padding = "x".repeat(60_000);
  for (let index = 0; index < 40; index += 1) {
    await server.call("POST", base, configMap(`c${index}`, new Map([["p", padding]])), send);
  }
  // Larger than a chunk.
  const metadata = { name: "c20x", annotations: { a: "y".repeat(200_000) } };
  const large = await server.call("POST", base, JSON.stringify({ metadata, data: { p: "x".repeat(1_000_000) } }));
  t.equal(large.code, 201);
  for (const query of ["", "?limit=7", "?labelSelector=no"]) {
    const json = await server.call("GET", base + query);
    const list = open(t, await server.call("GET", base + query, undefined, accept), "core/v1.ConfigMapList");
    const expected = json.json as { items: object[] };
    t.equal(((list["items"] as object[] | null) ?? []).length, expected.items.length, query);
    // Items of a JSON list are whole documents; in protobuf they name no type.
    t.same(list["items"] ?? [], expected.items);
    t.same(list["metadata"], json.json.metadata);
  }
});

t.test("protobuf is how refusals and discovery are answered, and not offered for what has no form in it", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  const absent = await server.call("GET", `${base}/absent`, undefined, accept);
  t.match(open(t, absent, "meta/v1.Status"), { code: 404, reason: "NotFound", details: { name: "absent" } });
  const unknown = await server.call("GET", "/api/v1/nothings", undefined, accept);
  t.match(open(t, unknown, "meta/v1.Status"), { code: 404 });
  const version = await server.call("GET", "/version", undefined, accept);
  t.match(open(t, version, "meta/v1.Status"), { code: 406, reason: "NotAcceptable" });
  t.match(open(t, await server.call("GET", "/apis", undefined, accept), "meta/v1.APIGroupList"), {
    kind: "APIGroupList",
  });
  const apps = open(t, await server.call("GET", "/apis/apps/v1", undefined, accept), "meta/v1.APIResourceList");
  t.match(apps, { kind: "APIResourceList", groupVersion: "apps/v1" });
  const either = await server.call("GET", `${base}/absent`, undefined, { accept: `${protobuf}, application/json` });
  t.match(open(t, either, "meta/v1.Status"), { code: 404 });
  const table = { accept: `${protobuf};as=Table;g=meta.k8s.io;v=v1` };
  t.equal((await server.call("GET", base, undefined, table)).code, 406);
});

t.test("protobuf has the media type of the identity, and the same prefix", async (t) => {
  const server = await openInProcess("orch");
  t.teardown(() => server.close());
  const type = "application/vnd.orch.protobuf";
  const created = await server.call("POST", base, configMap("a"), { "content-type": type, accept: type });
  t.equal(created.code, 201);
  t.equal(created.bytes.toString("latin1", 0, 4), "k8s\0");
  const foreign = await server.call("POST", base, configMap("b"), send);
  t.equal(foreign.code, 415);
  t.match(foreign.json, { message: /application\/yaml, application\/vnd\.orch\.protobuf$/ });
});
