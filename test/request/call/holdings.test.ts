// What requests hold of a front: who it is charged to, and that all of it is given back.
import t, { type Test } from "tap";
import { identities } from "../../../src/api/identity.ts";
import type { User } from "../../../src/api/user.ts";
import type { Question } from "../../../src/authz/authorizer.ts";
import { ownerOf } from "../../../src/authz/owner.ts";
import { createBounds, Inflight } from "../../../src/request/call/holdings.ts";
import type { Exchange } from "../../../src/request/exchange/transport.ts";
import { type Answer, type InProcess, type InProcessOptions, openInProcess, until } from "../../support/inprocess.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";

function user(name: string, ...groups: string[]): User {
  return { name, uid: "", groups: [...groups, "system:authenticated"], extra: new Map() };
}

async function open(t: Test, options: InProcessOptions = {}): Promise<InProcess> {
  const server = await openInProcess("kubernetes", options);
  t.teardown(() => server.close());
  return server;
}

function configMap(name: string): object {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name } };
}

/** An upload that does not end before its client goes away: what a byte now and then comes to. */
function dripping(ends: (() => void)[] = []): Partial<Exchange> {
  return { body: () => new Promise((resolve) => ends.push(() => resolve("aborted"))) };
}

function used(server: InProcess): number[] {
  const { bounds, inflight } = server.server;
  const { arrivals, bodyBytes, watches, unread } = bounds;
  const all = [
    unread,
    inflight.readOnly,
    inflight.mutating,
    arrivals,
    bodyBytes,
    watches.waits,
    watches.watches,
    watches.terms,
  ];
  return all.map((shares) => shares.used);
}

/** Waits until nothing is held: what a request holds is given back right after its answer. */
function isFree(server: InProcess): Promise<boolean> {
  return until(() => used(server).every((amount) => amount === 0));
}

t.test("ownerOf() tells users, namespaces of service accounts, and components", (t) => {
  const question: Question = {
    verb: "update",
    isResource: true,
    group: "",
    version: "v1",
    resource: "pods",
    subresource: "",
    namespace: "default",
    name: "x",
    path: "",
  };
  const lease = { ...question, group: "coordination.k8s.io", resource: "leases" };
  const page = { ...question, isResource: false, resource: "" };
  const account = user("system:serviceaccount:ci:builder", "system:serviceaccounts", "system:serviceaccounts:ci");
  const controller = user("system:serviceaccount:kube-system:gc", "system:serviceaccounts:kube-system");
  const table: [User, Question, string, string][] = [
    [user("alice"), question, "alice", "ordinary"],
    [user("alice"), lease, "alice", "ordinary"],
    [user("admin", "system:masters"), question, "admin", "masters"],
    [account, question, "system:serviceaccount:ci", "ordinary"],
    [user("system:serviceaccount:"), question, "system:serviceaccount:", "ordinary"],
    [controller, question, controller.name, "system"],
    [controller, lease, controller.name, "election"],
    [controller, { ...lease, verb: "list" }, controller.name, "system"],
    [user("system:node:n1", "system:nodes"), question, "system:node:n1", "system"],
    [user("system:node:n1", "system:nodes"), lease, "system:node:n1", "election"],
    [user("system:kube-scheduler"), question, "system:kube-scheduler", "system"],
    [user("system:anonymous"), { ...page, path: "/livez" }, "system:anonymous", "masters"],
    [user("system:anonymous"), { ...page, path: "/livez/ping" }, "system:anonymous", "ordinary"],
    [user("system:anonymous"), { ...page, path: "/livezx" }, "system:anonymous", "ordinary"],
  ];
  const { kubernetes, orch } = identities;
  for (const [who, asked, name, level] of table)
    t.same(ownerOf(kubernetes, who, asked), { name, level }, `${who.name} ${asked.resource} ${asked.path}`);
  const spelled = user("system:serviceaccount:orch-system:gc", "system:serviceaccounts:orch-system");
  t.equal(ownerOf(orch, spelled, { ...lease, group: "coordination.orch.io" }).level, "election");
  t.equal(ownerOf(orch, controller, question).level, "ordinary", "a namespace of another identity's name");
  t.end();
});

t.test("uploads that drip take no seat: another user's creates all succeed", async (t) => {
  const server = await open(t, { inflight: new Inflight(40, 20) });
  server.user = user("mallory");
  const ends: (() => void)[] = [];
  for (let index = 0; index < 205; index += 1) {
    void server.call("POST", configMaps, configMap(`m${index}`), {}, dripping(ends));
  }
  server.user = user("alice");
  const creates = Array.from({ length: 10 }, (_, index) => server.call("POST", configMaps, configMap(`a${index}`)));
  t.same(
    (await Promise.all(creates)).map(({ code }) => code),
    creates.map(() => 201),
  );
  for (const end of ends) end();
  t.equal(ends.length, 205);
  t.ok(await isFree(server));
});

