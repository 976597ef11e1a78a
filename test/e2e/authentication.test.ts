// Authentication, end to end: kubectl with a certificate, a static token, a plugin and a token it asked for, and
// certificates that are replaced while the server runs.
import { spawn } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import t, { type Test } from "tap";
import { authority, client, type Issued } from "../support/certificates.ts";
import { eventually, startServer, type TestServer } from "../support/server.ts";

const tokens = 'alice-token,alice,1,"dev,ops"\nbob-token,bob,2\n';

function scratch(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), "orch-authn-"));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

function keep(directory: string, name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

/** What one request says about who sent it: the user a refusal names, or the code. */
function whoIs(
  server: TestServer,
  agent: Agent,
  headers: Record<string, string | string[]>,
  path = "/api/v1/nodes",
): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(server.base + path, { agent, headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.on("error", reject);
      answer.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        resolve(/User \\"([^\\]+)\\"/.exec(text)?.[1] ?? String(answer.statusCode));
      });
    });
    sent.on("error", reject);
    sent.end();
  });
}

function agentOf(t: Test, server: TestServer, certificate?: Issued, more: object = {}): Agent {
  const own = certificate === undefined ? {} : { cert: certificate.cert, key: certificate.key };
  const agent = new Agent({ keepAlive: true, maxSockets: 4, ca: server.ca, ...own, ...more });
  t.teardown(() => agent.destroy());
  return agent;
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

t.test("E02: certificates, proxies and tokens on one port", async (t) => {
  const directory = scratch(t);
  const users = await authority("users");
  const proxies = await authority("proxies");
  const forged = await authority("users");
  const caFile = keep(directory, "users.crt", users.cert);
  const server = await startServer([
    "--front-workers=2",
    `--token-auth-file=${keep(directory, "tokens.csv", tokens)}`,
    `--client-ca-file=${caFile}`,
    `--requestheader-client-ca-file=${keep(directory, "proxies.crt", proxies.cert)}`,
    "--requestheader-username-headers=X-Remote-User",
    "--requestheader-group-headers=X-Remote-Group",
    "--requestheader-extra-headers-prefix=X-Remote-Extra-",
    "--requestheader-allowed-names=front",
  ]);
  t.teardown(() => server.stop("SIGKILL"));
  const carol = agentOf(t, server, await client(users, [{ CN: ["carol"] }]));
  const root = agentOf(t, server, await client(users, [{ O: ["system:masters"] }, { CN: ["root"] }]));
  const late = agentOf(t, server, await client(users, [{ CN: ["carol"] }], { from: -2, until: -1 }));
  const front = agentOf(t, server, await client(proxies, [{ CN: ["front"] }]));
  const aside = agentOf(t, server, await client(proxies, [{ CN: ["aside"] }]));
  const bare = agentOf(t, server);
  const wrong = agentOf(t, server, await client(forged, [{ CN: ["carol"] }]));
  const dave = { "x-remote-user": "dave" };
  const cases: [string, Agent, Record<string, string | string[]>, string][] = [
    ["a certificate", carol, {}, "carol"],
    ["a certificate before a token", carol, bearer("bob-token"), "carol"],
    ["a certificate before a wrong token", carol, bearer("x"), "carol"],
    ["an administrator's certificate", root, {}, "200"],
    ["a certificate that ended", late, {}, "401"],
    ["the same with a token", late, bearer("bob-token"), "bob"],
    ["a forged one", wrong, {}, "401"],
    ["a forged one with a token", wrong, bearer("bob-token"), "bob"],
    ["a token", bare, bearer("alice-token"), "alice"],
    ["a wrong token", bare, bearer("x"), "401"],
    ["nothing", bare, {}, "system:anonymous"],
    ["headers without a certificate", bare, dave, "system:anonymous"],
    ["headers with a token", bare, { ...dave, ...bearer("bob-token") }, "bob"],
    ["headers with a user's certificate", carol, dave, "carol"],
    ["the proxy", front, dave, "dave"],
    ["the proxy for an administrator", front, { ...dave, "x-remote-group": ["x", "system:masters"] }, "200"],
    ["groups in one header are one", front, { ...dave, "x-remote-group": "x,system:masters" }, "dave"],
    ["a name with underscores", front, { x_remote_user: "dave" }, "401"],
    ["names in capitals", front, { "X-REMOTE-USER": "dave" }, "dave"],
    ["blanks around a value", front, { "x-remote-user": "  dave  " }, "dave"],
    ["an empty name", front, { "x-remote-user": "" }, "401"],
    ["the proxy without a user", front, {}, "401"],
    ["the proxy with its own token", front, bearer("bob-token"), "bob"],
    ["a proxy that is not listed", aside, dave, "401"],
  ];
  for (const [what, agent, headers, expected] of cases) t.equal(await whoIs(server, agent, headers), expected, what);

  const published = await server.call(
    "GET",
    "/api/v1/namespaces/orch-system/configmaps/extension-apiserver-authentication",
  );
  t.equal(published.json.data["client-ca-file"], users.cert);
  t.equal(published.json.data["requestheader-client-ca-file"], proxies.cert);
  t.equal(published.json.data["requestheader-username-headers"], '["X-Remote-User"]');
  t.equal(published.json.data["requestheader-allowed-names"], '["front"]');

  // A replaced bundle counts for new connections and for those that are open.
  const others = await authority("others");
  writeFileSync(caFile, others.cert);
  const erin = agentOf(t, server, await client(others, [{ CN: ["erin"] }]));
  t.ok(await eventually(async () => (await whoIs(server, erin, {})) === "erin", 60_000), "new authorities");
  t.ok(await eventually(async () => (await whoIs(server, carol, {})) === "401", 60_000), "old ones are forgotten");
  const map = "/api/v1/namespaces/orch-system/configmaps/extension-apiserver-authentication";
  const current = async () => (await server.call("GET", map)).json.data["client-ca-file"] === others.cert;
  t.ok(await eventually(current, 60_000), "and others are told");
});

t.test("E14: uws: serving certificates are replaced while the server runs", async (t) => {
  const directory = scratch(t);
  const [first, second, third] = await Promise.all(["first", "second", "third"].map((name) => authority(name)));
  if (first === undefined || second === undefined || third === undefined) throw new Error("No certificates");
  const certFile = keep(directory, "tls.crt", first.cert);
  const keyFile = keep(directory, "tls.key", first.key);
  const files = [`--tls-cert-file=${certFile}`, `--tls-private-key-file=${keyFile}`];
  const server = await startServer(["--front=uws", "--front-workers=2", ...files]);
  t.teardown(() => server.stop("SIGKILL"));
  const issuer = (): Promise<string> =>
    new Promise((resolve) => {
      const port = Number(new URL(server.base).port);
      const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false }, () => {
        resolve(String(socket.getPeerCertificate().subject.CN));
        socket.destroy();
      });
      socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "failed"));
    });
  const agent = agentOf(t, server, undefined, { rejectUnauthorized: false, maxSockets: 1 });
  t.equal(await issuer(), "first");
  t.equal(await whoIs(server, agent, bearer(server.token)), "200");
  // Both threads have the new one when it is what many connections in a row see: of 50, all on the thread that was first
  // does not happen, however often it is looked.
  const all = async (name: string): Promise<boolean> =>
    (await Promise.all(Array.from({ length: 50 }, issuer))).every((found) => found === name);
  for (const { cert, key, name } of [
    { ...second, name: "second" },
    { ...third, name: "third" },
  ]) {
    writeFileSync(keyFile, key);
    writeFileSync(certFile, cert);
    t.ok(await eventually(() => all(name), 60_000), `${name} is there`);
    t.equal(await whoIs(server, agent, bearer(server.token)), "200", "connections that were open go on");
  }
  writeFileSync(keyFile, "nothing");
  t.ok(
    await eventually(() => server.errors().includes("Certificates stay as they were"), 60_000),
    "a bad file is told",
  );
  t.ok(await all("third"), "and the last good ones serve");
  t.equal(await server.stop(), 0, "and it ends in order");
});

