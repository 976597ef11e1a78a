// One process owns a store. The embedded engine itself would let several in; the shared log in memory would not notice their writes.
// The lock is a file that names its owner so well that a dead owner's file is recognised, whatever became of its id.
import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { StoreError } from "./store.ts";

/** A process: its id, when it started in ticks since boot, and which boot that was. Undefined: there is none. */
function describe(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The command's name, in parentheses, may hold blanks; the start is the 22nd field, the 20th after it.
    const start = text.slice(text.lastIndexOf(")") + 2).split(" ")[19];
    return `${pid} ${start} ${readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim()}`;
  } catch {
    if (process.platform === "linux") return undefined;
  }
  try {
    process.kill(pid, 0);
    return `${pid}`;
  } catch {
    return undefined;
  }
}

/** The process a lock file names; undefined: it has ended, or the file is empty, as after a power cut. */
function ownerOf(path: string): number | undefined {
  const text = readFileSync(path, "latin1");
  const pid = Number.parseInt(text, 10);
  return Number.isSafeInteger(pid) && pid > 0 && describe(pid) === text ? pid : undefined;
}

/** Takes the lock file at `path`. Returns how to give it back. Throws StoreError "locked" when a process holds it. */
export function takeLock(path: string): () => void {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, describe(process.pid) ?? `${process.pid}`, { mode: 0o600 });
  try {
    for (let attempt = 0; ; attempt++) {
      try {
        // Unlike creating and then writing, this never shows an empty file.
        linkSync(draft, path);
        return () => rmSync(path, { force: true });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      }
      const owner = ownerOf(path);
      if (owner !== undefined || attempt > 0) {
        throw new StoreError("locked", `The store is in use by process ${owner ?? "unknown"}: ${path}`);
      }
      rmSync(path, { force: true });
    }
  } finally {
    rmSync(draft, { force: true });
  }
}
