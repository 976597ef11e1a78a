// `npm start`: installs what is missing, builds, picks a runtime that can load the uWS build, and serves.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { build, fail, install, npm, root } from "./install.mjs";

const args = process.argv.slice(2);

/** The version of the runtime brought in for hosts whose own Node cannot load the uWS build (Node 16 to 20 only). */
const runtimeVersion = "20.20.2";

/** True when this host's Node loads the uWS build. */
function loadsUws() {
  try {
    createRequire(import.meta.url)("uWebSockets.js");
    return true;
  } catch {
    return false;
  }
}

/** The Node 20 that the `node` package ships, installed beside the project on demand. */
function pinnedRuntime() {
  const home = join(root, "node_modules", ".orch-runtime");
  const binary = join(home, "node_modules", "node", "bin", "node");
  if (!existsSync(binary)) {
    mkdirSync(home, { recursive: true });
    writeFileSync(join(home, "package.json"), '{ "private": true }\n');
    const { status } = spawnSync(
      npm(),
      [
        "install",
        `node@${runtimeVersion}`,
        "--no-fund",
        "--no-audit",
        "--no-save",
        "--ignore-scripts=false",
        "--loglevel=error",
      ],
      { cwd: home, stdio: "inherit" },
    );
    if (status !== 0 || !existsSync(binary)) {
      fail(
        `this Node ${process.version} cannot load the uws front and Node ${runtimeVersion} could not be installed; try --front=node`,
      );
    }
  }
  return binary;
}

install();
build();

const asksNode = args.some((a, i) => a === "--front=node" || (a === "--front" && args[i + 1] === "node"));
let runtime = process.execPath;
if (asksNode) {
  console.log(`runtime: Node ${process.version} of this host, node front`);
} else if (loadsUws()) {
  console.log(`runtime: Node ${process.version} of this host`);
} else {
  runtime = pinnedRuntime();
  console.log(
    `runtime: Node v${runtimeVersion} of the node package, because the uws front does not load on ${process.version}`,
  );
}

const child = spawn(runtime, [join(root, "dist", "src", "main.js"), ...args], { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
// Whoever started this may be killed without passing the signal on (npm is): the server does not outlive it.
const parent = process.ppid;
setInterval(() => {
  if (process.ppid !== parent) child.kill("SIGTERM");
}, 500).unref();
child.on("error", (error) => fail(`the server could not be started: ${error.message}`));
child.on("exit", (code, signal) => process.exit(code ?? (signal === null ? 1 : 128)));
