// Create, update and patch through the whole request path; answers are those of upstream's transcripts.
import type { Test } from "tap";
import type { Change } from "../../../src/storage/store.ts";
import type { Answer, InProcess } from "../../support/inprocess.ts";
import { scenario } from "../../support/scenario.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const merge = { "content-type": "application/merge-patch+json" };
const jsonPatch = { "content-type": "application/json-patch+json" };

/** `code message`, or `code` and the metadata of an object. */
function brief({ code, json }: Answer): string {
  return json?.kind === "Status" ? `${code} ${json.message}` : String(code);
}

scenario("createObject() gives an object its identity and answers it with its version", async (t, server) => {
  const body = {
    metadata: {
      name: "a",
      uid: "mine",
      generation: 7,
      selfLink: "/x",
      creationTimestamp: "2001-01-01T00:00:00Z",
      deletionTimestamp: "2001-01-01T00:00:00Z",
      deletionGracePeriodSeconds: 3,
    },
  };
  const { code, json } = await server.call("POST", maps, body);
  t.equal(code, 201);
  t.match(json.metadata.uid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const { uid, managedFields, ...metadata } = json.metadata;
  t.ok(uid);
  t.match(managedFields, [{ manager: "unknown", operation: "Update", apiVersion: "v1", fieldsType: "FieldsV1" }]);
  t.strictSame(metadata, {
    name: "a",
    namespace: "default",
    resourceVersion: String(server.store.revision),
    generation: 7,
    creationTimestamp: "2026-01-02T03:04:05Z",
  });
  t.strictSame((await server.call("GET", `${maps}/a`)).json, json);
});

scenario("createObject() refuses in upstream's words", async (t, server) => {
  await server.call("POST", maps, { metadata: { name: "a" } });
  await server.call("POST", maps, { metadata: { name: "going", finalizers: ["x.example/y"] } });
  await server.call("DELETE", `${maps}/going`);
  const named = (metadata: object): object => ({ metadata });
  const table: [what: string, path: string, body: object, expected: string][] = [
    ["taken", maps, named({ name: "a" }), '409 configmaps "a" already exists'],
    ["taken, dry run", `${maps}?dryRun=All`, named({ name: "a" }), '409 configmaps "a" already exists'],
    ["going", maps, named({ name: "going" }), '409 object is being deleted: configmaps "going" already exists'],
    [
      "version",
      maps,
      named({ name: "b", resourceVersion: "12" }),
      "400 resourceVersion should not be set on objects to be created",
    ],
    [
      "other namespace",
      maps,
      named({ name: "b", namespace: "x" }),
      "400 the namespace of the provided object does not match the namespace sent on the request",
    ],
    ["no namespace", "/api/v1/namespaces/none/configmaps", named({ name: "b" }), '404 namespaces "none" not found'],
    [
      "no name",
      maps,
      named({}),
      '422 ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
    ],
    [
      "other kind",
      maps,
      { kind: "Secret", apiVersion: "v1", metadata: { name: "b" } },
      '400 Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion',
    ],
    [
      "other version",
      maps,
      { apiVersion: "v2", metadata: { name: "b" } },
      '400 ConfigMap in version "v2" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "v2" in scheme "pkg/runtime/scheme.go:100"',
    ],
    [
      "wrong type",
      maps,
      { data: { a: 1 }, metadata: { name: "b" } },
      '400 ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string',
    ],
  ];
  for (const [what, path, body, expected] of table)
    t.equal(brief(await server.call("POST", path, body)), expected, what);
});

scenario("createObject() makes names from generateName and reports a collision", async (t, server) => {
  const first = await server.call("POST", maps, { metadata: { generateName: "gen-" } });
  t.match(first.json.metadata.name, /^gen-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  const long = await server.call("POST", maps, { metadata: { generateName: `${"x".repeat(70)}-` } });
  t.match(long.json.metadata.name, /^x{58}[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  server.store.before = (change) => {
    server.store.before = undefined;
    server.store.apply(change);
    return undefined;
  };
  const taken = await server.call("POST", maps, { metadata: { generateName: "gen-" } });
  t.equal(taken.code, 409);
  t.match(
    taken.json.message,
    /^configmaps "gen-.{5}" already exists, the server was not able to generate a unique name for the object$/,
  );
  t.equal(taken.json.reason, "AlreadyExists");
  t.equal(taken.json.details.retryAfterSeconds, 1);
  const backend = { service: { name: "s", port: { number: 80 } } };
  const both = { metadata: { name: "a", generateName: "g-" }, spec: { defaultBackend: backend } };
  const ingresses = "/apis/networking.k8s.io/v1/namespaces/default/ingresses";
  t.equal((await server.call("POST", ingresses, both)).code, 201);
  t.match((await server.call("POST", ingresses, both)).json.message, /^ingresses\.extensions "a" already exists, the/);
  await server.call("POST", ingresses, { ...both, metadata: { name: "b" } });
  const plain = await server.call("POST", ingresses, { ...both, metadata: { name: "b" } });
  t.equal(plain.json.message, 'ingresses.networking.k8s.io "b" already exists');
});

scenario("createObject() as a dry run stores nothing and answers without a version", async (t, server) => {
  const revision = server.store.revision;
  const { code, json } = await server.call("POST", `${maps}?dryRun=All`, { metadata: { name: "dry" } });
  t.equal(code, 201);
  t.equal(json.metadata.resourceVersion, undefined);
  t.ok(json.metadata.uid);
  t.equal(server.store.revision, revision);
  t.equal((await server.call("GET", `${maps}/dry`)).code, 404);
});

scenario("updateObject() replaces what a client may write and keeps the rest", async (t, server) => {
  const created = (await server.call("POST", maps, { metadata: { name: "a", labels: { x: "1" } } })).json.metadata;
  server.nowMs += 60_000;
  const body = { metadata: { name: "a", creationTimestamp: null, generation: 9 }, data: { k: "v" } };
  const { code, json } = await server.call("PUT", `${maps}/a`, body);
  t.equal(code, 200);
  t.equal(json.metadata.uid, created.uid);
  t.equal(json.metadata.creationTimestamp, created.creationTimestamp);
  t.equal(json.metadata.generation, undefined);
  t.equal(json.metadata.labels, undefined);
  t.equal(Number(json.metadata.resourceVersion), Number(created.resourceVersion) + 1);
});

scenario("updateObject() refuses in upstream's words", async (t, server) => {
  const { json } = await server.call("POST", maps, { metadata: { name: "a" } });
  const { uid, resourceVersion } = json.metadata;
  const put = async (metadata: object, name = "a"): Promise<string> =>
    brief(await server.call("PUT", `${maps}/${name}`, { metadata }));
  const stale = "the object has been modified; please apply your changes to the latest version and try again";
  t.equal(await put({ name: "a", resourceVersion }), "200");
  t.equal(await put({ name: "a", resourceVersion: "0" }), "200");
  t.equal(
    await put({ name: "a", resourceVersion: "1" }),
    `409 Operation cannot be fulfilled on configmaps "a": ${stale}`,
  );
  t.equal(await put({ name: "a", resourceVersion: "abc" }), '400 strconv.ParseUint: parsing "abc": invalid syntax');
  t.equal(await put({ name: "z" }), "400 the name of the object (z) does not match the name on the URL (a)");
  t.equal(await put({}), "400 the name of the object (a based on URL) was undeterminable: name must be provided");
  t.equal(
    await put({ name: "a", namespace: "b" }),
    "400 the namespace of the object (b) does not match the namespace on the request (default)",
  );
  t.equal(await put({ name: "none" }, "none"), '404 configmaps "none" not found');
  const precondition = (key: string, found: string): string =>
    `StorageError: invalid object, Code: 4, Key: /registry/configmaps/default/${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: other, UID in object meta: ${found}`;
  t.equal(
    await put({ name: "a", uid: "other" }),
    `409 Operation cannot be fulfilled on configmaps "a": ${precondition("a", uid)}`,
  );
  t.equal(
    await put({ name: "none", uid: "other" }, "none"),
    `409 Operation cannot be fulfilled on configmaps "none": ${precondition("none", "")}`,
  );
});

scenario("updateObject() that changes nothing writes nothing", async (t, server) => {
  const created = await server.call("POST", maps, {
    metadata: { name: "a", labels: { b: "1", a: "2" } },
    data: { k: "v" },
  });
  const revision = server.store.revision;
  const again = await server.call("PUT", `${maps}/a`, {
    metadata: { name: "a", labels: { a: "2", b: "1" } },
    data: { k: "v" },
  });
  t.equal(again.code, 200);
  t.equal(again.text.trim(), created.text.trim());
  t.equal((await server.call("PATCH", `${maps}/a`, {}, merge)).text.trim(), created.text.trim());
  t.equal(server.store.revision, revision);
});

scenario("updateObject() creates where the kind allows it", async (t, server) => {
  const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
  const dry = await server.call("PUT", `${leases}/l?dryRun=All`, { metadata: { name: "l" }, spec: {} });
  t.equal(dry.code, 201);
  t.equal(dry.json.metadata.resourceVersion, undefined);
  t.equal((await server.call("GET", `${leases}/l`)).code, 404);
  const made = await server.call("PUT", `${leases}/l`, { metadata: { name: "l" }, spec: {} });
  t.equal(made.code, 201);
  t.equal(
    brief(await server.call("PUT", `${leases}/l`, { metadata: { name: "l" }, spec: {} })),
    '422 leases.coordination.k8s.io "l" is invalid: metadata.resourceVersion: Invalid value: 0x0: must be specified for an update',
  );
  const absent = await server.call("PUT", `${leases.replace("default", "none")}/l`, { metadata: { name: "l" } });
  t.equal(brief(absent), '404 namespaces "none" not found');
});

scenario("write() starts over when another client changed the object first", async (t, server) => {
  const { json } = await server.call("POST", maps, { metadata: { name: "a" }, data: { k: "v" } });
  /** Lets another write of the same object win just before the next commit. */
  let other: Promise<unknown> = Promise.resolve();
  const race = (data: object): void => {
    server.store.before = () => {
      server.store.before = undefined;
      other = server.call("PATCH", `${maps}/a`, { data }, merge);
      return undefined;
    };
  };
  // The other write is made of microtasks only, but not of none: lose by hand instead where order matters.
  const lose = (): void => {
    server.store.before = (change: Change) => {
      server.store.before = undefined;
      const current = Buffer.from(change.body).toString();
      const body = Buffer.from(current.replace('"k":"v"', '"k":"w","other":"1"'));
      server.store.apply({ ...change, body });
      return undefined;
    };
  };
  lose();
  const patched = await server.call("PATCH", `${maps}/a`, { data: { mine: "1" } }, merge);
  t.equal(patched.code, 200);
  t.strictSame(patched.json.data, { k: "w", mine: "1", other: "1" });
  race({ late: "1" });
  const replaced = await server.call("PUT", `${maps}/a`, { metadata: { name: "a" }, data: { k: "v" } });
  t.equal(replaced.code, 200);
  // Whichever of the two was first, both are over before the next one.
  await other;
  lose();
  const { resourceVersion } = (await server.call("GET", `${maps}/a`)).json.metadata;
  const body = { metadata: { name: "a", resourceVersion }, data: { k: "v", x: "1" } };
  t.equal((await server.call("PUT", `${maps}/a`, body)).code, 409, "a version in the body is not retried");
  t.ok(json);
});

scenario("write() gives up at the deadline", async (t, server) => {
  await server.call("POST", maps, { metadata: { name: "a" } });
  server.store.before = (change) => ({ actual: change.expected + 1 });
  const { code, json } = await server.call("PATCH", `${maps}/a?timeout=20ms`, { data: { a: "1" } }, merge);
  t.equal(code, 504);
  t.equal(json.reason, "Timeout");
});

scenario("write() answers a store's refusal with a Status", async (t, server) => {
  const table = [
    ["full", 503],
    ["unavailable", 503],
    ["busy", 429],
    ["too-large", 413],
    ["invalid-key", 400],
  ] as const;
  for (const [refused, code] of table) {
    server.store.before = () => ({ refused, message: "a secret" });
    const answer = await server.call("POST", maps, { metadata: { name: "a" } });
    t.equal(answer.code, code, refused);
    t.notMatch(answer.text, /secret/);
  }
  server.store.before = undefined;
  const revisions = "/apis/apps/v1/namespaces/default/controllerrevisions";
  const data = { k: "x".repeat(1_600_000) };
  const large = await server.call("POST", revisions, { metadata: { name: "a" }, revision: 1, data });
  t.equal(large.code, 413);
});

scenario("patchObject() refuses in upstream's words", async (t, server) => {
  const { json } = await server.call("POST", maps, { metadata: { name: "a" } });
  const patch = async (body: unknown, headers = merge): Promise<string> =>
    brief(await server.call("PATCH", `${maps}/a`, body, headers));
  const shown = (text: string): string => JSON.stringify(text);
  const { uid, resourceVersion, creationTimestamp } = json.metadata;
  const meta = `"metadata":{"name":"a","namespace":"default","uid":"${uid}","resourceVersion":"${resourceVersion}","creationTimestamp":"${creationTimestamp}"}`;
  const other = (kind: string): string => `{"apiVersion":"v1","kind":"${kind}",${meta}}`;
  t.equal(
    await patch({ data: { n: 5 } }),
    `422  "" is invalid: patch: Invalid value: ${shown(`{"apiVersion":"v1","data":{"n":5},"kind":"ConfigMap",${meta}}`)}: json: cannot unmarshal number into Go struct field ConfigMap.data of type string`,
  );
  t.equal(
    await patch({ kind: "Secret" }),
    `422  "" is invalid: patch: Invalid value: ${shown(other("Secret"))}: converting (v1.Secret) to (core.ConfigMap): unknown conversion`,
  );
  t.equal(await patch("nope"), "400 Invalid JSON Patch");
  t.equal(await patch(""), "400 Invalid JSON Patch");
  t.equal(await patch("null"), "400 Invalid JSON Patch");
  t.match(
    await patch("[]"),
    /^422 {2}"" is invalid: patch: Invalid value: "\[\]": couldn't get version\/kind; json parse error/,
  );
  t.equal(
    await patch({ metadata: { name: "b" } }),
    "400 the name of the object (b) does not match the name on the URL (a)",
  );
  t.match(await patch({ metadata: { resourceVersion: "1" } }), /^409 .* the object has been modified/);
  t.equal(
    await patch({ metadata: { uid: "other" } }),
    '422 ConfigMap "a" is invalid: metadata.uid: Invalid value: "other": field is immutable',
  );
  t.equal(await patch("{}", jsonPatch), "400 json: cannot unmarshal object into Go value of type jsonpatch.Patch");
  t.equal(await patch("x", jsonPatch), "400 invalid character 'x' looking for beginning of value");
  const refused = "422 the server rejected our request due to an error in our request";
  t.equal(await patch([{ op: "remove", path: "/none" }], jsonPatch), refused);
  const many = Array.from({ length: 10_001 }, () => ({ op: "test", path: "/data", value: null }));
  t.equal(
    await patch(many, jsonPatch),
    "413 Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001",
  );
  t.equal(await patch({}, { "content-type": "application/json" }), "415 415: Unsupported Media Type");
  t.equal((await server.call("PATCH", `${maps}/none`, {}, merge)).code, 404);
});

scenario("patchObject() keeps what no client may change", async (t, server) => {
  const { json } = await server.call("POST", maps, { metadata: { name: "a" } });
  const patch = { metadata: { creationTimestamp: "2001-01-01T00:00:00Z", generation: 4, deletionTimestamp: null } };
  const answer = await server.call("PATCH", `${maps}/a`, patch, merge);
  t.strictSame(answer.json.metadata, json.metadata);
  const odd = '{"data":{"__proto__":"1","constructor":"2","toString":"3"}}';
  const kept = await server.call("PATCH", `${maps}/a`, odd, merge);
  t.match(kept.text, /"data":\{"__proto__":"1","constructor":"2","toString":"3"\}/);
});

scenario("write() goes through the status subresource without touching the rest", async (t, server) => {
  const pods = "/api/v1/namespaces/default/pods";
  const spec = { containers: [{ name: "c", image: "i" }] };
  await server.call("POST", pods, { metadata: { name: "p" }, spec, status: { phase: "Running" } });
  t.equal((await server.call("GET", `${pods}/p`)).json.status.phase, "Pending");
  const change = { spec: { nodeName: "n" }, status: { phase: "Running" } };
  const { code, json } = await server.call("PATCH", `${pods}/p/status`, change, merge);
  t.equal(code, 200);
  t.equal(json.status.phase, "Running");
  t.equal(json.spec.nodeName, undefined);
  const back = await server.call("PATCH", `${pods}/p`, { status: { phase: "Failed" } }, merge);
  t.equal(back.json.status.phase, "Running");
});

scenario("write() drops owners listed twice and warns", async (t, server) => {
  const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid: "u" };
  const ownerReferences = [owner, owner, { ...owner, uid: "v" }];
  const { json, headers } = await server.call("POST", maps, { metadata: { name: "a", ownerReferences } });
  t.equal(json.metadata.ownerReferences.length, 2);
  const warnings = headers.filter(([name]) => name === "Warning").map(([, text]) => text);
  t.equal(warnings.length, 1);
  t.match(warnings[0], /^299 - "\.metadata\.ownerReferences contains duplicate entries; .* observed: u"$/);
  t.equal(json.metadata.managedFields.length, 1);
  // A patch is rid of them after admission, and nothing has an owner then.
  const type = { "content-type": "application/merge-patch+json" };
  const twice = [owner, owner, { ...owner, uid: "v" }, { ...owner, uid: "v" }];
  const patched = await server.call("PATCH", `${maps}/a`, { metadata: { ownerReferences: twice }, data: {} }, type);
  t.equal(patched.json.metadata.ownerReferences.length, 2);
  t.equal(patched.json.metadata.managedFields, undefined);
  const told = patched.headers.filter(([name]) => name === "Warning").map(([, text]) => text);
  t.match(told.join(), /^299 - "[^"]* after mutating admission happens; [^"]* observed: u, v"$/);
});

scenario("write() speaks the identity's names", speaksOrch, "orch");

async function speaksOrch(t: Test, server: InProcess): Promise<void> {
  t.equal((await server.call("GET", "/api/v1/namespaces/orch-system")).code, 200);
  t.equal((await server.call("GET", "/api/v1/namespaces/kube-system")).code, 404);
  const { json } = await server.call("POST", "/api/v1/namespaces", { metadata: { name: "n" } });
  t.strictSame(json.metadata.labels, { "orch.io/metadata.name": "n" });
  t.strictSame(json.spec.finalizers, ["orch"]);
  t.equal(
    brief(await server.call("DELETE", "/api/v1/namespaces/orch-system")),
    '403 namespaces "orch-system" is forbidden: this namespace may not be deleted',
  );
}
