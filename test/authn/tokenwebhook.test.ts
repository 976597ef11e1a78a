// Tokens reviewed by a service, a real HTTPS one with client certificates: what it is sent, what its answers mean, and
// what happens when it does not give any.
import t, { type Test } from "tap";
import { identities } from "../../src/api/identity.ts";
import { isAccepted, type Outcome, tokenUnion, union } from "../../src/authn/authenticator.ts";
import { bearerAuthenticator } from "../../src/authn/bearer.ts";
import { noEvents } from "../../src/authn/events.ts";
import { cacheTokens } from "../../src/authn/tokencache.ts";
import { webhookTokens } from "../../src/authn/tokenwebhook.ts";
import { systemClock } from "../../src/base/clock.ts";
import type { TraceSpans } from "../../src/observe/spans.ts";
import { namedBy, openTracing } from "../observe/tracing.ts";
import { authnConfig, testAuthentication, whoIs } from "../support/authn.ts";
import { authority, client } from "../support/certificates.ts";
import { openInProcess, until } from "../support/inprocess.ts";
import { openPeer, sayJson } from "../support/peer.ts";

// biome-ignore lint/suspicious/noExplicitAny: a test looks into any review
type Review = any;

async function setting(t: Test, answer: (review: Review) => unknown, version: "v1" | "v1beta1" = "v1") {
  const users = await authority("callers");
  const caller = await client(users, [{ CN: ["server"] }]);
  const state = { asked: 0, code: 200, last: undefined as Review, pauses: [] as number[], redirect: "" };
  const peer = await openPeer(
    (body, response) => {
      state.asked++;
      state.last = JSON.parse(body);
      if (state.redirect !== "") response.setHeader("Location", state.redirect);
      sayJson(response, answer(state.last), state.code);
    },
    undefined,
    users.cert,
  );
  t.teardown(() => peer.close());
  const connection = {
    url: `${peer.url}/review`,
    authorities: peer.authority,
    certificate: caller.cert,
    key: caller.key,
  };
  const config = { configFile: "", cacheMs: 120_000, version };
  const pause = (ms: number): Promise<void> => {
    state.pauses.push(ms);
    return Promise.resolve();
  };
  const tokens = webhookTokens({ config, connection, identity: identities.kubernetes, audiences: ["api"], pause });
  const ask = async (token: string, ...audiences: string[]): Promise<Outcome> =>
    tokens.authenticateToken(token, audiences.length === 0 ? undefined : audiences);
  return { state, ask, connection };
}

const jane = { username: "jane", uid: "7", groups: ["dev"], extra: { a: ["b", "c"] } };

t.test("a review is sent, and its status is read", async (t) => {
  for (const version of ["v1", "v1beta1"] as const) {
    let status: object = { authenticated: true, user: jane };
    const { state, ask } = await setting(t, (review) => ({ ...review, spec: undefined, status }), version);
    t.same(await ask("secret"), {
      user: { name: "jane", uid: "7", groups: ["dev"], extra: new Map([["a", ["b", "c"]]]) },
      audiences: ["api"],
    });
    t.same(state.last, {
      kind: "TokenReview",
      apiVersion: `authentication.k8s.io/${version}`,
      metadata: { creationTimestamp: null },
      spec: { token: "secret", audiences: ["api"] },
      status: { user: {} },
    });
    t.equal(await ask("secret", "vault"), undefined, "a service that knows no audiences means the server's");
    status = { authenticated: true, user: jane, audiences: ["vault", "other"] };
    const outcome = await ask("secret", "vault", "api");
    t.same(isAccepted(outcome) ? outcome.audiences : undefined, ["vault"]);
    t.equal(await ask("secret"), undefined);
    status = { authenticated: false };
    t.equal(await ask("secret"), undefined);
    status = { authenticated: "true", user: jane };
    t.equal(await ask("secret"), undefined, "a text is no yes");
    status = { authenticated: false, user: jane, error: "locked out" };
    t.same(await ask("secret"), { reasons: ["locked out"] });
  }
});

t.test("answers that are no reviews authenticate no client", async (t) => {
  let answer: unknown;
  const { ask } = await setting(t, () => answer);
  const good = {
    kind: "TokenReview",
    apiVersion: "authentication.k8s.io/v1",
    status: { authenticated: true, user: jane },
  };
  const wrong: unknown[] = [
    {},
    [],
    null,
    "yes",
    { ...good, kind: "SubjectAccessReview" },
    { ...good, apiVersion: "authentication.k8s.io/v1beta1" },
    { ...good, apiVersion: undefined },
    { ...good, status: undefined },
    { ...good, status: { authenticated: true } },
    { ...good, status: { authenticated: true, user: {} } },
    { ...good, status: { authenticated: true, user: { username: 7 } } },
    { ...good, status: { authenticated: true, user: { ...jane, groups: "dev" } } },
    { ...good, status: { authenticated: true, user: { ...jane, extra: { a: "b" } } } },
  ];
  for (answer of wrong) {
    const outcome = await ask("x");
    t.match(outcome, { reasons: [/^the token webhook failed: /] }, JSON.stringify(answer));
  }
  answer = good;
  t.ok(isAccepted(await ask("x")));
});

