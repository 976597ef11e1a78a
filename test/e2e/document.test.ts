// What the document states, statement by statement, asked of a server under both identities. Statements that take more
// than a few requests (crashes, webhooks, certificates, signers) have suites of their own; what upstream does otherwise is
// listed in test/conformance/known.md.
import t, { type Test } from "tap";
import { type IdentityName, identities } from "../../src/api/identity.ts";
import { type Answer, eventually, startServer, type TestServer } from "../support/server.ts";

type Call = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>;

/** What the statements of one server are checked with. */
interface Stand {
  readonly t: Test;
  readonly server: TestServer;
  readonly call: Call;
  readonly spell: (text: string) => string;
}

const ns = "/api/v1/namespaces/d";
const maps = `${ns}/configmaps`;
const merge = { "content-type": "application/merge-patch+json" };
const apply = { "content-type": "application/apply-patch+yaml" };

function map(name: string, data: Record<string, string> = { x: "1" }, metadata: object = {}): object {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, ...metadata }, data };
}

function managers({ json }: Answer): string[] {
  const entries: { manager: string; operation: string }[] = json.metadata.managedFields ?? [];
  return entries.map(({ manager, operation }) => `${manager} ${operation}`).sort();
}

/** Events of a watch that ends after a second. */
async function events(stand: Stand, path: string): Promise<{ type: string; object: { metadata: object } }[]> {
  const { text } = await stand.call("GET", `${path}${path.includes("?") ? "&" : "?"}timeoutSeconds=1`);
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => JSON.parse(line));
}

/** Checks the code of many requests: what is said, method, path, code, body, headers. */
async function codes(
  { t, call }: Stand,
  rows: readonly (readonly [string, string, string, number, unknown?, Record<string, string>?])[],
): Promise<void> {
  for (const [said, method, path, code, body, headers] of rows) {
    const answer = await call(method, path, body, headers);
    t.equal(answer.code, code, `${said}: ${method} ${path}: ${answer.text.slice(0, 200)}`);
  }
}

async function names(stand: Stand): Promise<void> {
  const { t, call } = stand;
  await codes(stand, [
    ["a name is free once", "POST", maps, 201, map("one")],
    ["and then taken", "POST", maps, 409, map("one")],
    ["in its namespace only", "POST", "/api/v1/namespaces/e/configmaps", 201, map("one")],
    ["an object of the cluster has its name alone", "POST", "/api/v1/nodes", 201, { metadata: { name: "n" } }],
    ["and it is taken in the whole cluster", "POST", "/api/v1/nodes", 409, { metadata: { name: "n" } }],
    ["it is deleted", "DELETE", `${maps}/one`, 200],
    ["and free again", "POST", maps, 201, map("one")],
    ["a subresource is of one object", "GET", `${maps}/status`, 404],
  ]);
  const generated = [];
  for (let i = 0; i < 3; i++) {
    generated.push((await call("POST", maps, { metadata: { generateName: "g-", uid: "mine" } })).json.metadata);
  }
  t.equal(new Set(generated.map(({ name }) => name)).size, 3, "generated names differ");
  t.ok(generated.every(({ name }) => name.startsWith("g-")));
  t.equal(new Set(generated.map(({ uid }) => uid)).size, 3, "the server makes uids");
  t.ok(generated.every(({ uid, creationTimestamp: at }) => uid !== "mine" && /^\d{4}-.*Z$/.test(at)));
}

async function deletion(stand: Stand): Promise<void> {
  const { t, call } = stand;
  await call("POST", maps, map("f", {}, { finalizers: ["a.example/x", "a.example/y"] }));
  const ending = await call("DELETE", `${maps}/f`);
  t.equal(ending.code, 200);
  t.ok(ending.json.metadata.deletionTimestamp, "the time of the first request to delete it");
  const order = await call("PATCH", `${maps}/f`, { metadata: { finalizers: ["a.example/y", "a.example/x"] } }, merge);
  t.strictSame(order.json.metadata.finalizers, ["a.example/y", "a.example/x"], "finalizers may change places");
  const left = await call("PATCH", `${maps}/f`, { metadata: { finalizers: ["a.example/y"] } }, merge);
  t.strictSame([left.code, left.json.metadata.finalizers], [200, ["a.example/y"]]);
  t.equal((await call("PATCH", `${maps}/f`, { metadata: { finalizers: [] } }, merge)).code, 200);
  t.equal((await call("GET", `${maps}/f`)).code, 404, "it goes with its last finalizer");
  await call("POST", "/api/v1/namespaces", { metadata: { name: "gone" } });
  await call("POST", "/api/v1/namespaces/gone/configmaps", map("in"));
  t.equal((await call("DELETE", "/api/v1/namespaces/gone")).code, 200);
  const isGone = async (): Promise<boolean> => (await call("GET", "/api/v1/namespaces/gone")).code === 404;
  t.ok(await eventually(isGone, 60_000), "a namespace goes with what is in it");
  t.equal((await call("POST", "/api/v1/namespaces", { metadata: { name: "gone" } })).code, 201);
  t.strictSame((await call("GET", "/api/v1/namespaces/gone/configmaps/in")).code, 404);
}

