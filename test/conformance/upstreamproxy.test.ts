// The proxy between upstream's programs and a server with `--identity=orch`, in front of a server that answers as a test
// says.
import { once } from "node:events";
import { request } from "node:http";
import { text } from "node:stream/consumers";
import t, { type Test } from "tap";
import { LineRewriter, openUpstreamProxy } from "../../scripts/upstreamproxy.ts";
import { type Answering, type ExtensionServer, openExtension, say } from "../support/extension.ts";
import { until } from "../support/inprocess.ts";

/** A server, and the address of a proxy in front of it. */
async function open(t: Test, answer: Answering): Promise<{ server: ExtensionServer; base: string }> {
  const server = await openExtension(answer, ["127.0.0.1"]);
  const target = { base: `https://127.0.0.1:${server.port}`, ca: server.authority, token: "secret" };
  const proxy = await openUpstreamProxy(target);
  t.teardown(() => {
    proxy.close();
    server.close();
  });
  return { server, base: proxy.base };
}

/** A GET; resolves with the answer when its headers are there. */
async function watch(url: string) {
  const sent = request(url);
  sent.on("error", () => undefined);
  sent.end();
  const [answer] = await once(sent, "response");
  return { answer, chunk: async () => String((await once(answer, "data"))[0]), end: () => sent.destroy() };
}

t.test("a request arrives in the server's names and as its user, and is answered in upstream's", async (t) => {
  const { server, base } = await open(t, (_, response) => {
    response.setHeader("Warning", '299 - "storage.orch.io/v1beta1 is deprecated"');
    say(response, { apiVersion: "coordination.orch.io/v1", metadata: { namespace: "orch-system", name: "ä" } }, 201);
  });
  const answer = await fetch(`${base}/apis/coordination.k8s.io/v1/namespaces/kube-system/leases?dryRun=All`, {
    method: "POST",
    headers: {
      authorization: "Bearer other",
      accept: "application/vnd.kubernetes.protobuf,application/json;as=Table;g=meta.k8s.io;v=v1,application/json",
      "content-type": "application/json",
    },
    body: '{"apiVersion":"coordination.k8s.io/v1","metadata":{"name":"ä","finalizers":["kubernetes"]}}',
  });
  t.equal(answer.status, 201);
  t.equal(answer.headers.get("warning"), '299 - "storage.k8s.io/v1beta1 is deprecated"');
  t.strictSame(await answer.json(), {
    apiVersion: "coordination.k8s.io/v1",
    metadata: { namespace: "kube-system", name: "ä" },
  });
  const [seen] = server.seen;
  t.equal(seen?.method, "POST");
  t.equal(seen?.url, "/apis/coordination.orch.io/v1/namespaces/orch-system/leases?dryRun=All");
  t.equal(seen?.body, '{"apiVersion":"coordination.orch.io/v1","metadata":{"name":"ä","finalizers":["orch"]}}');
  t.strictSame(seen?.headers["authorization"], ["Bearer secret"]);
  t.strictSame(seen?.headers["accept"], ["application/json;as=Table;g=meta.orch.io;v=v1,application/json"]);
  t.equal(seen?.headers["accept-encoding"], undefined, "what is compressed could not be rewritten");
});

t.test("a DELETE takes its options along, and connections to the server are used again", async (t) => {
  const { server, base } = await open(t, (_, response) => say(response, {}));
  const body = '{"kind":"DeleteOptions","preconditions":{"uid":"u"}}';
  for (const sent of [body, undefined, body]) {
    const options = sent === undefined ? {} : { body: sent };
    const answer = await fetch(`${base}/api/v1/nodes/n`, { method: "DELETE", ...options });
    t.equal(await answer.text(), "{}");
  }
  t.strictSame(
    server.seen.map((seen) => seen.body),
    [body, "", body],
  );
  t.equal(server.open.size, 1);
});

t.test("headers of a watch come before its first event, and each event when its line ends", async (t) => {
  let write: (text: string) => void = () => undefined;
  const { server, base } = await open(t, (_, response) => {
    write = (text) => response.write(text);
    response.flushHeaders();
  });
  const { answer, chunk, end } = await watch(`${base}/api/v1/pods?watch=true`);
  t.equal(answer.statusCode, 200);
  const first = chunk();
  write('{"type":"ADDED","node.orch.io/a":1}\n{"type":"MODIFIED","storage.or');
  t.equal(await first, '{"type":"ADDED","node.kubernetes.io/a":1}\n');
  const second = chunk();
  write('ch.io/v1":"orch"}\n');
  t.equal(await second, '{"type":"MODIFIED","storage.k8s.io/v1":"kubernetes"}\n');
  end();
  await until(() => server.open.size === 0);
});

t.test("a watch ends when the server does, also in the middle of an event", async (t) => {
  const { server, base } = await open(t, (_, response) => response.write('{"type":"ADDED"}\n{'));
  const { answer } = await watch(`${base}/api/v1/pods?watch=true`);
  const ended = text(answer);
  server.close();
  await t.rejects(ended, { code: "ECONNRESET" });
});

t.test("what cannot be rewritten or sent on is refused with a Status", async (t) => {
  const { server, base } = await open(t, (_, response) => say(response, {}));
  const protobuf = "application/vnd.kubernetes.protobuf";
  const refused = async (method: string, headers: Record<string, string>) => {
    const answer = await fetch(`${base}/api/v1/pods`, { method, headers });
    const { kind, message, code } = (await answer.json()) as { kind: string; message: string; code: number };
    t.equal(kind, "Status");
    t.equal(code, answer.status);
    return `${code} ${message}`;
  };
  t.match(await refused("GET", { accept: `${protobuf};as=Table` }), /^406 .*accept application\/json, too$/);
  t.match(await refused("POST", { "content-type": protobuf }), /^415 .*send application\/json$/);
  t.equal(server.seen.length, 0);
  server.close();
  t.match(await refused("GET", {}), /^502 GET \/api\/v1\/pods could not be passed on: connect ECONNREFUSED/);
});

t.test("LineRewriter rewrites the same wherever its input is cut", async (t) => {
  const input = Buffer.from('a ß node\nßx\n\nlast "ß');
  for (let at = 0; at <= input.length; at++) {
    const rewriter = new LineRewriter((line) => line.replaceAll("ß", "<ss>"));
    rewriter.write(input.subarray(0, at));
    rewriter.end(input.subarray(at));
    t.equal(await text(rewriter), 'a <ss> node\n<ss>x\n\nlast "<ss>');
  }
});
