// Commands of the program that work beside a server.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Test } from "tap";
import { program } from "./program.ts";

const run = promisify(execFile);

/** Runs a command of the program; what it printed, and its exit code. */
export async function orch(...args: string[]): Promise<{ out: string; err: string; code: number }> {
  try {
    const { stdout, stderr } = await run(process.execPath, [program, ...args]);
    return { out: stdout, err: stderr, code: 0 };
  } catch (error) {
    const { stdout, stderr, code } = error as { stdout: string; stderr: string; code: number };
    return { out: stdout, err: stderr, code };
  }
}

/** A directory that goes with its test. */
export function scratch(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), "orch-command-"));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
