// Requests for custom resources where they are answered otherwise than requests for built-in kinds.
import t from "tap";
import { inOrder, masters } from "../../src/authz/authorizer.ts";
import { Rbac } from "../../src/authz/rbac.ts";
import { definitions, openDefined, widgets } from "../support/definitions.ts";
import type { Answer } from "../support/inprocess.ts";

const path = "/apis/example.com/v1/namespaces/default/widgets";
const merge = { "content-type": "application/merge-patch+json" };
const jsonPatch = { "content-type": "application/json-patch+json" };
const table = { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" };

const open = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };

function widget(name: string, more: object = {}, metadata: object = {}) {
  return { apiVersion: "example.com/v1", kind: "Widget", metadata: { name, ...metadata }, ...more };
}

function brief({ code, json, text }: Answer): string {
  return code < 300 ? String(code) : `${code} ${json?.message ?? text}`;
}

t.test("custom resources are selected by their names only, and refuse other fields", async (t) => {
  const server = await openDefined(widgets({ name: "v1", schema: open }));
  t.teardown(() => server.stop());
  await server.call("POST", path, widget("a", { spec: { size: 1 } }));
  await server.call("POST", path, widget("b"));
  const rows: [selector: string, want: string][] = [
    ["metadata.name=a", "200 a"],
    ["metadata.namespace=default,metadata.name!=a", "200 b"],
    ["spec.size=1", "400 field label not supported: spec.size"],
    ["metadata.labels.n=a", "400 field label not supported: metadata.labels.n"],
  ];
  for (const [selector, want] of rows) {
    const { code, json } = await server.call("GET", `${path}?fieldSelector=${encodeURIComponent(selector)}`);
    const names = (json.items as { metadata: { name: string } }[] | undefined)?.map(({ metadata }) => metadata.name);
    t.equal(`${code} ${names ?? json.message}`, want);
  }
});

t.test("finalizers of custom resources need no domain, but are names", async (t) => {
  const server = await openDefined(widgets({ name: "v1", schema: open }));
  t.teardown(() => server.stop());
  t.equal((await server.call("POST", path, widget("a", {}, { finalizers: ["own"] }))).code, 201);
  const more = { metadata: { finalizers: ["own", "other"] } };
  t.equal((await server.call("PATCH", `${path}/a`, more, merge)).code, 200);
  const refused = await server.call("POST", path, widget("b", {}, { finalizers: ["own", "a b/c"] }));
  t.equal(refused.code, 422);
  t.strictSame(
    refused.json.details.causes.map(({ field }: { field: string }) => field),
    ["metadata.finalizers"],
  );
});

t.test("a custom resource is refused in unknown media types by naming those it has", async (t) => {
  const server = await openDefined(widgets({ name: "v1", schema: open }));
  t.teardown(() => server.stop());
  await server.call("POST", path, widget("a"));
  const { code, json } = await server.call("GET", `${path}/a`, undefined, { accept: "text/html" });
  const offered = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
  t.equal(code, 406);
  t.equal(json.message, `only the following media types are accepted: ${offered}`);
  t.equal("details" in json, false);
});

t.test("the status of a custom resource is shown as a table, its scale is not", async (t) => {
  const scale = { specReplicasPath: ".spec.n", statusReplicasPath: ".status.n" };
  const server = await openDefined(widgets({ name: "v1", schema: open, subresources: { status: {}, scale } }));
  t.teardown(() => server.stop());
  await server.call("POST", path, widget("a", { spec: { n: 1 } }));
  const shown = await server.call("GET", `${path}/a/status`, undefined, table);
  t.equal(shown.code, 200);
  t.equal(shown.json.kind, "Table");
  t.equal(shown.json.rows[0].cells[0], "a");
  t.equal((await server.call("GET", `${path}/a/scale`, undefined, table)).code, 406);
});

t.test("a patched custom resource says its kind and version again", async (t) => {
  const server = await openDefined(widgets({ name: "v1", schema: open }));
  t.teardown(() => server.stop());
  await server.call("POST", path, widget("a"));
  const whole = (value: object) => server.call("PATCH", `${path}/a`, [{ op: "replace", path: "", value }], jsonPatch);
  const missing = "422  \"\" is invalid: patch: Invalid value: \"{}\": Object 'Kind' is missing in '{}'";
  t.equal(brief(await whole({})), missing);
  const unversioned = { kind: "Widget", metadata: { name: "a" } };
  const noVersion = "400 Object 'apiVersion' is missing in 'object has no apiVersion field'";
  t.equal(brief(await whole(unversioned)), noVersion);
});

