// Webhooks over real HTTPS: those that behave, and every way not to. Each write ends as upstream would end it, inside
// its time limit, and nothing else is disturbed.
import type { ServerResponse } from "node:http";
import t, { type Test } from "tap";
import { closeAdmission } from "../../../src/admission/table.ts";
import { limits } from "../../../src/config/limits.ts";
import { exposition, Registry } from "../../../src/observe/metrics.ts";
import { type Answer, type InProcess, type InProcessOptions, openInProcess, until } from "../../support/inprocess.ts";
import { type Answering, openPeer, type Peer, sayJson } from "../../support/peer.ts";

const core = "/api/v1/namespaces/default";
const registration = "/apis/admissionregistration.k8s.io/v1";

// biome-ignore lint/suspicious/noExplicitAny: a review is whatever was sent
type Review = any;
/** Makes the `response` of a review; a text is sent as it is. */
type Responding = (request: Review, response: ServerResponse) => object | undefined;

interface Setup {
  readonly server: InProcess;
  /** Reviews that arrived, oldest first. */
  readonly reviews: Review[];
  readonly peer: Peer;
  /** Registers a webhook at the peer. */
  register(kind: "Mutating" | "Validating", name: string, more?: object, rules?: object[]): Promise<void>;
}

async function open(t: Pick<Test, "teardown">, respond: Responding, options?: InProcessOptions): Promise<Setup> {
  const server = await openInProcess("kubernetes", { admission: { disabled: ["ServiceAccount"] }, ...options });
  const reviews: Review[] = [];
  const answer: Answering = (body, response) => {
    const review = JSON.parse(body);
    reviews.push(review);
    const said = respond(review.request, response);
    if (said === undefined) return;
    const { kind, apiVersion } = review;
    sayJson(response, { kind, apiVersion, response: { uid: review.request.uid, ...said } });
  };
  const peer = await openPeer(answer);
  t.teardown(() => {
    peer.close();
    server.close();
  });
  return {
    server,
    reviews,
    peer,
    async register(kind, name, more = {}, rules = [rule()]) {
      const made = await server.call("POST", `${registration}/${kind.toLowerCase()}webhookconfigurations`, {
        metadata: { name },
        webhooks: [
          {
            name: `${name}.example.com`,
            clientConfig: { url: `${peer.url}/${name}`, caBundle: Buffer.from(peer.authority).toString("base64") },
            rules,
            sideEffects: "None",
            admissionReviewVersions: ["v1"],
            timeoutSeconds: 5,
            ...more,
          },
        ],
      });
      if (made.code !== 201) throw new Error(made.text);
    },
  };
}

function rule(more: object = {}): object {
  return { apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations: ["*"], ...more };
}

function map(name: string, more: object = {}): object {
  return { metadata: { name, ...more }, data: { a: "1" } };
}

function patchOf(operations: unknown): object {
  const patch = Buffer.from(JSON.stringify(operations)).toString("base64");
  return { allowed: true, patchType: "JSONPatch", patch };
}

