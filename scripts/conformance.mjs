// `npm run conformance`: replays the recorded answers of upstream against a fresh server, under both identities.
// Needs the transcripts beside the project (../shared/transcripts) and python3; without them it says so and ends well.
// Steps that may differ are listed, with the reason, in test/conformance/known.md; anything else that differs fails.
//
//   node scripts/conformance.mjs [--controller-manager=PATH] [--etcd=own|URL,URL] [--servers=1|2] [PATTERN...]
//
// With --etcd the data are on an etcd, one that is started for it or one that runs; --servers=2 starts two servers there,
// behind a balancer.
// Patterns are those of scenario files, such as '28*'; without any, everything that is listed below. Scenarios that need
// controllers which this server does not have need upstream's controller manager (v1.23), also given as
// ORCH_UPSTREAM_CONTROLLER_MANAGER; it runs those alone, beside the server's own. With `--identity=orch` it is connected
// through upstreamproxy.ts.
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { parseArgs } from "node:util";
import { bringEtcd, useEtcd } from "./etcd.mjs";
import { build, install, root } from "./install.mjs";
import { testRuntime } from "./runtime.mjs";

const transcripts = join(root, "..", "shared", "transcripts");
if (!existsSync(join(transcripts, "replay.py"))) {
  console.log("conformance: the transcripts are not here (../shared/transcripts); nothing to replay");
  process.exit(0);
}
const { values: flags, positionals: only } = parseArgs({
  allowPositionals: true,
  options: { "controller-manager": { type: "string" }, etcd: { type: "string" }, servers: { type: "string" } },
});
const controllerManager = flags["controller-manager"] ?? process.env.ORCH_UPSTREAM_CONTROLLER_MANAGER;
if (controllerManager !== undefined && !existsSync(controllerManager)) {
  console.error(`conformance: there is no ${controllerManager}`);
  process.exit(2);
}
install();
build();
const runtime = testRuntime();
if (flags.etcd !== undefined) await bringEtcd();
const ended = await useEtcd(flags);
const { controllerNames } = await import("../dist/src/config/config.js");
const { openUpstreamProxy } = await import("../dist/scripts/upstreamproxy.js");
const { isOnEtcd, serverCount } = await import("../dist/test/support/servers/storage.js");
const { startServer } = await import("../dist/test/support/server.js");

/** Areas of this stage. */
const areas = [
  "0*",
  "100*",
  "11[01345]*",
  "12*",
  "13*",
  "14*",
  "15*",
  "16*",
  "17*",
  "18[0-5]*",
  "19[01]*",
  "2[0-6]*",
  "27[0-7]*",
  "30[0-6]*",
  "325*",
];
/**
 * Areas whose scenarios name the controllers they need: they are replayed on a server of their own, which runs what all of
 * them name together.
 */
const controlledAreas = ["28*", "290*", "292*", "294*", "29[678]*"];

/** Sections of known.md that count under a condition only. */
const conditions = new Map([
  ["On etcd", isOnEtcd],
  ["With two servers", serverCount > 1],
]);

/** `area step` of the steps that may differ, under both identities. */
function knownDifferences() {
  const known = new Set();
  let counts = true;
  for (const line of readFileSync(join(root, "test", "conformance", "known.md"), "utf8").split("\n")) {
    if (line.startsWith("## ")) counts = conditions.get(line.slice(3)) ?? true;
    if (!counts) continue;
    const match = /^\| (\d{3}) \| ([\d, ]+) \|/.exec(line);
    if (match !== null) for (const step of match[2].split(",")) known.add(`${match[1]} ${step.trim()}`);
  }
  return known;
}

/** Whether a pattern of an area (as `--only` takes them) matches the name of a file. */
function matches(pattern, file) {
  const text = pattern
    .replace(/[.+^$(){}|\\]/g, "\\$&")
    .replace(/\*/g, ".*")
    .replace(/\?/g, ".");
  return new RegExp(`^${text}$`).test(file.replace(/\.json$/, "")) || new RegExp(`^${text}$`).test(file);
}

/**
 * The scenarios to replay, a server for each set: those that need no controllers, those that do, and those that need
 * controllers of upstream besides.
 */
function chosen() {
  const sets = [newSet(), newSet(), newSet()];
  for (const file of readdirSync(join(transcripts, "scenarios"))) {
    if (only.length > 0 && !only.some((pattern) => matches(pattern, file))) continue;
    const named = JSON.parse(readFileSync(join(transcripts, "scenarios", file), "utf8")).controllers ?? [];
    const wanted = only.length > 0 ? ["*"] : named.length > 0 ? controlledAreas : areas;
    if (!wanted.some((pattern) => matches(pattern, file))) continue;
    const set = sets[named.length === 0 ? 0 : named.every(isOurs) ? 1 : 2];
    set.files.push(file);
    for (const name of named) (isOurs(name) ? set.controllers : set.upstream).add(name);
  }
  return sets.filter(({ files }) => files.length > 0);
}

