// Auditing of a running server: what a mixed run of clients leaves in the log and at the webhook, what never is in it,
// and what the server says to files and disks that will not do.
import { spawnSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { openPeer, sayJson } from "../support/peer.ts";
import { eventually, startServer } from "../support/server.ts";
import { program } from "../support/servers/program.ts";
import { noSingleServer } from "../support/servers/storage.ts";

// biome-ignore lint/suspicious/noExplicitAny: tests look into any event
type Event = any;

const policy = `apiVersion: audit.k8s.io/v1
kind: Policy
rules:
- {level: None, nonResourceURLs: [/readyz, /metrics]}
- {level: Metadata, resources: [{resources: [secrets]}]}
- {level: RequestResponse}
`;

function folder(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), "orch-audit-"));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

t.test("a mixed run on two fronts is in the log and at the webhook whole, and no secret is", async (t) => {
  const directory = folder(t);
  const posted: Event[] = [];
  const peer = await openPeer((body, response) => {
    for (const event of JSON.parse(body).items) posted.push(event);
    sayJson(response, {});
  });
  t.teardown(() => peer.close());
  const policyFile = join(directory, "policy.yaml");
  const configFile = join(directory, "webhook.yaml");
  const path = join(directory, "logs", "audit.log");
  writeFileSync(policyFile, policy);
  const authority = Buffer.from(peer.authority).toString("base64");
  const cluster = { name: "c", cluster: { server: `${peer.url}/sink`, "certificate-authority-data": authority } };
  const context = { name: "x", context: { cluster: "c", user: "u" } };
  const user = { name: "u", user: { token: "WEBHOOK-CANARY" } };
  const config = { "current-context": "x", clusters: [cluster], contexts: [context], users: [user] };
  writeFileSync(configFile, JSON.stringify(config));
  const server = await startServer([
    "--identity=kubernetes",
    "--front-workers=2",
    `--audit-policy-file=${policyFile}`,
    `--audit-log-path=${path}`,
    `--audit-webhook-config-file=${configFile}`,
    "--audit-webhook-batch-max-wait=10ms",
    "--audit-webhook-batch-throttle-enable=false",
    "-v=6",
  ]);
  t.teardown(() => server.stop("SIGKILL"));

  const maps = "/api/v1/namespaces/default/configmaps";
  const accounts = "/api/v1/namespaces/default/serviceaccounts";
  const ids = new Set<string>();
  let signed = "";
  const call = async (...args: Parameters<typeof server.call>): Promise<void> => {
    const { headers, json } = await server.call(...args);
    ids.add(String(headers["audit-id"]));
    if (typeof json?.status?.token === "string") signed = json.status.token;
  };
  const one = async (index: number): Promise<void> => {
    const name = `m${index}`;
    const stringData = { password: "SECRET-CANARY" };
    await call("POST", maps, { metadata: { name }, data: { x: "plain" } });
    await call("PATCH", `${maps}/${name}`, { data: { y: "z" } }, { "content-type": "application/merge-patch+json" });
    await call("GET", `${maps}/${name}?access_token=QUERY-CANARY`);
    await call("GET", maps);
    await call("GET", `${maps}/none`);
    await call("GET", maps, undefined, { authorization: "Bearer TOKEN-CANARY" });
    await call("GET", maps, undefined, { "impersonate-user": "nobody" });
    await call("POST", "/api/v1/namespaces/default/secrets", { metadata: { name }, stringData });
    await call("GET", `/api/v1/namespaces/default/secrets/${name}`);
    await call("POST", "/apis/authentication.k8s.io/v1/tokenreviews", { spec: { token: "REVIEW-CANARY" } });
    await call("POST", `${accounts}/default/token`, { spec: {} });
    await call("DELETE", `${maps}/${name}`);
  };
  t.ok(await eventually(async () => (await server.call("GET", `${accounts}/default`)).code === 200));
  await Promise.all(Array.from({ length: 20 }, (_, index) => one(index)));
  t.equal(ids.size, 20 * 12);
  t.not(signed, "");
  await call("POST", maps, { metadata: { name: "last" } });
  let began = false;
  const endWatch = server.watch(`${maps}?watch=1&timeoutSeconds=600`, () => {
    began = true;
  });
  t.ok(await eventually(() => began));
  endWatch();

  const read = (): Event[] => {
    return server.files(path).flatMap((file) => {
      const lines = readFileSync(file, "utf8").split("\n");
      t.equal(lines.pop(), "", "the last line is whole");
      return lines.map((line) => JSON.parse(line));
    });
  };
  const done = (events: readonly Event[]): number =>
    events.filter(({ auditID, stage, responseStatus: { code } = {} }) => {
      return ids.has(auditID) && stage === (code === 401 ? "ResponseStarted" : "ResponseComplete");
    }).length;
  t.ok(await eventually(() => done(read()) === ids.size), "every request's end is in the log");
  t.ok(await eventually(() => done(posted) === ids.size), "and was posted");
  const watched = (events: readonly Event[]): string[] =>
    events.filter(({ verb }) => verb === "watch").map(({ stage }) => stage);
  t.ok(await eventually(() => watched(read()).includes("ResponseComplete")));
  t.same(watched(read()), ["RequestReceived", "ResponseStarted", "ResponseComplete"]);

  const seen = new Map<string, string[]>();
  for (const { auditID, stage } of read()) seen.set(auditID, [...(seen.get(auditID) ?? []), stage]);
  for (const id of ids) {
    const stages = seen.get(id)?.join(" ");
    t.ok(stages === "RequestReceived ResponseComplete" || stages === "ResponseStarted", `${id}: ${stages}`);
  }

  const metrics = await server.metrics();
  t.match(metrics, /^apiserver_audit_event_total [1-9]\d*$/m);
  t.match(metrics, /^apiserver_audit_requests_rejected_total 0$/m);
  t.match(metrics, /^apiserver_audit_level_total\{level="Metadata"\} [1-9]\d*$/m);
  const logs = server.files(path).map((file) => readFileSync(file, "utf8"));
  const everything = `${logs.join("")}${JSON.stringify(posted)}${metrics}${server.errors()}`;
  for (const secret of ["-CANARY", server.token, signed, "U0VDUkVULUNBTkFSWQ"]) {
    t.notOk(everything.includes(secret), `nothing holds ${secret.slice(0, 8)}`);
  }
  t.ok(everything.includes("access_token=REDACTED"));
  t.equal(await server.stop("SIGTERM", false), 0);
});

