// Results are lines of perf/results.ndjson: what was measured, on what, and how busy the machine was.
import { execFileSync } from "node:child_process";
import { appendFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Figures of one case; units end the names. */
export type Figures = Readonly<Record<string, number | string>>;

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Prints a result and appends it to perf/results.ndjson. */
export function record(name: string, figures: Figures): void {
  const line = {
    case: name,
    ...figures,
    date: new Date().toISOString().slice(0, 10),
    commit: commit(),
    node: process.version,
    cpu: `${cpus().length} x ${cpus()[0]?.model ?? "?"}`,
    load: Math.round((loadavg()[0] ?? 0) * 10) / 10,
  };
  console.log(JSON.stringify(line));
  appendFileSync(join(root, "perf", "results.ndjson"), `${JSON.stringify(line)}\n`);
}

function commit(): string {
  try {
    return execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: root, stdio: ["ignore", "pipe", "ignore"] })
      .toString()
      .trim();
  } catch {
    return "";
  }
}

/** Rounds to `digits` places. */
export function round(value: number, digits = 2): number {
  return Math.round(value * 10 ** digits) / 10 ** digits;
}

/** Resolves after so many milliseconds. */
export function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
