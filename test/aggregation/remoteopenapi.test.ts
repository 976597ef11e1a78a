// OpenAPI with what extension servers say of themselves, also where they are down, slow, endless or lie.

import type { ServerResponse } from "node:http";
import t, { type Test } from "tap";
import { limits } from "../../src/config/limits.ts";
import { exposition, Registry } from "../../src/observe/metrics.ts";
import {
  type Answering,
  type ExtensionServer,
  makeService,
  openExtension,
  register,
  say,
} from "../support/extension.ts";
import { type Answer, type InProcess, openInProcess, until } from "../support/inprocess.ts";
import { references } from "../support/openapi.ts";

t.setTimeout(180_000);

const group = "ext.example.com";
const root = `/apis/${group}/v1`;
const protobuf = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
const meta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const owner = "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference";
const deployment = { group: "apps", kind: "Deployment", version: "v1" };
const thing = { group, kind: "Thing", version: "v1" };

function reading(name: string): object {
  const ref = { $ref: `#/definitions/${name}` };
  return { get: { operationId: `read${name}`, responses: { 200: { description: "OK", schema: ref } } } };
}

/** Says what is true, and a lot else. */
const v2 = {
  swagger: "2.0",
  info: { title: "ext", version: "1" },
  parameters: { p: { name: "pretty", in: "query", type: "string" } },
  paths: {
    [`${root}/things`]: { ...reading("com.example.ext.v1.Thing"), parameters: [{ $ref: "#/parameters/p" }] },
    [`${root}x/things`]: reading("Other"),
    "/apis/apps/v1/deployments": reading("Other"),
    "/api/v1/pods": reading("Other"),
    "/healthz": reading("Other"),
  },
  definitions: {
    "com.example.ext.v1.Thing": {
      type: "object",
      description: "a thing",
      properties: {
        metadata: { $ref: `#/definitions/${meta}` },
        gone: { $ref: "#/definitions/nowhere" },
        outside: { $ref: "https://example.com/a" },
        constructor: { type: "string" },
      },
      "x-kubernetes-group-version-kind": [thing, deployment],
    },
    [meta]: { type: "object", description: "other", properties: { o: { $ref: `#/definitions/${owner}` } } },
    [owner]: { type: "object", description: "refers back", properties: { m: { $ref: `#/definitions/${meta}` } } },
    Other: { type: "object", "x-kubernetes-group-version-kind": [deployment] },
  },
};

const v3 = { openapi: "3.0.0", info: { title: "ext" }, paths: { [`${root}/things`]: {}, "/api/v1/pods": {} } };

const honest: Answering = (_request, response, { url }) => {
  if (url === "/openapi/v2") say(response, v2);
  else if (url === `/openapi/v3${root}`) say(response, v3);
  else say(response, {}, 404);
};

async function open(t: Test, answer: Answering, registry?: Registry): Promise<readonly [InProcess, ExtensionServer]> {
  const server = await openInProcess("kubernetes", { registry });
  const extension = await openExtension(answer);
  t.teardown(() => {
    extension.close();
    server.close();
  });
  await makeService(server);
  // What the server itself needs is made before.
  await server.call("GET", "/openapi/v2");
  await server.call("GET", "/openapi/v3");
  await register(server, { group, port: extension.port, authority: extension.authority });
  return [server, extension];
}

function tagOf({ headers }: Answer): string | undefined {
  return headers.find(([name]) => name === "ETag")?.[1];
}

t.test(
  "OpenAPI version 2 holds the paths of an extension server and what they need, and nothing else of it",
  async (t) => {
    const [server, extension] = await open(t, honest);
    const plain = await openInProcess("kubernetes");
    t.teardown(() => plain.close());
    const before = await plain.call("GET", "/openapi/v2");
    const answer = await server.call("GET", "/openapi/v2");
    t.equal(answer.code, 200);
    const { paths, definitions } = answer.json;
    const added = (all: object, known: object): string[] =>
      Object.keys(all).filter((name) => !Object.hasOwn(known, name));
    t.same(added(paths, before.json.paths), [`${root}/things`]);
    t.same(added(definitions, before.json.definitions), ["com.example.ext.v1.Thing", `${meta}_v2`, `${owner}_v2`]);
    for (const [name, one] of Object.entries(before.json.definitions)) t.same(definitions[name], one, name);
    t.same(definitions["com.example.ext.v1.Thing"], {
      description: "a thing",
      type: "object",
      properties: {
        constructor: { type: "string" },
        gone: {},
        metadata: { $ref: `#/definitions/${meta}_v2` },
        outside: {},
      },
      "x-kubernetes-group-version-kind": [thing],
    });
    t.match(paths[`${root}/things`].parameters, [{ name: "pretty", in: "query", type: "string" }]);
    const missing = [...references(answer.json)].filter((ref) => !(ref.replace("#/definitions/", "") in definitions));
    t.same(missing, [], "references resolve");
    const [seen] = extension.seen;
    t.match(seen, { method: "GET", url: "/openapi/v2" });
    t.same(seen?.headers["accept"], ["application/json"]);
    t.same(seen?.headers["x-remote-user"], ["system:aggregator"]);
    t.equal(seen?.headers["x-remote-group"], undefined);
    t.same(seen?.headers["x-forwarded-host"], [`127.0.0.1:${extension.port}`]);
    t.same(seen?.headers["x-forwarded-uri"], ["/openapi/v2"]);
    const packed = await server.call("GET", "/openapi/v2", undefined, { accept: protobuf });
    t.ok(packed.bytes.includes(`${root}/things`), "in protobuf, too");
    t.ok(packed.bytes.includes(`${meta}_v2`));
    t.notOk(packed.bytes.includes(`${root}x/things`));
    t.equal(extension.seen.length, 1, "asked once");
  },
);