t.test("events that wait are posted when the server ends", async (t) => {
  const directory = folder(t);
  const policyFile = join(directory, "policy.yaml");
  const configFile = join(directory, "webhook.yaml");
  const ids: string[] = [];
  const peer = await openPeer((body, response) => {
    for (const { auditID } of JSON.parse(body).items) ids.push(auditID);
    sayJson(response, {});
  });
  t.teardown(() => peer.close());
  writeFileSync(policyFile, policy);
  const cluster = { server: peer.url, "insecure-skip-tls-verify": true };
  writeFileSync(configFile, JSON.stringify({ clusters: [{ name: "c", cluster }] }));
  const files = [`--audit-policy-file=${policyFile}`, `--audit-webhook-config-file=${configFile}`];
  const server = await startServer(["--identity=kubernetes", ...files, "--audit-webhook-batch-max-wait=1h"]);
  t.teardown(() => server.stop("SIGKILL"));
  const { headers } = await server.call("GET", "/version");
  t.same(ids, [], "no batch is full");
  t.equal(await server.stop("SIGTERM", false), 0);
  t.equal(ids.filter((id) => id === headers["audit-id"]).length, 2);
});

t.test("where nothing can be written, blocking serves and counts, blocking-strict refuses", async (t) => {
  const directory = folder(t);
  const policyFile = join(directory, "policy.yaml");
  writeFileSync(policyFile, policy);
  for (const [mode, code] of [
    ["blocking", 200],
    ["blocking-strict", 500],
  ] as const) {
    const files = [`--audit-policy-file=${policyFile}`, "--audit-log-path=/dev/full"];
    const server = await startServer(["--identity=kubernetes", ...files, `--audit-log-mode=${mode}`]);
    t.teardown(() => server.stop("SIGKILL"));
    const answer = await server.call("GET", "/api/v1/namespaces");
    t.equal(answer.code, code, mode);
    if (code === 500) t.equal(answer.json.message, "Internal error occurred: failed to store audit event");
    let text = "";
    const counted = async (): Promise<boolean> => {
      text = await server.metrics();
      return /^apiserver_audit_error_total\{plugin="log"\} [1-9]/m.test(text);
    };
    t.ok(await eventually(counted));
    t.match(text, code === 500 ? /rejected_total [1-9]/ : /rejected_total 0/);
    t.equal(await server.stop("SIGTERM", false), 0);
  }
});