async function owners(stand: Stand): Promise<void> {
  const { t, call } = stand;
  const put = (body: object, manager: string): Promise<Answer> =>
    call("PATCH", `${maps}/o?fieldManager=${manager}`, body, apply);
  await call("POST", `${maps}?fieldManager=creator`, map("o"));
  t.equal((await call("PATCH", `${maps}/o`, map("o"), apply)).code, 422, "an apply names its manager");
  t.equal((await put(map("o", { y: "1" }), "a")).code, 200);
  t.equal((await put(map("o", { y: "1" }), "b")).code, 200, "two that say the same share");
  t.equal((await put(map("o", { y: "2" }), "b")).code, 409, "and then neither changes it alone");
  t.equal((await put(map("o", { z: "1" }), "b")).json.data.y, "1", "one gives up by leaving it out");
  t.equal((await put(map("o", { y: "2" }), "a")).code, 200);
  t.equal((await put(map("o", { y: "3" }), "c")).code, 409);
  t.equal((await call("PATCH", `${maps}/o?fieldManager=c&force=true`, map("o", { y: "3" }), apply)).code, 200);
  const kept = await put(map("o", {}), "c");
  t.equal(kept.json.data.y, undefined, "what has no owner any more is removed");
  t.equal((await put(map("o", { y: "1" }, { managedFields: [] }), "c")).code, 400, "no managedFields in an apply");
  const before = managers(await call("GET", `${maps}/o`));
  for (const [type, body] of [
    ["merge-patch", { metadata: { managedFields: [] } }],
    ["strategic-merge-patch", { metadata: { managedFields: [] } }],
    ["json-patch", [{ op: "replace", path: "/metadata/managedFields", value: [] }]],
  ] as const) {
    const same = await call("PATCH", `${maps}/o`, body, { "content-type": `application/${type}+json` });
    t.strictSame(managers(same), before, `an empty list resets nothing: ${type}`);
  }
  const same = await call("PUT", `${maps}/o`, map("o", { x: "1", z: "1" }, { managedFields: [] }));
  t.strictSame(managers(same), before, "an empty list resets nothing: update");
  const reset = { metadata: { managedFields: [{}] } };
  const changed = await call("PATCH", `${maps}/o?fieldManager=me`, { ...reset, data: { x: "9" } }, merge);
  t.strictSame(managers(changed), ["me Update"], "who resets owns what else changes");
  t.strictSame(changed.json.metadata.managedFields[0].fieldsV1, { "f:data": { "f:x": {} } });
  t.strictSame(managers(await call("PATCH", `${maps}/o`, reset, merge)), [], "one empty entry resets");
  const deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "p" },
    spec: {
      replicas: 3,
      selector: { matchLabels: { a: "b" } },
      template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } },
    },
  };
  const path = "/apis/apps/v1/namespaces/d/deployments/p?fieldManager=a";
  t.equal((await call("PATCH", path, deployment, apply)).json.spec.replicas, 3);
  const { replicas: _, ...spec } = deployment.spec;
  t.equal((await call("PATCH", path, { ...deployment, spec }, apply)).json.spec.replicas, 1, "back to its default");
}