t.test("documents of an extension server stay while it is down, and change with it", async (t) => {
  const registry = new Registry();
  const [server, extension] = await open(t, honest, registry);
  const good = await server.call("GET", "/openapi/v2");
  const index = await server.call("GET", "/openapi/v3");
  extension.answer = (_request, response) => response.destroy();
  server.aheadMs += limits.remoteDocumentLookMs;
  const stale = await server.call("GET", "/openapi/v2");
  t.equal(tagOf(stale), tagOf(good));
  t.ok(stale.text === good.text, "the same document");
  t.equal(tagOf(await server.call("GET", "/openapi/v3")), tagOf(index));
  const url: string = index.json.paths[root.slice(1)].serverRelativeURL;
  t.same((await server.call("GET", url)).json, { ...v3, paths: { [`${root}/things`]: {} } });
  extension.answer = (_request, response) => say(response, { swagger: "2.0", paths: {} });
  server.aheadMs += limits.remoteDocumentRetryMs;
  const changed = await server.call("GET", "/openapi/v2");
  t.not(tagOf(changed), tagOf(good));
  t.equal(changed.json.paths[`${root}/things`], undefined);
  await server.call("DELETE", `/apis/apiregistration.k8s.io/v1/apiservices/v1.${group}`);
  t.equal(
    (await server.call("GET", "/openapi/v3")).json.paths[root.slice(1)],
    undefined,
    "it goes with its APIService",
  );
  t.equal((await server.call("GET", url)).code, 404);
  const made = (reason: string): string =>
    `aggregator_openapi_v2_regeneration_count{apiservice="v1.${group}",reason="${reason}"} 1`;
  const lines = exposition([registry.snapshot()]).split("\n");
  t.same(
    lines.filter((line) => line.startsWith("aggregator_openapi_v2_regeneration_count{")),
    [made("startup"), made("update")],
    "documents are counted once for each change, and not while it is down",
  );
  t.match(
    lines.find((line) => line.startsWith('aggregator_openapi_v2_regeneration_duration{reason="update"}')),
    / 0\.\d+$/,
  );
});

t.test(
  "definitions that say the same are there once, and two extension servers do not disturb each other",
  async (t) => {
    const [server, extension] = await open(t, honest);
    const own = (await server.call("GET", "/openapi/v2")).json.definitions;
    const scale = "io.k8s.api.autoscaling.v1.ScaleSpec";
    const other = "other.example.com";
    const paths = { [`/apis/${other}/v1/a`]: { ...reading("com.example.ext.v1.Thing"), put: reading(scale) } };
    const get = { ...reading(scale), parameters: [] };
    extension.answer = (_request, response) =>
      say(response, {
        swagger: "2.0",
        paths: { ...paths, [`/apis/${other}/v1/b`]: get },
        definitions: { "com.example.ext.v1.Thing": { description: "mine" }, [scale]: own[scale] },
      });
    await register(server, { group: other, port: extension.port, authority: extension.authority });
    const { definitions, paths: all } = (await server.call("GET", "/openapi/v2")).json;
    t.equal(definitions["com.example.ext.v1.Thing"].description, "a thing");
    t.same(definitions["com.example.ext.v1.Thing_v2"], { description: "mine" });
    t.equal(definitions[`${scale}_v2`], undefined);
    const schema = (path: string) => all[`/apis/${other}/v1/${path}`].get.responses["200"].schema.$ref as string;
    t.same([schema("a"), schema("b")], ["#/definitions/com.example.ext.v1.Thing_v2", `#/definitions/${scale}`]);
  },
);

