// The distribution's package manager, for what tests bring: Debian's and its descendants'.
import { spawnSync } from "node:child_process";

/** May install packages. */
export const isRoot = process.getuid?.() === 0;

/**
 * Runs apt-get; false when it failed. The lists of packages may be missing, as in images of containers: root brings them,
 * and it is run again. apt's own user cannot write to a folder of root's: it then says so and goes on as root.
 */
export function apt(args, cwd) {
  return run("apt-get", args, cwd) || (isRoot && run("apt-get", ["update"], cwd) && run("apt-get", args, cwd));
}

/** Runs a program of the distribution without a word; false when it failed. */
export function run(command, args, cwd) {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  return spawnSync(command, args, { cwd, env, stdio: "ignore", timeout: 300_000 }).status === 0;
}
