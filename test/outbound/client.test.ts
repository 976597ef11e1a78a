// Calls to peers that behave, and to those that do not: each ends in time as a value.

import "reflect-metadata";
import { spawnSync } from "node:child_process";
import { createServer as createHttps } from "node:https";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import * as x509 from "@peculiar/x509";
import t from "tap";
import { limits } from "../../src/config/limits.ts";
import {
  type Answer,
  CallFailure,
  type Connection,
  certificatesWithoutNames,
  checkUrl,
  OutboundClient,
} from "../../src/outbound/client.ts";
import { authority, issue } from "../support/certificates.ts";
import { until } from "../support/inprocess.ts";
import { type Answering, openPeer, type Peer, sayJson } from "../support/peer.ts";

const timeoutMs = 5_000;

async function open(
  answer: Answering,
  more: Partial<Connection> = {},
): Promise<{ peer: Peer; client: OutboundClient }> {
  const peer = await openPeer(answer);
  const client = new OutboundClient({ url: peer.url, authorities: peer.authority, ...more });
  t.teardown(() => {
    client.close();
    peer.close();
  });
  return { peer, client };
}

function failureOf(outcome: Answer | CallFailure): string {
  return outcome instanceof CallFailure ? outcome.failure : `answered ${outcome.code}`;
}

t.test("call() sends path, headers and body, and keeps its connection", async (t) => {
  const seen: string[] = [];
  const { peer, client } = await open(
    (body, response, request) => {
      seen.push(`${request.method} ${request.url} ${request.headers.authorization} ${body}`);
      sayJson(response, { said: body });
    },
    { authorization: "Bearer t" },
  );
  for (const body of ["a", "b"]) {
    const answer = await client.call({ method: "POST", path: "/review?timeout=5s", body, timeoutMs });
    if (answer instanceof CallFailure) return void t.fail(answer.message);
    t.equal(answer.code, 200);
    t.equal(answer.contentType, "application/json");
    t.same(JSON.parse(answer.body.toString()), { said: body });
  }
  t.same(seen, ["POST /review?timeout=5s Bearer t a", "POST /review?timeout=5s Bearer t b"]);
  t.equal(peer.connections, 1);
});

t.test("call() does not follow a redirect", async (t) => {
  let asked = 0;
  const { peer, client } = await open((_body, response) => {
    asked += 1;
    response.writeHead(307, { Location: `${peer.url}/elsewhere` });
    response.end();
  });
  t.equal(failureOf(await client.call({ method: "GET", timeoutMs })), "answered 307");
  t.equal(asked, 1);
});

t.test("call() ends in time with peers that hang, drip, cut or send too much", async (t) => {
  const timers: NodeJS.Timeout[] = [];
  t.teardown(() => {
    for (const timer of timers) clearInterval(timer);
  });
  const cases: [string, Answering, string][] = [
    ["hangs", () => undefined, "timeout"],
    [
      "drips",
      (_body, response) => {
        response.writeHead(200);
        timers.push(setInterval(() => response.write("x"), 20));
      },
      "timeout",
    ],
    ["cuts", (_body, response) => void response.socket?.destroy(), "unreachable"],
    [
      "cuts inside",
      (_body, response) => {
        response.writeHead(200, { "Content-Length": "100" });
        response.write("x");
        setImmediate(() => response.socket?.destroy());
      },
      "unreachable",
    ],
    ["sends too much", (_body, response) => void response.end("x".repeat(2_000)), "too-large"],
  ];
  for (const [name, answer, failure] of cases) {
    const { client } = await open(answer);
    const started = performance.now();
    const call = { method: "GET", timeoutMs: 300, answerBytesMax: 1_000 } as const;
    t.equal(failureOf(await client.call(call)), failure, name);
    t.ok(performance.now() - started < 5_000, `${name}: in time`);
  }
});

