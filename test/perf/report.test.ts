// Reports of runs, opened in a real browser: everything is in the one file, and everything is drawn.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import t from "tap";
import { curveShares, type Measured } from "../../perf/harness/measure.ts";
import type { Finished } from "../../perf/harness/results.ts";
import type { Side, Spread } from "../../perf/harness/run.ts";
import { judged, type Line, type LinePoint } from "../../perf/harness/scaling.ts";
import { reportOf } from "../../perf/report/report.ts";
import { documentAt, noBrowser } from "../support/programs/browser.ts";

/** The document of a report once its script has run. */
const domOf = (path: string): string => documentAt(pathToFileURL(path).href);

function side(target: string, factor: number): Side {
  const figures = new Map<string, Spread>();
  for (const [name, value] of [
    ["cpuUs", 1000],
    ["server.cpuUs", 800],
    ["create.p50Ms", 2],
    ["create.perSecond", 1500],
  ] as const) {
    figures.set(name, { median: value * factor, min: value * factor * 0.9, max: value * factor * 1.1 });
  }
  const curve = curveShares.map((share) => share * factor * 10);
  const round = (at: number): Measured => ({
    ...{ case: "create", at, figures: {}, faults: [], hints: [] },
    rows: [{ name: "create", isCause: false, figures: {}, own: [], curve, skewCurve: curve }],
    stages: { queueMs: 0.3, storageMs: 1, admissionMs: 0.2, handlerMs: 0.5, outsideMs: 1 },
    samples: [1, 2, 3].map((t) => ({ t, cpu: { server: 50, etcd: 9 }, memoryMib: { server: 300, etcd: 90 } })),
    counted: [1, 2, 3].map((t) => ({ t, name: "create", count: 100, failures: 0, p50Ms: 2, p99Ms: 5 })),
  });
  return { target, figures, rounds: [round(0), round(10)] };
}

function finished(faults: readonly string[]): Finished {
  return {
    title: "compare A B -- write",
    scenario: "write",
    results: [{ name: "create", sides: [side("peer", 1), side("<b>orch</b></script>", 0.4)] }],
    ...{ faults, lines: [], unfinished: undefined },
    hints: ["create on peer: client-bound: a process of the load had 95 % of a core"],
    thresholds: [{ text: "create.p99Ms<50", isKept: false, found: "60 in create on peer" }],
    machine: { date: "2026-11-24T12:00:00", commit: "abc", node: "v22", cpu: "2 x CPU", load: 1 },
  };
}

t.test("the report of a run that was ended says so, and draws lines with their verdicts", { skip: noBrowser }, (t) => {
  const path = join(t.testdir(), "report.html");
  const spec = {
    title: "CPU per object of a list",
    unit: "µs",
    of: "objects",
    figure: "cpuUs",
    isTotal: true,
    growthMax: 2,
  };
  const point = (count: number, value: number): LinePoint => ({ count, value, min: value, max: value });
  const points = [point(1000, 4), point(10_000, 3), point(100_000, 6)];
  const line: Line = { ...{ ...spec, name: "list-cpu", target: "peer", points }, ...judged(points) };
  const few = [point(1000, 4)];
  const short: Line = { ...{ ...spec, name: "loaded-own", target: "peer", points: few }, ...judged(few) };
  // Of a side that had no round yet there is nothing but its name.
  const results = [{ name: "create", sides: [side("peer", 1), { target: "orch", rounds: [], figures: new Map() }] }];
  writeFileSync(path, reportOf({ ...finished([]), results, lines: [line, short], unfinished: "ended by SIGTERM" }));
  const dom = domOf(path);
  t.match(dom, 'data-drawn="yes"');
  t.equal(dom.match(/<canvas/g)?.length, 8);
  for (const text of ["not finished", "ended by SIGTERM", "grows by 100 % from 10000 to 100000", "not measured at two"])
    t.ok(dom.includes(text), text);
  t.notMatch(dom.slice(dom.indexOf("<main"), dom.indexOf("</main>")), /NaN|Infinity|∞|checks passed/);
  t.end();
});

t.test("reportOf() is one file without references to others, whatever names are in it", (t) => {
  const html = reportOf(finished([]));
  t.notMatch(html, /<(script|link|img)[^>]*(src|href)=/);
  t.notMatch(html, /<b>orch/);
  t.equal(html.match(/<\/script>/g)?.length, 3);
  t.end();
});

t.test("a report draws all its parts in a browser", { skip: noBrowser }, (t) => {
  const path = join(t.testdir(), "report.html");
  writeFileSync(path, reportOf(finished(["create on peer: There are 3 pods, and there should be 4"])));
  const dom = domOf(path);
  t.match(dom, 'data-drawn="yes"');
  // Throughput, latency, CPU and memory on the time axis, one chart of percentiles, one of skew.
  t.equal(dom.match(/<canvas/g)?.length, 6);
  for (const text of [
    "void: does not count",
    "There are 3 pods",
    "create.p99Ms&lt;50: not kept",
    "0.40×",
    "client-bound",
  ])
    t.ok(dom.includes(text), text);
  t.equal(dom.match(/class="stage"/g)?.length, 2);
  t.end();
});
