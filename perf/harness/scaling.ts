// How a cost grows with the size it is measured at: cases of several sizes make a line, and a line has a verdict. Costs are
// per unit (one object, one event), so that a cost in proportion to the size is a level line.
import type { CaseResult } from "./run.ts";
import type { LineSpec } from "./scenario.ts";

/** A cost at one size; median, least and greatest of the rounds. */
export interface LinePoint {
  readonly count: number;
  readonly value: number;
  readonly min: number;
  readonly max: number;
}

/** A cost of one server over sizes. */
export interface Line extends LineSpec {
  readonly target: string;
  readonly points: readonly LinePoint[];
  /** The greatest cost by a cost at a smaller size, whichever two sizes differ most; NaN: there are not two. */
  readonly growth: number;
  readonly trend: "falls" | "straight" | "grows" | "unknown";
  readonly verdict: string;
}

/** Costs that differ less than by this factor are the same: as much as figures of a busy machine wobble. */
export const straightMax = 1.25;

/** The lines of all servers. */
export function linesOf(specs: readonly LineSpec[], results: readonly CaseResult[]): Line[] {
  const targets = [...new Set(results.flatMap(({ sides }) => sides.map(({ target }) => target)))];
  return specs.flatMap((spec) => targets.map((target) => lineOf(spec, target, results)));
}

function lineOf(spec: LineSpec, target: string, results: readonly CaseResult[]): Line {
  const points: LinePoint[] = [];
  for (const { size, sides } of results) {
    const spread = sides.find((side) => side.target === target)?.figures.get(spec.figure);
    // Nothing costs nothing: it was not measured, or drowned in what the server uses anyway.
    if (size?.of !== spec.of || spread === undefined || !(spread.median > 0)) continue;
    const by = spec.isTotal ? size.count : 1;
    points.push({ count: size.count, value: spread.median / by, min: spread.min / by, max: spread.max / by });
  }
  points.sort((a, b) => a.count - b.count);
  return { ...spec, target, points, ...judged(points) };
}

/** What is said of a line. */
export function judged(points: readonly LinePoint[]): Pick<Line, "growth" | "trend" | "verdict"> {
  const [first] = points;
  const last = points.at(-1);
  if (first === undefined || last === undefined || points.length < 2) {
    return { growth: Number.NaN, trend: "unknown", verdict: "not measured at two sizes" };
  }
  let growth = 0;
  let [from, to] = [first, last];
  for (const [index, later] of points.entries()) {
    for (const earlier of points.slice(0, index)) {
      if (later.value / earlier.value <= growth) continue;
      growth = later.value / earlier.value;
      [from, to] = [earlier, later];
    }
  }
  if (growth > straightMax) {
    const verdict = `grows by ${Math.round((growth - 1) * 100)} % from ${from.count} to ${to.count}`;
    return { growth, trend: "grows", verdict };
  }
  const isFalling = last.value * straightMax < first.value;
  return { growth, ...(isFalling ? { trend: "falls", verdict: "falls" } : { trend: "straight", verdict: "straight" }) };
}
