// The events of requests, as they come out of the whole request path: fields, stages, levels, and what never is in them.
import t, { type Test } from "tap";
import { Auditor, auditFamilies } from "../../src/audit/auditor.ts";
import { parsePolicy } from "../../src/audit/policy.ts";
import { sourcesOf } from "../../src/audit/sources.ts";
import type { Owner } from "../../src/base/shares.ts";
import { checkedBefore } from "../../src/config/filecheck.ts";
import { limits } from "../../src/config/limits.ts";
import { Registry, seriesOf } from "../../src/observe/metrics.ts";
import { openInProcess } from "../support/inprocess.ts";

// biome-ignore lint/suspicious/noExplicitAny: tests look into any event
type Event = any;

/** Who asked for room last, and what is said next. */
interface Room {
  owner: Owner | undefined;
  next: () => Promise<boolean> | undefined;
}

/** A server that audits by `rules`; what was written since the last look. */
async function open(t: Test, rules: string, identity: "kubernetes" | "orch" = "kubernetes") {
  const server = await openInProcess(identity);
  t.teardown(() => server.close());
  const lines: string[] = [];
  const registry = new Registry();
  const { identity: names } = server.scheme;
  const text = `apiVersion: ${names.spell("audit.k8s.io/v1")}\nkind: Policy\n${rules}`;
  const policy = parsePolicy(Buffer.from(text), checkedBefore);
  if (typeof policy === "string") throw new Error(policy);
  const room: Room = { owner: undefined, next: () => undefined };
  const outlet = {
    pressure: "waits" as const,
    put: (event: string) => void lines.push(event),
    room: (owner: Owner) => {
      room.owner = owner;
      return room.next();
    },
    stored: () => Promise.resolve(true),
  };
  const { clock } = server.server;
  server.audit = new Auditor({ policy, outlet, identity: names, clock, families: auditFamilies(registry) });
  const taken = async (): Promise<Event[]> => {
    // The answer is out before the request's own end.
    await new Promise((resolve) => setImmediate(resolve));
    return lines.splice(0).map((line) => JSON.parse(line));
  };
  return { server, taken, lines, registry, room };
}

const maps = "/api/v1/namespaces/default/configmaps";

for (const identity of ["kubernetes", "orch"] as const) {
  t.test(`the use of a token that was let live longer is noted, ${identity}`, async (t) => {
    const { server, taken } = await open(t, "rules: [{level: Metadata}]", identity);
    const accounts = "/api/v1/namespaces/default/serviceaccounts";
    await server.call("POST", accounts, { metadata: { name: "robot" } });
    const spec = { serviceAccountName: "robot", containers: [{ name: "c", image: "i" }] };
    await server.call("POST", "/api/v1/namespaces/default/pods", { metadata: { name: "p" }, spec });
    const boundObjectRef = { kind: "Pod", apiVersion: "v1", name: "p" };
    const made = await server.call("POST", `${accounts}/robot/token`, {
      spec: { expirationSeconds: 3607, boundObjectRef },
    });
    const headers = { authorization: `Bearer ${made.json.status.token}` };
    server.checks = true;
    await taken();
    const key = server.scheme.identity.spell("authentication.k8s.io/stale-token");
    const noted = async (more: object = {}): Promise<unknown[]> => {
      await server.call("GET", maps, undefined, { ...headers, ...more });
      return (await taken()).map(({ annotations }) => annotations?.[key]);
    };
    t.same(await noted(), [undefined, undefined]);
    server.nowMs += 3_610_000;
    const text = "subject: system:serviceaccount:default:robot, seconds after warning threshold: 3";
    t.same(await noted(), [text, text], "from its arrival on");
    t.same(await noted({ "impersonate-user": "bob" }), [text, text], "whomever it acts as");
  });
}