t.test("a deprecated version names the best one that is newer, served and not deprecated", async (t) => {
  const version = (name: string, more: object = {}) => ({ name, schema: open, ...more });
  const server = await openDefined(
    widgets(
      version("v2"),
      version("v1", { deprecated: true }),
      version("v3", { deprecated: true }),
      version("v4", { served: false }),
      version("v1beta1", { deprecated: true, deprecationWarning: "gone soon" }),
    ),
  );
  t.teardown(() => server.stop());
  const warningAt = async (name: string) => {
    const { headers } = await server.call("GET", path.replace("v1", name));
    return headers.find(([header]) => header.toLowerCase() === "warning")?.[1];
  };
  const newest = "example.com/v3 Widget is deprecated";
  const older = "example.com/v1 Widget is deprecated; use example.com/v2 Widget";
  t.equal(await warningAt("v2"), undefined);
  t.equal(await warningAt("v1"), `299 - "${older}"`);
  t.equal(await warningAt("v3"), `299 - "${newest}"`);
  t.equal(await warningAt("v1beta1"), '299 - "gone soon"');
});

t.test("the status of a new object is what its schema has by default, whatever was sent", async (t) => {
  const properties = {
    spec: { type: "object", properties: { a: { type: "string", default: "x" } } },
    status: { type: "object", default: {}, properties: { phase: { type: "string", default: "New" } } },
  };
  const schema = { openAPIV3Schema: { type: "object", properties } };
  const server = await openDefined(widgets({ name: "v1", schema, subresources: { status: {} } }));
  t.teardown(() => server.stop());
  const sent = widget("a", { spec: {}, status: { phase: "Old" } });
  const made = await server.call("POST", path, sent);
  t.strictSame([made.json.spec, made.json.status], [{ a: "x" }, { phase: "New" }]);
  t.strictSame((await server.call("GET", `${path}/a`)).json.status, { phase: "New" });
  await server.call("PATCH", `${path}/a/status`, { status: { phase: "Up" } }, merge);
  const put = { ...(await server.call("GET", `${path}/a`)).json, status: { phase: "Down" } };
  t.strictSame((await server.call("PUT", `${path}/a`, put)).json.status, { phase: "Up" });
});

t.test("stored versions are the storage migrator's to write, and a definition keeps what they name", async (t) => {
  const server = await openDefined(widgets({ name: "v1", schema: open }, { name: "v2", schema: open }));
  t.teardown(() => server.stop());
  const at = `${definitions}/widgets.example.com`;
  const storedIs = (storedVersions: string[]) =>
    server.call("PATCH", `${at}/status`, { status: { storedVersions } }, merge);
  t.strictSame((await storedIs(["v2"])).json.status.storedVersions, ["v2"]);
  t.strictSame((await storedIs([])).json.status.storedVersions, ["v1"], "the storage version is always one of them");
  const both = [{ op: "replace", path: "/spec/versions/1/storage", value: true }];
  const refused = await server.call("PATCH", at, both, jsonPatch);
  t.equal(refused.code, 422);
  t.strictSame(
    refused.json.details.causes.map(({ field }: { field: string }) => field),
    ["spec.versions", "status.storedVersions"],
  );
  const away = [{ op: "remove", path: "/spec/versions/0" }];
  t.match(
    brief(await server.call("PATCH", at, away, jsonPatch)),
    /422 .*storedVersions\[0\].*must appear in spec.versions/,
  );
});

t.test("objects kept before their definition changed are written as objects of the new one", async (t) => {
  const schemaOf = (...names: string[]) => {
    const fields = names.map((name) => [name, { type: "string", ...(name === "fresh" && { default: "new" }) }]);
    const spec = { type: "object", properties: Object.fromEntries(fields) };
    return { openAPIV3Schema: { type: "object", properties: { spec } } };
  };
  const server = await openDefined(widgets({ name: "v1", schema: schemaOf("kept", "gone") }));
  t.teardown(() => server.stop());
  for (const name of ["a", "b", "c"]) {
    await server.call("POST", path, widget(name, { spec: { kept: "1", gone: "2" } }, { finalizers: ["own"] }));
  }
  const change = [{ op: "replace", path: "/spec/versions/0/schema", value: schemaOf("kept", "fresh") }];
  t.equal((await server.call("PATCH", `${definitions}/widgets.example.com`, change, jsonPatch)).code, 200);
  const now = { kept: "1", fresh: "new" };
  const labelled = await server.call("PATCH", `${path}/a`, { metadata: { labels: { l: "1" } } }, merge);
  t.strictSame([labelled.json.spec, labelled.json.metadata.generation], [now, 1], "only the labels changed");
  const edit = [
    { op: "test", path: "/spec/fresh", value: "new" },
    { op: "add", path: "/metadata/labels", value: {} },
  ];
  t.equal((await server.call("PATCH", `${path}/b`, edit, jsonPatch)).code, 200, "a patch finds what a read shows");
  await server.call("DELETE", `${path}/c`);
  const { spec, metadata } = (await server.call("GET", `${path}/c`)).json;
  t.strictSame(spec, now, "an object that is marked for deletion keeps its new shape");
  t.ok(metadata.deletionTimestamp);
});

