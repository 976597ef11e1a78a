// The OpenAPI documents as clients use them: references resolve, kinds and parameters are found, hashes are kept.
import t, { type Test } from "tap";
import { ProtoReader } from "../../../src/codec/proto/protoreader.ts";
import { type InProcess, openInProcess } from "../../support/inprocess.ts";
import { header, references } from "../../support/openapi.ts";

const protobufV2 = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

interface Schema {
  $ref?: string;
  properties?: Record<string, Schema>;
  "x-kubernetes-group-version-kind"?: { group: string; version: string; kind: string }[];
  [key: string]: unknown;
}

interface Document {
  paths: Record<string, Record<string, { parameters?: { name: string }[]; [key: string]: unknown }>>;
  definitions: Record<string, Schema>;
  components: { schemas: Record<string, Schema> };
}

function kindsIn(schemas: Record<string, Schema>): Set<string> {
  const kinds = Object.values(schemas).flatMap((schema) => schema["x-kubernetes-group-version-kind"] ?? []);
  return new Set(kinds.map(({ group, version, kind }) => `${group}/${version}/${kind}`));
}

async function open(t: Test, identity: "kubernetes" | "orch" = "kubernetes"): Promise<InProcess> {
  const server = await openInProcess(identity);
  t.teardown(() => server.close());
  return server;
}

t.test("/openapi/v2 describes every kind and what it refers to", async (t) => {
  const server = await open(t);
  const answer = await server.call("GET", "/openapi/v2");
  t.equal(answer.code, 200);
  const document = answer.json as Document;
  t.match(document, { swagger: "2.0", info: { title: "Kubernetes" } });
  const missing = [...references(document)].filter(
    (ref) => !(ref.replace("#/definitions/", "") in document.definitions),
  );
  t.same(missing, [], "references resolve");
  const kinds = kindsIn(document.definitions);
  for (const { group, version, kind } of server.scheme.resources) t.ok(kinds.has(`${group}/${version}/${kind}`), kind);
  const spec = document.definitions["io.k8s.api.core.v1.PodSpec"];
  t.match(spec?.properties?.["containers"], {
    type: "array",
    items: { $ref: "#/definitions/io.k8s.api.core.v1.Container" },
    "x-kubernetes-patch-strategy": "merge",
    "x-kubernetes-patch-merge-key": "name",
  });
  t.same(spec?.["required"], ["containers"]);
  t.match(spec?.properties?.["volumes"], { "x-kubernetes-patch-strategy": "merge,retainKeys" });
  t.match(document.definitions["io.k8s.apimachinery.pkg.util.intstr.IntOrString"], { format: "int-or-string" });
});

t.test("/openapi/v2 in protobuf holds the paths and definitions of the JSON", async (t) => {
  const server = await open(t);
  const { json } = await server.call("GET", "/openapi/v2");
  const answer = await server.call("GET", "/openapi/v2", undefined, { accept: protobufV2 });
  t.equal(header(answer, "Content-Type"), "application/octet-stream");
  const names = new Map<number, string[]>([
    [8, []],
    [9, []],
  ]);
  const reader = new ProtoReader(answer.bytes);
  while (reader.at < answer.bytes.length) {
    const field = reader.varint(answer.bytes.length) >> 3;
    const end = reader.span(answer.bytes.length);
    const list = names.get(field);
    while (list !== undefined && reader.at < end) {
      reader.varint(end);
      const entryEnd = reader.span(end);
      reader.varint(entryEnd);
      list.push(reader.text(reader.span(entryEnd)));
      reader.at = entryEnd;
    }
    reader.at = end;
  }
  t.equal(reader.fault, undefined);
  const document = json as Document;
  t.same(names.get(8), Object.keys(document.paths));
  t.same(names.get(9), Object.keys(document.definitions));
});