t.test("the decision about a create that a PUT or an apply turns out to be is noted", async (t) => {
  const { server, taken } = await open(t, "rules: [{level: Metadata}]");
  const verbs = new Set(["update", "patch"]);
  server.authorizer = {
    authorize: ({ verb }) => ({ verdict: verbs.has(verb) ? "allow" : "none", reason: `${verb} was asked` }),
  };
  const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "l" } };
  const path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l?fieldManager=m";
  const decided = async (method: string, type: string): Promise<unknown[]> => {
    const { code } = await server.call(method, path, lease, { "content-type": type });
    const event = (await taken()).find(({ stage }) => stage === "ResponseComplete");
    const { annotations, responseStatus } = event;
    const [decision, reason] = ["decision", "reason"].map((key) => annotations[`authorization.k8s.io/${key}`]);
    return [code, responseStatus.code, decision, reason];
  };
  for (const [method, type] of [
    ["PUT", "application/json"],
    ["PATCH", "application/apply-patch+yaml"],
  ] as const) {
    t.strictSame(await decided(method, type), [403, 403, "forbid", "create was asked"], method);
  }
  verbs.add("create");
  t.strictSame(await decided("PUT", "application/json"), [201, 201, "allow", "create was asked"]);
});

t.test("an event has upstream's fields in upstream's order", async (t) => {
  const { server, lines } = await open(t, "rules: [{level: Metadata}]");
  const headers = { "audit-id": "id-1", "user-agent": "tests", "x-forwarded-for": "10.0.0.1, nonsense" };
  const answer = await server.call("POST", maps, { metadata: { name: "a" } }, headers);
  t.same(answer.headers[0], ["Audit-Id", "id-1"]);
  await new Promise((resolve) => setImmediate(resolve));
  const head = '{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"id-1","stage":';
  const what = `"requestURI":"${maps}","verb":"create","user":{"username":"admin","groups":["system:masters"]}`;
  const from = '"sourceIPs":["10.0.0.1"],"userAgent":"tests"';
  const times =
    /,"requestReceivedTimestamp":"2026-01-02T03:04:0\d\.\d{6}Z","stageTimestamp":"2026-01-02T03:04:0\d\.\d{6}Z"/;
  t.same(
    lines.map((line) => line.replace(times, "")),
    [
      `${head}"RequestReceived",${what},${from},"objectRef":{"resource":"configmaps","namespace":"default","apiVersion":"v1"}}`,
      `${head}"ResponseComplete",${what},${from},"objectRef":{"resource":"configmaps","namespace":"default","name":"a","apiVersion":"v1"},"responseStatus":{"metadata":{},"code":201},"annotations":{"authorization.k8s.io/decision":"allow","authorization.k8s.io/reason":""}}`,
    ],
  );
});

t.test("levels say how much of a request is written", async (t) => {
  const rules = `rules:
- {level: None, verbs: [list]}
- {level: Metadata, resources: [{resources: [secrets]}]}
- {level: Request, verbs: [patch, update, delete]}
- {level: RequestResponse}
omitStages: [RequestReceived]`;
  const { server, taken, registry } = await open(t, rules);
  await server.call("GET", maps);
  t.same(await taken(), [], "None");
  await server.call("POST", "/api/v1/namespaces/default/secrets", { metadata: { name: "s" }, stringData: { a: "b" } });
  const [metadata] = await taken();
  t.equal(metadata.level, "Metadata");
  t.notOk("requestObject" in metadata || "responseObject" in metadata);
  await server.call("POST", maps, { metadata: { name: "a" }, data: { x: "1\n2" } });
  const [created] = await taken();
  t.match(created.requestObject, { kind: "ConfigMap", apiVersion: "v1", metadata: { name: "a" }, data: { x: "1\n2" } });
  t.match(created.responseObject, { kind: "ConfigMap", metadata: { namespace: "default", resourceVersion: /^\d+$/ } });
  const merge = { "content-type": "application/merge-patch+json" };
  await server.call("PATCH", `${maps}/a`, '{"data": {\n"x": "2"}}', merge);
  const [patched] = await taken();
  t.same(patched.requestObject, { data: { x: "2" } });
  t.notOk("responseObject" in patched);
  const apply = { "content-type": "application/apply-patch+yaml" };
  const yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
  await server.call("PATCH", `${maps}/a?fieldManager=m&force=true`, yaml, apply);
  const [applied] = await taken();
  t.same(applied.requestObject, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } }, "YAML as JSON");
  const uid = applied.objectRef.uid;
  t.equal(uid, undefined, "a patch says nothing of an object");
  const { json } = await server.call("GET", `${maps}/a`);
  const [read] = await taken();
  t.same(read.responseObject, json);
  await server.call("PUT", `${maps}/a`, json);
  const [updated] = await taken();
  t.match(updated.objectRef, { name: "a", uid: json.metadata.uid, resourceVersion: json.metadata.resourceVersion });
  await server.call("DELETE", `${maps}/a`, { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy: "Orphan" });
  const [removed] = await taken();
  t.same(removed.requestObject, { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy: "Orphan" });
  await server.call("GET", "/version");
  const [page] = await taken();
  t.equal(page.level, "RequestResponse");
  t.notOk("responseObject" in page || "objectRef" in page, "pages have no objects");
  const counted = registry.snapshot().find(({ name }) => name === "apiserver_audit_level_total");
  t.same(new Map((counted && seriesOf(counted))?.map(([key, [count]]) => [key, count])).get("None"), 1);
});

