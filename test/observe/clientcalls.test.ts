// What is counted of requests to webhooks, and of which peers they are counted.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import { ClientCalls } from "../../src/observe/clientcalls.ts";
import { exposition, Registry } from "../../src/observe/metrics.ts";
import { OutboundClient } from "../../src/outbound/client.ts";

function linesOf(calls: ClientCalls): string[] {
  const registry = new Registry();
  calls.register(registry);
  return exposition([registry.snapshot()]).split("\n");
}

t.test("requests to a webhook are counted once, by what came of them, and without the path of its URL", async (t) => {
  const server = createServer((request, response) => {
    if (request.url?.startsWith("/cut") === true) response.destroy();
    else response.writeHead(request.url === "/a/secret" ? 200 : 503).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const calls = new ClientCalls();
  const client = new OutboundClient({ url: `http://${host}/` }, calls);
  const uncounted = new OutboundClient({ url: `http://${host}/` });
  t.teardown(() => {
    client.close();
    uncounted.close();
    server.close();
  });
  for (const path of ["/a/secret", "/a/secret", "/b", "/cut"]) {
    await client.call({ method: "POST", path, timeoutMs: 10_000 });
    await uncounted.call({ method: "POST", path, timeoutMs: 10_000 });
  }
  await client.call({ method: "POST", timeoutMs: 10_000, leftMs: () => 0 });
  const lines = linesOf(calls);
  t.same(
    lines.filter((line) => line.startsWith("rest_client_requests_total")),
    [
      `rest_client_requests_total{code="200",host="${host}",method="POST"} 2`,
      `rest_client_requests_total{code="503",host="${host}",method="POST"} 1`,
      `rest_client_requests_total{code="<error>",host="${host}",method="POST"} 1`,
    ],
  );
  t.ok(lines.includes(`rest_client_request_duration_seconds_count{url="http://${host}",verb="POST"} 4`));
  t.notOk(lines.some((line) => line.includes("secret")));
});

t.test("ClientCalls.ended() counts peers beyond the bound under other, and keeps a port that is written", (t) => {
  const calls = new ClientCalls();
  calls.ended("POST", "https://hook.ns.svc:443/validate?x=1", 200, 0.1);
  for (let at = 0; at < 400; at++) calls.ended("POST", `https://peer-${at}`, 200, 0.1);
  const lines = linesOf(calls);
  t.ok(lines.includes('rest_client_requests_total{code="200",host="hook.ns.svc:443",method="POST"} 1'));
  t.ok(lines.includes('rest_client_requests_total{code="200",host="other",method="POST"} 101'));
  t.end();
});
