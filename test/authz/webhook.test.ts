// The mode Webhook against a real HTTPS peer that answers as each case says.
import t, { type Test } from "tap";
import { identities } from "../../src/api/identity.ts";
import { type Attributes, type Authorizer, type Decision, inOrder } from "../../src/authz/authorizer.ts";
import { refusalOf } from "../../src/authz/denial.ts";
import { WebhookAuthorizer } from "../../src/authz/webhook.ts";
import type { AuthorizationConfig } from "../../src/config/config.ts";
import { limits } from "../../src/config/limits.ts";
import { namedBy, openTracing } from "../observe/tracing.ts";
import { until } from "../support/inprocess.ts";
import { type Answering, openPeer, sayJson } from "../support/peer.ts";

const user = { name: "ann", uid: "u1", groups: ["devs"], extra: new Map([["scope", ["a", "b"]]]) };
const get: Attributes = {
  user,
  verb: "get",
  isResource: true,
  group: "apps",
  version: "v1",
  resource: "deployments",
  subresource: "",
  namespace: "ns",
  name: "x",
  path: "/apis/apps/v1/namespaces/ns/deployments/x",
};
const page: Attributes = {
  ...get,
  isResource: false,
  group: "",
  version: "",
  resource: "",
  namespace: "",
  name: "",
  path: "/p",
};

type Version = AuthorizationConfig["webhookVersion"];

interface Asked {
  readonly reviews: readonly Record<string, unknown>[];
  readonly ask: (attributes: Attributes) => Promise<Decision>;
  /** Moves the clock. */
  pass(ms: number): void;
}

/** An authorizer whose peer answers with `say`. */
async function open(t: Test, say: Answering, webhookVersion: Version = "v1"): Promise<Asked> {
  const reviews: Record<string, unknown>[] = [];
  const peer = await openPeer((body, response, request) => {
    reviews.push(JSON.parse(body) as Record<string, unknown>);
    say(body, response, request);
  });
  t.teardown(() => peer.close());
  let nowMs = 0;
  const clock = { now: () => nowMs, monotonic: () => nowMs };
  const config: AuthorizationConfig = {
    modes: ["Webhook"],
    policyFile: "",
    webhookConfigFile: "f",
    webhookVersion,
    webhookAllowedMs: 300_000,
    webhookRefusedMs: 30_000,
  };
  const connection = { url: peer.url, authorities: peer.authority };
  const authorizer = new WebhookAuthorizer(identities.kubernetes, clock, config, connection);
  return {
    reviews,
    ask: async (attributes) => authorizer.authorize(attributes),
    pass: (ms) => {
      nowMs += ms;
    },
  };
}

function saying(status: object, version: Version = "v1"): Answering {
  const review = { kind: "SubjectAccessReview", apiVersion: `authorization.k8s.io/${version}`, status };
  return (_body, response) => sayJson(response, review);
}

t.test("authorize() sends a review in the version asked for", async (t) => {
  const v1 = await open(t, saying({ allowed: true }));
  t.equal((await v1.ask(get)).verdict, "allow");
  const resourceAttributes = {
    namespace: "ns",
    verb: "get",
    group: "apps",
    version: "v1",
    resource: "deployments",
    name: "x",
  };
  t.strictSame(v1.reviews[0], {
    kind: "SubjectAccessReview",
    apiVersion: "authorization.k8s.io/v1",
    metadata: { creationTimestamp: null },
    spec: { resourceAttributes, user: "ann", groups: ["devs"], extra: { scope: ["a", "b"] }, uid: "u1" },
    status: { allowed: false },
  });
  const beta = await open(t, saying({ allowed: true }, "v1beta1"), "v1beta1");
  await beta.ask(page);
  t.strictSame(beta.reviews[0]?.["apiVersion"], "authorization.k8s.io/v1beta1");
  t.strictSame(beta.reviews[0]?.["spec"], {
    nonResourceAttributes: { path: "/p", verb: "get" },
    user: "ann",
    group: ["devs"],
    extra: { scope: ["a", "b"] },
    uid: "u1",
  });
});