t.test("refusals tell status, reason and code", async (t) => {
  const { server, taken } = await open(t, "rules: [{level: RequestResponse}]\nomitStages: [RequestReceived]");
  await server.call("GET", `${maps}/none`);
  const [missing] = await taken();
  t.same(missing.responseStatus, { metadata: {}, status: "Failure", reason: "NotFound", code: 404 });
  t.match(missing.responseObject, { kind: "Status", message: 'configmaps "none" not found' });
  server.authorizer = {
    authorize: ({ verb }) => ({ verdict: verb === "impersonate" ? "allow" : "none", reason: "because" }),
  };
  await server.call("GET", maps, undefined, { "impersonate-user": "bob" });
  const [forbidden] = await taken();
  t.match(forbidden, {
    user: { username: "admin" },
    impersonatedUser: { username: "bob" },
    responseStatus: { code: 403 },
  });
  t.same(forbidden.annotations, {
    "authorization.k8s.io/decision": "forbid",
    "authorization.k8s.io/reason": "because",
  });
  server.stranger = true;
  await server.call("GET", `${maps}?access_token=x`, undefined, { authorization: "Bearer abc" });
  const [stranger, ...more] = await taken();
  t.same(more, []);
  t.equal(stranger.stage, "ResponseStarted");
  t.same(stranger.user, {});
  t.same(stranger.responseStatus, {
    metadata: {},
    message: "Authentication failed, attempted: bearer, access_token",
    code: 401,
  });
});

t.test("deletes, deprecated versions and names of the identity", async (t) => {
  const { server, taken } = await open(t, "rules: [{level: Metadata}]\nomitStages: [RequestReceived]", "orch");
  await server.call("POST", maps, { metadata: { name: "a" } });
  await taken();
  await server.call("DELETE", `${maps}/a`);
  const [removed] = await taken();
  t.equal(removed.apiVersion, "audit.orch.io/v1");
  t.same(removed.responseStatus, { metadata: {}, status: "Success", code: 200 });
  await server.call("GET", "/apis/policy/v1beta1/poddisruptionbudgets");
  const [old] = await taken();
  t.match(old.annotations, {
    "authorization.orch.io/decision": "allow",
    "orch.io/deprecated": "true",
    "orch.io/removed-release": "1.25",
  });
});

t.test("plugins of admission leave annotations", async (t) => {
  const { server, taken } = await open(t, "rules: [{level: Metadata}]\nomitStages: [RequestReceived]");
  const labels = { "pod-security.kubernetes.io/audit": "restricted" };
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "watched", labels } });
  await taken();
  const spec = { containers: [{ name: "c", image: "i" }] };
  const { code } = await server.call("POST", "/api/v1/namespaces/watched/pods", { metadata: { name: "p" }, spec });
  t.equal(code, 201);
  const [event] = await taken();
  t.match(event.annotations["pod-security.kubernetes.io/audit-violations"], /would violate PodSecurity "restricted/);
});

