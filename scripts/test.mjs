// `npm test`: installs, builds, runs every test on the pinned Node with tap and ends with `N passed, N failed`.
// Arguments narrow it down: `npm test -- merge cache/log` runs the files whose path holds one of them.
// `npm test -- --etcd=own` runs the files that start servers with their data on an etcd that is started for them (or one
// that runs, `--etcd=http://127.0.0.1:2379`), and `--servers=2` as two servers behind a balancer each.
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { bringEtcd, useEtcd } from "./etcd.mjs";
import { build, fail, install, root } from "./install.mjs";
import { testRuntime } from "./runtime.mjs";

const { values: flags, positionals: only } = parseArgs({
  allowPositionals: true,
  options: { etcd: { type: "string" }, servers: { type: "string" } },
});
install();
build();
const etcd = await bringEtcd();
const ended = await useEtcd(flags);

/** Folders of tests that start servers as processes, and are the same wherever these keep their data. */
const serving = ["boot", "crossings", "e2e"];
const isOnEtcd = process.env.ORCH_TEST_STORAGE === "etcd";
const tests = readdirSync(join(root, "test"), { recursive: true })
  .filter((file) => file.endsWith(".test.ts"))
  .filter((file) => only.length > 0 || !isOnEtcd || serving.some((folder) => file.startsWith(folder)))
  .map((file) => join("dist", "test", file.replace(/\.ts$/, ".js")))
  .filter((file) => only.length === 0 || only.some((part) => file.includes(part)))
  .sort();
if (tests.length === 0) fail(`no test file matches ${only.join(", ")}`);

// Heavy suites (crash, fronts, the whole server) bring their own processes; two at a time fit two cores.
const tap = spawn(
  testRuntime(),
  [
    join(root, "node_modules", "tap", "dist", "esm", "run.mjs"),
    "run",
    "--disable-coverage",
    "--allow-empty-coverage",
    "--jobs=2",
    "--timeout=600",
    "--reporter=tap",
    ...tests,
  ],
  {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ORCH_VERIFY: "1", ...(etcd === undefined ? {} : { ORCH_ETCD: etcd }) },
  },
);

let passed = 0;
let failed = 0;
let rest = "";
const failures = [];
/** Why tests were left out, with how many. */
const leftOut = new Map();
const path = [];

/** Counts test results: the innermost points of the TAP tree, subtests' own summary lines left out. */
function take(line) {
  const point = /^( *)(not ok|ok) (\d+)(?: - (.*))?$/.exec(line);
  if (point === null) {
    const subtest = /^( *)# Subtest: (.*)$/.exec(line);
    if (subtest !== null) path[subtest[1].length / 4] = { name: subtest[2], open: true };
    return;
  }
  const level = point[1].length / 4;
  const own = path[level];
  const reason = / # SKIP (.+?)(?: # time=.*)?$/.exec(point[4] ?? "")?.[1];
  if (reason !== undefined) {
    leftOut.set(reason, (leftOut.get(reason) ?? 0) + 1);
    return;
  }
  const name = (point[4] ?? "").replace(/ # time=.*$/, "").replace(/ \{$/, "");
  if (own?.open && own.name === name) {
    own.open = false;
    if (level === 0) {
      const seconds = Math.round(Number(/ # time=([\d.]+)ms/.exec(point[4] ?? "")?.[1] ?? 0) / 1000);
      console.log(`${point[2] === "ok" ? "ok" : "FAILED"} ${relative("dist/test", name)} ${seconds} s`);
    }
    // A file that died without a failing point of its own (a crash, a time-out) still counts.
    if (point[2] === "not ok" && !failures.some((f) => f.startsWith(own.name))) count("not ok", level, name);
    return;
  }
  count(point[2], level, name);
}

function count(result, level, name) {
  if (result === "ok") {
    passed += 1;
    return;
  }
  failed += 1;
  failures.push([...path.slice(0, level).map((p) => p.name), name].join(" > "));
}

/** Lines of a failure's explanation that are shown. */
const shownMax = 60;
/** How many of the present explanation were; -1: outside of one. */
let shown = -1;

tap.stdout.on("data", (chunk) => {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop();
  for (const line of lines) {
    take(line);
    if (/^\s*not ok/.test(line)) shown = 0;
    else if (/^\s*(ok|# Subtest|1\.\.)/.test(line)) shown = -1;
    if (process.env.VERBOSE || (shown >= 0 && shown++ < shownMax)) console.log(line);
    if (/^\s*\.\.\.$/.test(line)) shown = -1;
  }
});
tap.on("close", async (code) => {
  await ended();
  for (const [reason, count] of leftOut) console.log(`left out, ${count} tests: ${reason}`);
  for (const failure of failures) console.log(`failed: ${failure}`);
  if (code !== 0 && failed === 0) failed = 1;
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed === 0 && passed > 0 ? 0 : 1);
});
