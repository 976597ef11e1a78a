// Whole runs of the load harness: against servers that it did not start, and runs that are ended before their time.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { treeOf } from "../../perf/harness/processes.ts";
import { openTarget, type TargetOptions } from "../../perf/harness/target.ts";
import { authority, issue } from "../support/certificates.ts";
import { eventually, startServer, type TestServer } from "../support/server.ts";
import { noSingleServer } from "../support/servers/storage.ts";

const program = fileURLToPath(new URL("../../perf/main.js", import.meta.url));
const patienceMs = 300_000;

/** A run as a process, with a folder for what it starts. */
interface Run {
  readonly child: ChildProcess;
  readonly folder: string;
  readonly out: () => string;
  readonly ended: Promise<number | null>;
}

function perf(dir: string, args: readonly string[]): Run {
  const folder = join(dir, "tmp");
  mkdirSync(folder, { recursive: true });
  const child = spawn(process.execPath, [program, ...args], { env: { ...process.env, TMPDIR: folder } });
  t.teardown(() => child.kill("SIGKILL"));
  let out = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: Buffer) => (out += chunk.toString()));
  return { child, folder, out: () => out, ended: once(child, "close").then(([code]) => code as number | null) };
}

interface Line {
  readonly void: readonly string[];
  readonly unfinished?: string;
  readonly cases: readonly Record<string, number>[];
}

function lineIn(path: string): Line {
  return JSON.parse(readFileSync(path, "utf8").trim()) as Line;
}

/** Names of what runs made in a collection. */
async function namesAt(server: TestServer, path: string): Promise<string[]> {
  const { json } = await server.call("GET", path);
  return (json.items as { metadata: { name: string } }[])
    .map(({ metadata: { name } }) => name)
    .filter((name) => name.startsWith("perf-"));
}

function namespaces(server: TestServer): Promise<string[]> {
  return namesAt(server, "/api/v1/namespaces");
}

/** A client configuration with one user, and an authority unless it is `insecure`. */
function config(path: string, server: TestServer, user: object, isInsecure = false): string {
  const authorityData = Buffer.from(server.ca).toString("base64");
  const trust = isInsecure ? { "insecure-skip-tls-verify": true } : { "certificate-authority-data": authorityData };
  const text = {
    ...{ apiVersion: "v1", kind: "Config", "current-context": "c" },
    clusters: [{ name: "k", cluster: { server: server.base, ...trust } }],
    users: [{ name: "u", user }],
    contexts: [{ name: "c", context: { cluster: "k", user: "u" } }],
  };
  writeFileSync(path, JSON.stringify(text));
  return path;
}

t.test("compare and sweep say which argument is wrong", async (t) => {
  const dir = t.testdir();
  const said = async (...args: string[]): Promise<string> => {
    const run = perf(dir, args);
    t.equal(await run.ended, 1, args.join(" "));
    return run.out();
  };
  t.match(
    await said("compare", "--name=a", "--name=b", "--html=x", "--", "list"),
    "before -- there are 3 arguments, not the flags of two servers: --name=a | --name=b | --html=x",
  );
  t.match(await said("compare", "--name=a", "--name=b", "list"), "there is no --; scenarios are fanout,");
  t.match(
    await said("sweep", "--front-workers", "1", "--", "lists"),
    '"lists" behind -- is no scenario; scenarios are',
  );
});

