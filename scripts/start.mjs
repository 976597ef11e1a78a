// `npm start`: installs what is missing, builds, picks a runtime that can load the uws front, and serves.
import { spawn } from "node:child_process";
import { build, fail, install, program } from "./install.mjs";
import { servingRuntime } from "./runtime.mjs";

const args = process.argv.slice(2);

install();
build();

const asksNode = args.some((a, i) => a === "--front=node" || (a === "--front" && args[i + 1] === "node"));
const runtime = asksNode ? process.execPath : servingRuntime();

// Built by now.
const { allocatorEnvironment } = await import("../dist/src/boot/allocator.js");
const child = spawn(runtime, [program, ...args], {
  stdio: "inherit",
  env: { ...allocatorEnvironment, ...process.env },
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
// Whoever started this may be killed without passing the signal on (npm is): the server does not outlive it.
const parent = process.ppid;
const looks = setInterval(() => {
  if (process.ppid === parent) return;
  // Once: a second signal ends the server at once.
  clearInterval(looks);
  child.kill("SIGTERM");
}, 500).unref();
child.on("error", (error) => fail(`the server could not be started: ${error.message}`));
child.on("exit", (code, signal) => process.exit(code ?? (signal === null ? 1 : 128)));
