// The server as its own process: what it prints and leaves behind, how it refuses to start, and how it goes down.
import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { loadsUws } from "../../src/http/uwsbuild.ts";
import { openPeer, sayJson } from "../support/peer.ts";
import { eventually, startServer, type TestServer } from "../support/server.ts";
import { program } from "../support/servers/program.ts";
import { noOwnStore, noSingleServer } from "../support/servers/storage.ts";

t.setTimeout(600_000);

function scratch(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), "orch-boot-"));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Runs the server until it ends by itself. */
function run(args: readonly string[]): Promise<{ code: number | null; out: string; errors: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    let out = "";
    let errors = "";
    child.stdout.on("data", (chunk: Buffer) => {
      out += chunk.toString();
    });
    child.stderr.on("data", (chunk: Buffer) => {
      errors += chunk.toString();
    });
    const limit = setTimeout(() => child.kill("SIGKILL"), 120_000);
    child.on("close", (code) => {
      clearTimeout(limit);
      resolve({ code, out, errors });
    });
  });
}

t.test("a server without configuration makes what it needs, and a restart keeps it", async (t) => {
  let server = await startServer();
  t.teardown(() => server.stop("SIGKILL"));
  const mode = (file: string): number => statSync(join(server.dir, file)).mode & 0o777;
  for (const file of ["kubeconfig", "admin.token", "pki/ca.key", "pki/serving.key"])
    t.equal(mode(file), 0o600, `${file} is private`);
  for (const folder of ["", "pki"]) t.equal(mode(folder), 0o700, folder);
  t.equal((await server.call("GET", "/readyz")).text, "ok");
  t.equal((await server.call("GET", "/readyz", undefined, { authorization: "Bearer wrong" })).code, 401);
  const { token, ca, dir } = server;
  t.equal(await server.stop("SIGTERM", false), 0, "SIGTERM ends it with 0");
  server = await startServer([], dir);
  t.same([server.token, server.ca], [token, ca], "clients keep their configuration");
});

t.test("a directory with data is private, of one server, and of one identity", { skip: noOwnStore }, async (t) => {
  let server = await startServer();
  t.teardown(() => server.stop("SIGKILL"));
  const { dir } = server;
  const mode = (file: string): number => statSync(join(dir, file)).mode & 0o777;
  t.equal(mode("store"), 0o700);
  for (const file of readdirSync(join(dir, "store"))) t.equal(mode(join("store", file)), 0o600, file);
  const busy = await run(["--data-dir", dir, "--secure-port=0"]);
  t.equal(busy.code, 1);
  t.equal(busy.errors, `orch: the data directory ${dir} is in use by another server\n`);
  await server.stop("SIGKILL", false);
  server = await startServer([], dir);
  t.pass("a killed server's directory can be used again");
  await server.stop("SIGTERM", false);
  const foreign = await run(["--data-dir", dir, "--secure-port=0", "--identity=kubernetes"]);
  t.equal(foreign.code, 1);
  const mend = "start with that flag, or use another --data-dir";
  t.equal(foreign.errors, `orch: data directory ${dir} was created with --identity=orch; ${mend}\n`);
});

t.test("a store in memory serves as one on the disk does, and nothing of it is left at the next start", async (t) => {
  let server = await startServer(["--storage-backend=memory"]);
  t.teardown(() => server.stop("SIGKILL"));
  const maps = "/api/v1/namespaces/default/configmaps";
  const made = await server.call("POST", maps, { metadata: { name: "m" }, data: { a: "1" } });
  t.equal(made.code, 201);
  const patch = { "content-type": "application/merge-patch+json" };
  const patched = await server.call("PATCH", `${maps}/m`, { data: { a: "2" } }, patch);
  t.match(patched.json, { data: { a: "2" } });
  const since = made.json?.metadata.resourceVersion;
  const watched = await server.call("GET", `${maps}?watch=1&timeoutSeconds=1&resourceVersion=${since}`);
  t.match(watched.text, /"type":"MODIFIED".*"data":\{"a":"2"\}/);
  t.same(readdirSync(join(server.dir, "store")), ["owner"], "no file but the lock");
  const { dir } = server;
  t.equal(await server.stop("SIGTERM", false), 0);
  server = await startServer(["--storage-backend=memory"], dir);
  t.equal((await server.call("GET", `${maps}/m`)).code, 404);
  const again = await server.call("POST", maps, { metadata: { name: "m" } });
  const [before, after] = [patched, again].map(({ json }) => Number(json?.metadata.resourceVersion));
  t.ok((after ?? 0) > (before ?? 0), `revisions go on: ${after} after ${before}`);
});