async function dryRuns(stand: Stand): Promise<void> {
  const { t, call } = stand;
  await call("POST", maps, map("dry"));
  for (const query of ["dryRun=All", "dryRun", "dryRun=", "x=1&dryRun"]) {
    const path = `${maps}/dry?${query}`;
    const other = map("dry", { x: "2" });
    await codes(stand, [
      [query, "POST", `${maps}?${query}`, 201, map("dry2")],
      [query, "PUT", path, 200, other],
      [query, "PATCH", path, 200, { data: { x: "2" } }, merge],
      [query, "PATCH", `${path}&fieldManager=m&force=true`, 200, other, apply],
      [query, "DELETE", path, 200],
      [`${query} and a body`, "DELETE", path, 200, { kind: "DeleteOptions", apiVersion: "v1" }],
      [query, "DELETE", `${maps}?${query}`, 200],
    ]);
    t.equal((await call("GET", `${maps}/dry`)).json.data.x, "1", `${query} changed nothing`);
    t.equal((await call("GET", `${maps}/dry2`)).code, 404, `${query} made nothing`);
  }
  for (const query of ["dryRun=all", "dryRun=true", "dryRun=All&dryRun=Some"]) {
    await codes(stand, [
      [query, "POST", `${maps}?${query}`, 422, map("dry2")],
      [query, "DELETE", `${maps}/dry?${query}`, 422],
      [`${query} and a body`, "DELETE", `${maps}/dry?${query}`, 422, { kind: "DeleteOptions", apiVersion: "v1" }],
    ]);
  }
}

async function watches(stand: Stand): Promise<void> {
  const { t, call } = stand;
  await call("POST", maps, map("w"));
  await call("POST", maps, map("w2"));
  for (const query of ["watch=1", "watch", "watch=true"]) {
    const seen = await events(stand, `${maps}/w?${query}`);
    t.strictSame(
      seen.map(({ type, object }) => `${type} ${(object as { metadata: { name: string } }).metadata.name}`),
      ["ADDED w"],
      `${query} on an object watches it alone`,
    );
  }
  t.equal((await call("GET", `${maps}/w?watch=0`)).json.kind, "ConfigMap");
  t.equal((await call("GET", `${maps}/w?watch=1&fieldSelector=metadata.name%3Dw2`)).code, 400);
  const { resourceVersion } = (await call("PATCH", `${maps}/w`, { data: { x: "2" } }, merge)).json.metadata;
  t.strictSame(
    await events(stand, `${maps}/w?watch=1&resourceVersion=${resourceVersion}`),
    [],
    "only what comes after",
  );
  const bookmarks = await events(stand, `${maps}?watch=1&allowWatchBookmarks=true&resourceVersion=${resourceVersion}`);
  for (const { type, object } of bookmarks) {
    t.equal(type, "BOOKMARK");
    const set = Object.entries(object.metadata).filter(([, value]) => value !== null);
    t.strictSame(
      set.map(([key]) => key),
      ["resourceVersion"],
      "a bookmark has its version alone",
    );
  }
  const gone = await events(stand, `${maps}?watch=1&resourceVersion=1`);
  t.strictSame(
    gone.map(({ object }) => (object as { code?: number }).code),
    [410],
    "a version that is not kept",
  );
  const head = await call("GET", `${maps}?watch=1&timeoutSeconds=1`);
  t.equal(head.headers["transfer-encoding"], "chunked");
  t.equal(head.headers["content-type"], "application/json");
}

async function lists(stand: Stand): Promise<void> {
  const { t, call } = stand;
  const at = "/api/v1/namespaces/e/configmaps";
  for (let i = 0; i < 5; i++) await call("POST", at, map(`l${i}`, {}, { labels: { l: "1" } }));
  const first = await call("GET", `${at}?limit=2&fieldSelector=metadata.name!%3Done`);
  t.equal(first.json.metadata.remainingItemCount, undefined, "a selector leaves the rest uncounted");
  const page = await call("GET", `${at}?limit=2`);
  const { continue: token, remainingItemCount: rest, resourceVersion: version } = page.json.metadata;
  t.equal(page.json.kind, "ConfigMapList");
  t.ok(rest >= 3);
  await call("POST", at, map("l9"));
  const next = await call("GET", `${at}?limit=50&continue=${token}`);
  t.equal(next.json.metadata.resourceVersion, version, "pages are of one version");
  t.equal(next.json.metadata.continue ?? "", "", "empty at the end");
  t.equal(next.json.metadata.remainingItemCount, undefined);
  t.notOk(next.json.items.some((item: { metadata: { name: string } }) => item.metadata.name === "l9"));
  const exact = await call("GET", `${at}?resourceVersion=${version}&resourceVersionMatch=Exact`);
  t.strictSame([exact.json.metadata.resourceVersion, exact.json.items.length], [version, 2 + rest]);
  const future = Number(version) + 1_000_000;
  await codes(stand, [
    ["continue at version 0", "GET", `${at}?limit=2&continue=${token}&resourceVersion=0`, 200],
    ["continue at a version", "GET", `${at}?limit=2&continue=${token}&resourceVersion=${version}`, 400],
    ["a match without a version", "GET", `${at}?resourceVersionMatch=Exact`, 422],
    ["a match without a version", "GET", `${at}?resourceVersionMatch=NotOlderThan`, 422],
    ["exactly any version", "GET", `${at}?resourceVersionMatch=Exact&resourceVersion=0`, 422],
    ["a match there is not", "GET", `${at}?resourceVersionMatch=Newer&resourceVersion=1`, 422],
    ["not older than any", "GET", `${at}?resourceVersionMatch=NotOlderThan&resourceVersion=0&limit=1`, 200],
    ["exactly one that is gone", "GET", `${at}?resourceVersionMatch=Exact&resourceVersion=1`, 410],
    ["a limit at a version is exact", "GET", `${at}?limit=1&resourceVersion=1`, 410],
    ["not older than an old one", "GET", `${at}?resourceVersion=1`, 200],
  ]);
  for (const path of [
    `${at}/l0?resourceVersion=${future}`,
    `${at}?resourceVersion=${future}`,
    `${at}?resourceVersion=${future}&resourceVersionMatch=NotOlderThan`,
    `${at}?resourceVersion=${future}&resourceVersionMatch=Exact`,
    `${at}?resourceVersion=${future}&limit=1`,
  ]) {
    const answer = await call("GET", path);
    t.match([answer.code, answer.json.message], [504, /Too large resource version/], path);
  }
}

