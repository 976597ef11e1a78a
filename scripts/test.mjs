// `npm test`: installs, builds, runs every test on the pinned Node with tap and ends with `N passed, N failed`.
// Arguments narrow it down: `npm test -- merge cache/log` runs the files whose path holds one of them.
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { build, fail, install, root } from "./install.mjs";
import { testRuntime } from "./runtime.mjs";

install();
build();

const only = process.argv.slice(2);
const tests = readdirSync(join(root, "test"), { recursive: true })
  .filter((file) => file.endsWith(".test.ts"))
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
  { cwd: root, stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, ORCH_VERIFY: "1" } },
);

let passed = 0;
let failed = 0;
let rest = "";
const failures = [];
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
  const name = (point[4] ?? "").replace(/ # time=.*$/, "").replace(/ \{$/, "");
  if (own?.open && own.name === name) {
    own.open = false;
    if (level === 0) console.log(`${point[2] === "ok" ? "ok" : "FAILED"} ${relative("dist/test", name)}`);
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
tap.on("close", (code) => {
  for (const failure of failures) console.log(`failed: ${failure}`);
  if (code !== 0 && failed === 0) failed = 1;
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed === 0 && passed > 0 ? 0 : 1);
});