t.test("an upload that drips ends at its deadline and gives back what it held", async (t) => {
  const server = await open(t);
  server.user = user("mallory");
  const answer = await server.call("POST", `${configMaps}?timeout=10ms`, configMap("m"), {}, dripping());
  t.match(answer, { code: 504, json: { kind: "Status", reason: "Timeout" } });
  t.ok(
    answer.headers.some(([name, value]) => name === "Connection" && value === "close"),
    "the rest is not waited for",
  );
  t.ok(await isFree(server));
});

t.test("what a user may not do takes no seat and holds no body", async (t) => {
  const server = await open(t, { inflight: new Inflight(1, 1) });
  server.user = user("mallory");
  server.authorizer = { authorize: () => ({ verdict: "none", reason: "" }) };
  let asked = 0;
  const body = (): Promise<Uint8Array> => Promise.resolve(new Uint8Array(++asked));
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => server.call("POST", configMaps, configMap("m"), {}, { body })),
  );
  t.ok(answers.every(({ code }) => code === 403));
  t.equal(asked, 0);
  t.ok(await isFree(server));
});

t.test("bodies and arrivals of one user have bounds, which the answer names", async (t) => {
  const table: [Parameters<typeof createBounds>[0], RegExp][] = [
    [{ arrivals: 16 }, /^too many requests being authorized or received: user "mallory" holds 8, .* at most 16,/],
    [{ bodyBytes: 4_000 }, /^too many bytes of request bodies: user "mallory" holds \d+, .* at most 4000,/],
  ];
  for (const [bounds, message] of table) {
    const server = await open(t, { bounds: createBounds(bounds) });
    server.user = user("mallory");
    const drip = (): Promise<Answer> =>
      server.call(
        "POST",
        `${configMaps}?timeout=1s`,
        { ...configMap("m"), data: { x: "x".repeat(200) } },
        {},
        dripping(),
      );
    const drips = Array.from({ length: 9 }, drip);
    const refused = await server.call("POST", configMaps, { ...configMap("m"), data: { x: "x".repeat(200) } });
    t.match(refused, { code: 429, json: { reason: "TooManyRequests", message, details: { retryAfterSeconds: 1 } } });
    t.ok(refused.headers.some(([name, value]) => name === "Retry-After" && value === "1"));
    server.user = user("alice");
    t.equal((await server.call("POST", configMaps, configMap("a"))).code, 201);
    const codes = (await Promise.all(drips)).map(({ code }) => code);
    t.same(new Set(codes), new Set([429, 504]));
    t.ok(await isFree(server));
  }
});

t.test("O6: nothing is held after requests that ended at any moment", async (t) => {
  const server = await open(t, { inflight: new Inflight(40, 20) });
  server.user = user("alice");
  const review = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec: {} };
  const patch = { "content-type": "application/merge-patch+json" };
  const apply = { "content-type": "application/apply-patch+yaml" };
  const requests: [string, string, unknown?, Record<string, string>?][] = [
    ["POST", configMaps, configMap("o")],
    ["POST", configMaps, "{"],
    ["POST", configMaps, "x".repeat(4 * 1024 * 1024)],
    ["PUT", `${configMaps}/o`, configMap("o")],
    ["PATCH", `${configMaps}/o`, { data: { a: "b" } }, patch],
    ["PATCH", `${configMaps}/p?fieldManager=m`, configMap("p"), apply],
    ["GET", `${configMaps}/o`],
    ["GET", configMaps],
    ["GET", `${configMaps}?resourceVersion=999999&timeout=5ms`],
    ["GET", `${configMaps}?watch=true&labelSelector=a`],
    ["GET", `${configMaps}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=999999`],
    ["GET", "/version"],
    ["POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review],
    ["DELETE", `${configMaps}/p`],
    ["DELETE", configMaps, { apiVersion: "v1", kind: "DeleteOptions" }],
    ["POST", "/api/v1/namespaces/default/pods/x/exec"],
  ];
  for (let moment = 0; moment < 24; moment += 1) {
    for (const [method, target, body, headers] of requests)
      await abortAt(server, moment, method, target, body, headers);
  }
  t.ok(await isFree(server), `${used(server)}`);
  server.authorizer = {
    authorize: () => {
      throw new Error("broken");
    },
  };
  t.equal((await server.call("POST", configMaps, configMap("f"))).code, 500);
  t.ok(await isFree(server));
  await server.fanout.closeAll(1e9);
});