t.test("authorize() takes the verdict of the answer", async (t) => {
  const cases: readonly (readonly [object, Decision["verdict"], string])[] = [
    [{ allowed: true, reason: "r" }, "allow", "r"],
    [{ allowed: false }, "none", ""],
    [{ allowed: false, denied: true, reason: "never" }, "deny", "never"],
    [{ allowed: true, denied: true }, "deny", ""],
    [{}, "none", ""],
  ];
  for (const [status, verdict, reason] of cases) {
    const decision = await (await open(t, saying(status))).ask(get);
    t.strictSame([decision.verdict, decision.reason], [verdict, reason], JSON.stringify(status));
  }
});

t.test("authorize() keeps answers, allowances longer than refusals, and asks once at a time", async (t) => {
  let allowed = true;
  const asked = await open(t, (_body, response) => {
    sayJson(response, { kind: "SubjectAccessReview", apiVersion: "authorization.k8s.io/v1", status: { allowed } });
  });
  const verdicts = await Promise.all([asked.ask(get), asked.ask(get), asked.ask(get)]);
  t.strictSame([verdicts.map(({ verdict }) => verdict), asked.reviews.length], [["allow", "allow", "allow"], 1]);
  allowed = false;
  asked.pass(299_999);
  t.equal((await asked.ask(get)).verdict, "allow");
  asked.pass(1);
  t.equal((await asked.ask(get)).verdict, "none");
  allowed = true;
  asked.pass(29_999);
  t.equal((await asked.ask(get)).verdict, "none");
  asked.pass(1);
  t.equal((await asked.ask(get)).verdict, "allow");
  t.equal(asked.reviews.length, 3);
  for (const other of [{ ...get, name: "y" }, { ...get, user: { ...user, groups: [] } }, page]) await asked.ask(other);
  t.equal(asked.reviews.length, 6, "another question is another answer");
  const long = { ...get, name: "n".repeat(10_000) };
  await asked.ask(long);
  await asked.ask(long);
  t.equal(asked.reviews.length, 8, "what a client can make long is not kept");
});

t.test("a webhook that does not answer decides nothing, and no request is allowed", async (t) => {
  const cases: readonly (readonly [string, Answering])[] = [
    ["not JSON", (_body, response) => void response.end("no")],
    [
      "another kind",
      (_body, response) => sayJson(response, { kind: "Status", apiVersion: "v1", status: { allowed: true } }),
    ],
    ["another version", saying({ allowed: true }, "v1beta1")],
    [
      "no status",
      (_body, response) => sayJson(response, { kind: "SubjectAccessReview", apiVersion: "authorization.k8s.io/v1" }),
    ],
    ["another type", saying({ allowed: "true" })],
    ["a refusal", (_body, response) => sayJson(response, {}, 403)],
    ["a redirect", (_body, response) => void response.writeHead(307, { Location: "https://127.0.0.1:1/" }).end()],
  ];
  for (const [name, say] of cases) {
    const asked = await open(t, say);
    const decision = await asked.ask(get);
    t.equal(decision.verdict, "none", name);
    t.match(decision.error, /^the authorization webhook does not decide: /, name);
    const refused = await refusalOf({ authorize: () => decision }, get);
    t.equal(refused?.code, 500, name);
    await asked.ask(get);
    t.equal(asked.reviews.length, 2, `${name}: a failure is not kept`);
  }
});

t.test("too many questions for a webhook are refused, and not left to the next authorizer", async (t) => {
  const answers: (() => void)[] = [];
  const asked = await open(t, (body, response, request) => {
    answers.push(() => saying({ allowed: false, denied: true })(body, response, request));
  });
  const many = limits.outboundSocketsMax + limits.outboundWaitingMax;
  const next: Authorizer = { authorize: () => ({ verdict: "allow", reason: "" }) };
  const both = inOrder([{ authorize: (attributes) => asked.ask(attributes) }, next]);
  const owner = { name: "ann", level: "masters" } as const;
  const questions = Array.from({ length: many + 5 }, (_, index) =>
    refusalOf(both, { ...get, name: `n${index}`, owner }),
  );
  const answering = setInterval(() => {
    for (const answer of answers.splice(0)) answer();
  }, 5);
  t.teardown(() => clearInterval(answering));
  const refusals = (await Promise.all(questions)).map((refused) => [refused?.code, refused?.reason]);
  t.equal(refusals.filter(([code]) => code === 403).length, many);
  t.strictSame(
    refusals.slice(many),
    Array.from({ length: 5 }, () => [429, "TooManyRequests"]),
  );
});