t.test("a webhook sees what is written, and a configuration counts from the next write on", async (t) => {
  const { server, reviews, register } = await open(t, () => ({ allowed: true }));
  t.equal((await server.call("POST", `${core}/configmaps`, map("before"))).code, 201);
  t.equal(reviews.length, 0);
  await register("Validating", "v");
  server.user = { name: "bob", uid: "7", groups: ["g"], extra: new Map([["k", ["x"]]]) };
  t.equal((await server.call("POST", `${core}/configmaps?dryRun=All`, map("a"))).code, 201);
  const [created] = reviews;
  t.equal(created.apiVersion, "admission.k8s.io/v1");
  t.match(created.request, {
    kind: { group: "", version: "v1", kind: "ConfigMap" },
    resource: { group: "", version: "v1", resource: "configmaps" },
    requestKind: { kind: "ConfigMap" },
    name: "a",
    namespace: "default",
    operation: "CREATE",
    userInfo: { username: "bob", uid: "7", groups: ["g"], extra: { k: ["x"] } },
    object: { kind: "ConfigMap", apiVersion: "v1", data: { a: "1" }, metadata: { name: "a" } },
    oldObject: null,
    dryRun: true,
    options: { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1" },
  });
  const headers = { "content-type": "application/merge-patch+json" };
  t.equal((await server.call("PATCH", `${core}/configmaps/before`, { data: { b: "2" } }, headers)).code, 200);
  t.match(reviews[1].request, {
    operation: "UPDATE",
    object: { data: { a: "1", b: "2" } },
    oldObject: { data: { a: "1" }, metadata: { name: "before" } },
    dryRun: false,
  });
  t.equal((await server.call("DELETE", `${core}/configmaps/before`)).code, 200);
  t.match(reviews[2].request, { operation: "DELETE", object: null, oldObject: { data: { a: "1", b: "2" } } });
  await server.call("DELETE", `${registration}/validatingwebhookconfigurations/v`);
  t.equal((await server.call("POST", `${core}/configmaps`, map("after"))).code, 201);
  t.equal(reviews.length, 3, "it is out of force at once, and was never asked about its own configuration");
});

t.test("a refusal keeps the webhook's code and message", async (t) => {
  const cases: [object, number, string][] = [
    [{ allowed: false, status: { code: 409, message: "not now", reason: "Conflict" } }, 409, ": not now"],
    [{ allowed: false, status: { code: 200, reason: "because" } }, 400, ": because"],
    [{ allowed: false }, 400, " without explanation"],
    [{}, 400, " without explanation"],
  ];
  for (const kind of ["Mutating", "Validating"] as const) {
    let said: object = {};
    const { server, register } = await open(t, () => said);
    await register(kind, "deny");
    for (const [response, code, why] of cases) {
      said = response;
      const answer = await server.call("POST", `${core}/configmaps`, map("a"));
      t.equal(answer.code, code, `${kind} ${JSON.stringify(response)}`);
      t.equal(answer.json.message, `admission webhook "deny.example.com" denied the request${why}`);
    }
    t.equal((await server.call("GET", `${core}/configmaps/a`)).code, 404);
  }
});

t.test("patches are applied in order, each to what the one before made", async (t) => {
  const { server, reviews, register } = await open(t, (request) => {
    const index = Object.keys(request.object.data).length;
    return { ...patchOf([{ op: "add", path: `/data/k${index}`, value: "x" }]), warnings: [`k${index} was added`] };
  });
  await register("Mutating", "b");
  await register("Mutating", "a");
  const made = await server.call("POST", `${core}/configmaps`, map("m"));
  t.equal(made.code, 201);
  t.same(made.json.data, { a: "1", k1: "x", k2: "x" });
  t.equal(reviews.length, 2);
  const warnings = made.headers.filter(([name]) => name === "Warning").map(([, value]) => value);
  t.same(warnings, ['299 - "k1 was added"', '299 - "k2 was added"']);
  const owned = made.json.metadata.managedFields.map((entry: Review) => JSON.stringify(entry.fieldsV1));
  t.notOk(
    owned.some((text: string) => text.includes("f:k1")),
    "what a webhook adds has no owner",
  );
});

t.test("a webhook that wants it is asked again when a later one changed the object, once", async (t) => {
  const { server, reviews, register } = await open(t, (request) => {
    const { data } = request.object;
    if (data.b === undefined && data.a === "1" && reviews.length === 2) {
      return patchOf([{ op: "add", path: "/data/b", value: "2" }]);
    }
    return { allowed: true };
  });
  await register("Mutating", "a", { reinvocationPolicy: "IfNeeded" });
  await register("Mutating", "b", { reinvocationPolicy: "Never" });
  t.equal((await server.call("POST", `${core}/configmaps`, map("m"))).code, 201);
  t.equal(reviews.length, 3);
  t.same(reviews[2].request.object.data, { a: "1", b: "2" });
});

t.test("a webhook that wants it is asked again when plugins that ran again changed the object", async (t) => {
  const policies = (request: Review): unknown =>
    request.object.spec.containers.map(({ imagePullPolicy }: Review) => imagePullPolicy);
  const { server, reviews, register } = await open(
    t,
    (request) =>
      request.object.spec.containers.length === 1
        ? patchOf([{ op: "add", path: "/spec/containers/-", value: { name: "d", image: "i:1" } }])
        : { allowed: true },
    { admission: { enabled: ["AlwaysPullImages"], disabled: ["ServiceAccount", "Priority"] } },
  );
  await register("Mutating", "a", { reinvocationPolicy: "IfNeeded" }, [rule({ resources: ["pods"] })]);
  const pod = { metadata: { name: "p" }, spec: { containers: [{ name: "c", image: "i:1" }] } };
  t.equal((await server.call("POST", `${core}/pods`, pod)).code, 201);
  t.same(
    reviews.map(({ request }) => policies(request)),
    [["Always"], ["Always", "Always"]],
    "the second time with what plugins made of what it added",
  );
});

t.test("B10: patches that cannot be are refused and change nothing", async (t) => {
  const cases: [string, unknown, RegExp][] = [
    ["no such path", [{ op: "replace", path: "/nothing/here", value: 1 }], /cannot be applied/],
    ["a failed test", [{ op: "test", path: "/data/a", value: "2" }], /cannot be applied/],
    ["no object of the kind", [{ op: "replace", path: "/data", value: 5 }], /makes no ConfigMap of it/],
    ["another kind", [{ op: "replace", path: "/kind", value: "Secret" }], /changes the kind/],
    ["no patch", { op: "add" }, /cannot be applied/],
  ];
  let operations: unknown;
  const { server, register } = await open(t, () => patchOf(operations));
  await register("Mutating", "m", { failurePolicy: "Ignore" });
  for (const [name, patch, why] of cases) {
    operations = patch;
    const answer = await server.call("POST", `${core}/configmaps`, map("a"));
    t.equal(answer.code, 500, name);
    t.match(answer.json.message, why, name);
    t.equal((await server.call("GET", `${core}/configmaps/a`)).code, 404, name);
  }
  t.same(server.faults, [], "none of it is a fault of ours");
});

t.test("B10: patches of immutable metadata and prototype keys are no way around the rules", async (t) => {
  let operations: unknown = [];
  const { server, register } = await open(t, () => patchOf(operations));
  await register("Mutating", "m");
  const first = await server.call("POST", `${core}/configmaps`, map("a"));
  const { uid } = first.json.metadata;
  operations = [{ op: "replace", path: "/metadata/uid", value: "11111111-1111-1111-1111-111111111111" }];
  const update = await server.call("PUT", `${core}/configmaps/a`, map("a"));
  t.ok(update.code === 409 || update.code === 422, `${update.code}`);
  t.equal((await server.call("GET", `${core}/configmaps/a`)).json.metadata.uid, uid);
  operations = [
    { op: "add", path: "/data/__proto__", value: "p" },
    { op: "add", path: "/data/constructor", value: "c" },
    { op: "add", path: "/__proto__", value: { polluted: true } },
  ];
  const made = await server.call("POST", `${core}/configmaps`, map("b"));
  t.equal(made.code, 201);
  t.match(made.text, /"__proto__":"p"/);
  t.equal(({} as { polluted?: boolean }).polluted, undefined);
});

t.test("B10: webhooks that fail: refused or overlooked as their policy says, inside their time", async (t) => {
  const timers: NodeJS.Timeout[] = [];
  t.teardown(() => {
    for (const timer of timers) clearInterval(timer);
  });
  const cases: [string, Responding, RegExp][] = [
    ["hangs", () => undefined, /context deadline exceeded/],
    ["drips", (_request, response) => drip(response, timers), /context deadline exceeded/],
    ["says nothing", (_request, response) => endWith(response, ""), /the answer is no JSON/],
    ["says garbage", (_request, response) => endWith(response, "]["), /the answer is no JSON/],
    ["says a list", (_request, response) => endWith(response, "[]"), /the answer is no object/],
    [
      "says something else",
      (_request, response) => sayCode(response, { kind: "Pod" }, 200),
      /expected webhook response of/,
    ],
    ["answers 500", (_request, response) => sayCode(response, {}, 500), /the server answered 500/],
    ["redirects", (_request, response) => redirect(response), /the server answered 307/],
    ["floods", (_request, response) => flood(response), /the answer is larger than/],
    ["means another request", () => ({ uid: "another", allowed: true }), /expected response.uid=/],
    ["has no response", (_request, response) => sayReview(response, {}), /webhook response was absent/],
    ["has null", (_request, response) => sayReview(response, { response: null }), /webhook response was absent/],
    ["patches in no known way", () => ({ allowed: true, patch: "W10=", patchType: "X" }), /expected "JSONPatch"/],
    ["patches in no base64", () => ({ allowed: true, patch: "%", patchType: "JSONPatch" }), /must be base64/],
    ["cuts", (_request, response) => cut(response), /failed to call webhook/],
  ];
  let respond: Responding = () => undefined;
  const { server, register } = await open(t, (request, response) => respond(request, response));
  await register("Validating", "fail", { timeoutSeconds: 1 });
  await register("Mutating", "ignore", { timeoutSeconds: 1, failurePolicy: "Ignore" }, [
    { apiGroups: [""], apiVersions: ["v1"], resources: ["secrets"], operations: ["CREATE"] },
  ]);
  for (const [index, [name, how, why]] of cases.entries()) {
    respond = how;
    const started = performance.now();
    const other = server.call("GET", `${core}/configmaps`);
    const refused = await server.call("POST", `${core}/configmaps`, map("a"));
    t.equal(refused.code, 500, name);
    t.match(refused.json.message, /^Internal error occurred: failed calling webhook "fail.example.com": /, name);
    t.match(refused.json.message, why, name);
    t.equal((await server.call("POST", `${core}/secrets`, { metadata: { name: `s-${index}` } })).code, 201, name);
    t.equal((await other).code, 200);
    t.ok(performance.now() - started < 10_000, `${name}: in time`);
  }
  t.same(server.faults, []);
});

t.test("F13: the end of a request's own time opens no webhook, whatever its policy", async (t) => {
  const { server, register, reviews } = await open(t, () => ({ allowed: false }));
  const pods = rule({ resources: ["*/*"] });
  await server.call("POST", `${core}/configmaps`, map("old"));
  await server.call("POST", `${core}/serviceaccounts`, { metadata: { name: "robot" } });
  const spec = { containers: [{ name: "c", image: "i" }] };
  await server.call("POST", `${core}/pods`, { metadata: { name: "p" }, spec });
  await register("Validating", "validates", { failurePolicy: "Ignore" }, [pods]);
  const apply = { "content-type": "application/apply-patch+yaml" };
  const merge = { "content-type": "application/merge-patch+json" };
  const whole = { apiVersion: "v1", kind: "ConfigMap", ...map("new") };
  const writes: [method: string, path: string, body: unknown, headers?: Record<string, string>][] = [
    ["POST", `${core}/configmaps`, map("new")],
    ["POST", `${core}/configmaps?dryRun=All`, map("new")],
    ["PUT", `${core}/configmaps/old`, map("old", { labels: { a: "b" } })],
    ["PATCH", `${core}/configmaps/old`, { data: { a: "2" } }, merge],
    ["PATCH", `${core}/configmaps/new?fieldManager=m`, whole, apply],
    ["DELETE", `${core}/configmaps/old`, undefined],
    ["DELETE", `${core}/configmaps`, undefined],
    ["POST", `${core}/pods/p/eviction`, { metadata: { name: "p" } }],
    ["POST", `${core}/pods/p/binding`, { metadata: { name: "p" }, target: { kind: "Node", name: "n" } }],
    ["POST", `${core}/serviceaccounts/robot/token`, { spec: {} }],
    ["POST", `${core}/pods/p/exec?command=ls`, undefined],
  ];
  const check = async (what: string): Promise<void> => {
    const { revision } = server.store;
    for (const timeout of ["1ns", "1us", "1ms", "3ms", "5ms"]) {
      for (const [method, path, body, headers] of writes) {
        const target = `${path}${path.includes("?") ? "&" : "?"}timeout=${timeout}`;
        const { code, json } = await server.call(method, target, body, headers);
        // Where the time was enough, the webhook said no.
        if (code !== 400) t.strictSame([code, json?.reason], [504, "Timeout"], `${what}: ${method} ${target}`);
      }
    }
    t.equal(server.store.revision, revision, `${what}: nothing was stored`);
  };
  await check("validating");
  await server.call("DELETE", `${registration}/validatingwebhookconfigurations/validates`);
  await register("Mutating", "mutates", { failurePolicy: "Ignore" }, [pods]);
  await check("mutating");
  // Reviews of requests that ran out of time may still be under way.
  const refused = await server.call("POST", `${core}/configmaps?timeout=30s`, map("last"));
  const asked = reviews.filter(({ request }) => request.name === "last");
  t.strictSame([refused.code, asked.length], [400, 1]);
});

t.test("F13: a webhook that hangs longer than the request may take is not overlooked", async (t) => {
  const { server, register } = await open(t, () => undefined);
  await register("Validating", "hangs", { failurePolicy: "Ignore", timeoutSeconds: 30 });
  const { code, json } = await server.call("POST", `${core}/configmaps?timeout=300ms`, map("new"));
  t.strictSame([code, json.reason], [504, "Timeout"]);
  t.match(json.message, /request did not complete within the allotted timeout/);
  t.equal((await server.call("GET", `${core}/configmaps/new`)).code, 404);
});

t.test("F14: writes that wait for their turn at a webhook are asked about or refused, never overlooked", async (t) => {
  const waiting: (() => void)[] = [];
  const { server, register, reviews } = await open(t, ({ uid }, response) => {
    const said = { kind: "AdmissionReview", apiVersion: "admission.k8s.io/v1", response: { uid, allowed: false } };
    waiting.push(() => sayJson(response, said));
    return undefined;
  });
  await register("Validating", "slow", { failurePolicy: "Ignore", timeoutSeconds: 5 });
  const { outboundSocketsMax: atOnce, outboundWaitingMax: more } = limits;
  const count = atOnce + more + 20;
  const made = Array.from({ length: count }, (_, index) => server.call("POST", `${core}/configmaps`, map(`m${index}`)));
  await until(() => waiting.length === atOnce);
  // Those that wait do so for longer than the webhook's own time.
  const slowly = setInterval(() => {
    for (const answer of waiting.splice(0)) answer();
  }, 1_200);
  t.teardown(() => clearInterval(slowly));
  const answers = await Promise.all(made);
  const [asked, many] = [400, 429].map((code) => answers.filter((answer) => answer.code === code));
  t.strictSame([asked?.length, many?.length], [atOnce + more, 20]);
  t.ok(many?.every(({ headers }) => headers.some(([name, value]) => name === "Retry-After" && value === "1")));
  t.equal(reviews.length, atOnce + more);
  t.equal((await server.call("GET", `${core}/configmaps`)).json.items.length, 0, "nothing was stored");
});

t.test("B10: three hundred warnings end as few headers, whatever they hold", async (t) => {
  const warnings = Array.from({ length: 300 }, (_, index) => `${index}\r\nX-Split: 1 ${"é".repeat(500)}`);
  const { server, register } = await open(t, () => ({ allowed: true, warnings: [...warnings, 5, null, "", "0"] }));
  await register("Validating", "loud");
  const made = await server.call("POST", `${core}/configmaps`, map("a"));
  t.equal(made.code, 201);
  const said = made.headers.filter(([name]) => name === "Warning").map(([, value]) => value);
  t.ok(said.length > 0 && said.length <= 100, `${said.length} headers`);
  t.ok(said.reduce((sum, text) => sum + text.length, 0) < 8192);
  t.notOk(
    said.some((text) => /[\r\n]/.test(text)),
    "nothing begins a header of its own",
  );
});

function drip(response: ServerResponse, timers: NodeJS.Timeout[]): undefined {
  response.writeHead(200, { "Content-Type": "application/json" });
  timers.push(setInterval(() => response.write(" "), 50));
  return undefined;
}

function sayCode(response: ServerResponse, value: object, code: number): undefined {
  sayJson(response, value, code);
  return undefined;
}

function endWith(response: ServerResponse, text: string): undefined {
  response.end(text);
  return undefined;
}

function cut(response: ServerResponse): undefined {
  response.socket?.destroy();
  return undefined;
}

function redirect(response: ServerResponse): undefined {
  response.writeHead(307, { Location: "https://127.0.0.1:1/" });
  response.end();
  return undefined;
}

function sayReview(response: ServerResponse, more: object): undefined {
  sayJson(response, { kind: "AdmissionReview", apiVersion: "admission.k8s.io/v1", ...more });
  return undefined;
}

/** A hundred megabytes, as fast as they are taken. */
function flood(response: ServerResponse): undefined {
  const block = Buffer.alloc(1 << 20, 0x20);
  let left = 100;
  const more = (): void => {
    while (left-- > 0) if (!response.write(block)) return void response.once("drain", more);
    response.end();
  };
  more();
  return undefined;
}

t.test("what webhooks answer is counted, and what is refused for it", async (t) => {
  const registry = new Registry();
  let said: object | undefined;
  const { server, register, peer } = await open(t, (_request, response) => said ?? cut(response), { registry });
  await register("Validating", "v");
  await register("Mutating", "m", { failurePolicy: "Ignore" });
  const create = (name: string): Promise<Answer> => server.call("POST", `${core}/configmaps`, map(name));
  said = { allowed: true };
  t.equal((await create("a")).code, 201);
  said = undefined;
  t.equal((await create("b")).code, 500);
  said = patchOf([{ op: "test", path: "/data/a", value: "2" }]);
  t.equal((await create("c")).code, 500);
  said = { allowed: false, status: { code: 418 } };
  t.equal((await create("d")).code, 418);
  peer.close();
  const text = exposition([registry.snapshot()]);
  const labels = (name: string, type: string): string => `name="${name}.example.com",operation="CREATE"`.concat(type);
  for (const line of [
    `webhook_request_total{code="200",${labels("m", ',rejected="false",type="admit"')}} 1`,
    `webhook_request_total{code="200",${labels("v", ',rejected="false",type="validating"')}} 1`,
    `webhook_request_total{code="503",${labels("m", ',rejected="false",type="admit"')}} 1`,
    `webhook_request_total{code="503",${labels("v", ',rejected="true",type="validating"')}} 1`,
    `webhook_request_total{code="0",${labels("m", ',rejected="true",type="admit"')}} 1`,
    `webhook_request_total{code="418",${labels("m", ',rejected="true",type="admit"')}} 1`,
    `webhook_rejection_count{error_type="calling_webhook_error",${labels("v", ',rejection_code="503",type="validating"')}} 1`,
    `webhook_rejection_count{error_type="apiserver_internal_error",${labels("m", ',rejection_code="0",type="admit"')}} 1`,
    `webhook_rejection_count{error_type="no_error",${labels("m", ',rejection_code="418",type="admit"')}} 1`,
    'webhook_fail_open_count{name="m.example.com",type="admit"} 1',
    `webhook_admission_duration_seconds_count{${labels("v", ',rejected="true",type="validating"')}} 1`,
  ]) {
    t.ok(text.includes(`apiserver_admission_${line}\n`), line);
  }
  const steps = /^apiserver_admission_step_admission_duration_seconds_count\{(.*)\} (\d+)$/gm;
  const runs = [...text.matchAll(steps)].map(([, of = "", count]) => `${of} ${count}`);
  t.ok(runs.includes('operation="CREATE",rejected="true",type="admit" 2'), runs.join("; "));
  t.ok(runs.includes('operation="CREATE",rejected="true",type="validate" 1'));
});

t.test("selectors, scope and dry run decide who is asked", async (t) => {
  const { server, reviews, register } = await open(t, () => ({ allowed: true }));
  const matchLabels = { team: "a" };
  await register("Validating", "objects", { objectSelector: { matchLabels } });
  await register("Validating", "spaces", { namespaceSelector: { matchLabels } });
  const asked = async (call: Promise<Answer>): Promise<string[]> => {
    reviews.length = 0;
    await call;
    return reviews.map(({ request }) => `${request.operation} ${request.name}`);
  };
  t.same(await asked(server.call("POST", `${core}/configmaps`, map("x"))), []);
  t.same(await asked(server.call("POST", `${core}/configmaps`, map("y", { labels: matchLabels }))), ["CREATE y"]);
  t.same(await asked(server.call("PUT", `${core}/configmaps/y`, map("y"))), ["UPDATE y"], "the old object is selected");
  t.same(await asked(server.call("PUT", `${core}/configmaps/y`, map("y", { annotations: { a: "b" } }))), []);
  await server.call(
    "PATCH",
    "/api/v1/namespaces/default",
    { metadata: { labels: matchLabels } },
    {
      "content-type": "application/merge-patch+json",
    },
  );
  t.same(await asked(server.call("POST", `${core}/configmaps`, map("z"))), ["CREATE z"]);
  await register("Validating", "effects", { sideEffects: "NoneOnDryRun" });
  t.equal((await server.call("POST", `${core}/configmaps?dryRun=All`, map("dry"))).code, 201);
});

t.test("a rule for one version is asked about the others in its own", async (t) => {
  const { server, reviews, register } = await open(t, (request) =>
    request.kind.version === "v2" && request.operation === "CREATE"
      ? patchOf([{ op: "replace", path: "/spec/maxReplicas", value: 7 }])
      : { allowed: true },
  );
  const rules = [{ apiGroups: ["autoscaling"], apiVersions: ["v2"], resources: ["*"], operations: ["*"] }];
  await register("Mutating", "scaler", {}, rules);
  await register("Validating", "exact", { matchPolicy: "Exact" }, rules);
  const spec = { maxReplicas: 3, scaleTargetRef: { kind: "Deployment", name: "d", apiVersion: "apps/v1" } };
  const scaler = { metadata: { name: "h" }, spec: { ...spec, targetCPUUtilizationPercentage: 50 } };
  const path = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers";
  const made = await server.call("POST", path, scaler);
  t.equal(made.code, 201, made.text);
  t.equal(made.json.apiVersion, "autoscaling/v1");
  t.equal(made.json.spec.maxReplicas, 7);
  t.equal(made.json.spec.targetCPUUtilizationPercentage, 50);
  t.equal(reviews.length, 1, "an exact rule is not asked about another version");
  t.match(reviews[0].request, {
    kind: { version: "v2" },
    requestKind: { version: "v1" },
    object: { apiVersion: "autoscaling/v2", spec: { metrics: [{ type: "Resource" }] } },
  });
});

t.test("subresources, scopes and stars in rules", async (t) => {
  const { server, reviews, register } = await open(t, () => ({ allowed: true }));
  const rules = (...resources: string[]) => [{ apiGroups: ["*"], apiVersions: ["*"], resources, operations: ["*"] }];
  await register("Validating", "all", {}, rules("*"));
  await register("Validating", "every", {}, rules("*/*"));
  await register("Validating", "status", {}, rules("pods/status"));
  await register("Validating", "cluster", {}, [{ ...rules("*")[0], scope: "Cluster" }]);
  const asked = async (call: Promise<Answer>): Promise<number> => {
    reviews.length = 0;
    await call;
    return reviews.length;
  };
  const pod = { metadata: { name: "p" }, spec: { containers: [{ name: "c", image: "i" }] } };
  t.equal(await asked(server.call("POST", `${core}/pods`, pod)), 2);
  const headers = { "content-type": "application/merge-patch+json" };
  t.equal(await asked(server.call("PATCH", `${core}/pods/p/status`, { status: { phase: "Running" } }, headers)), 2);
  t.equal(reviews[0].request.subResource, "status");
  t.equal(await asked(server.call("POST", "/api/v1/namespaces", { metadata: { name: "n" } })), 3);
  t.equal(
    reviews.find(({ request }) => request.namespace !== "n"),
    undefined,
    "a namespace is in itself",
  );
});

t.test("a webhook by service is called at its cluster address, under its own name", async (t) => {
  const names: string[] = [];
  const server = await openInProcess("kubernetes");
  const peer = await openPeer(
    (body, response, request) => {
      names.push(`${request.headers.host} ${request.url}`);
      const { kind, apiVersion, request: asked } = JSON.parse(body);
      sayJson(response, { kind, apiVersion, response: { uid: asked.uid, allowed: true } });
    },
    ["hook.default.svc"],
  );
  t.teardown(() => {
    peer.close();
    server.close();
  });
  // No cluster address leads to the test's peer: a name of the service's own does.
  const service = { metadata: { name: "hook" }, spec: { type: "ExternalName", externalName: "localhost" } };
  t.equal((await server.call("POST", `${core}/services`, service)).code, 201);
  const clientConfig = {
    service: { namespace: "default", name: "hook", path: "/review", port: peer.port },
    caBundle: Buffer.from(peer.authority).toString("base64"),
  };
  const webhook = { clientConfig, rules: [rule()], sideEffects: "None", admissionReviewVersions: ["v1"] };
  const configuration = { metadata: { name: "c" }, webhooks: [{ name: "a.example.com", ...webhook }] };
  const made = await server.call("POST", `${registration}/validatingwebhookconfigurations`, configuration);
  t.equal(made.code, 201, made.text);
  t.equal((await server.call("POST", `${core}/configmaps`, map("a"))).code, 201);
  t.same(names, [`hook.default.svc:${peer.port} /review?timeout=10s`]);
  await server.call("DELETE", `${core}/services/hook`);
  const lost = await server.call("POST", `${core}/configmaps`, map("b"));
  t.match(lost.json.message, /failed calling webhook "a.example.com": service "hook" not found/);
});

t.test("closeAdmission() ends connections to webhooks, and calls under way", async (t) => {
  const sockets = new Set<object>();
  const { server, register, reviews } = await open(t, (_request, response) => {
    const { socket } = response;
    if (socket !== null) sockets.add(socket.once("close", () => sockets.delete(socket)));
    return reviews.length === 1 ? { allowed: true } : undefined;
  });
  await register("Mutating", "one");
  t.equal((await server.call("POST", `${core}/configmaps`, map("a"))).code, 201);
  t.equal(sockets.size, 1, "its connection is kept");
  const waits = server.call("POST", `${core}/configmaps`, map("b"));
  t.ok(await until(() => reviews.length === 2));
  closeAdmission(server.writers.admission);
  t.ok(await until(() => sockets.size === 0));
  t.equal((await waits).code, 500);
});
