// The load harness counts what it says: tested against servers that stall, lie, and lose events.

import { readdirSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { readCommand, secondsOf } from "../../perf/harness/command.ts";
import { Connection } from "../../perf/harness/connection.ts";
import { readScenarioFile } from "../../perf/harness/file.ts";
import { markedFrames, versionFrames } from "../../perf/harness/frames.ts";
import { Histogram, median } from "../../perf/harness/histogram.ts";
import { LineReader } from "../../perf/harness/lines.ts";
import { type Findings, markOf } from "../../perf/harness/marks.ts";
import { comparisonsOf } from "../../perf/harness/print.ts";
import type { CaseResult, Spread } from "../../perf/harness/run.ts";
import { judged, type LinePoint, linesOf, straightMax } from "../../perf/harness/scaling.ts";
import type { Scenario } from "../../perf/harness/scenario.ts";
import { readMetrics, stagesBetween } from "../../perf/harness/stages.ts";
import { Storm } from "../../perf/harness/storm.ts";
import { combinations, curveOf, type Point, readAxes } from "../../perf/harness/sweep.ts";
import { readTarget, words } from "../../perf/harness/target.ts";
import { templateOf } from "../../perf/harness/template.ts";
import { check, readThreshold } from "../../perf/harness/thresholds.ts";
import { VersionReader } from "../../perf/harness/versions.ts";
import { Watching } from "../../perf/harness/watching.ts";
import { faultsOf, type Work } from "../../perf/harness/work.ts";
import { itemsIn } from "../../perf/scenarios/list.ts";
import { scenarios } from "../../perf/scenarios/table.ts";

async function serve(answer: RequestListener): Promise<{ server: Server; base: string }> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, base: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const get: Work = { name: "get", method: "GET", path: "/<n>", wanted: 200, connections: 2, rate: 0, from: 0 };
const noChanges = new Int32Array(0);

t.test("a connection has one exchange at a time, and refuses another one", async (t) => {
  const { server, base } = await serve((request, response) => response.end(request.url));
  const connection = new Connection({ base });
  const first = connection.ask({ method: "GET", path: "/1" });
  await t.rejects(connection.ask({ method: "GET", path: "/2" }), /one exchange at a time/);
  t.match(await first, { code: 200, text: "/1" }, "the first one goes on");
  t.match(await connection.ask({ method: "GET", path: "/3" }), { code: 200, text: "/3" });
  connection.close();
  server.close();
});

t.test("Storm at a rate charges a stall for all requests that were due meanwhile", async (t) => {
  let asked = 0;
  const { server, base } = await serve((_, response) => {
    asked += 1;
    // One answer takes half a second; with one connection nothing is sent meanwhile.
    setTimeout(() => response.end("{}"), asked === 20 ? 500 : 0);
  });
  const work = { ...get, connections: 1, rate: 100, countMax: 100 };
  const result = await new Storm({ base }, work, noChanges).run(30);
  const latency = Histogram.decode(result.latency);
  t.equal(result.count, 100);
  t.equal(latency.count, 100);
  // About fifty were due in the stall: had they been timed from sending, one of a hundred would be slow.
  t.ok(latency.at(0.75) > 100, `p75 is ${latency.at(0.75)} ms`);
  t.same(faultsOf([result]), []);
  server.close();
});

t.test("Storm reports whatever was not answered as it should be", async (t) => {
  const { server, base } = await serve((request, response) => {
    if (request.url === "/3") response.statusCode = 500;
    if (request.url === "/5") return void request.socket.destroy();
    response.end(request.url === "/7" ? "too long" : "{}");
  });
  const result = await new Storm({ base }, { ...get, bodyBytes: 2, countMax: 10 }, noChanges).run(30);
  t.equal(result.count, 7);
  t.same(result.failures, { "code 500": 1, "connection broke": 1, "wrong length": 1 });
  t.equal(faultsOf([result]).length, 3);
  server.close();
});

t.test("Storm changes no object twice at once, in either loop", async (t) => {
  const underWay = new Set<string>();
  let overlaps = 0;
  const { server, base } = await serve((request, response) => {
    const path = request.url ?? "";
    if (underWay.has(path)) overlaps += 1;
    underWay.add(path);
    setTimeout(() => {
      underWay.delete(path);
      response.end();
    }, 3);
  });
  for (const rate of [0, 2000]) {
    const work = { ...get, path: "/<n%4>", connections: 8, rate, objects: 4, countMax: 60 };
    t.equal((await new Storm({ base }, work, noChanges).run(30)).count, 60);
  }
  t.equal(overlaps, 0);
  server.close();
});

t.test("a watch that is told 410 is not opened again from there, and counts as an error", async (t) => {
  let asked = 0;
  const { server, base } = await serve((_, response) => {
    asked += 1;
    response.writeHead(asked === 1 ? 503 : 410).end();
  });
  const watching = new Watching({ base });
  await watching.open([{ path: "/", protobuf: false, count: 1, stuck: false, reads: "marks" }], noChanges);
  t.match(watching.report(false), { open: 0, errors: 1, closed: 0, retries: { "code 503": 1 } });
  t.equal(asked, 2);
  server.close();
});

t.test("templateOf() fills in numbers and marks", (t) => {
  t.equal(templateOf("/p<n>/<n:4>/<n%3>")(10), "/p10/0010/1");
  const changes = new Int32Array(2);
  const text = templateOf("<mark%2>", changes);
  t.match(text(1), /^0001-0000000001-\d{16}$/);
  t.match(text(3), /^0001-0000000002-\d{16}$/);
  t.same([...changes], [0, 2]);
  t.end();
});

function findings(): Findings & { seen: number } {
  return {
    ...{ events: 0, bytes: 0, gaps: 0, torn: 0, errors: 0, seen: 0 },
    event() {
      this.seen += 1;
    },
  };
}

function line(change: number): string {
  return `{"type":"MODIFIED","object":{"data":{"pad":"p","seq":"${markOf(1, change, 5)}"}}}\n`;
}

function frame(change: number): Buffer {
  const body = Buffer.from(
    `\n\bMODIFIED\x12${String.fromCharCode(0x40)}k8s\0seq${markOf(1, change, 5)}\x1a\0"\0`,
    "latin1",
  );
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length);
  return Buffer.concat([length, body]);
}