t.test("a webhook that is busy is asked again", async (t) => {
  let tries = 0;
  const asked = await open(t, (body, response, request) => {
    tries += 1;
    if (tries === 1) sayJson(response, {}, 503);
    else saying({ allowed: true })(body, response, request);
  });
  t.equal((await asked.ask(get)).verdict, "allow");
  t.equal(tries, 2);
});

t.test("questions of one user, also about others, hold up no other user's", async (t) => {
  const asked = await open(t, (body, response, request) => {
    const { spec } = JSON.parse(body) as { spec: { user: string; resourceAttributes: { name: string } } };
    // Whatever mallory asks takes long.
    if (spec.user === "mallory" || spec.resourceAttributes.name !== "x") return;
    saying({ allowed: true })(body, response, request);
  });
  const mallory = { ...user, name: "mallory" };
  const questions = Array.from({ length: 400 }, (_, index) => asked.ask({ ...get, user: mallory, name: `n${index}` }));
  const owner = { name: "mallory", level: "ordinary" } as const;
  // Reviews of what ann may do, one of them her own question.
  const reviews = ["y", "x"].map((name) => asked.ask({ ...get, name, owner }));
  t.strictSame(
    (await Promise.all(reviews)).map(({ overloaded }) => overloaded),
    [true, true],
    "it has more than its share",
  );
  const [refused] = await Promise.all([asked.ask({ ...get, owner }), asked.ask(get)]).then((both) =>
    both.map(({ verdict }) => verdict),
  );
  t.equal(refused, "deny");
  t.equal((await asked.ask(get)).verdict, "allow", "the one whose question it is has its answer");
  const outcomes = await Promise.all(questions.slice(200));
  t.ok(outcomes.every(({ overloaded }) => overloaded === true));
});

t.test("authorize() is a span of the request that asks, and a wait in those that share its question", async (t) => {
  const parents: unknown[] = [];
  let answer = (): void => undefined;
  const webhook = await open(t, (body, response, request) => {
    parents.push(request.headers["traceparent"]);
    answer = () => saying({ allowed: true })(body, response, request);
  });
  const { tracer, spans, flush } = openTracing();
  const [first, second] = [tracer.begin(), tracer.begin()];
  const asking = [first, second, undefined].map((of) => webhook.ask({ ...get, spans: of }));
  await until(() => parents.length === 1);
  answer();
  for (const { verdict } of await Promise.all(asking)) t.equal(verdict, "allow");
  t.equal((await webhook.ask({ ...get, spans: second })).verdict, "allow", "a kept answer is no span");
  const unsampled = webhook.ask({ ...get, name: "y" });
  const waits = webhook.ask({ ...get, name: "y", spans: second });
  await until(() => parents.length === 2);
  answer();
  await Promise.all([unsampled, waits]);
  first?.end("first", 2, [], false);
  second?.end("second", 2, [], false);
  flush();
  const asked = spans.find(({ name }) => name === "authorization webhook");
  t.match(asked, { kind: 3, traceId: first?.own.traceId, parentId: first?.own.spanId, isError: false });
  t.same(parents, [asked && namedBy(asked), undefined], "a request that is not sampled has no trace parent");
  t.equal(webhook.reviews.length, 2);
  const waited = spans.filter(({ name }) => name === "wait for the authorization webhook");
  t.same(
    waited.map(({ traceId, link }) => [traceId, link]),
    [
      [second?.own.traceId, first?.own],
      [second?.own.traceId, undefined],
    ],
  );
});