t.test("E14: serving certificates are replaced while the server runs, and chosen by name", async (t) => {
  const directory = scratch(t);
  const first = await authority("first");
  const second = await authority("second");
  const other = await authority("other");
  const certFile = keep(directory, "tls.crt", first.cert);
  const keyFile = keep(directory, "tls.key", first.key);
  const named = `${keep(directory, "other.crt", other.cert)},${keep(directory, "other.key", other.key)}:*.other.io`;
  const server = await startServer([
    "--front-workers=2",
    `--tls-cert-file=${certFile}`,
    `--tls-private-key-file=${keyFile}`,
    `--tls-sni-cert-key=${named}`,
    "--tls-min-version=VersionTLS13",
  ]);
  t.teardown(() => server.stop("SIGKILL"));
  const issuerOf = (servername: string, more: object = {}): Promise<string> =>
    new Promise((resolve) => {
      const port = Number(new URL(server.base).port);
      const socket = connect({ host: "127.0.0.1", port, servername, rejectUnauthorized: false, ...more }, () => {
        resolve(String(socket.getPeerCertificate().subject.CN));
        socket.destroy();
      });
      socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "failed"));
    });
  t.equal(await issuerOf("localhost"), "first");
  t.equal(await issuerOf("a.other.io"), "other");
  t.equal(await issuerOf("a.b.other.io"), "first");
  t.match(await issuerOf("localhost", { maxVersion: "TLSv1.2" }), /^(?!first)/, "TLS 1.2 is refused");
  writeFileSync(keyFile, second.key);
  writeFileSync(certFile, second.cert);
  t.ok(await eventually(async () => (await issuerOf("localhost")) === "second", 60_000), "replaced");
});