t.test("call() counts no time against a peer that the call waits for its turn", async (t) => {
  const answers: (() => void)[] = [];
  const { client, peer } = await open((_body, response) => void answers.push(() => sayJson(response, {})));
  const { outboundSocketsMax: atOnce, outboundWaitingMax: waiting } = limits;
  const calls = Array.from({ length: atOnce + 2 }, () => client.call({ method: "GET", timeoutMs: 60_000 }));
  await until(() => answers.length === atOnce);
  // Its own time is shorter than it waits.
  const patient = client.call({ method: "GET", timeoutMs: 2_000 });
  let left = 300;
  const late = client.call({ method: "GET", timeoutMs, leftMs: () => left });
  t.equal(failureOf(await late), "late");
  const gone = client.call({ method: "GET", timeoutMs, leftMs: () => left });
  left = 0;
  t.equal(failureOf(await client.call({ method: "GET", timeoutMs, leftMs: () => left })), "late");
  const rest = Array.from({ length: waiting - 4 }, () => client.call({ method: "GET", timeoutMs }));
  t.equal(failureOf(await client.call({ method: "GET", timeoutMs })), "busy", "more than may wait");
  t.equal(peer.connections, atOnce);
  await new Promise((resolve) => setTimeout(resolve, 2_100));
  const answering = setInterval(() => {
    for (const answer of answers.splice(0)) answer();
  }, 5);
  t.teardown(() => clearInterval(answering));
  const outcomes = await Promise.all([...calls, patient, ...rest]);
  t.same([...new Set(outcomes.map(failureOf))], ["answered 200"]);
  t.equal(failureOf(await gone), "late", "its turn came too late");
  t.equal(failureOf(await client.call({ method: "GET", timeoutMs })), "answered 200", "every turn was given back");
  t.ok(peer.connections <= atOnce + 1);
});

t.test("call() divides connections, and places to wait for one, among users", async (t) => {
  const answers: (() => void)[] = [];
  const { client } = await open((body, response) => {
    if (body === "quick") sayJson(response, {});
    else answers.push(() => sayJson(response, {}));
  });
  const call = (name: string, body: string): Promise<Answer | CallFailure> =>
    client.call({ method: "POST", body, timeoutMs: 60_000, owner: { name, level: "ordinary" } });
  const many = Array.from({ length: 400 }, () => call("mallory", "slow"));
  // Two thirds of three quarters of the connections, and of the places.
  const [sent, waiting] = [limits.outboundSocketsMax / 2, limits.outboundWaitingMax / 2];
  t.ok(await until(() => answers.length === sent), "it has its share");
  t.equal(failureOf(await call("bob", "quick")), "answered 200", "another user is not held up");
  for (let count = 0; count < 40; count += 1) many.push(call("bob", "slow"));
  t.ok(await until(() => answers.length > sent));
  t.equal(failureOf(await call("carol", "quick")), "answered 200", "nor is the third");
  const answering = setInterval(() => {
    for (const answer of answers.splice(0)) answer();
  }, 5);
  t.teardown(() => clearInterval(answering));
  const outcomes = (await Promise.all(many)).map(failureOf);
  t.equal(outcomes.filter((outcome) => outcome === "busy").length, 400 - sent - waiting, "only beyond its share");
  t.equal(outcomes.filter((outcome) => outcome === "answered 200").length, sent + waiting + 40);
});

t.test("call() is busy where the process has no descriptor left: the peer was not asked", async (t) => {
  const module = new URL("../../src/outbound/client.js", import.meta.url).href;
  const script = `
    import { openSync } from "node:fs";
    import { OutboundClient } from ${JSON.stringify(module)};
    const client = new OutboundClient({ url: "http://127.0.0.1:1" });
    let outcome;
    // What the start had open may be closed meanwhile.
    for (let tries = 0; tries < 50 && outcome?.failure !== "busy"; tries += 1) {
      try {
        for (;;) openSync("/dev/null");
      } catch {}
      outcome = await client.call({ method: "GET", timeoutMs: 5000 });
    }
    console.log(outcome.failure, outcome.message);`;
  const { NODE_OPTIONS: _preloads, ...env } = process.env;
  const run = 'ulimit -n 64; exec "$0" --input-type=module -e "$1"';
  t.match(spawnSync("sh", ["-c", run, process.execPath, script], { encoding: "utf8", env }).stdout, /^busy /);
});

t.test("call() ends calls that wait when its client is closed", async (t) => {
  const { client } = await open(() => undefined);
  const calls = Array.from({ length: limits.outboundSocketsMax + 10 }, () => client.call({ method: "GET", timeoutMs }));
  client.close();
  const outcomes = (await Promise.all(calls)).map(failureOf);
  t.equal(outcomes.filter((outcome) => outcome === "closed").length, 10);
});

