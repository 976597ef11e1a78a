// One process owns a store. LMDB itself would let several in; the shared log in memory would not notice their writes.
// The lock is a file with the owner's process id and start time, so that a killed owner's lock is recognised.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { StoreError } from "../store.ts";

/** When a process was started, in ticks since boot; undefined: there is no such process, "?" where /proc is missing. */
function startOf(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The command's name, in parentheses, may hold blanks; the start is the 22nd field, the 20th after it.
    return text.slice(text.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    try {
      process.kill(pid, 0);
      return process.platform === "linux" ? undefined : "?";
    } catch {
      return undefined;
    }
  }
}

/** Takes the lock file at `path`. Returns how to give it back. Throws StoreError "locked" when a process holds it. */
export function takeLock(path: string): () => void {
  const mine = `${process.pid} ${startOf(process.pid) ?? "?"}`;
  for (let attempt = 0; ; attempt++) {
    try {
      writeFileSync(path, mine, { flag: "wx", mode: 0o600 });
      return () => rmSync(path, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const [pid, start] = readFileSync(path, "utf8").split(" ");
    if (startOf(Number(pid)) === start || attempt > 0)
      throw new StoreError("locked", `The store is in use by process ${pid}: ${path}`);
    rmSync(path, { force: true });
  }
}
