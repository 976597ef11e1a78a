// `npm test`: installs, builds, runs every test file on the pinned Node and ends with `N passed, N failed`.
// Arguments narrow it down: `npm test -- merge cache/log` runs the files whose path holds one of them.
// `npm test -- --etcd=own` runs the files that start servers with their data on an etcd that is started for them (or one
// that runs, `--etcd=http://127.0.0.1:2379`), and `--servers=2` as two servers behind a balancer each.
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { bringBrowser } from "./browser.mjs";
import { bringEtcd, useEtcd } from "./etcd.mjs";
import { build, fail, install, root } from "./install.mjs";
import { testRuntime } from "./runtime.mjs";
import { runTapFile } from "./tapfile.mjs";

const { values: flags, positionals: only } = parseArgs({
  allowPositionals: true,
  options: { etcd: { type: "string" }, servers: { type: "string" } },
});
install();
build();
const etcd = await bringEtcd();
const ended = await useEtcd(flags);

/** Folders of tests that start servers as processes, and are the same wherever these keep their data. */
const serving = ["boot", "crossings", "e2e", "observe/console"];
const isOnEtcd = process.env.ORCH_TEST_STORAGE === "etcd";
const tests = readdirSync(join(root, "test"), { recursive: true })
  .filter((file) => file.endsWith(".test.ts"))
  .filter((file) => only.length > 0 || !isOnEtcd || serving.some((folder) => file.startsWith(folder)))
  .map((file) => join("dist", "test", file.replace(/\.ts$/, ".js")))
  .filter((file) => only.length === 0 || only.some((part) => file.includes(part)))
  .sort();
if (tests.length === 0) fail(`no test file matches ${only.join(", ")}`);
// Installing one changes the machine: only where a page is tested.
if (tests.some((file) => readFileSync(join(root, file), "utf8").includes("programs/browser.js"))) await bringBrowser();

// Heavy suites (crash, fronts, the whole server) bring their own processes; two at a time fit two cores, and one of two
// servers and an etcd.
const atOnce = Number(process.env.ORCH_TEST_SERVERS ?? 1) > 1 ? 1 : 2;
const msMax = 600_000;
const env = { ...process.env, ORCH_VERIFY: "1", ...(etcd === undefined ? {} : { ORCH_ETCD: etcd }) };
const runtime = testRuntime();

let passed = 0;
const failures = [];
/** Why tests were left out, with how many. */
const leftOut = new Map();

async function runNext() {
  for (let file = tests.shift(); file !== undefined; file = tests.shift()) {
    const line = process.env.VERBOSE ? (text) => console.log(text) : undefined;
    const { count, ms, explained, errors } = await runTapFile(file, { runtime, cwd: root, env, msMax, line });
    passed += count.passed;
    failures.push(...count.failures.map((failure) => `${relative("dist/test", file)}: ${failure}`));
    for (const [reason, n] of count.skipped) leftOut.set(reason, (leftOut.get(reason) ?? 0) + n);
    const verdict = count.failures.length === 0 ? "ok" : "FAILED";
    console.log(`${verdict} ${relative("dist/test", file)} ${Math.round(ms / 1000)} s`);
    for (const text of [...explained, ...(errors === "" ? [] : [errors])]) console.log(text);
  }
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => process.exit(1));
await Promise.all(Array.from({ length: atOnce }, runNext));
await ended();
for (const [reason, count] of leftOut) console.log(`left out, ${count} tests: ${reason}`);
for (const failure of failures) console.log(`failed: ${failure}`);
console.log(`${passed} passed, ${failures.length} failed`);
process.exit(failures.length === 0 && passed > 0 ? 0 : 1);