t.test("call() trusts only the authorities it was given, for the name it means", async (t) => {
  const { peer } = await open((_body, response) => sayJson(response, {}));
  const other = await open((_body, response) => sayJson(response, {}));
  const ask = async (connection: Connection): Promise<string> => {
    const client = new OutboundClient(connection);
    const outcome = await client.call({ method: "GET", timeoutMs });
    client.close();
    return failureOf(outcome);
  };
  const { url, authority, port } = peer;
  t.equal(await ask({ url, authorities: authority }), "answered 200");
  t.equal(await ask({ url }), "unreachable");
  t.equal(await ask({ url, authorities: other.peer.authority }), "unreachable");
  t.equal(await ask({ url, authorities: authority, serverName: "another" }), "unreachable");
  t.equal(await ask({ url, authorities: authority, serverName: "localhost" }), "answered 200");
  const address = { host: "127.0.0.1", port };
  t.equal(await ask({ url: "https://localhost", authorities: authority, address }), "answered 200");
  t.equal(await ask({ url: "https://a.b.svc", authorities: authority, address }), "unreachable");
  t.equal(await ask({ url, insecure: true }), "answered 200");
});

t.test("call() sends a line for each value of a header that is a list", async (t) => {
  let sent: string[] = [];
  const { client } = await open((_body, response, { rawHeaders }) => {
    sent = rawHeaders.filter((_value, index) => rawHeaders[index - 1] === "X-Remote-Group");
    sayJson(response, {});
  });
  const headers = { "X-Remote-Group": ["system:masters", "a,b"] };
  t.equal(failureOf(await client.call({ method: "GET", headers, timeoutMs })), "answered 200");
  t.same(sent, ["system:masters", "a,b"]);
});

t.test("call() fails where a header or a certificate cannot be used, and holds no place for that", async (t) => {
  const { peer, client } = await open((_body, response) => sayJson(response, {}));
  for (let calls = 0; calls <= limits.outboundSocketsMax; calls++) {
    const headers = { "X-Remote-User": `line ${calls}\nline` };
    t.equal(failureOf(await client.call({ method: "GET", headers, timeoutMs })), "unreachable");
  }
  t.equal(failureOf(await client.call({ method: "GET", timeoutMs })), "answered 200");
  const wrong = new OutboundClient({ url: peer.url, certificate: "no PEM", key: "no PEM" });
  t.equal(failureOf(await wrong.call({ method: "GET", timeoutMs })), "unreachable");
  wrong.close();
});

t.test("call() tells of a peer that is not there, and of a closed client", async (t) => {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  const client = new OutboundClient({ url: `https://127.0.0.1:${port}` });
  t.equal(failureOf(await client.call({ method: "GET", timeoutMs })), "unreachable");
  client.close();
  t.equal(failureOf(await client.call({ method: "GET", timeoutMs })), "closed");
});

t.test("checkUrl() names what is wrong", async (t) => {
  t.equal(checkUrl("https://a.example/x?y=1"), undefined);
  t.match(checkUrl("a.example"), /must be a URL: "a.example"/);
  t.match(checkUrl("ftp://a.example"), /must begin with https:/);
  t.match(checkUrl("https://u:p@a.example"), /must not hold a user or a password/);
  t.match(checkUrl("https://a.example/#x"), /must not hold a fragment/);
});

t.test("call() takes no common name for the name of a server, and counts who has no other", async (t) => {
  const root = await authority("root");
  const named = new x509.SubjectAlternativeNameExtension([{ type: "dns", value: "localhost" }]);
  for (const [what, extensions, expected, counted] of [
    ["a name", [named], "answered 200", 0],
    ["a common name only", [], "x509: certificate relies on legacy Common Name field, use SANs instead", 1],
  ] as const) {
    const { cert, key } = await issue({ issuer: root, subject: [{ CN: ["localhost"] }], extensions });
    const server = createHttps({ cert, key }, (_request, response) => response.end());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const url = `https://localhost:${port}`;
    const client = new OutboundClient({ url, authorities: root.cert, address: { host: "127.0.0.1", port } });
    const before = certificatesWithoutNames();
    const outcome = await client.call({ method: "GET", timeoutMs });
    t.equal(outcome instanceof CallFailure ? outcome.message : failureOf(outcome), expected, what);
    t.equal(certificatesWithoutNames() - before, counted, what);
    client.close();
    server.close();
  }
});