t.test("what the operator has to mend is one line and exit code 1", async (t) => {
  const directory = scratch(t);
  const blocker = createServer();
  await new Promise<void>((resolve) => blocker.listen(0, "127.0.0.1", resolve));
  t.teardown(() => blocker.close());
  const { port } = blocker.address() as { port: number };
  const badTokens = join(directory, "tokens.csv");
  writeFileSync(badTokens, "secret-token,alice\n");
  const cases: [string[], RegExp][] = [
    [["--none"], /^unknown flag: --none$/],
    [["--secure-port=x"], /^invalid argument "x" for "--secure-port" flag: /],
    [["--secure-port", String(port)], new RegExp(`^cannot listen on 127.0.0.1:${port}: the address is in use$`)],
    [["--bind-address=192.0.2.1"], /^cannot listen on 192\.0\.2\.1:0: this machine does not have that address$/],
    [["--token-auth-file=/none"], /^cannot read --token-auth-file \/none: no such file or directory$/],
    [["--token-auth-file", badTokens], /: line 1 must have at least 3 columns /],
    [
      ["--tls-cert-file=/none", "--tls-private-key-file=/none"],
      /^cannot read --tls-cert-file \/none: no such file or directory$/,
    ],
    [["--tls-cert-file", badTokens, "--tls-private-key-file", badTokens], /^cannot read --tls-cert-file /],
    [["--tls-cert-file=/none"], /belong together$/],
    [["--client-ca-file=/none"], /^cannot read --client-ca-file \/none: no such file or directory$/],
    [["--client-ca-file", badTokens], /: it holds no certificate$/],
    [["--tls-min-version=VersionTLS13", "--front=uws"], /^--tls-min-version needs --front=node$/],
    [["--service-account-key-file", badTokens], /: it holds no RSA or ECDSA key$/],
    [["--service-account-signing-key-file", badTokens], /: it holds no private key that can be read$/],
    [["--authentication-token-webhook-config-file", badTokens], /^--authentication-token-webhook-config-file /],
    [["--tls-sni-cert-key", `${badTokens},${badTokens}`], /holds no certificate: /],
    [["--audit-policy-file", badTokens], /^--audit-policy-file needs --audit-log-path or --audit-webhook-config-file/],
    [["--audit-log-path=-"], /^--audit-log-path needs --audit-policy-file/],
    [["--audit-webhook-config-file", badTokens], /^--audit-webhook-config-file needs --audit-policy-file/],
    [["--data-dir", join(badTokens, "x")], /^cannot make the data directory .*: it is not a directory$/],
  ];
  for (const [args, line] of cases) {
    const ended = await run(["--data-dir", join(directory, "data"), "--secure-port=0", ...args]);
    t.equal(ended.code, 1, args.join(" "));
    t.match(ended.errors, /^orch: [^\n]+\n$/, "one line");
    t.match(ended.errors.slice("orch: ".length).trimEnd(), line);
    t.notMatch(ended.errors, /secret-token/);
  }
});

