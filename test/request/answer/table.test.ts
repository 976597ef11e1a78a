import t from "tap";
import { assert } from "../../../src/base/assert.ts";
import { Fault } from "../../../src/codec/engine/json.ts";
import { decodeProto, openEnvelope } from "../../../src/codec/proto/protobuf.ts";
import { limits } from "../../../src/config/limits.ts";
import { partialListMessage, partialMessage } from "../../../src/request/answer/partial.ts";
import { withDefinitions } from "../../../src/request/watch/watchforms.ts";
import { FakeSink } from "../../support/fakesink.ts";
import { type InProcess, openInProcess, until } from "../../support/inprocess.ts";

const maps = "/api/v1/namespaces/default/configmaps";

function accept(kind: string, version = "v1", type = "application/json"): Record<string, string> {
  return { accept: `${type};as=${kind};g=meta.k8s.io;v=${version}` };
}

async function withMaps(count: number, bytes = 10): Promise<InProcess> {
  const server = await openInProcess();
  for (let index = 0; index < count; index += 1) {
    const annotations = { tricky: '}"{\\"}', __proto__: "1" };
    const body = { metadata: { name: `m${index}`, annotations }, data: { k: "v".repeat(bytes) } };
    await server.call("POST", maps, body);
  }
  return server;
}

/** What a watch of the state is sent until the server ends it. */
async function watched(server: InProcess, path: string, headers: Record<string, string>): Promise<string> {
  const answer = server.call("GET", path, undefined, headers);
  await until(() => server.fanout.watcherCount === 1);
  await server.fanout.closeAll(1000);
  return (await answer).text;
}