const full = "a log that takes nothing: requests wait or events are dropped, and the end comes all the same";
// What is unwritten is bounded in each process: two take what one does not.
t.test(full, { skip: noSingleServer }, async (t) => {
  const directory = folder(t);
  const policyFile = join(directory, "policy.yaml");
  const path = join(directory, "pipe");
  writeFileSync(policyFile, policy);
  t.equal(spawnSync("mkfifo", [path]).status, 0);
  // Open for both, so that neither waits for the other end.
  const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  t.teardown(() => closeSync(pipe));
  const files = ["--front-workers=1", `--audit-policy-file=${policyFile}`, `--audit-log-path=${path}`];
  for (const mode of ["batch", "blocking"]) {
    const server = await startServer(["--identity=kubernetes", ...files, `--audit-log-mode=${mode}`]);
    t.teardown(() => server.stop("SIGKILL"));
    let done = 0;
    // Fewer than the connections there are: one is left for what is not audited.
    const asks = Array.from({ length: 60 }, async () => {
      for (let index = 0; index < 100; index += 1) {
        const { code } = await server.call("GET", "/version");
        if (code === 200) done += 1;
      }
    });
    if (mode === "batch") {
      await Promise.all(asks);
      t.equal(done, 6000);
      const { text } = await server.call("GET", "/metrics");
      t.match(text, /^apiserver_audit_error_total\{plugin="buffered"\} [1-9]/m, "no request waits");
    } else {
      let before = -1;
      const stands = async (): Promise<boolean> => {
        before = done;
        await new Promise((resolve) => setTimeout(resolve, 200));
        return done > 0 && done === before;
      };
      t.ok(await eventually(stands, 60_000), "too much is unwritten");
      t.ok(done < 6000);
      t.equal((await server.call("GET", "/readyz")).code, 200, "what is not audited is served");
      const drain = setInterval(() => {
        try {
          while (readSync(pipe, Buffer.alloc(1_048_576)) > 0);
        } catch {
          // Empty for now.
        }
      }, 1);
      await Promise.all(asks);
      clearInterval(drain);
      t.equal(done, 6000, "every request goes on when it is read");
    }
    t.equal(await server.stop("SIGTERM", false), 0, mode);
  }
});

t.test("standard output takes events, too", async (t) => {
  const directory = folder(t);
  const policyFile = join(directory, "policy.yaml");
  writeFileSync(policyFile, policy);
  const files = [`--audit-policy-file=${policyFile}`, "--audit-log-path=-"];
  const server = await startServer(["--identity=kubernetes", ...files]);
  t.teardown(() => server.stop("SIGKILL"));
  let out = "";
  for (const { process } of server.parts)
    process.stdout?.on("data", (chunk: Buffer) => {
      out += chunk.toString();
    });
  const { headers } = await server.call("GET", "/version");
  t.ok(await eventually(() => out.includes(`"auditID":"${headers["audit-id"]}","stage":"ResponseComplete"`)));
});

t.test("a bad file is one line and exit code 1", (t) => {
  const directory = folder(t);
  const file = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  const good = file("good.yaml", policy);
  const bad = file("bad.yaml", `${policy}- {level: Everything}\n`);
  const empty = file("empty.yaml", "clusters: []\n");
  const cases: [flags: string[], said: RegExp][] = [
    [[`--audit-policy-file=${directory}/none`], /cannot read --audit-policy-file .*none: no such file or directory/],
    [
      [`--audit-policy-file=${bad}`],
      /--audit-policy-file .*bad\.yaml: rules\[3\]\.level: must be one of None, Metadata, Request, .*, not "Everything"/,
    ],
    [[`--audit-policy-file=${good}`, "--audit-log-path=/dev/null/a"], /cannot open --audit-log-path \/dev\/null\/a/],
    [
      [`--audit-policy-file=${good}`, `--audit-webhook-config-file=${empty}`],
      /--audit-webhook-config-file: .*empty\.yaml: it names no cluster/,
    ],
    [["--audit-log-batch-throttle-qps=no"], /--audit-log-batch-throttle-qps must be a positive number/],
    [["--audit-log-mode=maybe"], /must be one of batch, blocking, blocking-strict/],
  ];
  for (const [flags, said] of cases) {
    const log = flags.some((flag) => flag.includes("log-path")) ? [] : ["--audit-log-path=/dev/null"];
    const args = [
      program,
      `--data-dir=${directory}/data`,
      "--identity=kubernetes",
      "--secure-port=0",
      ...log,
      ...flags,
    ];
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 60_000 });
    t.equal(status, 1, flags.join(" "));
    t.match(stderr, said);
    t.equal(stderr.trim().split("\n").length, 1, "one line");
  }
  t.end();
});