t.test(
  "a data directory that is open to others, or half there, is closed or refused",
  { skip: noOwnStore },
  async (t) => {
    const server = await startServer();
    t.teardown(() => server.stop("SIGKILL"));
    const { dir } = server;
    await server.stop("SIGTERM", false);
    chmodSync(dir, 0o755);
    chmodSync(join(dir, "store", "data.mdb"), 0o644);
    const again = await startServer([], dir);
    t.teardown(() => again.stop("SIGKILL"));
    t.equal(statSync(dir).mode & 0o777, 0o700, "one of ours is closed");
    t.equal(statSync(join(dir, "store", "data.mdb")).mode & 0o777, 0o600);
    await again.stop("SIGTERM", false);
    const refused = async (expected: RegExp, path = dir): Promise<void> => {
      const ended = await run(["--data-dir", path, "--secure-port=0"]);
      t.equal(ended.code, 1);
      t.match(ended.errors, /^orch: [^\n]+\n$/, "one line");
      t.match(ended.errors, expected);
    };
    const foreign = join(scratch(t), "shared");
    mkdirSync(foreign);
    writeFileSync(join(foreign, "of-others"), "");
    chmodSync(foreign, 0o755);
    await refused(/is open to others \(mode 0755\): run chmod 700 .*, or use another --data-dir$/m, foreign);
    t.equal(statSync(foreign).mode & 0o777, 0o755, "what is not ours is left alone");
    const key = join(dir, "pki", "service-account.key");
    const text = readFileSync(key);
    rmSync(key);
    await refused(/service-account\.key is missing beside .*service-account\.pub: restore it/);
    writeFileSync(key, text);
    rmSync(join(dir, "pki", "ca.key"));
    await refused(/ca\.key is missing beside .*ca\.crt: restore it/);
    rmSync(join(dir, "store"), { recursive: true });
    await refused(/has credentials of an earlier start and no store\/data\.mdb: restore it/);
  },
);

t.test("--help and --version print and exit with 0", async (t) => {
  const help = await run(["--help"]);
  t.equal(help.code, 0);
  t.match(help.out, "--secure-port");
  t.match((await run(["--help", "gates"])).out, "\n  APIListChunking=true|false (BETA - default=true)\n");
  const none = await run(["--help=none"]);
  t.equal(none.code, 1);
  t.match(none.errors, /^orch: --help: there is no topic "none"; there are: serving, .*, gates, all\n$/);
  t.match((await run(["--version"])).out, /^orch \d+\.\d+\.\d+\n$/);
});

t.test("config schema prints the schema of a file in the names of the identity, and exits", async (t) => {
  const printed = await run(["config", "schema", "audit-policy", "--identity=kubernetes"]);
  t.equal(printed.code, 0);
  t.equal(JSON.parse(printed.out).properties.apiVersion.const, "audit.k8s.io/v1");
  const unknown = await run(["config", "schema", "none"]);
  t.equal(unknown.code, 1);
  t.match(unknown.errors, /^orch: config schema: there is no format "none"; there are: audit-policy, [^\n]+\n$/);
  t.match((await run(["config", "schema", "--secure-port=1"])).errors, "orch: unknown flag: --secure-port\n");
});

t.test("--token-auth-file adds users", async (t) => {
  const file = join(scratch(t), "tokens.csv");
  writeFileSync(file, 'alice-token,alice,1,"dev,ops"\n');
  const server = await startServer(["--token-auth-file", file]);
  t.teardown(() => server.stop("SIGKILL"));
  const as = async (token: string, path: string): Promise<number> =>
    (await server.call("GET", path, undefined, { authorization: `Bearer ${token}` })).code;
  t.equal(await as("alice-token", "/api"), 200);
  t.equal(await as("alice-token", "/api/v1/namespaces"), 403, "she has no role");
  t.equal(await as("alice", "/api"), 401);
});

t.test("where every user may do everything, no request is allowed without a name", async (t) => {
  const server = await startServer(["--authorization-mode=AlwaysAllow"]);
  t.teardown(() => server.stop("SIGKILL"));
  const without = await server.call("GET", "/api", undefined, { authorization: "" });
  t.equal(without.code, 401);
});