t.test("F01, E09, E12: no token is ever written down, however much is logged", async (t) => {
  const directory = scratch(t);
  const flags = ["-v=10", "--enable-bootstrap-token-auth"];
  const server = await startServer([...flags, `--token-auth-file=${keep(directory, "tokens.csv", tokens)}`]);
  t.teardown(() => server.stop("SIGKILL"));
  const agent = agentOf(t, server);
  const account = "/api/v1/namespaces/default/serviceaccounts";
  await server.call("POST", account, { metadata: { name: "robot" } });
  const robot: string = (await server.call("POST", `${account}/robot/token`, {})).json.status.token;
  const shown = [robot, "alice-token", "canary-token", "abcdef.canarycanary0000", "canary-query", server.token];
  for (const token of shown) await whoIs(server, agent, bearer(token));
  await whoIs(server, agent, { authorization: "Basic canary-basic" });
  const protocol = `base64url.bearer.authorization.orch.io.${Buffer.from("canary-socket").toString("base64url")}`;
  const upgrade = { connection: "Upgrade", upgrade: "websocket", "sec-websocket-protocol": `${protocol}, v4.channel` };
  t.equal(await whoIs(server, agent, upgrade), "401", "a token in a subprotocol (E12)");
  await whoIs(server, agent, bearer("alice-token"), "/api/v1/nodes?access_token=canary-query");
  await server.call("POST", "/apis/authentication.orch.io/v1/tokenreviews", { spec: { token: "canary-review" } });
  const metrics = await server.metrics();
  t.match(metrics, /^authentication_token_cache_request_total\{status="miss"\} [1-9]/m);
  t.ok(await eventually(() => server.errors().includes("tokenreviews")), "requests are logged");
  for (const token of [...shown, "canary-basic", "canary-review", "canary-socket", protocol]) {
    const secret = token.includes(".") ? (token.split(".").at(-1) ?? token) : token;
    t.notOk(server.errors().includes(secret), "not in the log");
    t.notOk(metrics.includes(secret), "not in metrics");
  }
});