t.test("servers that run are found by client configurations and by their URL", async (t) => {
  const dir = t.testdir();
  const clients = await authority("clients");
  const { cert, key } = await issue({ issuer: clients, subject: [{ O: ["system:masters"] }, { CN: ["operator"] }] });
  const [clientCa, otherCa, ca, trusted] = ["clients.crt", "other.crt", "ca.crt", "kubeconfig"].map((name) =>
    join(dir, name),
  ) as [string, string, string, string];
  writeFileSync(clientCa, clients.cert);
  writeFileSync(otherCa, (await authority("others")).cert);
  const server = await startServer([`--client-ca-file=${clientCa}`]);
  t.teardown(() => server.stop("SIGKILL"));
  writeFileSync(ca, server.ca);
  const { base, token } = server;
  const base64 = (text: string): string => Buffer.from(text).toString("base64");
  const certificate = { "client-certificate-data": base64(cert), "client-key-data": base64(key) };

  const works: readonly (readonly [string, TargetOptions])[] = [
    ["token", { kubeconfig: config(join(dir, "token"), server, { token }) }],
    ["certificate", { kubeconfig: config(trusted, server, certificate) }],
    ["insecure", { kubeconfig: config(join(dir, "insecure"), server, { token }, true) }],
    ["what the server wrote", { kubeconfig: server.kubeconfig }],
    ["a URL", { server: base, token, "certificate-authority": ca }],
    ["a URL, unchecked", { server: `${base}/`, token }],
  ];
  for (const [name, options] of works) {
    const target = await openTarget(options, "server");
    t.equal(target.restart, undefined, name);
    await target.stop();
  }
  const fails: readonly (readonly [TargetOptions, RegExp])[] = [
    [{ server: base, token: "wrong" }, /answered 401 to a list of namespaces/],
    [{ server: base, token, "certificate-authority": otherCa }, /did not answer/],
    [{ kubeconfig: config(join(dir, "wrong"), server, { token: "wrong" }) }, /answered 401/],
    [{ server: "localhost", token }, /expected a URL/],
    [{ kubeconfig: join(dir, "none") }, /none/],
  ];
  for (const [options, message] of fails) await t.rejects(openTarget(options, "server"), message);

  const json = join(dir, "result.json");
  const sides = [`--kubeconfig=${trusted}`, `--pid=server=${server.process.pid ?? 0}`];
  const growth = [
    "growth",
    "--objects=30,60",
    "--watchers=3,6",
    "--events=30",
    "--duration=1",
    "--warmup=0",
    "--rest=1",
  ];
  // What costs come to is not what is tested.
  const bounds = ["loaded-own", "loaded-rss", "list-cpu", "event-cpu"].map(
    (name) => `--threshold=${name}.growth<1000000`,
  );
  const run = perf(dir, [...growth, ...sides, ...bounds, `--json=${json}`, "--processes=1"]);
  const code = await run.ended;
  t.ok(existsSync(json), run.out());
  const { void: faults, cases, unfinished } = lineIn(json);
  t.same(faults, [], run.out());
  t.equal(unfinished, undefined);
  t.equal(cases.length, 4);
  t.ok(cases.every((one) => (one["list.count"] ?? one["events.count"] ?? 0) > 0));
  // Thresholds of lines that could not be measured on a busy machine are not kept.
  t.ok(code === 0 || code === 99, `${code}`);
  t.ok(await eventually(async () => (await namespaces(server)).length === 0), "its namespaces are gone");
  t.ok(isRunning(server), "the server goes on");
});

function isRunning({ process: child }: TestServer): boolean {
  return child.exitCode === null && child.signalCode === null;
}