t.test("readers of watches see gaps, doubles and torn events, however the bytes are split", (t) => {
  const error = Buffer.from('{"type":"ERROR","object":{}}\n{"type":"BOOKMARK","object":{}}\n');
  for (const [name, good, tail, make] of [
    ["lines", (n: number) => Buffer.from(line(n)), error, (f: Findings) => new LineReader(f, new Int32Array(2))],
    ["frames", frame, Buffer.alloc(0), (f: Findings) => markedFrames(f, new Int32Array(2))],
  ] as const) {
    for (const size of [1, 7, 100_000]) {
      const found = findings();
      const reader = make(found);
      const bytes = Buffer.concat([good(1), good(2), good(4), good(4), tail]);
      for (let at = 0; at < bytes.length; at += size) reader.push(bytes, at, Math.min(bytes.length, at + size));
      t.match(found, { events: 4, seen: 4, gaps: 2, torn: 0, errors: name === "lines" ? 1 : 0 }, `${name}, ${size}`);
    }
  }
  const found = findings();
  const text = Buffer.from(line(1).replace('"}}}', '"}}'));
  new LineReader(found, new Int32Array(2)).push(text, 0, text.length);
  t.equal(found.torn, 1);
  t.end();
});

/** A message of protobuf with one field. */
function field(number: number, content: Buffer): Buffer {
  const size = content.length < 128 ? [content.length] : [(content.length % 128) + 128, content.length >> 7];
  return Buffer.concat([Buffer.from([number * 8 + 2, ...size]), content]);
}

/** A WatchEvent of an object at a version. */
function versionFrame(type: string, version: string): Buffer {
  const metadata = Buffer.concat([
    field(1, Buffer.from("name")),
    Buffer.from([7 * 8, 129, 1]),
    field(6, Buffer.from(version)),
  ]);
  const object = Buffer.concat([field(1, metadata), field(2, Buffer.alloc(200))]);
  const envelope = Buffer.concat([Buffer.from("k8s\0"), field(1, Buffer.alloc(3)), field(2, object)]);
  const body = Buffer.concat([field(1, Buffer.from(type)), field(2, field(1, envelope))]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length);
  return Buffer.concat([length, body]);
}