const credential = {
  kind: "ExecCredential",
  apiVersion: "client.authentication.k8s.io/v1",
  status: { token: "bob-token" },
};

t.test("kubectl with a certificate, a static token, a plugin and a token it asked for", async (t) => {
  const directory = scratch(t);
  const users = await authority("users");
  const server = await startServer([
    "--identity=kubernetes",
    `--token-auth-file=${keep(directory, "tokens.csv", tokens)}`,
    `--client-ca-file=${keep(directory, "users.crt", users.cert)}`,
  ]);
  t.teardown(() => server.stop("SIGKILL"));
  const ca = keep(directory, "ca.crt", server.ca);
  const run = (...words: string[]): Promise<{ code: number; out: string }> =>
    new Promise((resolve) => {
      const env = { PATH: process.env["PATH"], HOME: directory, KUBECONFIG: "/dev/null" };
      const base = [`--server=${server.base}`, `--certificate-authority=${ca}`, `--cache-dir=${directory}/cache`];
      const child = spawn("kubectl", [...base, ...words], { env, timeout: 60_000 });
      let out = "";
      child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
      child.stderr.on("data", (chunk: Buffer) => (out += chunk.toString()));
      child.on("error", () => resolve({ code: -1, out: "missing" }));
      child.on("close", (code) => resolve({ code: code ?? -1, out }));
    });
  if ((await run("version", "--client")).code !== 0) {
    t.comment("not run: there is no kubectl on the path");
    return;
  }
  const root = await client(users, [{ O: ["system:masters"] }, { CN: ["root"] }]);
  const cert = keep(directory, "root.crt", root.cert);
  const key = keep(directory, "root.key", root.key);
  const asRoot = [`--client-certificate=${cert}`, `--client-key=${key}`];
  t.match((await run(...asRoot, "get", "ns", "-o", "name")).out, /^namespace\/default$/m, "a certificate");
  t.match((await run("--token=alice-token", "get", "ns")).out, /User "alice" cannot list/, "a static token");
  const script = keep(directory, "plugin", `#!/bin/sh\nprintf '%s' '${JSON.stringify(credential)}'\n`);
  chmodSync(script, 0o755);
  const exec = { apiVersion: credential.apiVersion, command: script, interactiveMode: "Never" };
  const people = [{ name: "u", user: { exec } }];
  const contexts = [{ name: "c", context: { cluster: "k", user: "u" } }];
  const clusters = [{ name: "k", cluster: { server: server.base, "certificate-authority": ca } }];
  const config = { apiVersion: "v1", kind: "Config", "current-context": "c", contexts, clusters, users: people };
  const path = keep(directory, "plugin.config", JSON.stringify(config));
  t.match((await run(`--kubeconfig=${path}`, "get", "ns")).out, /User "bob" cannot list/, "a credential plugin");
  t.match((await run("--token=nobody", "get", "ns")).out, /Unauthorized|must be logged in/, "a wrong one");
  t.equal((await run(...asRoot, "create", "sa", "robot")).code, 0);
  const asked = await run(...asRoot, "create", "token", "robot", "--duration=20m");
  t.equal(asked.code, 0, asked.out);
  const robot = `--token=${asked.out.trim()}`;
  t.match((await run(robot, "get", "cm")).out, /User "system:serviceaccount:default:robot" cannot list/);
  t.equal((await run(...asRoot, "create", "role", "reader", "--verb=list", "--resource=configmaps")).code, 0);
  const bind = ["create", "rolebinding", "robot", "--role=reader", "--serviceaccount=default:robot"];
  t.equal((await run(...asRoot, ...bind)).code, 0);
  t.equal((await run(...asRoot, "create", "configmap", "seen")).code, 0);
  t.match((await run(robot, "get", "cm", "-o", "name")).out, /^configmap\/seen$/m);
  t.equal((await run(...asRoot, "delete", "sa", "robot")).code, 0);
  t.match((await run(robot, "get", "cm")).out, /Unauthorized|must be logged in/, "at once");
});
