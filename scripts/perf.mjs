// `npm run perf -- <benchmark>`: installs what is missing, builds, and runs a benchmark of perf/.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { build, install, root } from "./install.mjs";
import { testRuntime } from "./runtime.mjs";

install();
build();
const { status } = spawnSync(testRuntime(), [join(root, "dist", "perf", "main.js"), ...process.argv.slice(2)], {
  stdio: "inherit",
});
process.exitCode = status ?? 1;