function versionLine(type: string, version: string): Buffer {
  return Buffer.from(`${JSON.stringify({ type, object: { metadata: { resourceVersion: version } } })}\n`);
}

t.test("readers of watches of any objects see versions that do not rise, and torn events", (t) => {
  for (const [name, make, reader] of [
    ["lines", versionLine, (f: Findings) => new VersionReader(f)],
    ["frames", versionFrame, versionFrames],
  ] as const) {
    for (const size of [1, 7, 100_000]) {
      const found = findings();
      const reading = reader(found);
      const events = [
        ...["5", "8", "7", "7", "x"].map((version) => make("MODIFIED", version)),
        ...[make("BOOKMARK", "9"), make("ERROR", "0"), make("ADDED", "1000")],
      ];
      const bytes = Buffer.concat(events);
      for (let at = 0; at < bytes.length; at += size) reading.push(bytes, at, Math.min(bytes.length, at + size));
      t.match(found, { events: 6, gaps: 2, torn: 1, errors: 1 }, `${name}, ${size}`);
    }
  }
  t.end();
});

t.test("itemsIn() counts items of lists in JSON and protobuf, and rows of Tables", (t) => {
  t.equal(itemsIn(Buffer.from('{"items":[{},{}]}')), 2);
  t.equal(itemsIn(Buffer.from('{"rows":[{}]}')), 1);
  // An envelope whose raw bytes are list metadata and two empty items.
  t.equal(
    itemsIn(Buffer.concat([Buffer.from("k8s\0"), Buffer.from([0x0a, 0, 0x12, 6, 0x0a, 0, 0x12, 0, 0x12, 0])])),
    2,
  );
  t.end();
});

t.test("Histogram keeps three digits, also of values of several processes", (t) => {
  const first = new Histogram();
  for (let us = 1; us <= 1000; us += 1) first.add(us);
  const second = new Histogram();
  second.add(5_000_000);
  const sum = Histogram.decode(second.encode());
  sum.merge(Histogram.decode(first.encode()));
  t.equal(sum.count, 1001);
  t.equal(sum.at(0.5), 0.501);
  t.ok(Math.abs(sum.at(1) - 5000) < 5, `${sum.at(1)}`);
  t.equal(median([3, 1, 2]), 2);
  t.equal(median([4, 1, 2, 3]), 2.5);
  t.end();
});

function result(a: readonly number[], b: readonly number[]): CaseResult {
  const side = (target: string, values: readonly number[]): CaseResult["sides"][number] => ({
    target,
    rounds: [
      {
        ...{ case: "get", at: 0, figures: {}, faults: [], hints: [], samples: [], counted: [] },
        rows: [{ name: "get", isCause: false, figures: {}, own: [], curve: [], skewCurve: [] }],
        stages: undefined,
      },
    ],
    figures: new Map([["get.p50Ms", { median: median(values), min: Math.min(...values), max: Math.max(...values) }]]),
  });
  return { name: "get", sides: [side("A", a), side("B", b)] };
}

t.test("comparisons tell the ratio of medians, and when the spread covers the difference", (t) => {
  t.match(comparisonsOf([result([2, 4, 6], [1, 1, 1])]), [{ ratio: 0.25, isOverlapping: false }]);
  t.match(comparisonsOf([result([2, 4, 6], [1, 3, 5])]), [{ ratio: 0.75, isOverlapping: true }]);
  t.end();
});

t.test("thresholds are kept, broken, or name no figure", (t) => {
  const results = [result([2], [3])];
  for (const [text, isKept] of [
    ["get.p50Ms<3.5", true],
    ["get.p50Ms<3", false],
    ["get.p50Ms >= 2", true],
    ["get.p42Ms<1", false],
  ] as const) {
    t.match(check([readThreshold(text)], results), [{ isKept }], text);
  }
  t.throws(() => readThreshold("p50"), /expected a figure/);
  t.end();
});