t.test("lists that are not read count against their user: another user's lists are answered", async (t) => {
  const mebibyte = 1024 * 1024;
  const server = await open(t, { bounds: createBounds({ unread: 16 * mebibyte }) });
  for (let index = 0; index < 3; index += 1) {
    const large = { ...configMap(`l${index}`), data: { x: "x".repeat(mebibyte * 0.7) } };
    t.equal((await server.call("POST", configMaps, large)).code, 201);
  }
  server.user = user("mallory");
  const gone: (() => void)[] = [];
  const codes: number[] = [];
  // Takes nothing of an answer until it goes away.
  const deaf = (): Partial<Exchange> => ({
    onAbort: (tell) => void gone.push(tell),
    send: (code) => void codes.push(code),
    stream: () => ({ write: () => false, onDrain: () => undefined, end: () => undefined, abort: () => undefined }),
  });
  for (let index = 0; index < 405; index += 1) void server.call("GET", configMaps, undefined, {}, deaf());
  t.ok(await until(() => codes.length === 397), `${codes.length} are refused`);
  t.ok(codes.every((code) => code === 429));
  t.equal(server.server.bounds.unread.heldBy("mallory"), 8 * mebibyte);
  const refused = await server.call("GET", configMaps);
  t.match(refused.json.message, /^too many bytes of answers that are not read: user "mallory" holds/);
  server.user = user("alice");
  t.equal((await server.call("GET", configMaps)).code, 200);
  for (const tell of gone) tell();
  t.ok(await isFree(server));
});

/** A client that goes away: what it asked is not answered. */
class Leaver {
  aborted = false;
  readonly body?: Exchange["body"];
  readonly #gone: (() => void)[] = [];
  #settle: ((body: "aborted") => void) | undefined;

  /** `early`: it leaves while its body is read, at the latest. */
  constructor(early: boolean) {
    if (!early) return;
    this.body = () => new Promise((resolve) => (this.aborted ? resolve("aborted") : (this.#settle = resolve)));
  }

  readonly onAbort = (tell: () => void): void => {
    if (this.aborted) tell();
    else this.#gone.push(tell);
  };

  readonly send = (): void => undefined;

  readonly leave = (): void => {
    this.aborted = true;
    this.#settle?.("aborted");
    for (const tell of this.#gone.splice(0)) tell();
  };
}

/** Sends a request whose client goes away after so many microtasks; every other one while the body is read. */
async function abortAt(
  server: InProcess,
  moment: number,
  method: string,
  target: string,
  body: unknown,
  headers?: Record<string, string>,
): Promise<void> {
  const leaver = new Leaver(moment % 2 === 1);
  void server.call(method, target, body, headers, leaver);
  for (let tick = 0; tick < moment; tick += 1) await Promise.resolve();
  leaver.leave();
}

t.test("commits are charged to the user of their request", async (t) => {
  const server = await open(t);
  const owners: unknown[] = [];
  server.store.before = (_change, owner) => void owners.push(owner);
  server.user = user("alice");
  await server.call("POST", configMaps, configMap("a"));
  await server.call(
    "PATCH",
    `${configMaps}/a`,
    { data: { a: "b" } },
    { "content-type": "application/merge-patch+json" },
  );
  server.user = user("system:serviceaccount:ci:builder", "system:serviceaccounts");
  await server.call("DELETE", configMaps);
  const alice = { name: "alice", level: "ordinary" };
  t.same(owners, [alice, alice, { name: "system:serviceaccount:ci", level: "ordinary" }]);
});

t.test("requests whose users are being found out count as arrivals of their address", async (t) => {
  const bounds = createBounds({ arrivals: 40 });
  const server = await open(t, { bounds });
  const finds: (() => void)[] = [];
  server.authenticate = () => new Promise((resolve) => finds.push(() => resolve(user("alice"))));
  const from = (remote: string): Promise<Answer> => server.call("GET", configMaps, undefined, {}, { remote });
  const many = Array.from({ length: 30 }, () => from("192.0.2.1"));
  const other = from("2001:db8::1");
  t.equal((await many.at(-1))?.code, 429, "beyond its share");
  t.equal(bounds.arrivals.heldBy("192.0.2.1"), 20);
  finds.at(-1)?.();
  t.equal((await other).code, 200, "another address is served");
  for (const find of finds) find();
  const codes = (await Promise.all(many)).map(({ code }) => code);
  t.equal(codes.filter((code) => code === 429).length, 10);
  t.ok(await isFree(server), "nothing is held");
});
