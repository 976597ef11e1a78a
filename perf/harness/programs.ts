// Programs that a run starts beside its load, and the folders of what was started.
import type { ChildProcess } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawnBound } from "../../test/support/servers/bound.ts";

/** Folders of what was started; those that are left when this process ends are removed then. */
const folders = new Set<string>();
process.once("exit", () => folders.forEach(removeFolder));

/** Makes a folder, which goes with this process at the latest. */
export function makeFolder(prefix: string): string {
  const dir = mkdtempSync(join(tmpdir(), prefix));
  folders.add(dir);
  return dir;
}

/** Removes a folder that was made, with all that is in it. */
export function removeFolder(dir: string): void {
  folders.delete(dir);
  // A process that was killed a moment ago may still be writing.
  rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
}

/** Starts a program that does not outlive this process; what it says goes to the file `log` in `dir`. */
export function runProgram(
  dir: string,
  binary: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): ChildProcess {
  const out = openSync(join(dir, "log"), "a");
  const child = spawnBound(binary, [...args], { stdio: ["ignore", out, out], env });
  closeSync(out);
  return child;
}
