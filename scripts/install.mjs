// Shared by start, test and check: installs what is missing and builds. Plain JavaScript, because it runs before tsc.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The project's folder. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Runs a command in the project's folder; ends this process with its code when it fails. */
export function run(command, args, options = {}) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: "inherit", ...options });
  if (error) fail(`${command} could not be started: ${error.message}`);
  if (status !== 0) process.exit(status ?? 1);
}

/** One clear line, exit code 1. */
export function fail(message) {
  console.error(`orch: ${message}`);
  process.exit(1);
}

/** Installs the locked dependencies when they are missing or the lock file changed since. */
export function install() {
  const stamp = join(root, "node_modules", ".orch-lock");
  const lock = readFileSync(join(root, "package-lock.json"), "utf8");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === lock) return;
  // Builds of the uws front for other releases of Node are left out; runtime.mjs brings what is needed.
  run(npm(), ["ci", "--no-fund", "--no-audit", "--engine-strict=false", "--loglevel=error"]);
  writeFileSync(stamp, lock);
}

/** Compiles src/, wasm/, workers/, test/, perf/ and scripts/ to dist/, quickly when nothing changed, and bundles what is served. */
export function build() {
  run(process.execPath, [join(root, "node_modules", "typescript", "bin", "tsc"), "-p", "tsconfig.json"]);
  for (const script of ["wasm.mjs", "bundle.mjs"]) run(process.execPath, [join(root, "scripts", script)]);
}

/** The program that is run. */
export const program = join(root, "bundle", "src", "orch.js");

/** npm's command name on this platform. */
export function npm() {
  return process.platform === "win32" ? "npm.cmd" : "npm";
}