t.test(
  "a run that is ended keeps its rounds as not finished, and leaves nothing",
  { skip: noSingleServer },
  async (t) => {
    const ends: readonly (readonly [string, RegExp, (run: Run) => void])[] = [
      ["SIGTERM", /ended by SIGTERM/, ({ child }) => child.kill("SIGTERM")],
      ["SIGINT", /ended by SIGINT/, ({ child }) => child.kill("SIGINT")],
      ["a process of the load", /A process of the load ended with SIGKILL/, killLoad],
    ];
    for (const [name, why, end] of ends) {
      const dir = t.testdir();
      const json = join(dir, "result.json");
      const args = ["write", "--cases=create", "--connections=2", "--duration=1", "--warmup=0", "--rounds=1000000"];
      const run = perf(dir, [
        ...args,
        `--json=${json}`,
        `--html=${join(dir, "report.html")}`,
        "--threshold=create.p99Ms<1",
      ]);
      t.ok(await eventually(() => run.out().includes("round 3 of"), patienceMs), `${name}: it runs: ${run.out()}`);
      const started = treeOf([run.child.pid ?? 0]);
      t.ok(started.length > 2, `${name}: it has a server and a process of the load`);
      end(run);
      t.equal(await run.ended, 2, `${name}: the exit code: ${run.out()}`);
      const { void: faults, unfinished = "", cases } = lineIn(json);
      t.match(unfinished, why);
      t.match(faults.join(), /not finished/);
      t.ok((cases[0]?.["create.count"] ?? 0) > 0, `${name}: rounds before are kept`);
      t.match(run.out(), /NOT FINISHED/);
      t.notMatch(run.out(), /threshold create/, "thresholds are not judged");
      t.match(readFileSync(join(dir, "report.html"), "utf8"), /"unfinished":"/);
      t.same(readdirSync(run.folder), [], `${name}: no folder is left`);
      t.ok(await eventually(() => started.every((pid) => !existsSync(`/proc/${pid}`))), `${name}: no process is left`);
    }
  },
);

/** Kills one of the processes that send requests. */
function killLoad({ child }: Run): void {
  const command = (pid: number): string => readFileSync(`/proc/${pid}/cmdline`, "latin1");
  const load = treeOf([child.pid ?? 0]).find((pid) => command(pid).includes("load.process.js"));
  if (load === undefined) throw new Error("There is no process of the load");
  process.kill(load, "SIGKILL");
}

t.test(
  "what idle watches hold is told, and how a server comes back that was killed",
  { skip: noSingleServer },
  async (t) => {
    const runs: readonly (readonly [string[], Record<string, number>])[] = [
      [["idle", "--watchers=20", "--duration=1", "--rest=1"], { "watches.count": 20 }],
      [
        ["crash", "--objects=60", "--watchers=20", "--rounds=2", "--rest=1"],
        { "ready.count": 1, "reopen.count": 20, "reopen.relists": 0, "list.count": 8 },
      ],
    ];
    for (const [args, figures] of runs) {
      const dir = t.testdir();
      const json = join(dir, "result.json");
      const run = perf(dir, [...args, "--processes=1", "--warmup=0", `--json=${json}`]);
      t.equal(await run.ended, 0, run.out());
      const { void: faults, cases } = lineIn(json);
      t.same(faults, [], run.out());
      t.match(cases, [figures]);
      t.match(run.out(), args[0] === "idle" ? /watches\.serverOwnKib/ : /ready\.ownMib/, "its own figures are shown");
    }
  },
);

t.test("each write is made in JSON and in protobuf, beside watches of the same format", async (t) => {
  const server = await startServer(["--identity=kubernetes"]);
  t.teardown(() => server.stop("SIGKILL"));
  for (const protobuf of [false, true]) {
    const dir = t.testdir();
    const json = join(dir, "result.json");
    const sides = [`--kubeconfig=${server.kubeconfig}`, `--pid=server=${server.process.pid ?? 0}`];
    const flags = [
      "--duration=1",
      "--warmup=0",
      "--objects=50",
      "--connections=4",
      "--watches=2",
      `--protobuf=${protobuf}`,
    ];
    const run = perf(dir, ["write", ...flags, ...sides, `--json=${json}`]);
    t.equal(await run.ended, 0, run.out());
    const { void: faults, cases } = lineIn(json);
    t.same(faults, [], run.out());
    const counted = cases.flatMap((one) => Object.keys(one)).filter((key) => key.endsWith(".count"));
    t.equal(new Set(counted).size, 12, counted.join());
  }
  t.ok(await eventually(async () => (await namespaces(server)).length === 0), "its namespaces are gone");
});

// Each ends while it prepares: a scenario that was not opened yet.
for (const { scenario, flags, outside } of [
  { scenario: ["list", "--objects=1000000", "--cases=json"], flags: [], outside: [] },
  {
    scenario: ["neighbours", "--objects=1000000"],
    flags: ["--identity=kubernetes"],
    outside: [
      "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
      "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
      "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases",
    ],
  },
  {
    scenario: ["mixed", "--nodes=20", "--pods-per-node=50000"],
    flags: ["--identity=kubernetes"],
    outside: ["/api/v1/nodes"],
  },
] as const) {
  t.test(`a run of ${scenario[0]} that is ended on a server of others deletes what it made there`, async (t) => {
    const dir = t.testdir();
    const server = await startServer(flags);
    t.teardown(() => server.stop("SIGKILL"));
    const run = perf(dir, [...scenario, `--kubeconfig=${server.kubeconfig}`]);
    const arePodsThere = async (): Promise<boolean> => {
      const { json } = await server.call("GET", "/api/v1/pods?limit=1");
      // A run that failed makes none.
      return (json.items as unknown[]).length === 1 || run.child.exitCode !== null;
    };
    t.ok(await eventually(arePodsThere, patienceMs), run.out());
    t.equal(run.child.exitCode, null, run.out());
    t.equal((await namespaces(server)).length, 1);
    for (const path of outside) t.ok((await namesAt(server, path)).length > 0, `it made some of ${path}`);
    run.child.kill("SIGTERM");
    t.equal(await run.ended, 2);
    t.match(run.out(), /ended by SIGTERM; nothing was measured/);
    t.ok(await eventually(async () => (await namespaces(server)).length === 0, patienceMs), "its namespace is gone");
    for (const path of outside) t.same(await namesAt(server, path), [], path);
    t.ok(isRunning(server));
    t.same(readdirSync(run.folder), []);
  });
}