async function forms(stand: Stand): Promise<void> {
  const { t, call, spell } = stand;
  const protobuf = spell("application/vnd.kubernetes.protobuf");
  const meta = spell("meta.k8s.io");
  const roles = `${spell("/apis/rbac.authorization.k8s.io")}/v1/namespaces/d/roles`;
  await call("POST", roles, { metadata: { name: "r" }, rules: [] });
  const table = await call("GET", roles, undefined, { accept: `application/json;as=Table;g=${meta};v=v1` });
  t.match(table.json, { kind: "Table", apiVersion: `${meta}/v1` });
  const columns: { name: string; type: string }[] = table.json.columnDefinitions;
  t.strictSame(
    columns.map(({ name, type }) => `${name} ${type}`),
    ["Name string", "Created At date"],
  );
  const binary = await call("GET", roles, undefined, { accept: protobuf });
  t.equal(binary.headers["content-type"], protobuf);
  t.equal(binary.text.slice(0, 4), "k8s\0");
  for (const accept of ["text/html", "application/xml", `${protobuf};as=Table;g=${meta};v=v1`]) {
    t.equal((await call("GET", roles, undefined, { accept })).code, 406, accept);
  }
  t.match((await call("GET", `${maps}?pretty=true`)).text, /^\{\n {2}"kind"/);
  t.match((await call("GET", "/api?pretty=true")).text, /^\{\n {2}"kind"/);
  const none = "?labelSelector=none%3Dset";
  const ofNone: [accept: string, path: string, expected: object][] = [
    ["application/json", maps, { items: [] }],
    [`application/json;as=Table;g=${meta};v=v1`, maps, { rows: [] }],
    [`application/json;as=Table;g=${meta};v=v1`, roles, { rows: null }],
    [`application/json;as=PartialObjectMetadataList;g=${meta};v=v1`, maps, { items: null }],
    [`application/json;as=PartialObjectMetadataList;g=${meta};v=v1`, "/api/v1/componentstatuses", { items: null }],
  ];
  for (const [accept, path, expected] of ofNone) {
    t.match((await call("GET", `${path}${none}`, undefined, { accept })).json, expected, `${path} ${accept}`);
  }
  const one = await call("GET", "/api/v1/componentstatuses?fieldSelector=metadata.name%3Detcd-0");
  t.equal(one.json.items.length, 1, "selectors count where nothing is stored, too");
}

async function pages(stand: Stand): Promise<void> {
  const { t, call, spell } = stand;
  const protobuf = spell("application/vnd.kubernetes.protobuf");
  const inJson = ["/", "/version", "/openapi/v3", "/openapi/v3/api/v1", "/.well-known/openid-configuration"];
  const inBoth = ["/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1"];
  for (const path of [...inJson, ...inBoth, "/openapi/v2"]) {
    for (const accept of [
      `${protobuf},*/*`,
      `${protobuf}, application/json`,
      "*/*",
      "application/*",
      "text/html, */*;q=0.1",
    ]) {
      const answer = await call("GET", path, undefined, { accept });
      t.equal(answer.code, 200, `${path} ${accept}`);
      if (!inBoth.includes(path) || !accept.startsWith(protobuf)) t.ok(answer.json, `${path} ${accept} is JSON`);
    }
  }
  for (const path of inBoth) {
    const { headers, text } = await call("GET", path, undefined, { accept: protobuf });
    t.strictSame([headers["content-type"], text.slice(0, 4)], [protobuf, "k8s\0"], path);
  }
  t.equal((await call("GET", "/version", undefined, { accept: "image/png" })).code, 406);
  t.equal((await call("GET", "/metrics")).code, 200);
  const late = await call("GET", "/version?timeout=soon");
  t.match([late.code, late.json.message], [400, /invalid timeout specified in the request URL/]);
}

async function heads(stand: Stand): Promise<void> {
  const { t, call } = stand;
  await call("POST", maps, map("h"));
  const accept = { accept: "application/json" };
  for (const path of [`${maps}/h`, maps, `${maps}/none`, "/api/v1/nodes", "/version", "/apis", `${maps}?limit=x`]) {
    const got = await call("GET", path, undefined, accept);
    const head = await call("HEAD", path, undefined, accept);
    t.strictSame([head.code, head.text], [got.code, ""], path);
    t.equal(head.headers["content-type"], got.headers["content-type"], path);
    t.equal(head.headers["content-length"], got.headers["content-length"], path);
  }
  const watch = await call("HEAD", `${maps}?watch=1`);
  t.strictSame([watch.code, watch.text], [200, ""], "a HEAD of a watch begins none");
}

async function reviews(stand: Stand): Promise<void> {
  const { t, call, spell } = stand;
  const authorization = `${spell("/apis/authorization.k8s.io")}/v1`;
  const attributes = { resource: "pods", verb: "list", namespace: "d", group: "" };
  const self = await call("POST", `${authorization}/selfsubjectaccessreviews`, {
    spec: { resourceAttributes: attributes },
  });
  t.strictSame([self.code, self.json.status.allowed], [201, true]);
  const other = { spec: { user: "ann", groups: ["g"], resourceAttributes: attributes } };
  t.equal((await call("POST", `${authorization}/subjectaccessreviews`, other)).json.status.allowed, false);
  const local = `${authorization}/namespaces/d/localsubjectaccessreviews`;
  const within = { ...other, metadata: { namespace: "d" } };
  t.equal((await call("POST", local, within)).json.status.allowed, false);
  t.ok((await call("POST", `${authorization}/selfsubjectrulesreviews`, { spec: { namespace: "d" } })).json.status);
  const token = await call("POST", `${spell("/apis/authentication.k8s.io")}/v1/tokenreviews`, {
    spec: { token: stand.server.token },
  });
  t.match(token.json.status, { authenticated: true, user: { groups: ["system:masters", "system:authenticated"] } });
  const table = `application/json;as=Table;g=${spell("meta.k8s.io")};v=v1`;
  const body = { spec: { resourceAttributes: attributes } };
  const path = `${authorization}/selfsubjectaccessreviews`;
  t.equal((await call("POST", path, body, { accept: table })).code, 406, "what is only asked has no Table");
  t.equal((await call("POST", path, body, { accept: `${table},application/json` })).code, 201);
}

async function warnings(stand: Stand): Promise<void> {
  const { t, call } = stand;
  const jobs = "/apis/batch/v1/namespaces/d/jobs";
  const said = async (query: string, body?: object): Promise<boolean> => {
    const { headers } = await call("DELETE", query, body);
    return /child pods are preserved by default/.test(String(headers["warning"] ?? ""));
  };
  t.ok(await said(`${jobs}/none`));
  t.ok(await said(jobs));
  t.ok(await said(`${jobs}/none`, { kind: "DeleteOptions", apiVersion: "v1" }));
  t.notOk(await said(`${jobs}/none?propagationPolicy=Orphan`));
  t.notOk(await said(`${jobs}?propagationPolicy=Background`));
  t.notOk(await said(`${jobs}/none?orphanDependents=false`));
  t.notOk(await said(`${jobs}/none`, { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy: "Background" }));
  t.notOk(await said("/apis/batch/v1/namespaces/d/cronjobs/none"));
  const old = await call("GET", "/apis/batch/v1beta1/namespaces/d/cronjobs");
  t.match(old.headers["warning"], /deprecated/);
  const gauge = /apiserver_requested_deprecated_apis\{[^}]*resource="cronjobs"[^}]*\} 1/;
  t.match(await stand.server.metrics(), gauge);
}