t.test("failures are tried again, refusals and redirects are not", async (t) => {
  const { state, ask } = await setting(t, (review) => review);
  const cases: [number, number][] = [
    [500, 5],
    [503, 5],
    [429, 5],
    [400, 1],
    [401, 1],
    [302, 1],
    [307, 1],
  ];
  for (const [code, tries] of cases) {
    Object.assign(state, { asked: 0, code, redirect: "https://127.0.0.1:1/elsewhere" });
    t.same(await ask("x"), { reasons: [`the token webhook failed: it answered ${code}`] });
    t.equal(state.asked, tries, String(code));
  }
  t.same(state.pauses.slice(0, 4), [500, 750, 1_125, 1_688]);
});

t.test("reviews of tokens from one address hold up no other, and what is beyond its share is a 429", async (t) => {
  const users = await authority("callers");
  const peer = await openPeer(
    (body, response) => {
      const review = JSON.parse(body);
      if (review.spec.token === "good") sayJson(response, { ...review, status: { authenticated: true, user: jane } });
    },
    undefined,
    users.cert,
  );
  const { cert: certificate, key } = await client(users, [{ CN: ["server"] }]);
  const webhook = { url: `${peer.url}/review`, authorities: peer.authority, certificate, key };
  const server = await openInProcess();
  t.teardown(() => {
    peer.close();
    server.close();
  });
  const clock = { now: () => 0, monotonic: () => 0 };
  const config = authnConfig("--authentication-token-webhook-config-file=x");
  const authn = testAuthentication(server.scheme, server.writers.views, clock, config, [], { webhook });
  const from = (remote: string, token: string) =>
    authn.authenticate({ headers: [["authorization", `Bearer ${token}`]], peer: undefined, remote });
  const wrong = Array.from({ length: 400 }, (_, index) => from("2001:db8:0:1::7", `wrong${index}`));
  t.equal(await from("2001:db8:0:1::8", "more"), "overloaded", "the same network");
  t.match(await from("192.0.2.1", "good"), { name: "jane" });
  t.match(await authn.review("good", [], { name: "kubelet", level: "system" }), { user: { name: "jane" } });
  const refused = await Promise.all(wrong.slice(160));
  t.same([...new Set(refused)], ["overloaded"]);
  server.authenticate = () => "overloaded";
  const answer = await server.call("GET", "/api/v1/pods");
  t.same([answer.code, answer.json.reason, answer.json.details], [429, "TooManyRequests", { retryAfterSeconds: 1 }]);
});

t.test("answers are remembered for their time, a failure never", async (t) => {
  let status: object = { authenticated: true, user: jane };
  const { state, connection } = await setting(t, (review) => ({ ...review, status }), "v1beta1");
  const server = await openInProcess();
  t.teardown(() => server.close());
  const clock = { now: () => server.nowMs, monotonic: () => server.aheadMs };
  const config = authnConfig("--authentication-token-webhook-config-file=x");
  const { views } = server.writers;
  const authn = testAuthentication(server.scheme, views, clock, config, [], { webhook: connection });
  const who = async (token: string): Promise<string | undefined> =>
    (await whoIs(authn, { headers: [["authorization", `Bearer ${token}`]], peer: undefined }))?.name;
  t.equal(await who("a"), "jane");
  for (const aheadMs of [5_000, 60_000, 119_000]) {
    server.aheadMs = aheadMs;
    t.equal(await who("a"), "jane");
  }
  t.equal(state.asked, 1);
  status = { authenticated: false };
  server.aheadMs = 130_001;
  t.equal(await who("a"), undefined);
  t.equal(await who("a"), undefined);
  t.equal(state.asked, 2, "that it is not valid, too");
  status = { authenticated: false, error: "no" };
  await who("b");
  await who("b");
  t.equal(state.asked, 4);
  t.equal(await who("a"), undefined);
});

t.test("a review is a span of the request that asks, and a wait in those with the same token", async (t) => {
  const parents: unknown[] = [];
  let answer = (): void => undefined;
  const peer = await openPeer((body, response, request) => {
    parents.push(request.headers["traceparent"]);
    answer = () => sayJson(response, { ...JSON.parse(body), status: { authenticated: true, user: jane } });
  });
  t.teardown(() => peer.close());
  const config = { configFile: "", cacheMs: 120_000, version: "v1" } as const;
  const connection = { url: `${peer.url}/review`, authorities: peer.authority };
  const identity = identities.kubernetes;
  const inner = webhookTokens({ config, connection, identity, audiences: ["api"] });
  const tokens = cacheTokens(tokenUnion([inner]), systemClock, noEvents, 120_000);
  const authenticator = union([bearerAuthenticator(tokens)]);
  const { tracer, spans, flush } = openTracing();
  const [first, second] = [tracer.begin(), tracer.begin()];
  const headers = [["authorization", "Bearer secret"]] as const;
  const ask = (of: TraceSpans | undefined) => authenticator.authenticate({ headers, peer: undefined, spans: of });
  const asking = [first, second, undefined].map(ask);
  await until(() => parents.length === 1);
  answer();
  for (const outcome of await Promise.all(asking)) t.ok(isAccepted(outcome));
  t.ok(isAccepted(await ask(second)), "from the cache, which is no span");
  first?.end("first", 2, [], false);
  second?.end("second", 2, [], false);
  flush();
  const asked = spans.find(({ name }) => name === "token webhook");
  t.match(asked, { kind: 3, traceId: first?.own.traceId, parentId: first?.own.spanId });
  t.same(parents, [asked && namedBy(asked)]);
  t.match(
    spans.filter(({ name }) => name === "wait for a token's review"),
    [{ traceId: second?.own.traceId, link: first?.own }],
  );
  t.notOk(JSON.stringify(spans).includes("secret"), "a token is in no span");
});
