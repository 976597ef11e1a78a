// One cycle of the store's crash test: start the victim, end it at a random moment or at a failpoint, open the store,
// check. Used by store.test.ts and, for long runs, by scripts/crash.ts.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { systemClock } from "../../src/base/clock.ts";
import { openLmdb } from "../../src/storage/lmdb/store.ts";
import { readBody } from "../support/changes.ts";
import { check, type Fact, type Line, type Op, type Truth } from "./check.ts";

const victim = fileURLToPath(new URL("victim.js", import.meta.url));
const ops: readonly Op[] = ["create", "update", "delete"];

/** How a victim lives and dies. */
export interface Cycle {
  /** Directory of the store. */
  readonly store: string;
  /** Directory of the histories, outside of what is cut off. */
  readonly notes: string;
  readonly seed: number;
  readonly compact: boolean;
  /** Milliseconds of life after the first write, or after its start when `early`; undefined: it ends by itself, by a failpoint or a failing disk. */
  readonly lifeMs?: number;
  readonly early?: boolean;
  /** `<name>:<n>` for ORCH_FAILPOINT. */
  readonly failpoint?: string;
  /** A command to run it under, with its arguments. */
  readonly under?: readonly string[];
  /** What happens before SIGKILL; the victim may end by itself then. */
  readonly cut?: () => Promise<void>;
  /** What happens between the death and the next open. */
  readonly between?: () => void;
}

/** What a cycle found. */
export interface Result {
  readonly violations: readonly string[];
  readonly acknowledged: number;
  /** Asked and not answered when the end came. */
  readonly inDoubt: number;
  readonly openMs: number;
  /** The victim's exit code; null when a signal ended it. */
  readonly code: number | null;
}

/** The history a victim wrote; the last line may be cut short. */
export function readHistory(path: string): Line[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n");
  lines.pop();
  return lines.map((line) => JSON.parse(line) as Line);
}

/** What a store holds below a prefix. */
export async function readTruth(path: string, below = "/"): Promise<Truth> {
  const store = openLmdb({ path, identity: "orch", clock: systemClock });
  const facts: Fact[] = [];
  await store.replay((records) => {
    for (const { revision, type, key, previous, createRevision, body } of records) {
      if (!key.startsWith(below)) continue;
      const { version, value } = readBody(body);
      if (version !== String(revision)) throw new Error(`Body of ${key} at ${revision} has version ${version}`);
      facts.push({ revision, op: ops[type - 1] as Op, key, token: value, previous, createRevision });
    }
  });
  const truth = { revision: store.revision, floor: store.floor, facts };
  await store.close();
  return truth;
}

/** Runs a cycle on a store whose earlier records, made by earlier cycles, were right: `before` is what it held then. */
export async function runCycle(cycle: Cycle, before: Truth): Promise<{ result: Result; truth: Truth }> {
  const history = join(cycle.notes, `history-${cycle.seed}`);
  const [command, ...args] = [
    ...(cycle.under ?? []),
    process.execPath,
    ...[victim, cycle.store, history, String(cycle.seed), cycle.compact ? "1" : "0"],
  ] as [string, ...string[]];
  const child = spawn(command, args, {
    // A failing disk makes LMDB complain.
    stdio: ["ignore", "pipe", cycle.cut === undefined && cycle.under === undefined ? "inherit" : "ignore"],
    env: { ...process.env, ORCH_FAILPOINT: cycle.failpoint ?? "" },
  });
  const exited = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
  if (cycle.lifeMs !== undefined) {
    if (cycle.early !== true) await ready(child, exited);
    await new Promise((resolve) => setTimeout(resolve, cycle.lifeMs));
    await cycle.cut?.();
    child.kill("SIGKILL");
  } else child.stdout.resume();
  const [code, signal] = await exited;
  const byItself = cycle.cut !== undefined || cycle.under !== undefined;
  if (signal !== "SIGKILL" && !byItself) throw new Error(`The victim ended with ${signal ?? code}`);
  cycle.between?.();
  const start = performance.now();
  const truth = await readTruth(cycle.store);
  const openMs = performance.now() - start;
  const lines = readHistory(history);
  rmSync(history, { force: true });
  const counts = { ask: 0, ack: 0, no: 0 };
  for (const { t } of lines) if (t === "ask" || t === "ack" || t === "no") counts[t]++;
  const violations = [...check(truth, [...known(before), ...lines]), ...kept(before, truth)];
  return {
    result: { violations, acknowledged: counts.ack, inDoubt: counts.ask - counts.ack - counts.no, openMs, code },
    truth,
  };
}

async function ready(child: ChildProcessByStdio<null, Readable, null>, exited: Promise<unknown>): Promise<void> {
  const first = await Promise.race([once(child.stdout, "data").then(() => "ready"), exited]);
  if (first !== "ready") throw new Error(`The victim ended by itself: ${first}`);
}

/** What earlier cycles left, as if it had just been asked for and acknowledged. */
function* known(before: Truth): Generator<Line> {
  for (const { revision, op, key, token, previous } of before.facts) {
    const line = { t: "ask", id: -revision, op, key, token, expected: op === "create" ? 0 : previous } as const;
    yield line;
    yield { t: "ack", id: line.id, revision };
  }
}

/** The store never goes back. */
function kept(before: Truth, truth: Truth): string[] {
  if (truth.revision < before.revision) return [`I3: the store went from ${before.revision} back to ${truth.revision}`];
  if (truth.floor < before.floor) return [`The floor went from ${before.floor} back to ${truth.floor}`];
  return [];
}