async function certificates(stand: Stand): Promise<void> {
  const { spell } = stand;
  const path = `${spell("/apis/certificates.k8s.io")}/v1/certificatesigningrequests`;
  const request = Buffer.from("-----BEGIN NOTHING-----\n").toString("base64");
  const spec = { request, signerName: "a.example/b", usages: ["client auth"] };
  const bad = (part: object): object => ({ metadata: { name: "c" }, spec: { ...spec, ...part } });
  await codes(stand, [
    ["no request is in it", "POST", path, 422, bad({})],
    ["no signer", "POST", path, 422, bad({ signerName: undefined })],
    ["the signer of before", "POST", path, 422, bad({ signerName: spell("kubernetes.io/legacy-unknown") })],
    ["no usages", "POST", path, 422, bad({ usages: [] })],
    ["usages twice", "POST", path, 422, bad({ usages: ["client auth", "client auth"] })],
    ["unknown usages", "POST", path, 422, bad({ usages: ["flying"] })],
    ["less than ten minutes", "POST", path, 422, bad({ expirationSeconds: 599 })],
  ]);
}

async function kinds(stand: Stand): Promise<void> {
  const { t, call, spell } = stand;
  const events = `${spell("/apis/events.k8s.io")}/v1/namespaces/d/events`;
  const event = {
    metadata: { name: "ev" },
    eventTime: "2026-01-01T00:00:00.000000Z",
    reportingController: "a.example/c",
    reportingInstance: "i",
    action: "a",
    reason: "r",
    type: "Normal",
    regarding: { namespace: "d" },
  };
  await codes(stand, [
    ["a type there is not", "POST", events, 422, { ...event, type: "Loud" }],
    ["no action", "POST", events, 422, { ...event, action: "" }],
    ["no reason", "POST", events, 422, { ...event, reason: "" }],
    ["no controller", "POST", events, 422, { ...event, reportingController: "" }],
    ["no instance", "POST", events, 422, { ...event, reportingInstance: "" }],
    ["no time", "POST", events, 422, { ...event, eventTime: undefined }],
    ["a field of before", "POST", events, 422, { ...event, deprecatedCount: 1 }],
    ["all there", "POST", events, 201, event],
  ]);
  const label = spell("kubernetes.io/metadata.name");
  t.equal((await call("GET", ns)).json.metadata.labels[label], "d", "a namespace bears its name");
  const renamed = await call("PATCH", ns, { metadata: { labels: { [label]: "other" } } }, merge);
  t.equal(renamed.json.metadata.labels[label], "d", "for good");
  const hook = {
    metadata: { name: "h" },
    webhooks: [
      {
        name: "a.example.com",
        clientConfig: { url: "https://a.example.com" },
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
      },
    ],
  };
  const hooks = `${spell("/apis/admissionregistration.k8s.io")}/v1/validatingwebhookconfigurations`;
  const { json } = await call("POST", hooks, hook);
  t.match(json.webhooks[0], { timeoutSeconds: 10, failurePolicy: "Fail", matchPolicy: "Equivalent" });
  await call("DELETE", `${hooks}/h`);
  const some = { ...hook, webhooks: [{ ...hook.webhooks[0], sideEffects: "Some" }] };
  t.equal((await call("POST", hooks, some)).code, 422, "side effects are none, or none in a dry run");
  await codes(stand, [
    ["served no more", "GET", spell("/apis/authentication.k8s.io/v1beta1"), 404],
    ["served no more", "GET", "/apis/extensions/v1beta1", 404],
    ["served no more", "GET", spell("/apis/apiextensions.k8s.io/v1beta1"), 404],
    ["served with a warning", "GET", "/apis/policy/v1beta1/podsecuritypolicies", 200],
  ]);
}

