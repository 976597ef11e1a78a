// Tables of results for a terminal.
import type { CaseResult, Side, Spread } from "./run.ts";
import type { Line } from "./scaling.ts";

/** A figure of a case: of the round as a whole, or of each kind of requests in it. */
interface Column {
  readonly title: string;
  readonly figure: string;
  /** Of a row, or of the round. */
  readonly of: "row" | "round";
  readonly digits: number;
}

const columns: readonly Column[] = [
  { title: "per s", figure: "perSecond", of: "row", digits: 0 },
  { title: "p50 ms", figure: "p50Ms", of: "row", digits: 2 },
  { title: "p99 ms", figure: "p99Ms", of: "row", digits: 2 },
  { title: "p99.9 ms", figure: "p999Ms", of: "row", digits: 1 },
  { title: "skew p99 ms", figure: "skewP99Ms", of: "row", digits: 1 },
  { title: "CPU µs/op", figure: "cpuUs", of: "round", digits: 1 },
  { title: "memory MiB", figure: "server.memoryMib", of: "round", digits: 0 },
  { title: "failed", figure: "failed", of: "row", digits: 0 },
];

/** Names of the kinds of requests of a side, causes last. */
export function rowNames(side: Side): string[] {
  return [...new Set(side.rounds.flatMap(({ rows }) => rows.map(({ name }) => name)))];
}

/** Figures that only the scenario has, by the kind of requests they belong to: `ready.ownMib`. */
export function ownFigures(side: Side): string[] {
  const names = side.rounds.flatMap(({ rows }) => rows.flatMap((row) => row.own.map((name) => `${row.name}.${name}`)));
  return [...new Set(names)];
}

/** Digits behind the point of figures of which it is not known how large they are. */
const ownDigits = 2;

/** A figure's median, as text; empty: there is none. */
export function shown(side: Side, name: string, digits: number): string {
  const value = side.figures.get(name)?.median;
  return value === undefined || Number.isNaN(value) ? "" : value.toFixed(digits);
}

/** One line for each kind of requests of each server; what a case costs as a whole stands in the first one. */
export function tableOf(results: readonly CaseResult[]): string {
  const lines = [["case", "server", ...columns.map(({ title }) => title)]];
  for (const { name, sides } of results) {
    for (const side of sides) {
      rowNames(side).forEach((row, at) => {
        const cells = columns.map(({ figure, of, digits }) => {
          if (of === "row") return shown(side, `${row}.${figure}`, digits);
          return at === 0 ? shown(side, figure, digits) : "";
        });
        lines.push([row === name ? name : `${name}: ${row}`, side.target, ...cells]);
      });
    }
  }
  const own = ownTable(results);
  return own === "" ? aligned(lines) : `${aligned(lines)}\n\n${own}`;
}

/** Figures that only the scenario has, one line each; empty: it has none. */
function ownTable(results: readonly CaseResult[]): string {
  const lines = results.flatMap(({ name, sides }) =>
    [...new Set(sides.flatMap(ownFigures))].map((figure) => [
      ...[name, figure],
      ...sides.map((side) => shown(side, figure, ownDigits)),
    ]),
  );
  const servers = results[0]?.sides.map(({ target }) => target) ?? [];
  return lines.length === 0 ? "" : aligned([["case", "figure", ...servers], ...lines]);
}

/** One table for the lines of each kind of size: the cost at each, and the verdict. */
export function linesTable(lines: readonly Line[]): string {
  const tables = [...new Set(lines.map(({ of }) => of))].map((of) => {
    const own = lines.filter((line) => line.of === of);
    const counts = [...new Set(own.flatMap(({ points }) => points.map(({ count }) => count)))].sort((a, b) => a - b);
    const rows = own.map(({ title, unit, target, points, growth, verdict }) => [
      ...[`${title}, ${unit}`, target],
      ...counts.map((count) => points.find((point) => point.count === count)?.value.toPrecision(3) ?? ""),
      ...[Number.isNaN(growth) ? "" : growth.toFixed(2), verdict],
    ]);
    return aligned([["cost per unit", "server", ...counts.map((count) => `${count} ${of}`), "growth", ""], ...rows]);
  });
  return tables.join("\n\n");
}

