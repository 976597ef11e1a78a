// `npm run perf -- <benchmark>`: installs what is missing, builds, and runs a benchmark of perf/. What it starts has a
// folder for temporary files, which goes with it however it ends.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawnBound } from "./bound.mjs";
import { build, install, root } from "./install.mjs";
import { testRuntime } from "./runtime.mjs";

install();
build();
const dir = mkdtempSync(join(tmpdir(), "orch-perf-"));
const args = [join(root, "dist", "perf", "main.js"), ...process.argv.slice(2)];
const child = spawnBound("TERM", testRuntime(), args, { stdio: "inherit", env: { ...process.env, TMPDIR: dir } });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
const code = await new Promise((resolve) => {
  child.once("error", () => resolve(1));
  child.once("exit", (status) => resolve(status ?? 2));
});
// Servers that the kernel has killed with the run may be writing still.
rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
process.exitCode = code;