t.test("what was stored in a version is read at it in full, also when another one is stored now", async (t) => {
  const schemaOf = (own: string) => {
    const spec = { type: "object", properties: { a: { type: "string" }, [own]: { type: "string" } } };
    return { openAPIV3Schema: { type: "object", properties: { spec } } };
  };
  const server = await openDefined(
    widgets({ name: "v1", schema: schemaOf("one") }, { name: "v2", schema: schemaOf("two") }),
  );
  t.teardown(() => server.stop());
  await server.call("POST", path, widget("a", { spec: { a: "x", one: "1" } }));
  const change = [
    { op: "replace", path: "/spec/versions/0/storage", value: false },
    { op: "replace", path: "/spec/versions/1/storage", value: true },
  ];
  t.equal((await server.call("PATCH", `${definitions}/widgets.example.com`, change, jsonPatch)).code, 200);
  const at = (version: string) => path.replace("v1", version);
  const specAt = async (version: string) => (await server.call("GET", `${at(version)}/a`)).json.spec;
  t.strictSame(await specAt("v1"), { a: "x", one: "1" });
  t.strictSame((await server.call("GET", path)).json.items[0].spec, { a: "x", one: "1" });
  t.strictSame(await specAt("v2"), { a: "x" });
  const labels = { metadata: { labels: { l: "1" } } };
  t.equal((await server.call("PATCH", `${path}/a`, labels, merge)).json.metadata.generation, 1);
  t.strictSame(await specAt("v1"), { a: "x" }, "a write stores it in the new version");
});

t.test("a create at a name makes the object of that name and no other", async (t) => {
  const server = await openDefined(widgets({ name: "v1", schema: open, subresources: { status: {} } }));
  t.teardown(() => server.stop());
  const other = "the name of the object (y) does not match the name on the URL (x)";
  const nameless = "the name of the object (x based on URL) was undeterminable: name must be provided";
  const { kind, apiVersion } = widget("");
  const rows: [want: string, at: string, body: object][] = [
    [`400 ${other}`, "/x", widget("y")],
    [`400 ${nameless}`, "/x", { kind, apiVersion, metadata: {} }],
    [`400 ${nameless}`, "/x", { kind, apiVersion, metadata: { generateName: "x" } }],
    [`400 ${other}`, "/x?dryRun=All", widget("y")],
    ["201", "/x?dryRun=All", widget("x")],
    ["201", "/x", widget("x")],
    ['409 widgets.example.com "x" already exists', "/x", widget("x")],
    ['405 create is not supported on resources of kind "widgets.example.com"', "/x/status", widget("x")],
  ];
  for (const [want, at, body] of rows) t.equal(brief(await server.call("POST", `${path}${at}`, body)), want, at);
  const { items } = (await server.call("GET", path)).json as { items: { metadata: { name: string } }[] };
  t.strictSame(
    items.map(({ metadata }) => metadata.name),
    ["x"],
  );
});

t.test("a user who may create an object of one name cannot create another one at that name", async (t) => {
  const server = await openDefined(widgets({ name: "v1", schema: open }));
  t.teardown(() => server.stop());
  const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
  const rules = [{ verbs: ["create"], apiGroups: ["example.com"], resources: ["widgets"], resourceNames: ["x"] }];
  await server.call("POST", `${rbac}/roles`, { metadata: { name: "x" }, rules });
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "x" };
  const subjects = [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "ann" }];
  t.equal(
    (await server.call("POST", `${rbac}/rolebindings`, { metadata: { name: "x" }, roleRef, subjects })).code,
    201,
  );
  server.authorizer = inOrder([masters, new Rbac(server.scheme.identity, server.objects)]);
  const admin = server.user;
  server.user = { ...admin, name: "ann", groups: [] };
  const codes: number[] = [];
  for (const [at, name] of [
    ["", "x"],
    ["", "y"],
    ["/y", "y"],
    ["/y", "x"],
    ["/x", "y"],
    ["/x", "x"],
  ]) {
    codes.push((await server.call("POST", `${path}${at}`, widget(name ?? ""))).code);
  }
  t.strictSame(codes, [403, 403, 403, 403, 400, 201]);
  server.user = admin;
  t.equal((await server.call("GET", path)).json.items.length, 1);
  t.strictSame(server.faults, [], "no check of the permit had to stop it");
});

t.test("an apply that does not fit the schema is the client's fault", async (t) => {
  const spec = { type: "object", properties: { n: { type: "integer" }, o: { type: "object" } } };
  const schema = { openAPIV3Schema: { type: "object", properties: { spec } } };
  const server = await openDefined(widgets({ name: "v1", schema }));
  t.teardown(() => server.stop());
  const apply = { "content-type": "application/apply-patch+yaml" };
  const rows: [spec: object, why: string][] = [
    [{ zz: 1 }, ".spec.zz: field not declared in schema"],
    [{ n: "x" }, ".spec.n: expected numeric (int or float), got string"],
    [{ o: "x" }, ".spec.o: expected map, got &{x}"],
  ];
  for (const [sent, why] of rows) {
    const answer = await server.call("PATCH", `${path}/a?fieldManager=m`, widget("a", { spec: sent }), apply);
    const told = `failed to create typed patch object (/a; example.com/v1, Kind=Widget): ${why}`;
    t.equal(brief(answer), `400 ${told}`);
  }
});