/** Figures of which two servers are compared; more is worse for all but rates. */
const compared: readonly (readonly [title: string, figure: string, of: "row" | "round", digits: number])[] = [
  ["CPU µs per operation, all processes", "cpuUs", "round", 1],
  ["CPU µs per operation, server", "server.cpuUs", "round", 1],
  ["p50 ms", "p50Ms", "row", 2],
  ["p99 ms", "p99Ms", "row", 2],
  ["skew p99 ms", "skewP99Ms", "row", 2],
  ["per second", "perSecond", "row", 0],
  ["memory MiB", "server.memoryMib", "round", 0],
  ["own memory MiB", "server.ownMemoryMib", "round", 0],
];

/** Figures of a row that only the scenario has, to be compared as the others. */
function ownOf(side: Side, prefix: string): (typeof compared)[number][] {
  const names = ownFigures(side).filter((figure) => figure.startsWith(prefix));
  return names.map((name) => [name.slice(prefix.length), name.slice(prefix.length), "row", ownDigits]);
}

/** A figure as it is shown: its median, and its least and greatest value where these differ. */
export interface Shown {
  readonly median: string;
  readonly spread: string;
}

/** One compared figure of two servers. */
export interface Comparison {
  readonly case: string;
  readonly figure: string;
  readonly first: Shown;
  readonly second: Shown;
  /** Second by first; NaN: one of them is zero. */
  readonly ratio: number;
  /** The spreads overlap. */
  readonly isOverlapping: boolean;
}

/** Ratios this close to 1 are no difference, however small the spreads are. */
const sameWithin = 0.01;

/** The figures of all cases side by side, and the second by the first: those of a case as a whole, then of its rows. */
export function comparisonsOf(results: readonly CaseResult[]): Comparison[] {
  const found: Comparison[] = [];
  for (const { name, sides } of results) {
    const [first, second] = sides;
    if (first === undefined || second === undefined) continue;
    const isOneServer = isAlone(first) && isAlone(second);
    const add = (of: "row" | "round", title: string, prefix: string): void => {
      for (const [figureTitle, figure, kind, digits] of of === "row"
        ? [...compared, ...ownOf(first, prefix)]
        : compared) {
        if (kind !== of || (figure === "server.cpuUs" && isOneServer)) continue;
        const [a, b] = [first.figures.get(`${prefix}${figure}`), second.figures.get(`${prefix}${figure}`)];
        if (a === undefined || b === undefined || (a.median === 0 && b.median === 0)) continue;
        const ratio = a.median === 0 ? Number.NaN : b.median / a.median;
        const isOverlapping = (a.min <= b.max && b.min <= a.max) || Math.abs(ratio - 1) < sameWithin;
        const sides = { first: rounded(a, digits), second: rounded(b, digits) };
        found.push({ case: title, figure: figureTitle, ...sides, ratio, isOverlapping });
      }
    };
    add("round", name, "");
    for (const row of rowNames(first)) add("row", row === name ? name : `${name}: ${row}`, `${row}.`);
  }
  return found;
}

function rounded({ median, min, max }: Spread, digits: number): Shown {
  const [least, greatest] = [min.toFixed(digits), max.toFixed(digits)];
  return { median: median.toFixed(digits), spread: least === greatest ? "" : ` (${least}–${greatest})` };
}

/** The server is the only process there is. */
function isAlone({ figures }: Side): boolean {
  return figures.get("server.cpuUs")?.median === figures.get("cpuUs")?.median;
}

/** The comparison as a table. */
export function comparisonTable(results: readonly CaseResult[]): string {
  const [first, second] = results[0]?.sides ?? [];
  const lines = [["case", "figure", first?.target ?? "", second?.target ?? "", `${second?.target} / ${first?.target}`]];
  for (const { case: name, figure, first: a, second: b, ratio, isOverlapping } of comparisonsOf(results)) {
    lines.push([
      name,
      figure,
      ...[a, b].map(({ median, spread }) => `${median}${spread}`),
      `${ratio.toFixed(2)}${isOverlapping ? " (no difference seen)" : ""}`,
    ]);
  }
  return aligned(lines);
}

/** Columns side by side: the first to the left, numbers to the right. */
export function aligned(lines: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const line of lines) line.forEach((cell, at) => (widths[at] = Math.max(widths[at] ?? 0, cell.length)));
  return lines
    .map((line) =>
      line.map((cell, at) => (at < 2 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join("  "),
    )
    .join("\n");
}
