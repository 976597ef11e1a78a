// Traces through a request: its stages are spans, and webhooks and extension servers are told whose question it is.
import t from "tap";
import { clientCalls } from "../../src/observe/clientcalls.ts";
import { exposition, Registry } from "../../src/observe/metrics.ts";
import { type SpanRecord, Tracer, type TraceSpans } from "../../src/observe/spans.ts";
import { namedBy } from "../observe/tracing.ts";
import { at, closedGate, defineWidgets, openConverter, widget } from "../support/converter.ts";
import { runDefinitions } from "../support/definitions.ts";
import { makeService, openExtension, register, say } from "../support/extension.ts";
import { type InProcess, openInProcess, until } from "../support/inprocess.ts";
import { openPeer, sayJson } from "../support/peer.ts";

const core = "/api/v1/namespaces/default";
const client = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

async function open(ratio: number): Promise<{ server: InProcess; spans: SpanRecord[] }> {
  const spans: SpanRecord[] = [];
  const tracer: Tracer = new Tracer({
    ...{ ratio, thread: "front-0", spansMax: 10_000 },
    clock: { now: () => Date.now(), monotonic: () => performance.now() },
    send: (batch) => {
      spans.push(...batch);
      tracer.taken();
    },
  });
  const server = await openInProcess("kubernetes", { admission: { disabled: ["ServiceAccount"] }, tracer });
  return { server, spans };
}

t.test("a write is a trace of its stages, and a webhook gets a trace parent within it", async (t) => {
  const { server, spans } = await open(1);
  const parents: string[] = [];
  const peer = await openPeer((body, response, request) => {
    const { kind, apiVersion, request: review } = JSON.parse(body);
    parents.push(String(request.headers["traceparent"]));
    sayJson(response, { kind, apiVersion, response: { uid: review.uid, allowed: true } });
  });
  t.teardown(() => {
    peer.close();
    server.close();
  });
  const rule = { apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations: ["*"] };
  const clientConfig = { url: `${peer.url}/v`, caBundle: Buffer.from(peer.authority).toString("base64") };
  const hook = { name: "v.example.com", clientConfig, rules: [rule], sideEffects: "None" };
  await server.call("POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", {
    metadata: { name: "v" },
    webhooks: [{ ...hook, admissionReviewVersions: ["v1"] }],
  });
  const made = await server.call("POST", `${core}/configmaps`, { metadata: { name: "a" } }, { traceparent: client });
  t.equal(made.code, 201);
  await until(() => spans.some(({ name }) => name.startsWith("webhook")));
  const asked = spans.find(({ name }) => name === "webhook v.example.com");
  const own = spans.filter(({ traceId }) => traceId === asked?.traceId);
  const root = own.find(({ parentId }) => parentId === "");
  t.match(root, { name: "KubernetesAPI", link: { traceId: client.slice(3, 35) }, isError: false });
  t.equal(new Map(root?.attributes).get("http.status_code"), 201);
  t.same(parents, [`00-${asked?.traceId}-${asked?.spanId}-01`]);
  const registry = new Registry();
  clientCalls.register(registry);
  const counted = `rest_client_requests_total{code="200",host="127.0.0.1:${peer.port}",method="POST"} 1`;
  t.ok(exposition([registry.snapshot()]).includes(counted), "and is counted as the server's own request");
  const names = own.map(({ name }) => name);
  for (const stage of ["authenticate", "authorize", "body", "decode", "admit", "commit"])
    t.ok(names.includes(stage), stage);
  for (const { name, startMs, endMs, parentId } of own) {
    if (parentId === "") continue;
    t.equal(parentId, root?.spanId);
    t.ok(startMs >= (root?.startMs ?? 0) - 1 && endMs <= (root?.endMs ?? 0) + 1, `${name} within its request`);
  }
});

t.test("an extension server gets a trace parent of a request that is sampled, else the client's", async (t) => {
  for (const ratio of [1, 0]) {
    const { server, spans } = await open(ratio);
    const extension = await openExtension((_request, response) => say(response, {}));
    t.teardown(() => {
      extension.close();
      server.close();
    });
    await makeService(server);
    await register(server, { group: "ext.example.com", port: extension.port, authority: extension.authority });
    const { code } = await server.call("GET", "/apis/ext.example.com/v1/things", undefined, { traceparent: client });
    t.equal(code, 200);
    const [seen] = extension.seen;
    if (ratio === 0) {
      t.same(seen?.headers["traceparent"], [client]);
      t.same(spans, []);
      continue;
    }
    const isPassed = ({ name }: SpanRecord): boolean => name === "extension server v1.ext.example.com";
    await until(() => spans.some(isPassed));
    const passed = spans.find(isPassed);
    t.same(seen?.headers["traceparent"], [`00-${passed?.traceId}-${passed?.spanId}-01`]);
  }
});

t.test(
  "a question to a conversion webhook is a span of the request that asks, and a wait in those that share it",
  async (t) => {
    const { server, spans } = await open(1);
    const converter = await openConverter();
    t.teardown(() => {
      converter.peer.close();
      server.close();
    });
    const reports: string[] = [];
    const controller = runDefinitions(server, reports);
    t.teardown(() => controller.stop());
    await defineWidgets(server, converter);
    t.equal((await server.call("POST", at("v1"), widget("v1", "a", "x"))).code, 201);
    const closed = closedGate();
    converter.gate = closed.gate;
    const before = converter.parents.length;
    const reading = [1, 2].map(() => server.call("GET", at("v2", "a")));
    t.ok(await until(() => closed.waiting === 1));
    closed.open();
    for (const { code } of await Promise.all(reading)) t.equal(code, 200);
    const isAsked = ({ name }: SpanRecord): boolean => name === "conversion webhook";
    const isWait = ({ name }: SpanRecord): boolean => name === "wait for a conversion webhook";
    t.ok(await until(() => spans.some(isAsked) && spans.some(isWait)));
    const asked = spans.filter(isAsked);
    t.same(converter.parents.slice(before), asked.map(namedBy));
    const wait = spans.find(isWait);
    t.not(wait?.traceId, asked[0]?.traceId);
    t.same(wait?.link, { traceId: asked[0]?.traceId, spanId: asked[0]?.parentId }, "the request that asked");
  },
);

t.test("who a request is, and what it may do, are asked within its trace", async (t) => {
  const { server, spans } = await open(1);
  t.teardown(() => server.close());
  const seen: (readonly [what: string, own: TraceSpans | undefined])[] = [];
  server.authenticate = (credentials) => {
    seen.push(["authenticate", credentials.spans]);
    return server.user;
  };
  server.authorizer = {
    authorize: (attributes) => {
      seen.push([attributes.verb, attributes.spans]);
      return { verdict: "allow", reason: "" };
    },
  };
  const headers = { "impersonate-user": "ann" };
  const lease = "/apis/coordination.k8s.io/v1/namespaces/default/leases/a";
  t.equal((await server.call("PUT", lease, { metadata: { name: "a" } }, headers)).code, 201);
  const isRoot = ({ attributes }: SpanRecord): boolean => new Map(attributes).get("k8s.verb") === "PUT";
  t.ok(await until(() => spans.some(isRoot)));
  const root = spans.find(isRoot);
  const own = { traceId: root?.traceId, spanId: root?.spanId };
  t.same(
    seen.map(([what, of]) => [what, of?.own]),
    ["authenticate", "impersonate", "update", "create"].map((what) => [what, own]),
    "the last is what the update turns out to be",
  );
});