t.test("scenario files are checked by their schema, and the examples pass", (t) => {
  const dir = t.testdir({
    "bad.json": '{"scenario":"write","options":[],"thresholds":"x","more":1}',
    "text.json": "{",
  });
  t.throws(() => readScenarioFile(join(dir, "bad.json")), /options.*thresholds|thresholds.*options/s);
  t.throws(() => readScenarioFile(join(dir, "text.json")), /text\.json/);
  const examples = fileURLToPath(new URL("../../../perf/examples/", import.meta.url));
  for (const name of readdirSync(examples)) {
    const { scenario, options = {}, servers = [], thresholds } = readScenarioFile(join(examples, name));
    const preset = new Map(Object.entries(options).map(([key, value]) => [key, String(value)]));
    readCommand(scenarios.get(scenario) as Scenario, [], preset, thresholds);
    servers.forEach(readTarget);
  }
  t.end();
});

t.test("examples of --help are command lines that are read", (t) => {
  for (const { name, examples } of scenarios.values()) {
    for (const example of examples) {
      const [, rest = ""] = example.split(`npm run perf -- ${name} `);
      t.doesNotThrow(() => readCommand(scenarios.get(name) as Scenario, words(rest)), example);
    }
  }
  t.end();
});

t.test("sweeps try every combination, and recommend the least CPU near the highest rate", (t) => {
  const axes = readAxes(["--front-workers", "1,2", "--pool-workers=0,1"]);
  t.same(combinations(axes).length, 4);
  t.equal(combinations(axes)[3], "--front-workers=2 --pool-workers=1");
  t.throws(() => readAxes(["--front-workers"]), /expected a flag/);
  t.throws(() => readAxes(["--pool-threads", "1"]), /no flag --pool-threads/);
  const point = (flags: string, rate: number, cpu: number): Point => {
    const { name, sides } = result([1], [1]);
    const figure = (value: number): Spread => ({ median: value, min: value, max: value });
    const figures = new Map([
      ["get.perSecond", figure(rate)],
      ["cpuUs", figure(cpu)],
    ] as const);
    return { flags, results: [{ name, sides: sides.map((side) => ({ ...side, figures })) }] };
  };
  t.match(curveOf([point("a", 100, 9), point("b", 95, 5), point("c", 20, 1)]), /recommended for get: b /);
  t.end();
});

t.test("command lines are read: units, quotes, defaults, and unknown flags are refused", (t) => {
  const write = scenarios.get("write");
  if (write === undefined) throw new Error("There is no scenario write");
  t.equal(secondsOf("2m", "duration"), 120);
  t.throws(() => secondsOf("soon", "duration"), /expected seconds/);
  t.same(words(`--name=a --start='--x=1 --y' --pid="p=1"`), ["--name=a", "--start=--x=1 --y", "--pid=p=1"]);
  const command = readCommand(write, ["--duration=90s", "--rate=5", "--pid=etcd=3", "--threshold=get.p99Ms<5"]);
  t.match(command, { seconds: 90, warmSeconds: 8, rounds: undefined, target: { pid: ["etcd=3"] } });
  t.equal(command.options.number("rate"), 5);
  t.equal(command.options.number("connections"), 16);
  t.throws(() => readCommand(write, ["--watchers=5"]), /watchers/);
  t.end();
});

t.test("lines are judged by the greatest rise between any two sizes", (t) => {
  for (const [values, trend, verdict, growth] of [
    [[4, 4, 4], "straight", "straight", 1],
    [[4, 4.8, 4.5], "straight", "straight", 1.2],
    [[9, 4, 3], "falls", "falls", 0.75],
    [[9, 4, 6], "grows", "grows by 50 % from 1000 to 10000", 1.5],
    [[2, 3, 6], "grows", "grows by 200 % from 100 to 10000", 3],
    [[2], "unknown", "not measured at two sizes", Number.NaN],
  ] as const) {
    const points = values.map((value, at): LinePoint => ({ count: 100 * 10 ** at, value, min: value, max: value }));
    const found = judged(points);
    t.match(found, { trend, verdict }, `${values}`);
    t.ok(Number.isNaN(growth) ? Number.isNaN(found.growth) : Math.abs(found.growth - growth) < 1e-9, `${found.growth}`);
  }
  t.ok(straightMax > 1);
  t.end();
});

