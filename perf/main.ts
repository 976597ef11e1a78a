// `npm run perf -- <scenario> [flags]`: puts a server under load, and says what that took. `compare` puts two servers under
// the same load in turn.
import { messageOf } from "../src/base/thrown.ts";
import { type Command, helpOf, overview, readCommand } from "./harness/command.ts";
import { readScenarioFile } from "./harness/file.ts";
import { endSignals, Interruption, unfinishedCode } from "./harness/interruption.ts";
import { LiveLine } from "./harness/live.ts";
import { finish, publish } from "./harness/results.ts";
import { type CaseResult, runScenario } from "./harness/run.ts";
import { combinations, curveOf, type Point, readAxes } from "./harness/sweep.ts";
import { openTarget, readTarget, type Target, type TargetOptions } from "./harness/target.ts";
import { custom } from "./load/custom.ts";
import { login } from "./load/login.ts";
import { silent } from "./load/silent.ts";
import { scenarios } from "./scenarios/table.ts";

type Benchmark = (only: readonly string[], args: readonly string[]) => Promise<void>;

/** Benchmarks that start our server in a way of their own. A new one is a file in load/ and a line here. */
const benchmarks: ReadonlyMap<string, readonly [run: Benchmark, summary: string]> = new Map([
  ["custom", [custom, "definitions of custom resources, and operations on a custom kind beside a built-in one"]],
  ["login", [login, "handshakes with and without client certificates, on each front"]],
  ["silent", [silent, "10,000 connections without a request"]],
]);

const comparisonRounds = 5;

function usage(): string {
  const others = [...benchmarks].map(([name, [, summary]]): readonly [string, string] => [name, summary]);
  return overview(scenarios.values(), [
    ["compare", "compare 'FLAGS OF A' 'FLAGS OF B' -- SCENARIO [flags]: two servers in turn"],
    ["sweep", "sweep --front-workers 1,2 --pool-workers 0,1 -- SCENARIO [flags]: our server with each combination"],
    ["run", "run FILE [flags]: a scenario file (examples in perf/examples)"],
    ...others,
  ]);
}

async function main(args: readonly string[]): Promise<number> {
  const [name = "", ...rest] = args;
  const benchmark = benchmarks.get(name);
  if (benchmark !== undefined) {
    // They keep nothing; what they started ends with this process (peer.ts).
    for (const signal of endSignals) process.once(signal, () => process.exit(unfinishedCode));
    const flags = rest.filter((arg) => arg.startsWith("--"));
    await benchmark[0](
      rest.filter((arg) => !arg.startsWith("--")),
      flags,
    );
    return 0;
  }
  if (name === "compare") return compare(rest);
  if (name === "sweep") return sweep(rest);
  if (name === "run") return runFile(rest);
  const scenario = scenarios.get(name);
  if (scenario === undefined) {
    console.log(usage());
    return name === "" || name === "--help" ? 0 : 1;
  }
  if (rest.includes("--help")) {
    console.log(helpOf(scenario));
    return 0;
  }
  const command = readCommand(scenario, rest);
  return run(args.join(" "), command, [command.target], command.rounds ?? 1);
}

async function compare(args: readonly string[]): Promise<number> {
  const at = args.indexOf("--");
  const scenario = scenarios.get(args[at + 1] ?? "");
  const sides = args.slice(0, Math.max(0, at));
  if (scenario === undefined || sides.length !== 2) {
    console.log(
      "npm run perf -- compare '--name=A …' '--name=B …' -- SCENARIO [flags]; flags of a server: see SCENARIO --help",
    );
    if (args.includes("--help")) return 0;
    console.log(
      scenario === undefined
        ? noScenario(args, at)
        : `before -- there are ${sides.length} arguments, not the flags of two servers: ${sides.join(" | ")}`,
    );
    return 1;
  }
  const command = readCommand(scenario, args.slice(at + 2));
  return run(`compare ${args.join(" ")}`, command, sides.map(readTarget), command.rounds ?? comparisonRounds);
}

