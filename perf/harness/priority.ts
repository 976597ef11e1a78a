// Processes of a load that are to have what the others leave of a machine.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { setPriority } from "node:os";

const lowestNice = 19;

/**
 * Lets a process run only where nothing else wants to: Linux's idle policy, which gives way at once, where `chrt` is
 * there to set it; else the lowest priority, with which a process still keeps others off a core for milliseconds.
 */
export function runWhenIdle(pid: number): void {
  const set = spawnSync("chrt", ["--idle", "--all-tasks", "--pid", "0", String(pid)], { stdio: "ignore" });
  if (set.status === 0) return;
  for (const thread of threadsOf(pid)) setPriority(thread, lowestNice);
}

/** Priorities belong to threads, whose ids stand beside the process's own. */
function threadsOf(pid: number): readonly number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    return [pid];
  }
}
