// Traces through a request: its stages are spans, and webhooks and extension servers are told whose question it is.
import t from "tap";
import { clientCalls } from "../../src/observe/clientcalls.ts";
import { exposition, Registry } from "../../src/observe/metrics.ts";
import { type SpanRecord, Tracer } from "../../src/observe/spans.ts";
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