t.test("authorization that cannot work ends the start with one line", async (t) => {
  const directory = scratch(t);
  const policies = join(directory, "policies.jsonl");
  writeFileSync(policies, '# comment\n{"user": 1}\n');
  const cases: readonly (readonly [string[], RegExp])[] = [
    [["--authorization-mode=RBAC,None"], /there is no mode "None"; there are: Node, RBAC, ABAC,/],
    [["--authorization-mode=RBAC,RBAC"], /RBAC is listed twice/],
    [["--authorization-mode="], /must name at least one mode/],
    [["--authorization-mode=ABAC"], /ABAC and --authorization-policy-file belong together/],
    [["--authorization-webhook-config-file=x"], /Webhook and --authorization-webhook-config-file belong together/],
    [
      ["--authorization-mode=ABAC", `--authorization-policy-file=${policies}`],
      /policies\.jsonl, line 2: user: must be a string, not 1/,
    ],
    [["--authorization-mode=Webhook", "--authorization-webhook-config-file=/none"], /cannot read \/none/],
  ];
  for (const [args, message] of cases) {
    const { code, errors } = await run([`--data-dir=${join(directory, "data")}`, ...args]);
    t.equal(code, 1);
    t.match(errors, message);
    t.equal(errors.trim().split("\n").length, 1, errors);
  }
});

t.test("--authorization-mode=ABAC allows by the file", async (t) => {
  const directory = scratch(t);
  const policies = join(directory, "policies.jsonl");
  writeFileSync(policies, '{"user": "alice", "resource": "namespaces", "readonly": true}\n');
  writeFileSync(join(directory, "tokens.csv"), "alice-token,alice,1\n");
  const server = await startServer([
    "--authorization-mode=ABAC",
    `--authorization-policy-file=${policies}`,
    `--token-auth-file=${join(directory, "tokens.csv")}`,
  ]);
  t.teardown(() => server.stop("SIGKILL"));
  const as = async (method: string, path: string): Promise<number> =>
    (await server.call(method, path, undefined, { authorization: "Bearer alice-token" })).code;
  t.equal(await as("GET", "/api/v1/namespaces"), 200);
  t.equal(await as("DELETE", "/api/v1/namespaces/none"), 403);
  t.equal((await server.call("GET", "/api/v1/nodes")).code, 200, "administrators may in every mode");
});

t.test("--authorization-mode=Webhook does what the webhook says", async (t) => {
  const directory = scratch(t);
  const asked: string[] = [];
  const peer = await openPeer((body, response) => {
    const { apiVersion, kind, spec } = JSON.parse(body);
    const resource = spec.resourceAttributes?.resource ?? spec.nonResourceAttributes.path;
    asked.push(`${spec.user} ${resource}`);
    if (resource === "nodes") return sayJson(response, {}, 401);
    sayJson(response, { apiVersion, kind, status: { allowed: resource === "pods", reason: "it says so" } });
  });
  t.teardown(() => peer.close());
  const file = join(directory, "webhook.yaml");
  const authority = Buffer.from(peer.authority).toString("base64");
  const cluster = `{name: c, cluster: {server: "${peer.url}/authorize", certificate-authority-data: ${authority}}}`;
  writeFileSync(file, `apiVersion: v1\nkind: Config\nclusters: [${cluster}]\n`);
  writeFileSync(join(directory, "tokens.csv"), "alice-token,alice,1\n");
  const server = await startServer([
    "--authorization-mode=Webhook",
    `--authorization-webhook-config-file=${file}`,
    `--token-auth-file=${join(directory, "tokens.csv")}`,
  ]);
  t.teardown(() => server.stop("SIGKILL"));
  const as = async (path: string): Promise<[number, string]> => {
    const answer = await server.call("GET", path, undefined, { authorization: "Bearer alice-token" });
    return [answer.code, answer.json?.message ?? ""];
  };
  t.equal((await as("/api/v1/pods"))[0], 200);
  t.equal((await as("/api/v1/pods"))[0], 200);
  const [code, message] = await as("/api/v1/secrets");
  t.equal(code, 403);
  t.match(message, /at the cluster scope: it says so$/);
  t.match(await as("/api/v1/nodes"), [500, /the authorization webhook does not decide: it answered 401$/]);
  t.strictSame(asked, ["alice pods", "alice secrets", "alice nodes"], "administrators are not asked about");
});