const shortNames: readonly (readonly [
  path: string,
  resource: string,
  short: string | undefined,
  namespaced: boolean,
])[] = [
  ["/api/v1", "bindings", undefined, true],
  ["/api/v1", "componentstatuses", "cs", false],
  ["/api/v1", "configmaps", "cm", true],
  ["/api/v1", "endpoints", "ep", true],
  ["/api/v1", "events", "ev", true],
  ["/api/v1", "limitranges", "limits", true],
  ["/api/v1", "namespaces", "ns", false],
  ["/api/v1", "nodes", "no", false],
  ["/api/v1", "persistentvolumeclaims", "pvc", true],
  ["/api/v1", "persistentvolumes", "pv", false],
  ["/api/v1", "pods", "po", true],
  ["/api/v1", "podtemplates", undefined, true],
  ["/api/v1", "replicationcontrollers", "rc", true],
  ["/api/v1", "resourcequotas", "quota", true],
  ["/api/v1", "secrets", undefined, true],
  ["/api/v1", "serviceaccounts", "sa", true],
  ["/api/v1", "services", "svc", true],
  ["/apis/apps/v1", "controllerrevisions", undefined, true],
  ["/apis/apps/v1", "daemonsets", "ds", true],
  ["/apis/apps/v1", "deployments", "deploy", true],
  ["/apis/apps/v1", "replicasets", "rs", true],
  ["/apis/apps/v1", "statefulsets", "sts", true],
  ["/apis/batch/v1", "cronjobs", "cj", true],
  ["/apis/batch/v1", "jobs", undefined, true],
  ["/apis/autoscaling/v2", "horizontalpodautoscalers", "hpa", true],
  ["/apis/networking.k8s.io/v1", "ingresses", "ing", true],
  ["/apis/networking.k8s.io/v1", "ingressclasses", undefined, false],
  ["/apis/networking.k8s.io/v1", "networkpolicies", "netpol", true],
  ["/apis/admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations", undefined, false],
  ["/apis/admissionregistration.k8s.io/v1", "validatingwebhookconfigurations", undefined, false],
  ["/apis/apiextensions.k8s.io/v1", "customresourcedefinitions", "crd", false],
  ["/apis/apiregistration.k8s.io/v1", "apiservices", undefined, false],
  ["/apis/authentication.k8s.io/v1", "tokenreviews", undefined, false],
  ["/apis/authorization.k8s.io/v1", "localsubjectaccessreviews", undefined, true],
  ["/apis/authorization.k8s.io/v1", "selfsubjectaccessreviews", undefined, false],
  ["/apis/authorization.k8s.io/v1", "selfsubjectrulesreviews", undefined, false],
  ["/apis/authorization.k8s.io/v1", "subjectaccessreviews", undefined, false],
  ["/apis/certificates.k8s.io/v1", "certificatesigningrequests", "csr", false],
  ["/apis/coordination.k8s.io/v1", "leases", undefined, true],
  ["/apis/discovery.k8s.io/v1", "endpointslices", undefined, true],
  ["/apis/flowcontrol.apiserver.k8s.io/v1beta2", "flowschemas", undefined, false],
  ["/apis/flowcontrol.apiserver.k8s.io/v1beta2", "prioritylevelconfigurations", undefined, false],
  ["/apis/node.k8s.io/v1", "runtimeclasses", undefined, false],
  ["/apis/policy/v1", "poddisruptionbudgets", "pdb", true],
  ["/apis/policy/v1beta1", "podsecuritypolicies", "psp", false],
  ["/apis/rbac.authorization.k8s.io/v1", "clusterroles", undefined, false],
  ["/apis/rbac.authorization.k8s.io/v1", "clusterrolebindings", undefined, false],
  ["/apis/rbac.authorization.k8s.io/v1", "roles", undefined, true],
  ["/apis/rbac.authorization.k8s.io/v1", "rolebindings", undefined, true],
  ["/apis/scheduling.k8s.io/v1", "priorityclasses", "pc", false],
  ["/apis/storage.k8s.io/v1", "csidrivers", undefined, false],
  ["/apis/storage.k8s.io/v1", "csinodes", undefined, false],
  ["/apis/storage.k8s.io/v1", "storageclasses", "sc", false],
  ["/apis/storage.k8s.io/v1", "volumeattachments", undefined, false],
];

