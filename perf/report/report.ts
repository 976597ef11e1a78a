// The report of a run: one HTML file with everything in it, also the library that draws (uPlot), which opens without a
// network.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { median } from "../harness/histogram.ts";
import { curveShares, type Measured } from "../harness/measure.ts";
import { comparisonsOf, ownFigures, rowNames } from "../harness/print.ts";
import type { Finished } from "../harness/results.ts";
import type { Side } from "../harness/run.ts";
import type { Stages } from "../harness/stages.ts";

const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));
const require = createRequire(import.meta.url);

/** The report as HTML. */
export function reportOf(finished: Finished): string {
  const library = dirname(require.resolve("uplot/dist/uPlot.iife.min.js"));
  const file = (...path: string[]): string => readFileSync(join(...path), "utf8");
  const title = `${finished.scenario}: ${[...new Set(finished.results.flatMap(({ sides }) => sides.map(({ target }) => target)))].join(" and ")}`;
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escaped(title)}</title>`,
    `<style>${file(library, "uPlot.min.css")}${file(root, "perf", "report", "page.css")}</style></head>`,
    `<body><main id="report"></main><script type="application/json" id="data">${embedded(dataOf(finished, title))}</script>`,
    `<script>${file(library, "uPlot.iife.min.js")}</script><script type="module">${file(root, "perf", "report", "page.mjs")}</script>`,
    "</body></html>\n",
  ].join("\n");
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (mark) => `&#${mark.charCodeAt(0)};`);
}

/** As JSON in a script element: nothing in it ends that. */
function embedded(data: unknown): string {
  return JSON.stringify(data).replace(/</g, "\\u003c");
}

function dataOf({ results, hints, ...rest }: Finished, title: string): unknown {
  return {
    ...rest,
    ...{ heading: title, command: rest.title, hints, shares: curveShares },
    comparisons: comparisonsOf(results),
    cases: results.map(({ name, sides }) => ({ name, sides: sides.map(sideOf) })),
  };
}

function sideOf(side: Side): unknown {
  const { target, rounds, figures } = side;
  return {
    target,
    own: ownFigures(side),
    figures: Object.fromEntries([...figures].map(([name, { median: value }]) => [name, value])),
    rows: rowNames(side).map((name) => {
      const rows = rounds.flatMap((round) => round.rows.filter((row) => row.name === name));
      const curve = (what: "curve" | "skewCurve"): number[] =>
        (rows[0]?.[what] ?? []).map((_, at) => median(rows.map((row) => row[what][at] ?? 0)));
      return { name, isCause: rows.some(({ isCause }) => isCause), curve: curve("curve"), skew: curve("skewCurve") };
    }),
    stages: stagesOf(rounds),
    rounds: rounds.map(({ at, samples, counted }) => ({ at, samples, counted })),
  };
}

/** Medians of each stage over the rounds. */
function stagesOf(rounds: readonly Measured[]): Stages | undefined {
  const told = rounds.flatMap(({ stages }) => (stages === undefined ? [] : [stages]));
  if (told.length === 0) return undefined;
  const of = (name: keyof Stages): number => median(told.map((stages) => stages[name]));
  return {
    ...{ queueMs: of("queueMs"), storageMs: of("storageMs"), admissionMs: of("admissionMs") },
    ...{ handlerMs: of("handlerMs"), outsideMs: of("outsideMs") },
  };
}
