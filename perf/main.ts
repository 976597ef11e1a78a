// `npm run perf -- <scenario> [flags]`: puts a server under load, and says what that took. `compare` puts two servers under
// the same load in turn.
import { type Command, helpOf, overview, readCommand } from "./harness/command.ts";
import { LiveLine } from "./harness/live.ts";
import { finish, publish } from "./harness/results.ts";
import { runScenario } from "./harness/run.ts";
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
    ...others,
  ]);
}

async function main(args: readonly string[]): Promise<number> {
  const [name = "", ...rest] = args;
  const benchmark = benchmarks.get(name);
  if (benchmark !== undefined) {
    const flags = rest.filter((arg) => arg.startsWith("--"));
    await benchmark[0](
      rest.filter((arg) => !arg.startsWith("--")),
      flags,
    );
    return 0;
  }
  if (name === "compare") return compare(rest);
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
    return args.includes("--help") ? 0 : 1;
  }
  const command = readCommand(scenario, args.slice(at + 2));
  return run(`compare ${args.join(" ")}`, command, sides.map(readTarget), command.rounds ?? comparisonRounds);
}

/** Opens the servers, runs, and ends what was started. */
async function run(title: string, command: Command, sides: readonly TargetOptions[], rounds: number): Promise<number> {
  const targets: Target[] = [];
  const live = new LiveLine();
  try {
    for (const [index, side] of sides.entries()) {
      targets.push(await openTarget(side, sides.length === 1 ? "server" : (["A", "B"][index] ?? `${index}`)));
    }
    const { scenario, options, seconds, warmSeconds } = command;
    const results = await runScenario(scenario, targets, options, { seconds, warmSeconds, rounds }, live);
    live.end();
    return publish(finish(title, command, results), command);
  } finally {
    live.end();
    for (const target of targets) await target.stop();
  }
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(`perf: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
