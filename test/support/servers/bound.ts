// Processes that end with the one that started them, however it ends: the kernel kills them when it dies (Linux, by
// setpriv of util-linux), and where it cannot, this process does as it exits.
import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";

const bind = spawnSync("setpriv", ["--pdeathsig", "KILL", "true"]).status === 0;
const running = new Set<ChildProcess>();
process.once("exit", () => running.forEach((child) => child.kill("SIGKILL")));

/** Starts a process that does not outlive this one. Its id is the program's own: signals reach it and nothing else. */
export function spawnBound(command: string, args: readonly string[], options: SpawnOptions = {}): ChildProcess {
  const [program, ...rest] = bind ? ["setpriv", "--pdeathsig", "KILL", command, ...args] : [command, ...args];
  const child = spawn(program as string, rest, options);
  running.add(child);
  child.once("exit", () => running.delete(child));
  return child;
}

/** Whether it has ended. */
export function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** Sends a signal and waits for the end. A process that is paused goes on first, unless it is killed. */
export async function end(child: ChildProcess, signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
  if (hasEnded(child)) return;
  const ended = once(child, "exit");
  child.kill(signal);
  if (signal !== "SIGKILL") child.kill("SIGCONT");
  await ended;
}