async function discovery({ t, call, spell }: Stand): Promise<void> {
  for (const [path, resource, short, namespaced] of shortNames) {
    const { json } = await call("GET", spell(path));
    const all: { name: string; shortNames?: string[]; namespaced: boolean }[] = json.resources ?? [];
    const found = all.find(({ name }) => name === resource);
    t.match(found, { namespaced, ...(short === undefined ? {} : { shortNames: [short] }) }, `${path} ${resource}`);
  }
}

async function users(stand: Stand): Promise<void> {
  const { t, call, spell } = stand;
  await codes(stand, [
    ["a token that is not valid", "GET", "/version", 401, undefined, { authorization: "Bearer wrong" }],
    ["no token", "GET", "/version", 200, undefined, { authorization: "" }],
    ["no token", "GET", maps, 403, undefined, { authorization: "" }],
    ["a user without a role", "GET", maps, 403, undefined, { "impersonate-user": "ann" }],
    ["a group without a user", "GET", maps, 400, undefined, { "impersonate-group": "g" }],
    [
      "a group of masters",
      "GET",
      maps,
      200,
      undefined,
      { "impersonate-user": "ann", "impersonate-group": "system:masters" },
    ],
  ]);
  const root = `${spell("/apis/rbac.authorization.k8s.io")}/v1/namespaces/d`;
  const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"], resourceNames: ["w"] }];
  await call("POST", `${root}/roles`, { metadata: { name: "reads" }, rules });
  await call("POST", `${root}/rolebindings`, {
    metadata: { name: "reads" },
    roleRef: { apiGroup: spell("rbac.authorization.k8s.io"), kind: "Role", name: "reads" },
    subjects: [{ apiGroup: spell("rbac.authorization.k8s.io"), kind: "User", name: "ann" }],
  });
  const ann = { "impersonate-user": "ann" };
  await codes(stand, [
    ["get is allowed", "GET", `${maps}/w`, 200, undefined, ann],
    ["HEAD is a get", "HEAD", `${maps}/w`, 200, undefined, ann],
    ["a watch of one object is a watch", "GET", `${maps}/w?watch=1`, 403, undefined, ann],
    ["HEAD of a collection is a list", "HEAD", maps, 403, undefined, ann],
    ["a dry run is authorized as what it plays", "DELETE", `${maps}/w?dryRun=All`, 403, undefined, ann],
  ]);
  t.equal((await call("GET", `${maps}/w?watch=1`, undefined, ann)).json.message.includes("cannot watch"), true);
}

