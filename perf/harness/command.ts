// The command line of a run: flags all scenarios have, those of the one that is run, and what --help says of them.
import { parseArgs } from "node:util";
import { type FlagTable, Options, type Scenario } from "./scenario.ts";
import { type TargetOptions, targetFlags } from "./target.ts";
import { defaultThresholds, readThreshold, type Threshold } from "./thresholds.ts";

/** Flags of every run. */
const runFlags: FlagTable = {
  duration: ["", "seconds of a round; 90s, 5m and 2h work, too"],
  warmup: ["", "seconds before each case that do not count (default: half of --duration, at most 8)"],
  rounds: ["", "rounds of each case (default: 1, in a comparison 5)"],
  html: ["", "write the report to this file"],
  json: ["", "append the result, one line, to this file"],
  record: ["false", "true: append the result to perf/results.ndjson"],
};

/** A command line that was read. */
export interface Command {
  readonly scenario: Scenario;
  readonly options: Options;
  readonly target: TargetOptions;
  readonly thresholds: readonly Threshold[];
  readonly seconds: number;
  readonly warmSeconds: number;
  /** Undefined: what the kind of run does by default. */
  readonly rounds: number | undefined;
}

/** Seconds of a text: a number, or one with a unit. */
export function secondsOf(text: string, name: string): number {
  const [, number, unit = "s"] = /^(\d+(?:\.\d+)?)(s|m|h)?$/.exec(text) ?? [];
  if (number === undefined) throw new Error(`--${name}=${text}: expected seconds, or a number with s, m or h`);
  return Number(number) * (unit === "h" ? 3600 : unit === "m" ? 60 : 1);
}

/** Reads the arguments after a scenario's name; throws with what is wrong. `preset`: values of a scenario file. */
export function readCommand(
  scenario: Scenario,
  args: readonly string[],
  preset: ReadonlyMap<string, string> = new Map(),
  presetThresholds: readonly string[] = [],
): Command {
  const table: FlagTable = { ...runFlags, ...scenario.flags };
  const own = Object.keys(table);
  const { values } = parseArgs({
    args: [...args],
    options: Object.fromEntries(
      [...own, ...Object.keys(targetFlags), "threshold"].map((name) => [
        name,
        { type: "string" as const, multiple: name === "pid" || name === "threshold" },
      ]),
    ),
  });
  const found = new Map(Object.entries(table).map(([name, [fallback]]) => [name, fallback]));
  for (const [name, value] of preset) {
    if (!own.includes(name)) throw new Error(`${scenario.name} has no option ${name}`);
    found.set(name, value);
  }
  for (const name of own) {
    const value = values[name];
    if (typeof value === "string") found.set(name, value);
  }
  const options = new Options(found);
  const seconds =
    options.text("duration") === "" ? (scenario.seconds ?? 8) : secondsOf(options.text("duration"), "duration");
  const warmup = options.text("warmup");
  const given = (values["threshold"] ?? []) as unknown as readonly string[];
  const target = Object.fromEntries(Object.keys(targetFlags).map((name) => [name, values[name]])) as TargetOptions;
  const thresholds = [...presetThresholds, ...given].map(readThreshold);
  return {
    ...{ scenario, options, target, seconds },
    thresholds: [...thresholds, ...defaultThresholds(scenario.lines ?? [], thresholds)],
    warmSeconds: warmup === "" ? Math.min(8, seconds / 2) : secondsOf(warmup, "warmup"),
    rounds: options.text("rounds") === "" ? undefined : options.number("rounds", 1),
  };
}

/** What --help says of a scenario. */
export function helpOf(scenario: Scenario): string {
  const lines = (table: Readonly<Record<string, readonly [string, string]>>): string =>
    Object.entries(table)
      .map(([name, [value, help]]) => `  --${name}${value === "" ? "" : `=${value}`}\n      ${help}`)
      .join("\n");
  return [
    `npm run perf -- ${scenario.name} [flags]: ${scenario.summary}`,
    scenario.detail,
    `Flags of ${scenario.name}, with defaults:\n${lines(scenario.flags)}`,
    `Flags of every run:\n${lines(runFlags)}\n  --threshold=FIGURE<NUMBER\n      a bound; when it is not kept the exit code is 99. May be repeated`,
    `The server (default: one that is started with --start=''):\n${lines(targetFlags)}`,
    `Examples:\n${scenario.examples.map((example) => `  ${example}`).join("\n")}`,
  ].join("\n\n");
}

/** What `npm run perf` says without a scenario. */
export function overview(scenarios: Iterable<Scenario>, others: readonly (readonly [string, string])[]): string {
  const rows = [...scenarios].map(({ name, summary }): readonly [string, string] => [name, summary]);
  const lines = [...rows, ...others].map(([name, summary]) => `  ${name.padEnd(10)}${summary}`);
  return [
    "npm run perf -- SCENARIO [flags]; --help after any of them says more",
    lines.join("\n"),
    "Exit codes: 0 done, 1 the run is void or could not be made, 2 it was ended before its time, 99 a threshold was not kept.",
  ].join("\n\n");
}
