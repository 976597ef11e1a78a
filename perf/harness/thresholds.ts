// Bounds of figures that set the exit code: `create.p99Ms<50`.
import type { CaseResult } from "./run.ts";
import type { Line } from "./scaling.ts";
import type { LineSpec } from "./scenario.ts";

/**
 * A bound of a figure: of a kind of requests (`create.p99Ms`), of a case as a whole (`create.cpuUs`), or of a line
 * (`list-cpu.growth`).
 */
export interface Threshold {
  readonly text: string;
  /** Of the scenario's own: it holds where there is such a figure. */
  readonly isDefault?: true;
  /** Left out: any case. */
  readonly row: string;
  readonly figure: string;
  readonly operator: string;
  readonly bound: number;
}

/** How a threshold came out. */
export interface ThresholdResult {
  readonly text: string;
  readonly isKept: boolean;
  /** What was measured, and where. */
  readonly found: string;
}

/** Reads one; throws with what is wrong. */
export function readThreshold(text: string): Threshold {
  const [, path, operator, bound] = /^\s*([\w.-]+)\s*(<=|>=|<|>)\s*([\d.]+)\s*$/.exec(text) ?? [];
  if (path === undefined || operator === undefined) {
    throw new Error(`--threshold=${text}: expected a figure, <, <=, > or >=, and a number: create.p99Ms<50`);
  }
  const dot = path.indexOf(".");
  return { text, row: dot < 0 ? "" : path.slice(0, dot), figure: path.slice(dot + 1), operator, bound: Number(bound) };
}

/** The bounds that a scenario sets to its lines, but for those that are given. */
export function defaultThresholds(specs: readonly LineSpec[], given: readonly Threshold[]): Threshold[] {
  return specs
    .filter(({ name }) => !given.some(({ row, figure }) => row === name && figure === "growth"))
    .map(({ name, growthMax }) => ({ ...readThreshold(`${name}.growth<=${growthMax}`), isDefault: true }));
}

/** Checks thresholds against the medians of all servers; one that no figure matches is not kept. */
export function check(
  thresholds: readonly Threshold[],
  results: readonly CaseResult[],
  lines: readonly Line[] = [],
): ThresholdResult[] {
  return thresholds.flatMap((threshold) => {
    const values = [...growthsOf(threshold, lines), ...valuesOf(threshold, results)];
    if (threshold.isDefault === true && values.length === 0) return [];
    const broken = values.find(({ value }) => !holds(value, threshold));
    const shown = broken ?? values[0];
    const found = shown === undefined ? "no such figure" : `${round(shown.value)} in ${shown.where}`;
    return { text: threshold.text, isKept: values.length > 0 && broken === undefined, found };
  });
}

/** A value, and where it was found. */
interface Found {
  readonly value: number;
  readonly where: string;
}

function growthsOf({ row, figure }: Threshold, lines: readonly Line[]): Found[] {
  return lines
    .filter(({ name, growth }) => name === row && figure === "growth" && !Number.isNaN(growth))
    .map(({ growth, title, target }) => ({ value: growth, where: `${title} on ${target}` }));
}

function valuesOf({ row, figure }: Threshold, results: readonly CaseResult[]): Found[] {
  return results.flatMap(({ name, sides }) =>
    sides.flatMap(({ target, figures }) => {
      const keys = name === row ? [`${row}.${figure}`, figure] : [row === "" ? figure : `${row}.${figure}`];
      const key = keys.find((candidate) => figures.has(candidate));
      const value = key === undefined ? undefined : figures.get(key)?.median;
      return value === undefined ? [] : [{ value, where: `${name} on ${target}` }];
    }),
  );
}

function holds(value: number, { operator, bound }: Threshold): boolean {
  if (operator === "<") return value < bound;
  if (operator === "<=") return value <= bound;
  return operator === ">" ? value > bound : value >= bound;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
