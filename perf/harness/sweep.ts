// Sweeps: one scenario under each combination of values of our server's flags, and which of them is best.
import { flags as serverFlags } from "../../src/config/flags.ts";
import { aligned } from "./print.ts";
import type { CaseResult } from "./run.ts";

/** Flags and the values to try. */
export type Axes = readonly (readonly [flag: string, values: readonly string[]])[];

/** Reads `--front-workers 1,2 --pool-workers=0,1`; throws with what is wrong. */
export function readAxes(args: readonly string[]): Axes {
  const words = args.flatMap((arg) => (arg.startsWith("--") && arg.includes("=") ? splitOnce(arg) : [arg]));
  const axes: (readonly [string, readonly string[]])[] = [];
  for (let at = 0; at < words.length; at += 2) {
    const [flag = "", values = ""] = words.slice(at, at + 2);
    if (!flag.startsWith("--") || values === "" || values.startsWith("--")) {
      throw new Error(`sweep: ${flag}: expected a flag of the server and its values, e.g. --front-workers 1,2,4`);
    }
    if (!serverFlags.some(({ name }) => `--${name}` === flag)) throw new Error(`sweep: the server has no flag ${flag}`);
    axes.push([flag, values.split(",")]);
  }
  if (axes.length === 0) throw new Error("sweep: expected flags of the server with values, e.g. --front-workers 1,2,4");
  return axes;
}

function splitOnce(arg: string): string[] {
  const at = arg.indexOf("=");
  return [arg.slice(0, at), arg.slice(at + 1)];
}

/** Every combination, as flags. */
export function combinations(axes: Axes): string[] {
  return axes.reduce<string[]>(
    (before, [flag, values]) => before.flatMap((flags) => values.map((value) => `${flags} ${flag}=${value}`.trim())),
    [""],
  );
}

/** One combination's results. */
export interface Point {
  readonly flags: string;
  readonly results: readonly CaseResult[];
}

/** The curve of each case, and what is recommended: of those within a tenth of the highest rate the least CPU. */
export function curveOf(points: readonly Point[]): string {
  const names = points[0]?.results.map(({ name }) => name) ?? [];
  return names.map((name) => caseCurve(name, points)).join("\n\n");
}

function caseCurve(name: string, points: readonly Point[]): string {
  const rows = points.map(({ flags, results }) => {
    const side = results.find((one) => one.name === name)?.sides[0];
    const row = side?.rounds[0]?.rows.find(({ isCause }) => !isCause)?.name ?? name;
    const figure = (key: string): number => side?.figures.get(key)?.median ?? 0;
    const [rate, p99, cpu] = [figure(`${row}.perSecond`), figure(`${row}.p99Ms`), figure("cpuUs")];
    return { flags, rate, p99, cpu, memory: figure("server.memoryMib") };
  });
  const most = Math.max(...rows.map(({ rate }) => rate));
  const [best] = rows.filter(({ rate }) => rate >= most * 0.9).sort((a, b) => a.cpu - b.cpu);
  const bar = (rate: number): string => "#".repeat(most === 0 ? 0 : Math.round((30 * rate) / most)).padEnd(30);
  const lines = rows.map(({ flags, rate, p99, cpu, memory }) => [
    ...[flags, bar(rate), rate.toFixed(0), p99.toFixed(2), cpu.toFixed(1), memory.toFixed(0)],
  ]);
  const table = aligned([["flags", "rate".padEnd(30), "per s", "p99 ms", "CPU µs/op", "memory MiB"], ...lines]);
  return `${name}\n${table}\nrecommended for ${name}: ${best?.flags ?? ""} (of those within a tenth of the highest rate, the least CPU)`;
}