async function accounts(stand: Stand): Promise<void> {
  const { t, call, spell } = stand;
  const isThere = async (): Promise<boolean> => (await call("GET", `${ns}/serviceaccounts/default`)).code === 200;
  t.ok(await eventually(isThere, 60_000), "every namespace has an account default");
  const pod = (spec: object): object => ({
    metadata: { generateName: "p-" },
    spec: { containers: [{ name: "c", image: "i" }], ...spec },
  });
  const made = await call("POST", `${ns}/pods?dryRun=All`, pod({}));
  t.equal(made.json.spec.serviceAccountName, "default");
  const path = spell("/var/run/secrets/kubernetes.io/serviceaccount");
  t.equal(made.json.spec.containers[0].volumeMounts[0].mountPath, path);
  const sources = made.json.spec.volumes[0].projected.sources;
  t.match(sources[0].serviceAccountToken, { path: "token" });
  t.match(sources[1].configMap, { name: spell("kube-root-ca.crt"), items: [{ key: "ca.crt" }] });
  t.ok(sources[2].downwardAPI);
  t.equal((await call("POST", `${ns}/pods?dryRun=All`, pod({ serviceAccountName: "none" }))).code, 403);
  const bare = await call("POST", `${ns}/pods?dryRun=All`, pod({ automountServiceAccountToken: false }));
  t.notOk(bare.json.spec.volumes);
  const token = await call("POST", `${ns}/serviceaccounts/default/token`, { spec: {} });
  t.strictSame([token.code, token.json.spec.expirationSeconds], [201, 3600]);
  const annotations = { [spell("kubernetes.io/service-account.name")]: "default" };
  const type = spell("kubernetes.io/service-account-token");
  await call("POST", `${ns}/secrets`, { metadata: { name: "tok", annotations }, type });
  const isFilled = async (): Promise<boolean> => {
    const { json } = await call("GET", `${ns}/secrets/tok`);
    return json.data?.token !== undefined;
  };
  t.ok(await eventually(isFilled, 60_000), "the token controller fills in a token");
}

const sections: readonly (readonly [string, (stand: Stand) => Promise<void>])[] = [
  ["object names and metadata", names],
  ["object deletion", deletion],
  ["field managers", owners],
  ["dry runs", dryRuns],
  ["watches", watches],
  ["lists and versions", lists],
  ["forms", forms],
  ["pages", pages],
  ["HEAD", heads],
  ["reviews", reviews],
  ["warnings", warnings],
  ["certificate signing requests", certificates],
  ["kinds and removed versions", kinds],
  ["resource types", discovery],
  ["users and rights", users],
  ["service accounts", accounts],
];

for (const name of Object.keys(identities) as IdentityName[]) {
  t.test(`what the document states holds (${name})`, async (t) => {
    const server = await startServer([`--identity=${name}`]);
    t.teardown(() => server.stop());
    const call: Call = (method, path, body, headers) => server.call(method, path, body, headers);
    const { spell } = identities[name];
    for (const namespace of ["d", "e"]) await call("POST", "/api/v1/namespaces", { metadata: { name: namespace } });
    for (const [title, check] of sections) {
      await t.test(title, async (t) => check({ t, server, call, spell }));
    }
  });
}
