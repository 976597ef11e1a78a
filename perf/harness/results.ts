// What a run leaves behind: a table, a line of JSON, and its exit code.
import { execFileSync } from "node:child_process";
import { appendFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { reportOf } from "../report/report.ts";
import type { Command } from "./command.ts";
import { unfinishedCode } from "./interruption.ts";
import { comparisonTable, linesTable, tableOf } from "./print.ts";
import { type CaseResult, faultsIn, type Outcome } from "./run.ts";
import { type Line, linesOf } from "./scaling.ts";
import { check, type ThresholdResult } from "./thresholds.ts";

const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));

/** Exit codes, as --help tells them. */
const codes = { done: 0, void: 1, unfinished: unfinishedCode, threshold: 99 } as const;

/** A run that is over. */
export interface Finished {
  /** As on the command line. */
  readonly title: string;
  readonly scenario: string;
  readonly results: readonly CaseResult[];
  /** How costs grow with sizes, where the scenario looks at that. */
  readonly lines: readonly Line[];
  /** Why it was ended before its time; undefined: it was not. */
  readonly unfinished: string | undefined;
  readonly faults: readonly string[];
  readonly hints: readonly string[];
  readonly thresholds: readonly ThresholdResult[];
  readonly machine: Readonly<Record<string, string | number>>;
}

/** Judges results. Thresholds of a run that was ended before its time are not judged. */
export function finish(title: string, { scenario, thresholds }: Command, { results, unfinished }: Outcome): Finished {
  const lines = linesOf(scenario.lines ?? [], results);
  const hints = new Set<string>();
  for (const { name, sides } of results) {
    for (const { target, rounds } of sides) {
      for (const { hints: said } of rounds) for (const hint of said) hints.add(`${name} on ${target}: ${hint}`);
    }
  }
  return {
    ...{ title, results, lines, unfinished, scenario: scenario.name, hints: [...hints], faults: faultsIn(results) },
    thresholds: unfinished === undefined ? check(thresholds, results, lines) : [],
    machine: machine(),
  };
}

/** Prints and stores what there is to say; returns the exit code. */
export function publish(finished: Finished, { options }: Command): number {
  const { results, lines, unfinished, faults, hints, thresholds, machine: on } = finished;
  console.log(`\n${tableOf(results)}`);
  if (results.some(({ sides }) => sides.length === 2)) console.log(`\n${comparisonTable(results)}`);
  if (lines.length > 0) console.log(`\n${linesTable(lines)}`);
  console.log(`\nNode ${on["node"]}, ${on["cpu"]}, load average ${on["load"]}`);
  for (const hint of oncePerCause(hints)) console.log(hint);
  for (const { text, isKept, found } of thresholds)
    console.log(`threshold ${text}: ${isKept ? "kept" : "NOT KEPT"}, ${found}`);
  for (const fault of faults) console.log(`VOID: ${fault}`);
  if (unfinished !== undefined) console.log(`NOT FINISHED: ${unfinished}; these are the rounds before that`);
  const line = lineOf(finished);
  if (options.text("html") !== "") {
    writeFileSync(options.text("html"), reportOf(finished));
    console.log(`report: ${options.text("html")}`);
  }
  if (options.text("json") !== "") appendFileSync(options.text("json"), `${line}\n`);
  if (options.isSet("record") && unfinished === undefined)
    appendFileSync(join(root, "perf", "results.ndjson"), `${line}\n`);
  if (unfinished !== undefined) return codes.unfinished;
  if (faults.length > 0) return codes.void;
  return thresholds.every(({ isKept }) => isKept) ? codes.done : codes.threshold;
}

/** Rounds say the same with other numbers: one of each is enough. */
function oncePerCause(hints: readonly string[]): string[] {
  const seen = new Map(hints.map((hint) => [hint.replace(/\d/g, ""), hint]));
  return [...seen.values()];
}

/** Medians of all figures that are no details, in one line. */
function lineOf({ title, results, lines, unfinished, faults, thresholds, machine: on }: Finished): string {
  const cases = results.flatMap(({ name, sides }) =>
    sides.map(({ target, figures }) => ({
      case: name,
      target,
      ...Object.fromEntries([...figures].map(([key, { median }]) => [key, Math.round(median * 1000) / 1000])),
    })),
  );
  const broken = thresholds.filter(({ isKept }) => !isKept).map(({ text }) => text);
  const growth = lines.map(({ name, target, growth: by, verdict, points }) => ({
    ...{ line: name, target, growth: Number.isNaN(by) ? null : Math.round(by * 1000) / 1000, verdict },
    points: points.map(({ count, value }) => [count, Math.round(value * 1000) / 1000]),
  }));
  // What looks at `void` alone does not take it for a whole run either.
  const why = unfinished === undefined ? faults : [...faults, `not finished: ${unfinished}`];
  const more = { ...(unfinished === undefined ? {} : { unfinished }), ...(growth.length === 0 ? {} : { growth }) };
  return JSON.stringify({ run: title, ...on, void: why, broken, ...more, cases });
}

function machine(): Record<string, string | number> {
  const all = cpus();
  return {
    date: new Date().toISOString().slice(0, 19),
    commit: commit(),
    node: process.version,
    cpu: `${all.length} x ${all[0]?.model ?? "?"}`,
    load: Math.round((loadavg()[0] ?? 0) * 10) / 10,
  };
}

function commit(): string {
  try {
    const options = { cwd: root, stdio: ["ignore", "pipe", "ignore"] as ["ignore", "pipe", "ignore"] };
    return execFileSync("git", ["rev-parse", "--short", "HEAD"], options).toString().trim();
  } catch {
    return "";
  }
}
