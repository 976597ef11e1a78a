// `npm run perf -- <benchmark>`: installs what is missing, builds, and runs a benchmark of perf/. What it starts has a
// folder for temporary files, which goes with it however it ends.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build, install, root } from "./install.mjs";
import { testRuntime } from "./runtime.mjs";

install();
build();
const runtime = testRuntime();
const dir = mkdtempSync(join(tmpdir(), "orch-perf-"));
// Where the kernel can (Linux, by setpriv), it tells the run to end when this process is killed.
const canBind = spawnSync("setpriv", ["--pdeathsig", "TERM", "true"]).status === 0;
const line = [runtime, join(root, "dist", "perf", "main.js"), ...process.argv.slice(2)];
const [command, ...args] = canBind ? ["setpriv", "--pdeathsig", "TERM", ...line] : line;
const child = spawn(command, args, { stdio: "inherit", env: { ...process.env, TMPDIR: dir } });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
const code = await new Promise((resolve) => {
  child.once("error", () => resolve(1));
  child.once("exit", (status) => resolve(status ?? 2));
});
// Servers that the kernel has killed with the run may be writing still.
rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
process.exitCode = code;
