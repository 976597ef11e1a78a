// `npm run test:etcd`: everything that starts servers, with their data on an etcd that is started for it, once with two
// servers behind a balancer in the place of each server, and once with one: the tests (`npm test -- --etcd=own`), the
// replay of upstream's answers (conformance.mjs) and mixed requests of many users (crossings.ts).
//
//   npm run test:etcd [-- --servers=1|2] [--controller-manager=PATH] [--crossings=COUNT]
//
// Ends with a line for each part, and with exit code 1 when one of them failed. Parts go on after one that failed.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { root } from "./install.mjs";
import { testRuntime } from "./runtime.mjs";

const { values: flags } = parseArgs({
  options: {
    servers: { type: "string" },
    "controller-manager": { type: "string" },
    crossings: { type: "string", default: "100000" },
  },
});

/** Lines of a part that are its result: the last one, and what says that something did not run. */
const tells = /^(left out|\w+: not replayed|conformance: )/;

/** Runs a part; the result it printed, and whether it is a good one. */
async function run(name, command, args, env = {}) {
  console.log(`# ${name}`);
  const startedMs = performance.now();
  const child = spawn(command, args, {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...env },
  });
  let out = "";
  child.stdout.on("data", (chunk) => {
    process.stdout.write(chunk);
    out += chunk;
  });
  const [code] = await once(child, "close");
  const lines = out.trimEnd().split("\n");
  const told = [...lines.slice(0, -1).filter((line) => tells.test(line)), lines.at(-1)];
  const verdict = code === 0 ? "ok" : "FAILED";
  const seconds = Math.round((performance.now() - startedMs) / 1000);
  return { isGood: code === 0, lines: [`${verdict} ${name} ${seconds} s`, ...told.map((line) => `  ${line}`)] };
}

const manager =
  flags["controller-manager"] === undefined ? [] : [`--controller-manager=${flags["controller-manager"]}`];
const results = [];
for (const servers of flags.servers === undefined ? ["2", "1"] : [flags.servers]) {
  const on = ["--etcd=own", `--servers=${servers}`];
  const where = `on etcd, servers: ${servers}`;
  results.push(await run(`tests ${where}`, process.execPath, ["scripts/test.mjs", ...on]));
  results.push(await run(`conformance ${where}`, process.execPath, ["scripts/conformance.mjs", ...on, ...manager]));
  const env = { ORCH_TEST_STORAGE: "etcd", ORCH_TEST_SERVERS: servers };
  const crossings = [join("dist", "scripts", "crossings.js"), flags.crossings];
  results.push(await run(`crossings ${where}`, testRuntime(), crossings, env));
}
for (const { lines } of results) console.log(lines.join("\n"));
process.exit(results.every(({ isGood }) => isGood) ? 0 : 1);