t.test(
  "lines are made of the cases of their sizes, per unit, and have bounds of their own unless one is given",
  (t) => {
    const growth = scenarios.get("growth") as Scenario;
    const sized = (count: number, cpuUs: number): CaseResult => {
      const { sides } = result([1], [1]);
      const figures = new Map([["cpuUs", { median: cpuUs, min: cpuUs, max: cpuUs }]]);
      return {
        name: `${count} objects`,
        size: { of: "objects", count },
        sides: sides.map((side) => ({ ...side, figures })),
      };
    };
    const results = [sized(1000, 2000), sized(10_000, 40_000)];
    const lines = linesOf(growth.lines ?? [], results);
    const cpu = lines.filter(({ name }) => name === "list-cpu");
    t.same(
      cpu.map(({ target, points }) => [target, points.map(({ count, value }) => [count, value])]),
      [
        [
          "A",
          [
            [1000, 2],
            [10_000, 4],
          ],
        ],
        [
          "B",
          [
            [1000, 2],
            [10_000, 4],
          ],
        ],
      ],
    );
    t.ok(lines.filter(({ name }) => name !== "list-cpu").every(({ trend }) => trend === "unknown"));
    const checked = (args: readonly string[]): readonly unknown[] =>
      check(readCommand(growth, args).thresholds, results, lines).map(({ text, isKept }) => [text, isKept]);
    // Bounds of lines that were not measured are left out, unless they are given.
    t.same(checked([]), [["list-cpu.growth<=1.5", false]]);
    t.same(checked(["--threshold=list-cpu.growth<2.5"]), [["list-cpu.growth<2.5", true]]);
    t.same(checked(["--threshold=event-cpu.growth<9"]), [
      ["event-cpu.growth<9", false],
      ["list-cpu.growth<=1.5", false],
    ]);
    t.end();
  },
);

t.test("where a request's time goes is read from what the server tells", async (t) => {
  const told = (handled: number): string =>
    [
      `apiserver_request_duration_seconds_sum{verb="LIST"} ${handled}`,
      `apiserver_request_duration_seconds_count{verb="LIST"} ${handled}`,
      `apiserver_request_duration_seconds_sum{verb="WATCH"} ${900 * handled}`,
      `apiserver_request_duration_seconds_count{verb="WATCH"} ${handled}`,
      `apiserver_flowcontrol_request_wait_duration_seconds_sum{execute="true"} ${0.5 * handled}`,
      `apiserver_flowcontrol_request_wait_duration_seconds_sum{execute="false"} ${0.1 * handled}`,
      `apiserver_flowcontrol_rejected_requests_total{priority_level="a",reason="time-out"} ${handled}`,
      `apiserver_flowcontrol_rejected_requests_total{priority_level="a",reason="queue-full"} ${handled}`,
      `etcd_request_duration_seconds_sum{operation="update"} ${0.3 * handled}`,
      `apiserver_admission_step_admission_duration_seconds_sum{operation="CREATE"} ${0.3 * handled}`,
    ].join("\n");
  let handled = 10;
  const { server, base } = await serve((_, response) => response.end(told(handled)));
  const connection = new Connection({ base });
  const before = await readMetrics(connection);
  handled = 30;
  const after = await readMetrics(connection);
  connection.close();
  server.close();
  if (before === undefined || after === undefined) throw new Error("The server tells");
  t.same([...after.rejected], [["a", 60]]);
  const stages = stagesBetween(before, after, 1_250) as unknown as Record<string, number>;
  const rounded = Object.fromEntries(Object.entries(stages).map(([name, ms]) => [name, Math.round(ms)]));
  // Of the handler's second admission has what is left.
  t.same(rounded, { queueMs: 600, storageMs: 300, admissionMs: 100, handlerMs: 0, outsideMs: 250 });
  t.equal(stagesBetween(after, after, 1), undefined, "no request was handled");
});
