// Aggregated discovery with the resources of extension servers, also of those that are down, slow, endless or lie.
import type { ServerResponse } from "node:http";
import t, { type Test } from "tap";
import { limits } from "../../src/config/limits.ts";
import {
  type Answering,
  type ExtensionServer,
  makeService,
  openExtension,
  register,
  say,
} from "../support/extension.ts";
import { type InProcess, openInProcess, until } from "../support/inprocess.ts";

t.setTimeout(120_000);

const group = "ext.example.com";
const path = `/apis/${group}/v1`;
const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

interface Listed {
  readonly version: string;
  readonly freshness: string;
  readonly resources?: readonly { readonly resource: string }[];
}

const things = {
  kind: "APIResourceList",
  apiVersion: "v1",
  groupVersion: `${group}/v1`,
  resources: [
    { name: "things", singularName: "thing", namespaced: true, kind: "Thing", verbs: ["get"], shortNames: ["th"] },
    { name: "things/status", namespaced: true, kind: "Thing", verbs: ["patch"] },
    { name: "others/scale", namespaced: false, group: "autoscaling", version: "v1", kind: "Scale", verbs: ["get"] },
  ],
};

async function open(t: Test, answer: Answering): Promise<readonly [InProcess, ExtensionServer]> {
  const server = await openInProcess("kubernetes");
  const extension = await openExtension(answer);
  t.teardown(() => {
    extension.close();
    server.close();
  });
  await makeService(server);
  await register(server, { group, port: extension.port, authority: extension.authority });
  return [server, extension];
}

async function discovered(server: InProcess): Promise<{ readonly tag: string | undefined; readonly listed?: Listed }> {
  const answer = await server.call("GET", "/apis", undefined, { accept });
  const items = answer.json.items as { metadata: { name: string }; versions: Listed[] }[];
  const listed = items.find(({ metadata }) => metadata.name === group)?.versions[0];
  const tag = answer.headers.find(([name]) => name === "ETag")?.[1];
  return listed === undefined ? { tag } : { tag, listed };
}

t.test("aggregated discovery lists what extension servers have, and keeps it while they are down", async (t) => {
  const [server, extension] = await open(t, (_request, response) => say(response, things));
  const { tag, listed } = await discovered(server);
  const kind = { group, version: "v1", kind: "Thing" };
  t.same(listed, {
    version: "v1",
    resources: [
      {
        resource: "things",
        responseKind: kind,
        scope: "Namespaced",
        singularResource: "thing",
        verbs: ["get"],
        shortNames: ["th"],
        subresources: [{ subresource: "status", responseKind: kind, verbs: ["patch"] }],
      },
      {
        resource: "others",
        responseKind: { group: "", version: "", kind: "" },
        scope: "Cluster",
        singularResource: "",
        verbs: [],
        subresources: [
          {
            subresource: "scale",
            responseKind: { group: "autoscaling", version: "v1", kind: "Scale" },
            verbs: ["get"],
          },
        ],
      },
    ],
    freshness: "Current",
  });
  t.equal((await discovered(server)).tag, tag, "the same document");
  t.equal(extension.seen.length, 1, "asked once");
  const [seen] = extension.seen;
  t.match(seen, { method: "GET", url: path });
  t.same(seen?.headers["x-remote-user"], ["system:kube-aggregator"]);
  t.same(seen?.headers["x-remote-group"], ["system:masters"]);
  t.equal(seen?.headers["authorization"], undefined);
  extension.answer = (_request, response) => say(response, {}, 500);
  server.aheadMs += limits.remoteDocumentLookMs;
  const stale = await discovered(server);
  t.match(stale.listed, { freshness: "Stale", resources: [{ resource: "things" }, { resource: "others" }] });
  t.not(stale.tag, tag);
  extension.answer = (_request, response) => say(response, { ...things, resources: [] });
  server.aheadMs += limits.remoteDocumentRetryMs;
  t.same((await discovered(server)).listed, { version: "v1", resources: [], freshness: "Current" });
  await server.call("DELETE", `/apis/apiregistration.k8s.io/v1/apiservices/v1.${group}`);
  t.equal((await discovered(server)).listed, undefined, "it goes with its APIService");
});

/** Says more, as long as the client reads. */
function flood(response: ServerResponse, piece: string): void {
  const more = (): void => {
    while (!response.destroyed && response.write(piece));
  };
  response.on("drain", more);
  more();
}

const hostile: readonly (readonly [name: string, Answering])[] = [
  ["is down", (_request, response) => response.destroy()],
  ["answers 500", (_request, response) => say(response, things, 500)],
  ["redirects", (_request, response) => response.writeHead(302, { Location: path }).end()],
  ["answers no JSON", (_request, response) => response.end("<html>")],
  ["answers a number", (_request, response) => response.end("1")],
  ["answers null", (_request, response) => response.end("null")],
  ["lies about its group", (_request, response) => say(response, { ...things, groupVersion: "apps/v1" })],
  ["answers deep nesting", (_request, response) => response.end("[".repeat(400_000))],
  ["answers closed nesting", (_request, response) => response.end("[".repeat(200_000) + "]".repeat(200_000))],
  ["is endless", (_request, response) => flood(response, " ".repeat(65_536))],
  [
    "breaks off",
    (_request, response) => {
      response.writeHead(200, { "Content-Length": "1000" });
      response.write("{", () => response.destroy());
    },
  ],
];

for (const [name, answer] of hostile) {
  t.test(`an extension server that ${name} has an empty, stale version`, async (t) => {
    const [server, extension] = await open(t, answer);
    t.same((await discovered(server)).listed, { version: "v1", freshness: "Stale" });
    t.same((await discovered(server)).listed, { version: "v1", freshness: "Stale" });
    t.equal(extension.seen.length, 1, "not asked again at once");
    t.ok(await until(() => extension.open.size === 0), "no connection is left");
    t.match(server.refusedDocuments, [{ apiService: `v1.${group}`, document: "discovery" }], "told once");
    t.notMatch(server.refusedDocuments[0]?.fault, /[<[{]/, "without a piece of what was answered");
    t.same(server.faults, []);
  });
}

t.test("a request does not wait for a slow extension server, whose answer counts later", async (t) => {
  let finish: (() => void) | undefined;
  const [server, extension] = await open(t, (_request, response) => {
    finish = () => say(response, things);
  });
  const { listed } = await discovered(server);
  t.same(listed, { version: "v1", freshness: "Stale" });
  t.equal(extension.seen.length, 1);
  finish?.();
  const isCurrent = async (): Promise<boolean> => (await discovered(server)).listed?.freshness === "Current";
  t.ok(await until(isCurrent));
  t.equal(extension.seen.length, 1, "asked once");
});

t.test("names of prototypes and values of odd types are data, or nothing", async (t) => {
  const odd = [
    { name: "__proto__", kind: "constructor", verbs: ["toString", 1, null] },
    { name: 1 },
    null,
    [],
    "things",
  ];
  const names = ["a/b/c", "a/", "/b", ""].map((name) => ({ name }));
  const [server] = await open(t, (_request, response) => say(response, { ...things, resources: [...odd, ...names] }));
  const { listed } = await discovered(server);
  t.match(listed, { freshness: "Current", resources: [{ resource: "__proto__", verbs: ["toString"] }] });
  t.equal(listed?.resources?.length, 1);
  t.same(server.faults, []);
});