/** Opens a watch; resolves at its end with all it got. */
function watchToEnd(
  server: TestServer,
  path: string,
): { opened: Promise<void>; ended: Promise<{ whole: boolean; text: string }> } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const ended = new Promise<{ whole: boolean; text: string }>((resolve) => {
    const asked = request(
      server.base + path,
      { ca: server.ca, headers: { authorization: `Bearer ${server.token}` } },
      (answer) => {
        open();
        let text = "";
        answer.on("data", (chunk: Buffer) => {
          text += chunk.toString();
        });
        answer.on("error", () => {});
        answer.on("close", () => resolve({ whole: answer.complete, text }));
      },
    );
    asked.on("error", () => resolve({ whole: false, text: "" }));
    asked.end();
  });
  return { opened, ended };
}

/** Selects nothing: what a bookmark tells is all there is to tell. */
const selected = "/api/v1/namespaces?labelSelector=none";

for (const front of ["uws", "node"]) {
  if (front === "uws" && !loadsUws()) continue;
  t.test(`SIGTERM ends a server on the ${front} front in order`, { skip: noSingleServer }, async (t) => {
    const server = await startServer([`--front=${front}`, "--shutdown-delay-duration=700ms"]);
    t.teardown(() => server.stop("SIGKILL"));
    const watches = Array.from({ length: 5 }, () => watchToEnd(server, `${selected}&watch=1&allowWatchBookmarks=true`));
    await Promise.all(watches.map(({ opened }) => opened));
    const created = await server.call("POST", "/api/v1/namespaces", { metadata: { name: "news" } });
    t.equal(created.code, 201);
    const stopped = server.stop("SIGTERM");
    t.ok(await eventually(async () => (await server.call("GET", "/readyz")).code === 500), "/readyz says no first");
    t.equal((await server.call("GET", "/livez")).code, 200, "/livez does not");
    t.equal((await server.call("GET", "/api/v1/namespaces")).code, 200, "requests are still served");
    for (const { ended } of watches) {
      const { whole, text } = await ended;
      t.ok(whole, "a watch ends in order");
      t.match(text.trimEnd().split("\n").at(-1), /"type":"BOOKMARK"/, "with a bookmark");
    }
    t.equal(await stopped, 0);
  });
}

t.test("a second signal ends it at once", { skip: noSingleServer }, async (t) => {
  const server = await startServer(["--shutdown-delay-duration=1m"]);
  t.teardown(() => server.stop("SIGKILL"));
  const ended = new Promise<number | null>((resolve) => server.process.once("exit", resolve));
  server.process.kill("SIGINT");
  t.ok(
    await eventually(async () => (await server.call("GET", "/readyz")).code === 500),
    "the first one begins the delay",
  );
  // The first one may be sent again for a while: it is the same one then.
  const again = setInterval(() => server.process.kill("SIGINT"), 100);
  t.equal(await ended, 1);
  clearInterval(again);
});

t.test("a signal that several processes pass on is one", { skip: noSingleServer }, async (t) => {
  const server = await startServer(["--shutdown-delay-duration=1500ms"]);
  t.teardown(() => server.stop("SIGKILL"));
  const ended = new Promise<number | null>((resolve) => server.process.once("exit", resolve));
  for (const signal of ["SIGINT", "SIGINT", "SIGTERM", "SIGHUP"] as const) server.process.kill(signal);
  t.equal(await ended, 0);
  t.match(server.errors(), /The server has ended/);
});

t.test("/metrics has the threads of the whole server", async (t) => {
  const server = await startServer(["--front-workers=2"]);
  t.teardown(() => server.stop("SIGKILL"));
  const { code, text } = await server.call("GET", "/metrics");
  t.equal(code, 200);
  for (const thread of ["main", "store", "controllers", "front-0", "front-1"])
    t.match(text, new RegExp(`^orch_event_loop_lag_seconds_count\\{.*thread="${thread}"\\}`, "m"));
  for (const name of [
    "process_resident_memory_bytes",
    "apiserver_request_total",
    "orch_store_revision",
    "apiserver_storage_objects",
  ]) {
    t.match(text, new RegExp(`^${name}`, "m"));
  }
  t.notMatch(readFileSync(server.kubeconfig, "utf8"), /undefined/);
});