/** What is wrong with the argument behind `--`, at `at` (-1: there is none), that should name a scenario. */
function noScenario(args: readonly string[], at: number): string {
  const wrong = at < 0 ? "there is no --" : `"${args[at + 1] ?? ""}" behind -- is no scenario`;
  return `${wrong}; scenarios are ${[...scenarios.keys()].join(", ")}`;
}

async function runFile(args: readonly string[]): Promise<number> {
  const [path = "", ...rest] = args;
  if (path === "" || path === "--help") {
    console.log("npm run perf -- run FILE [flags]; flags override the file's options, thresholds are added to its own");
    return path === "" ? 1 : 0;
  }
  const { scenario: name, options = {}, thresholds = [], servers = [] } = readScenarioFile(path);
  const scenario = scenarios.get(name);
  if (scenario === undefined) {
    throw new Error(`${path}: there is no scenario ${name}; there are: ${[...scenarios.keys()].join(", ")}`);
  }
  const preset = new Map(Object.entries(options).map(([key, value]) => [key, String(value)]));
  const command = readCommand(scenario, rest, preset, thresholds);
  const sides = servers.length === 0 ? [command.target] : servers.map(readTarget);
  return run(`run ${args.join(" ")}`, command, sides, command.rounds ?? (sides.length === 1 ? 1 : comparisonRounds));
}

async function sweep(args: readonly string[]): Promise<number> {
  const at = args.indexOf("--");
  const scenario = scenarios.get(args[at + 1] ?? "");
  if (at < 0 || scenario === undefined) {
    console.log(
      "npm run perf -- sweep --front-workers 1,2 --pool-workers 0,1 -- SCENARIO [flags]; --start='…' holds for all",
    );
    if (args.includes("--help")) return 0;
    console.log(noScenario(args, at));
    return 1;
  }
  const command = readCommand(scenario, args.slice(at + 2));
  const points: Point[] = [];
  let worst = 0;
  for (const flags of combinations(readAxes(args.slice(0, at)))) {
    const target = { ...command.target, name: flags, start: `${command.target.start ?? ""} ${flags}` };
    const keep = (results: readonly CaseResult[]): void => void points.push({ flags, results });
    const code = await run(`sweep ${args.join(" ")}`, command, [target], command.rounds ?? 1, keep);
    if (code === unfinishedCode) {
      console.log(`\nNOT FINISHED: the sweep ended at ${flags}; nothing is recommended`);
      return code;
    }
    worst = Math.max(worst, code);
  }
  console.log(`\n${curveOf(points)}`);
  return worst;
}

/** Opens the servers, runs, and ends what was started, also when the run is ended before its time. */
async function run(
  title: string,
  command: Command,
  sides: readonly TargetOptions[],
  rounds: number,
  keep: (results: readonly CaseResult[]) => void = () => undefined,
): Promise<number> {
  const targets: Target[] = [];
  const live = new LiveLine();
  const interruption = new Interruption();
  const { signal } = interruption;
  try {
    for (const [index, side] of sides.entries()) {
      const name = sides.length === 1 ? "server" : (["A", "B"][index] ?? `${index}`);
      targets.push(await openTarget(side, name, signal));
    }
    const { scenario, options, seconds, warmSeconds } = command;
    const outcome = await runScenario(scenario, targets, options, { seconds, warmSeconds, rounds }, live, signal);
    live.end();
    if (outcome.unfinished === undefined) keep(outcome.results);
    else if (outcome.results.length === 0) signal.throwIfAborted();
    return publish(finish(title, command, outcome), command);
  } catch (error) {
    if (!signal.aborted) throw error;
    console.error(`perf: ${(signal.reason as Error).message}; nothing was measured`);
    return unfinishedCode;
  } finally {
    live.end();
    for (const target of targets) await target.stop();
    interruption.end();
  }
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(`perf: ${messageOf(error)}`);
  process.exitCode = 1;
}
// What was ended in the middle of something waits for no more.
if (process.exitCode === unfinishedCode) process.exit();