t.test("omitManagedFields takes them from objects, lists and Tables", async (t) => {
  const { server, taken, lines } = await open(
    t,
    "rules: [{level: RequestResponse}]\nomitManagedFields: true\nomitStages: [RequestReceived]",
  );
  const { json } = await server.call("POST", maps, { metadata: { name: "a" }, data: { x: "y" } });
  t.ok(json.metadata.managedFields);
  await server.call("PUT", `${maps}/a`, json);
  const { json: list } = await server.call("GET", maps);
  const accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
  await server.call("GET", `${maps}?includeObject=Object`, undefined, { accept });
  await new Promise((resolve) => setImmediate(resolve));
  t.notMatch(lines.join("\n"), /"managedFields"/);
  const [, updated, listed, table] = await taken();
  t.equal(updated.requestObject.metadata.uid, json.metadata.uid);
  t.equal(listed.responseObject.items.length, list.items.length);
  t.equal(table.responseObject.rows.length, list.items.length);
  t.equal(table.responseObject.rows[0].object.kind, "ConfigMap");
});

t.test("an answer that is too large is left out, and the event says so", async (t) => {
  const { server, taken } = await open(
    t,
    "rules: [{level: RequestResponse, verbs: [list]}]\nomitStages: [RequestReceived]",
  );
  const data = { x: "x".repeat(900_000) };
  for (let index = 0; index * 900_000 <= limits.auditObjectBytesMax; index += 1) {
    const { code } = await server.call("POST", maps, { metadata: { name: `m${index}` }, data });
    t.equal(code, 201);
  }
  await server.call("GET", maps);
  const [event] = await taken();
  t.notOk("responseObject" in event);
  t.equal(event.annotations["audit.k8s.io/truncated"], "true");
});

t.test("a fault of ours is the stage Panic, and says nothing of what was sent", async (t) => {
  const { server, taken } = await open(t, "rules: [{level: Metadata}]\nomitStages: [RequestReceived]");
  server.store.before = () => {
    throw new TypeError("cannot read HIDDEN");
  };
  const { code } = await server.call("POST", maps, { metadata: { name: "a" } });
  t.equal(code, 500);
  const events = await taken();
  t.equal(events.length, 1);
  t.equal(events[0].stage, "Panic");
  t.same(events[0].responseStatus, {
    metadata: {},
    status: "Failure",
    message: "APIServer panic'd: TypeError",
    reason: "InternalError",
    code: 500,
  });
});

t.test("no token is in any event, whatever was asked", async (t) => {
  const { server, lines } = await open(t, "rules: [{level: RequestResponse}]");
  const secret = "CANARY";
  const reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
  const calls: [method: string, target: string, body?: unknown][] = [
    ["GET", `${maps}?access_token=${secret}`],
    ["GET", `${maps}?a=b&ACCESS_TOKEN=${secret}&c=d`],
    ["GET", `${maps}?access%5Ftoken=${secret}`],
    ["GET", `/healthz?token=${secret}`],
    ["GET", `/nothing?password=${secret}&%zz=${"x"}`],
    ["POST", reviews, { spec: { token: secret } }],
    [
      "POST",
      reviews,
      { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token: secret }, more: 1 },
    ],
    ["POST", reviews, { spec: { token: [secret] } }],
  ];
  const headers = { authorization: `Bearer ${secret}`, cookie: `session=${secret}`, "x-remote-user": secret };
  for (const [method, target, body] of calls) await server.call(method, target, body, headers);
  server.stranger = true;
  await server.call("GET", maps, undefined, headers);
  await new Promise((resolve) => setImmediate(resolve));
  t.ok(lines.length >= 2 * calls.length);
  t.notMatch(lines.join("\n"), new RegExp(secret));
  t.match(lines.join("\n"), /access_token=REDACTED/);
});

t.test("a client's Audit-ID is taken when it is plain", async (t) => {
  const { server, taken } = await open(t, "rules: [{level: Metadata}]\nomitStages: [RequestReceived]");
  const cases: [id: string, kept: boolean][] = [
    ["1", true],
    ["{x}", true],
    ["a b", false],
    ["", false],
    ["é", false],
    ["a\r\nSet-Cookie:b", false],
    ["x".repeat(256), true],
    ["x".repeat(257), false],
  ];
  for (const [id, kept] of cases) {
    const { headers } = await server.call("GET", maps, undefined, { "audit-id": id });
    const [event] = await taken();
    const [, answered] = headers.find(([name]) => name === "Audit-Id") ?? [];
    t.equal(answered, event.auditID);
    t.equal(answered === id, kept, JSON.stringify(id.slice(0, 20)));
  }
});