function newSet() {
  return { files: [], controllers: new Set(), upstream: new Set() };
}

function isOurs(name) {
  return controllerNames.includes(name);
}

/** Why a set cannot be replayed; undefined: it can be. */
function obstacle({ upstream }) {
  if (upstream.size === 0 || controllerManager !== undefined) return undefined;
  return "it needs upstream's controller manager; give --controller-manager=PATH";
}

async function serve(identity, controllers) {
  const dir = mkdtempSync(join(tmpdir(), "orch-conformance-"));
  const tokens = join(dir, "tokens.csv");
  writeFileSync(tokens, 'admintoken,admin,admin,"system:masters"\n');
  const args = [
    `--identity=${identity}`,
    `--token-auth-file=${tokens}`,
    `--controllers=${[...controllers].join()}`,
    // As the server whose answers were recorded.
    "--allow-privileged=true",
    "--service-cluster-ip-range=10.1.0.0/16",
    "--enable-bootstrap-token-auth",
  ];
  const server = await startServer(args, undefined, { plain: true, runtime });
  const stop = async () => {
    await server.stop();
    rmSync(dir, { recursive: true, force: true });
  };
  return { server, dir, stop };
}

async function end(child, signal) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill(signal);
  await ended;
}

/**
 * Starts upstream's controller manager beside a server, with some of its controllers. It knows upstream's names alone:
 * where the server has others, a proxy stands between them. `ended` is aborted when it ends without being asked to.
 */
async function manage(identity, { server, dir }, controllers) {
  const target = { base: server.base, ca: server.ca, token: server.token };
  const proxy = identity === "kubernetes" ? undefined : await openUpstreamProxy(target);
  const connection =
    proxy === undefined
      ? [`--kubeconfig=${server.kubeconfig}`]
      : [`--master=${proxy.base}`, "--kube-api-content-type=application/json"];
  const flags = [
    ...connection,
    // A new node is tainted until a controller finds it ready; scenarios do not name that one.
    `--controllers=${[...controllers, "nodelifecycle"].join()}`,
    "--leader-elect=false",
    "--secure-port=0",
  ];
  const log = join(dir, "controller-manager.log");
  const output = openSync(log, "w");
  const child = spawn(controllerManager, flags, { stdio: ["ignore", output, output] });
  closeSync(output);
  const ended = new AbortController();
  const onExit = (code, signal) => {
    const lines = readFileSync(log, "utf8").trimEnd().split("\n").slice(-10);
    ended.abort(new Error(`upstream's controller manager ended with ${code ?? signal}: ${lines.join("\n")}`));
  };
  child.once("exit", onExit);
  child.once("error", (error) => ended.abort(error));
  const stop = async () => {
    child.off("exit", onExit);
    // It holds nothing, and waits on after SIGTERM. One that could not be started has no id.
    if (child.pid !== undefined) await end(child, "SIGKILL");
    proxy?.close();
  };
  return { ended: ended.signal, stop };
}

/** Copies the scenarios, with what is decided otherwise for an identity, and without our own prose. */
function adapted(identity) {
  const dir = mkdtempSync(join(tmpdir(), "orch-scenarios-"));
  for (const file of readdirSync(join(transcripts, "scenarios"))) {
    let text = readFileSync(join(transcripts, "scenarios", file), "utf8");
    // Decided in the branding table, but no rewrite of the transcripts: the word alone.
    // A path with an escaped dot, which no rewrite reaches either.
    if (identity === "orch") text = text.replaceAll("kubernetes\\\\.io", "orch\\\\.io");
    if (identity === "orch") text = text.replace(/("(?:spec\.)?finalizers": \[\s*)"kubernetes"/g, '$1"orch"');
    // So the issuer of tokens in secrets.
    if (identity === "orch") text = text.replaceAll('"kubernetes/serviceaccount"', '"orch/serviceaccount"');
    // Names of OpenAPI definitions have the domain turned around.
    if (identity === "orch") text = text.replaceAll("io.k8s.", "io.orch.");
    const scenario = JSON.parse(markNumbers(text));
    for (const step of scenario.steps) {
      withoutDescriptions(step);
      withoutBlank(step);
    }
    writeFileSync(join(dir, file), unmarkNumbers(JSON.stringify(scenario)));
  }
  return dir;
}

/** Integers that would lose digits as they are read become texts. */
function markNumbers(text) {
  return text.replace(/"(?:[^"\\]|\\.)*"|[-+.\deE]+/g, (token) =>
    /^-?\d{16,}$/.test(token) ? `"integer ${token}"` : token,
  );
}