/** Says more, as long as the client reads. */
function flood(response: ServerResponse, piece: string): void {
  const more = (): void => {
    while (!response.destroyed && response.write(piece));
  };
  response.on("drain", more);
  more();
}

function nested(depth: number): string {
  const schema = `${'{"items":'.repeat(depth)}{}${"}".repeat(depth)}`;
  const use = `{"get":{"responses":{"200":{"schema":${schema}}}}}`;
  return `{"swagger":"2.0","openapi":"3.0.0","paths":{"${root}/a":${use}}}`;
}

const many = JSON.stringify({
  swagger: "2.0",
  openapi: "3.0.0",
  parameters: { p: { name: "p", in: "query", description: "x".repeat(100_000) } },
  paths: { [root]: { parameters: Array.from({ length: 10_000 }, () => ({ $ref: "#/parameters/p" })) } },
});

const hostile: readonly (readonly [name: string, Answering])[] = [
  ["is down", (_request, response) => response.destroy()],
  ["answers 500", (_request, response) => say(response, v2, 500)],
  ["redirects", (_request, response) => response.writeHead(302, { Location: "/openapi/v2" }).end()],
  ["answers no JSON", (_request, response) => response.end("<html>")],
  ["answers null", (_request, response) => response.end("null")],
  ["answers deep arrays", (_request, response) => response.end("[".repeat(500_000) + "]".repeat(500_000))],
  ["answers deep schemas", (_request, response) => response.end(nested(50_000))],
  ["is endless", (_request, response) => flood(response, " ".repeat(65_536))],
  [
    "announces 100 MB",
    (_request, response) => {
      response.writeHead(200, { "Content-Length": 100_000_000 });
      flood(response, " ".repeat(65_536));
    },
  ],
  ["hangs", () => undefined],
];

for (const [name, answer] of hostile) {
  t.test(`an extension server that ${name} leaves OpenAPI as it is`, async (t) => {
    const [server] = await open(t, answer);
    const plain = await openInProcess("kubernetes");
    t.teardown(() => plain.close());
    const before = tagOf(await plain.call("GET", "/openapi/v2"));
    t.equal(tagOf(await server.call("GET", "/openapi/v2")), before);
    t.equal(tagOf(await server.call("GET", "/openapi/v2")), before);
    t.equal((await server.call("GET", "/openapi/v3")).json.paths[root.slice(1)], undefined);
    t.same(server.faults, []);
  });
}

t.test("parameters that expand to much are refused", async (t) => {
  const [server] = await open(t, (_request, response) => response.end(many));
  t.equal((await server.call("GET", "/openapi/v2")).json.paths[root], undefined);
  t.same(server.faults, []);
});

t.test("names of prototypes are names", async (t) => {
  const schema =
    '{"type":"object","properties":{"__proto__":{"type":"string"},"toString":{"$ref":"#/definitions/__proto__"}}}';
  const use = '{"get":{"responses":{"__proto__":{"description":"a","schema":{"$ref":"#/definitions/__proto__"}}}}}';
  const body = `{"swagger":"2.0","paths":{"${root}/a":${use},"__proto__":${use}},"definitions":{"__proto__":${schema}}}`;
  const [server] = await open(t, (_request, response) => response.end(body));
  const { text } = await server.call("GET", "/openapi/v2");
  t.ok(text.includes(`"__proto__":${schema}`), "a definition as it was");
  t.equal(Object.prototype.toString.call({}), "[object Object]");
  t.same(server.faults, []);
});

t.test("documents of the largest size are read", async (t) => {
  const definitions: Record<string, object> = {};
  const names = Array.from({ length: 2_500 }, (_, at) => `com.example.D${at}`);
  for (const [at, name] of names.entries()) {
    const next = { $ref: `#/definitions/${names[(at + 1) % names.length]}` };
    const properties = Object.fromEntries(Array.from({ length: 6 }, (_, one) => [`field${one}`, { type: "string" }]));
    definitions[name] = { type: "object", description: "x".repeat(100), properties: { ...properties, next } };
  }
  const body = JSON.stringify({ swagger: "2.0", paths: { [`${root}/a`]: reading("com.example.D0") }, definitions });
  t.ok(
    body.length > 0.75 * limits.remoteOpenApiBytesMax && body.length < limits.remoteOpenApiBytesMax,
    `${body.length}`,
  );
  const [server] = await open(t, (_request, response) => response.end(body));
  const isThere = async () => (await server.call("GET", "/openapi/v2")).text.includes('"com.example.D2499":{');
  t.ok(await until(isThere, 20_000));
});