t.test("requests without valid credentials wait for room for their events, and fill no memory", async (t) => {
  const { server, lines, room } = await open(t, "rules: [{level: Metadata}]");
  server.stranger = true;
  let give: (free: boolean) => void = () => undefined;
  room.next = () => new Promise((resolve) => (give = resolve));
  const waits = server.call("GET", maps, undefined, {}, { remote: "192.0.2.1" });
  await new Promise((resolve) => setImmediate(resolve));
  t.same(lines, []);
  give(true);
  t.equal((await waits).code, 401);
  t.equal(lines.length, 1);
  t.same(room.owner, { name: "192.0.2.1", level: "ordinary" }, "charged to their address");
  room.next = () => Promise.resolve(false);
  t.equal((await server.call("GET", maps)).code, 500);
  t.equal(lines.length, 1);
  room.next = () => undefined;
  server.authenticate = () => "overloaded";
  t.equal((await server.call("GET", maps)).code, 429);
  t.match(lines[1], '"code":429');
});

t.test("a request whose arrival cannot be written does not run", async (t) => {
  const { server } = await open(t, "rules: [{level: Metadata}]");
  const policy = parsePolicy(
    Buffer.from("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]"),
    checkedBefore,
  );
  if (typeof policy === "string") throw new Error(policy);
  const build = (room: boolean | undefined, stored: boolean): Auditor => {
    const wait = room === undefined ? undefined : Promise.resolve(room);
    const outlet = { put: () => undefined, room: () => wait, stored: () => Promise.resolve(stored) };
    const { identity } = server.scheme;
    const clock = { now: () => 0, monotonic: () => 0 };
    return new Auditor({
      policy,
      outlet: { ...outlet, pressure: "stores" },
      identity,
      clock,
      families: auditFamilies(new Registry()),
    });
  };
  const cases: [room: boolean | undefined, stored: boolean, code: number][] = [
    [undefined, true, 201],
    [true, true, 201],
    [false, true, 500],
    [undefined, false, 500],
    [true, false, 500],
  ];
  for (const [index, [room, stored, code]] of cases.entries()) {
    server.audit = build(room, stored);
    const answer = await server.call("POST", maps, { metadata: { name: `m${index}` } });
    t.equal(answer.code, code, `${room} ${stored}`);
    if (code === 500) t.match(answer.json.message, /failed to store audit event/);
    server.audit = undefined;
    t.equal((await server.call("GET", `${maps}/m${index}`)).code, code === 201 ? 200 : 404);
  }
});

t.test("sourcesOf() tells the client's words and the peer", (t) => {
  const cases: [forwarded: string | undefined, real: string | undefined, remote: string, sources: string[]][] = [
    [undefined, undefined, "10.0.0.1", ["10.0.0.1"]],
    ["1.1.1.1, 2.2.2.2", undefined, "3.3.3.3", ["1.1.1.1", "2.2.2.2", "3.3.3.3"]],
    ["1.1.1.1, 3.3.3.3", undefined, "3.3.3.3", ["1.1.1.1", "3.3.3.3"]],
    ["x, 1.1.1.1:80, ", "4.4.4.4", "3.3.3.3", ["4.4.4.4", "3.3.3.3"]],
    ["1.1.1.1", "1.1.1.1", "3.3.3.3", ["1.1.1.1", "3.3.3.3"]],
    [undefined, undefined, "0000:0000:0000:0000:0000:0000:0000:0001", ["::1"]],
    [undefined, undefined, "::ffff:10.1.2.3", ["10.1.2.3"]],
    [undefined, '"<script>', "", []],
  ];
  for (const [forwarded, real, remote, sources] of cases) {
    t.same(sourcesOf(forwarded, real, remote), sources);
  }
  t.end();
});