t.test("a list and an object become Tables with rows of metadata", async (t) => {
  const server = await withMaps(2);
  t.teardown(() => server.close());
  for (const [version, include, object] of [
    ["v1", "", { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1" }],
    ["v1beta1", "Metadata", { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1beta1" }],
    ["v1", "Object", { kind: "ConfigMap", apiVersion: "v1", data: { k: "vvvvvvvvvv" } }],
    ["v1", "None", null],
  ] as const) {
    for (const path of [`${maps}?includeObject=${include}`, `${maps}/m0?includeObject=${include}`]) {
      const { json, code } = await server.call("GET", path, undefined, accept("Table", version));
      t.equal(code, 200);
      t.match(json, { kind: "Table", apiVersion: `meta.k8s.io/${version}`, metadata: { resourceVersion: /^\d+$/ } });
      t.same(Object.keys(json), ["kind", "apiVersion", "metadata", "columnDefinitions", "rows"]);
      t.same(
        json.columnDefinitions.map((c: { name: string }) => c.name),
        ["Name", "Data", "Age"],
      );
      t.match(json.rows[0], { cells: ["m0", 1, /^\d+s$/], object });
      if (object === null) t.equal(json.rows[0].object, null);
      else t.equal(json.rows[0].object.metadata.annotations.tricky, '}"{\\"}');
    }
  }
  const { json } = await server.call("GET", `${maps}?includeObject=Bogus`, undefined, accept("Table"));
  t.match(json, {
    code: 400,
    message: /^Unable to convert to Table as requested: includeObject: Invalid value: "Bogus"/,
  });
});

t.test("a long Table is whole, chunk by chunk, and pages go on", async (t) => {
  const bytes = 50_000;
  const count = Math.ceil((limits.sliceBytesMax * 3) / bytes);
  const server = await withMaps(count, bytes);
  t.teardown(() => server.close());
  for (const include of ["None", "Metadata", "Object"]) {
    const { json } = await server.call("GET", `${maps}?includeObject=${include}`, undefined, accept("Table"));
    t.equal(json.rows.length, count, include);
  }
  const first = await server.call("GET", `${maps}?limit=2`, undefined, accept("Table"));
  t.equal(first.json.rows.length, 2);
  t.equal(first.json.metadata.remainingItemCount, count - 2);
  const more = `${maps}?limit=500&continue=${first.json.metadata.continue}`;
  t.equal((await server.call("GET", more, undefined, accept("Table"))).json.rows.length, count - 2);
});

t.test("Tables for people hold what Tables for programs do", async (t) => {
  const server = await withMaps(3);
  t.teardown(() => server.close());
  const compact = await server.call("GET", maps, undefined, accept("Table"));
  const pretty = await server.call("GET", `${maps}?pretty=1`, undefined, accept("Table"));
  t.same(pretty.json, compact.json);
  t.match(pretty.text, /^\{\n {2}"kind": "Table"/);
  const yaml = await server.call("GET", maps, undefined, accept("Table", "v1", "application/yaml"));
  t.equal(yaml.text.match(/^- cells:$/gm)?.length, 3);
});

t.test("metadata alone, of an object and of a list, in JSON, YAML and protobuf", async (t) => {
  const server = await withMaps(2);
  t.teardown(() => server.close());
  const one = await server.call("GET", `${maps}/m0`, undefined, accept("PartialObjectMetadata"));
  t.match(one.json, { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: { name: "m0" } });
  t.notOk("data" in one.json);
  const list = await server.call("GET", maps, undefined, accept("PartialObjectMetadataList", "v1beta1"));
  t.match(list.json, { kind: "PartialObjectMetadataList", apiVersion: "meta.k8s.io/v1beta1" });
  t.match(list.json.items, [{ kind: "PartialObjectMetadata", metadata: { name: "m0" } }, { metadata: { name: "m1" } }]);
  const yaml = await server.call(
    "GET",
    `${maps}/m0`,
    undefined,
    accept("PartialObjectMetadata", "v1", "application/yaml"),
  );
  t.match(yaml.text, /^kind: PartialObjectMetadata$/m);
  const protobuf = "application/vnd.kubernetes.protobuf";
  for (const [path, kind, message] of [
    [`${maps}/m0`, "PartialObjectMetadata", partialMessage],
    [maps, "PartialObjectMetadataList", partialListMessage],
  ] as const) {
    const { bytes } = await server.call("GET", path, undefined, accept(kind, "v1", protobuf));
    const envelope = openEnvelope(bytes);
    assert(!(envelope instanceof Fault), "An answer in protobuf has an envelope");
    t.match(envelope, { kind, apiVersion: "meta.k8s.io/v1" });
    t.notOk(decodeProto(message, envelope.raw) instanceof Fault);
  }
});

t.test("answers of writes take the form, a Status keeps its own", async (t) => {
  const server = await withMaps(0);
  t.teardown(() => server.close());
  const body = { metadata: { name: "w" } };
  const created = await server.call("POST", maps, body, accept("Table"));
  t.equal(created.code, 201);
  t.match(created.json, { kind: "Table", rows: [{ cells: ["w", 0] }] });
  const patch = { ...accept("PartialObjectMetadata"), "content-type": "application/merge-patch+json" };
  t.match((await server.call("PATCH", `${maps}/w`, { data: { a: "1" } }, patch)).json, {
    kind: "PartialObjectMetadata",
  });
  t.match((await server.call("DELETE", `${maps}/w`, undefined, accept("Table"))).json, {
    kind: "Status",
    code: undefined,
  });
  t.match((await server.call("GET", `${maps}/w`, undefined, accept("Table"))).json, { kind: "Status", code: 404 });
});

t.test("forms that do not fit get 406", async (t) => {
  const server = await withMaps(1);
  t.teardown(() => server.close());
  const offered = "only the following media types are accepted: application/json, application/yaml, ";
  const deployment = "/apis/apps/v1/namespaces/default/deployments/d";
  const rows: [path: string, headers: Record<string, string>, message: string][] = [
    [
      `${maps}/m0`,
      accept("PartialObjectMetadataList"),
      "you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)",
    ],
    [
      maps,
      accept("PartialObjectMetadata"),
      "you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)",
    ],
    [maps, accept("Table", "v1", "application/vnd.kubernetes.protobuf"), offered],
    [maps, accept("Table", "v2"), offered],
    [maps, { accept: "application/json;as=Table" }, offered],
    [`${deployment}/status`, accept("Table"), offered],
    [`${deployment}/scale`, accept("Table"), offered],
    ["/apis", accept("Table"), offered],
  ];
  for (const [path, headers, message] of rows) {
    const { json } = await server.call("GET", path, undefined, headers);
    t.equal(json.code, 406, path);
    t.ok(json.message.startsWith(message), `${path}: ${json.message}`);
  }
});

t.test("a watch as Table has column definitions in its first event only", async (t) => {
  const server = await withMaps(2);
  t.teardown(() => server.close());
  const text = await watched(server, `${maps}?watch=1`, accept("Table"));
  const events = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  t.same(
    events.map(({ type }) => type),
    ["ADDED", "ADDED"],
  );
  t.same(
    events.map(({ object }) => object.rows[0].cells[0]),
    ["m0", "m1"],
  );
  t.equal(events[0].object.columnDefinitions.length, 3);
  t.equal(events[1].object.columnDefinitions, null);
});

t.test("a watch of metadata, and one in a list's form, which has no event", async (t) => {
  const server = await withMaps(1);
  t.teardown(() => server.close());
  const watch = `${maps}?watch=1`;
  const text = await watched(server, watch, accept("PartialObjectMetadata"));
  t.match(JSON.parse(text), { type: "ADDED", object: { kind: "PartialObjectMetadata", metadata: { name: "m0" } } });
  const empty = await server.call("GET", watch, undefined, accept("PartialObjectMetadataList"));
  t.match(empty, { code: 200, text: "" });
});

t.test("withDefinitions() leaves events alone that are no Table", (t) => {
  const sink = new FakeSink();
  const stream = withDefinitions(sink, "[1]");
  stream.write(Buffer.from('{"type":"ERROR","object":{}}\n'));
  stream.write(Buffer.from('{"columnDefinitions":null}\n'));
  t.equal(sink.text, '{"type":"ERROR","object":{}}\n{"columnDefinitions":null}\n');
  t.end();
});

t.test("componentstatuses, which are not stored, have their Table", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  const { json } = await server.call("GET", "/api/v1/componentstatuses", undefined, accept("Table"));
  t.equal(json.rows.length, 3);
  t.equal(json.rows[0].cells[0], "controller-manager");
  const one = await server.call("GET", "/api/v1/componentstatuses/etcd-0", undefined, accept("Table"));
  t.equal(one.json.rows[0].cells[0], "etcd-0");
  const plain = await server.call("GET", "/api/v1/componentstatuses");
  t.match(plain.json, { kind: "ComponentStatusList", items: [{ metadata: { name: "controller-manager" } }, {}, {}] });
});
