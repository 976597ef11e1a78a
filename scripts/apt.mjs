// The distribution's package manager, for what tests bring: Debian's and its descendants'.
import { spawnSync } from "node:child_process";

/** May install packages. */
export const isRoot = process.getuid?.() === 0;

/**
 * Runs apt-get; false when it failed. The lists of packages may be missing, as in images of containers: root brings them,
 * and it is run again. apt's own user cannot write to a folder of root's: it then says so and goes on as root.
 */
export function apt(args, cwd) {
  return run(args, cwd) || (isRoot && run(["update"], cwd) && run(args, cwd));
}

function run(args, cwd) {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  return spawnSync("apt-get", args, { cwd, env, stdio: "ignore", timeout: 300_000 }).status === 0;
}
