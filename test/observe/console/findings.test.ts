// What the console says of a server: from figures as threads tell them to a sentence.
import t from "tap";
import { type ConsoleData, consoleData } from "../../../src/observe/console/data.ts";
import { FrontNotes } from "../../../src/observe/console/detail.ts";
import { bytesText, findingsOf } from "../../../src/observe/console/findings.ts";
import { Registry } from "../../../src/observe/metrics.ts";
import type { RequestRecord } from "../../../src/observe/requests.ts";

const about = {
  ...{ version: "0.1.0", release: "v1.23.17", identity: "orch", node: "v22", cores: 8 },
  ...{ frontWorkers: 1, storage: "lmdb" },
};
const request: RequestRecord = {
  ...{ id: "1", user: "u", method: "GET", verb: "LIST", path: "/api/v1/pods", group: "", version: "v1" },
  ...{ resource: "pods", subresource: "", scope: "cluster", dropped: false, dryRun: false, annotations: undefined },
  ...{ code: 200, bytes: -1, sentBytes: 0, durationMs: 1, agent: "a", remote: "r" },
  ...{ timing: undefined, stages: undefined },
};

/** A server whose counters a test moves; two documents of it are ten seconds apart. */
class Figures {
  readonly registry = new Registry();
  readonly cpu = this.registry.counter("orch_thread_cpu_seconds_total", "", "thread");
  readonly active = this.registry.counter("orch_event_loop_active_seconds_total", "", "thread");
  readonly lag = this.registry.histogram("orch_event_loop_lag_seconds", "", [0.1], "thread");
  readonly requests = this.registry.counter("apiserver_request_total", "", "verb", "code");
  readonly pool = this.registry.counter("orch_pool_refused_total", "", "thread");
  readonly commits = this.registry.histogram("orch_store_commit_seconds", "", [0.01, 0.1, 0.5]);
  readonly seats = this.registry.gauge("apiserver_flowcontrol_request_concurrency_limit", "", "priority_level");
  readonly queue = this.registry.gauge(
    "apiserver_flowcontrol_current_inqueue_requests",
    "",
    "flow_schema",
    "priority_level",
  );
  readonly shed = this.registry.counter("orch_requests_shed_total", "", "priority_level");
  nowMs = 0;
  readonly notes = new FrontNotes("front-0", () => this.nowMs);
  watches: { user: string; count: number }[] = [];

  read(): ConsoleData {
    const details = [this.notes.detail(this.watches, [])];
    return consoleData(about, this.nowMs, 100, { families: [this.registry.snapshot()], details });
  }
}

/** The sentences about what happens in ten seconds. */
function told(happens: (figures: Figures) => void): string[] {
  const figures = new Figures();
  for (const thread of ["front-0", "store"]) {
    figures.cpu.add(thread, 5);
    figures.active.add(thread, 5);
  }
  const before = figures.read();
  figures.nowMs = 10_000;
  happens(figures);
  return findingsOf(before, figures.read()).map(({ text, advice }) => `${text}${advice === "" ? "" : `: ${advice}`}`);
}

t.test("findingsOf() says what holds a server up, and what would help", (t) => {
  const rows: [title: string, happens: (figures: Figures) => void, said: RegExp[]][] = [
    [
      "nothing",
      (figures) => figures.cpu.add("front-0", 0.5),
      [/^Nothing holds the server up; the busiest thread is front-0 at 5 %/],
    ],
    [
      "one front for eight cores, and a client that lists",
      (figures) => {
        figures.cpu.add("front-0", 9.8);
        figures.active.add("front-0", 9.9);
        figures.lag.observe("front-0", 0.2);
        for (let i = 0; i < 4_000; i++)
          figures.notes.finished("readOnly", { ...request, user: "report-job", sentBytes: 1e5 }, 0);
        for (let i = 0; i < 40; i++) figures.notes.finished("readOnly", { ...request, user: "other", sentBytes: 5 }, 0);
      },
      [
        /^front-0 is at 98 % of a core, and its event loop is 200 ms late: add front workers: --front-workers=2 or more/,
        /^report-job takes 100 % of all list bytes, 40.0 MB\/s: /,
        /^report-job sends 99 % of all requests, 400\/s: /,
      ],
    ],
    [
      "a machine that others use",
      (figures) => {
        figures.cpu.add("front-0", 3);
        figures.active.add("front-0", 9.9);
        figures.lag.observe("store", 0.3);
      },
      [/^front-0 is busy 99 % of the time, but gets 30 % of a core: other threads or programs/],
    ],
    ["a full pool", (figures) => figures.pool.add("front-0", 7), [/^the pool's queue is full: 7 tasks were refused/]],
    [
      "a slow disk",
      (figures) => {
        for (let i = 0; i < 10; i++) figures.commits.observe("", 0.3);
      },
      [/^half of the commits take 500 ms or more: the disk/],
    ],
    [
      "a level of flow control that is full",
      (figures) => {
        figures.seats.set("workload-low", 10);
        figures.queue.set("service-accounts\0workload-low", 30);
      },
      [/^30 requests of level workload-low wait for a seat/],
    ],
    [
      "requests that were shed",
      (figures) => figures.shed.add("global-default", 12),
      [/^12 requests were shed at level global-default, because the event loop of a front is late: limit the heaviest/],
    ],
    [
      "requests without a right",
      (figures) => figures.requests.add("GET\x00403", 1000),
      [/^100 % of all requests are refused \(4xx\), 100\/s/],
    ],
    [
      "refusals for too many requests, and versions that are too old",
      (figures) => {
        figures.requests.add("GET\x00429", 50);
        figures.requests.add("LIST\x00410", 3);
      },
      [/^5.0 requests a second are refused with 429|^5 requests/, /^3 requests were told that the version/],
    ],
    [
      "a client with most watches",
      (figures) => {
        figures.watches = [
          { user: "controller", count: 900 },
          { user: "other", count: 100 },
        ];
      },
      [/^controller has 90 % of all watches, 900/],
    ],
  ];
  for (const [title, happens, said] of rows) {
    const sentences = told(happens);
    t.equal(sentences.length, said.length, `${title}: ${sentences.join(" | ")}`);
    for (const [at, pattern] of said.entries()) t.match(sentences[at], pattern, title);
  }
  t.end();
});

t.test("FrontNotes keeps the newest slow requests without their queries, and where their time went", (t) => {
  const notes = new FrontNotes("front-0", () => 0);
  const stages = { resolve: 1, find: 200, total: 300 };
  for (let i = 0; i < 100; i++) notes.finished("readOnly", { ...request, durationMs: 300 + i, stages }, i);
  notes.finished("readOnly", { ...request, durationMs: 10 }, 1000);
  notes.finished("long", { ...request, durationMs: 100_000 }, 1000);
  const { slowRequests } = notes.detail([], []);
  t.equal(slowRequests.length, 64);
  t.equal(slowRequests.at(-1)?.at, 99);
  t.same(slowRequests[0]?.stages, [
    ["resolve", 1],
    ["find", 200],
    ["send", 135],
  ]);
  t.end();
});

t.test("bytesText() writes sizes for people", (t) => {
  t.same([0, 999, 1500, 123_456_789].map(bytesText), ["0 B", "999 B", "1.5 kB", "123 MB"]);
  t.end();
});