/** Turns them into numbers again. */
function unmarkNumbers(text) {
  return text.replace(/"integer (-?\d{16,})"/g, "$1");
}

/** Column descriptions of Tables are prose, and ours: the rest of a Table is compared. */
function withoutDescriptions(step) {
  const lines = Array.isArray(step.expect?.lines) ? step.expect.lines : [];
  // An answer of one line is recorded as the object that the line says.
  const tables = [step.expect?.json, step.expect?.json?.object, ...lines.map((line) => line?.object)];
  const columns = tables.flatMap((table) => table?.columnDefinitions ?? []);
  if (columns.length === 0) return;
  for (const column of columns) delete column.description;
  const paths = ["", "object.", "*.object."].map((prefix) => `${prefix}columnDefinitions.*.description`);
  step.ignore = [...(step.ignore ?? []), ...paths];
}

/** The blank with which the uws front begins a watch that has nothing to say (see known.md); anything else still differs. */
function withoutBlank(step) {
  const { expect } = step;
  if (!/[?&]watch=|\/watch\//.test(step.path ?? "") || expect?.headers?.["content-type"] !== "application/json") return;
  if (["json", "lines", "text", "protobuf"].some((key) => key in expect)) return;
  // A watch for the metadata of a list ends at once, without a body.
  if (/;as=\w+List\b/.test(step.headers?.Accept ?? "")) return;
  step.bodyType = "text";
  step.masks = [...(step.masks ?? []), ["^ $", ""]];
  expect.text = "";
}

/**
 * Replays and returns the failing steps as `area step`. It is waited for without blocking: the proxy of the controller
 * manager is in this process. Throws when there is no result, and when `signal` is aborted.
 */
async function replay(identity, base, patterns, signal) {
  const scenarios = adapted(identity);
  const args = [join(transcripts, "replay.py"), "replay", scenarios, "--base", base, "--token", "admintoken"];
  if (identity === "orch") args.push("--brand", join(transcripts, "branding.json"));
  for (const pattern of patterns) args.push("--only", pattern);
  let stdout;
  try {
    const child = spawn("python3", args, { stdio: ["ignore", "pipe", "inherit"], signal });
    [stdout] = await Promise.all([text(child.stdout), once(child, "close")]);
  } finally {
    rmSync(scenarios, { recursive: true, force: true });
  }
  const failed = [];
  let area = "";
  for (const line of stdout.split("\n")) {
    const file = /^(\d{3})-\S+\.json:/.exec(line);
    if (file !== null) area = file[1];
    const step = /^ +(\d+) diff /.exec(line);
    if (step !== null) failed.push(`${area} ${step[1]}`);
  }
  const counts = /\b(\d+) passed, (\d+) failed/.exec(stdout);
  if (counts === null) throw new Error(`the replay ended without a result: ${stdout.slice(-1000)}`);
  return { failed, stdout, total: Number(counts[1]) + Number(counts[2]) };
}

const known = knownDifferences();
let passed = 0;
let failed = 0;
for (const identity of ["kubernetes", "orch"]) {
  for (const set of chosen()) {
    const { files, controllers, upstream } = set;
    const why = obstacle(set);
    if (why !== undefined) {
      console.log(`${identity}: not replayed: ${files.join(", ")}: ${why}`);
      continue;
    }
    const served = await serve(identity, controllers);
    const { server } = served;
    const manager = upstream.size > 0 ? await manage(identity, served, upstream) : undefined;
    try {
      const result = await replay(identity, server.base, files, manager?.ended);
      const news = result.failed.filter((step) => !known.has(step));
      if (news.length > 0 || process.env.VERBOSE) console.log(result.stdout + server.errors());
      for (const step of news) console.log(`${identity}: step ${step} differs and is not in known.md`);
      const beside = upstream.size > 0 ? `, and upstream's ${[...upstream].join(", ")}` : "";
      const where = controllers.size > 0 ? `, with ${[...controllers].join(", ")}${beside}` : "";
      const differ = `${result.failed.length} differ, ${news.length} of them unexpectedly`;
      console.log(`${identity}${where}: ${result.total} steps, ${differ}`);
      failed += news.length;
      passed += result.total - news.length;
    } catch (error) {
      // What was aborted has the reason as its cause.
      console.log(`${identity}: not replayed to the end: ${files.join(", ")}: ${(error.cause ?? error).message}`);
      failed += 1;
    } finally {
      await manager?.stop();
      await served.stop();
    }
  }
}
await ended();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