t.test("/openapi/v3 lists a document per group version, each found by its hash", async (t) => {
  const server = await open(t);
  const index = await server.call("GET", "/openapi/v3");
  const { paths } = index.json as { paths: Record<string, { serverRelativeURL: string }> };
  const versions = server.scheme.groups.reduce((sum, { versions }) => sum + versions.length, 0);
  t.equal(Object.keys(paths).length, versions);
  for (const [name, { serverRelativeURL }] of Object.entries(paths)) {
    const answer = await server.call("GET", serverRelativeURL);
    t.equal(answer.code, 200, name);
    t.match(header(answer, "Cache-Control"), /immutable/);
    const document = answer.json as Document;
    const { schemas } = document.components;
    const missing = [...references(document)].filter((ref) => !(ref.replace("#/components/schemas/", "") in schemas));
    t.same(missing, [], `${name}: references resolve`);
  }
  const core = await server.call("GET", "/openapi/v3/api/v1");
  t.equal(header(core, "Cache-Control"), "no-cache, private");
  t.ok(paths["api/v1"]?.serverRelativeURL.endsWith(`hash=${header(core, "ETag")?.slice(1, -1)}`));
  t.same(await server.call("GET", "/openapi/v3").then(({ text }) => text), index.text, "the same again");
});

t.test("OpenAPI operations name the query parameters clients look for", async (t) => {
  const server = await open(t);
  for (const target of ["/openapi/v2", "/openapi/v3/apis/apps/v1"]) {
    const document = (await server.call("GET", target)).json as Document;
    const path = document.paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"];
    t.match(path?.["patch"]?.["x-kubernetes-group-version-kind"], { group: "apps", version: "v1", kind: "Deployment" });
    const names = (path?.["patch"]?.parameters ?? []).map(({ name }) => name);
    for (const name of ["dryRun", "fieldManager", "fieldValidation", "force"]) t.ok(names.includes(name), name);
    t.ok(document.paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale"]?.["put"], "subresources");
    t.ok(document.paths["/apis/apps/v1/deployments"]?.["get"], "all namespaces");
    t.notOk(document.paths["/apis/apps/v1/deployments"]?.["post"]);
    const ids = Object.values(document.paths).flatMap((item) =>
      Object.values(item).flatMap(({ operationId }) => (typeof operationId === "string" ? [operationId] : [])),
    );
    t.equal(new Set(ids).size, ids.length, "operation ids are unique");
  }
});

t.test(
  "OpenAPI answers what did not change with 304, another hash with the way to it, and refuses the rest",
  async (t) => {
    const server = await open(t);
    const core = await server.call("GET", "/openapi/v3/api/v1");
    const etag = header(core, "ETag") ?? "";
    const table: [what: string, target: string, headers: Record<string, string>, code: number][] = [
      ["unchanged", "/openapi/v3/api/v1", { "if-none-match": etag }, 304],
      ["changed", "/openapi/v3/api/v1", { "if-none-match": '"other"' }, 200],
      ["another hash", "/openapi/v3/api/v1?hash=0", {}, 301],
      ["no group version", "/openapi/v3/apis/none/v1", {}, 404],
      ["text/html", "/openapi/v2", { accept: "text/html" }, 406],
      ["protobuf of version 3", "/openapi/v3/api/v1", { accept: "application/x+protobuf" }, 406],
      ["anything", "/openapi/v2", { accept: "text/html, */*" }, 200],
    ];
    for (const [what, target, headers, code] of table) {
      t.equal((await server.call("GET", target, undefined, headers)).code, code, what);
    }
    t.equal((await server.call("POST", "/openapi/v3", "{}")).code, 405);
    const packed = await server.call("GET", "/openapi/v2", undefined, { "accept-encoding": "gzip" });
    t.equal(header(packed, "Content-Encoding"), "gzip");
    t.ok(packed.bytes.length < 400_000);
  },
);

t.test("OpenAPI speaks the names of the identity", async (t) => {
  const server = await open(t, "orch");
  const v2 = await server.call("GET", "/openapi/v2");
  const document = v2.json as Document;
  t.ok("io.orch.api.networking.v1.Ingress" in document.definitions);
  t.ok("/apis/networking.orch.io/v1/namespaces/{namespace}/ingresses" in document.paths);
  t.notMatch(v2.text.replaceAll("x-kubernetes-", ""), /k8s|kubernetes/i);
  t.ok("apis/networking.orch.io/v1" in (await server.call("GET", "/openapi/v3")).json.paths);
});
