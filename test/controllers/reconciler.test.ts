// What runs a controller: which keys it works on and when, what becomes of failures, and how it ends.
import t from "tap";
import { SharedStateFailure } from "../../src/base/assert.ts";
import { Turn } from "../../src/base/turn.ts";
import type { Location } from "../../src/cache/shared/record.ts";
import type { LogView } from "../../src/cache/view/view.ts";
import { spansOfPass } from "../../src/controllers/passes.ts";
import {
  type Controller,
  controllersTurn,
  type Queue,
  Reconciler,
  type ReconcilerParts,
  type Trouble,
} from "../../src/controllers/reconciler.ts";
import { exposition, Registry } from "../../src/observe/metrics.ts";
import type { TraceSpans } from "../../src/observe/spans.ts";
import { workqueueMeter } from "../../src/observe/workqueues.ts";
import { openTracing } from "../observe/tracing.ts";
import { leastOf } from "../support/cost.ts";
import { until } from "../support/inprocess.ts";
import { longestTurn } from "../support/turns.ts";

/** A log that says which key changed at each position, and nothing else. */
class Changes {
  readonly keys: string[] = [];
  gone = false;
  /** Positions below are recycled. */
  from = 0;
  head = 0;
  readonly news = new Set<() => void>();
  readonly view: LogView = {
    prefix: "/changes",
    at: (position: number) => (position < this.from ? 0 : position + 1),
    typeOf: () => 2,
    keyOf: (at: Location) => this.keys[at - 1] ?? "",
    drain: () => (this.head = this.keys.length),
    scan: (_namespace: string, after: string, _revision: number, take: (at: Location, key: string) => boolean) => {
      const first = after === "" ? 0 : this.keys.indexOf(after) + 1;
      for (let at = first; at < this.keys.length; at++) if (!take(at + 1, this.keys[at] ?? "")) return;
    },
    onNews: (told: () => void) => {
      this.news.add(told);
      return () => this.news.delete(told);
    },
  } as Partial<LogView> as LogView;

  constructor() {
    Object.defineProperties(this.view, {
      head: { get: () => this.head },
      gone: { get: () => this.gone },
    });
  }

  tell(...keys: string[]): void {
    for (const key of keys) this.keys.push(key);
    this.head = this.keys.length;
    for (const told of [...this.news]) told();
  }
}

interface Setup {
  readonly reconciler: Reconciler;
  readonly troubles: Trouble[];
  readonly registry: Registry;
  /** Puts the clock forward, and calls what is due. */
  pass(ms: number): Promise<void>;
}

function open(controller: Partial<Controller>, parts: Partial<ReconcilerParts> = {}): Setup {
  let nowMs = 1_000;
  const timers = new Set<{ readonly atMs: number; readonly due: () => void }>();
  const troubles: Trouble[] = [];
  const registry = new Registry();
  const whole: Controller = { all: () => undefined, work: () => undefined, ...controller };
  const reconciler = new Reconciler("c", whole, {
    clock: { now: () => nowMs, monotonic: () => nowMs },
    random: () => 0,
    meter: workqueueMeter(registry),
    report: (trouble) => void troubles.push(trouble),
    turn: controllersTurn(),
    timer: (due, ms) => {
      const timer = { atMs: nowMs + ms, due };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    ...parts,
  });
  const pass = async (ms: number): Promise<void> => {
    const endMs = nowMs + ms;
    for (;;) {
      await reconciler.idle();
      const next = [...timers].filter(({ atMs }) => atMs <= endMs).sort((a, b) => a.atMs - b.atMs)[0];
      if (next === undefined) break;
      timers.delete(next);
      nowMs = next.atMs;
      next.due();
    }
    nowMs = endMs;
    await reconciler.idle();
  };
  return { reconciler, troubles, registry, pass };
}

t.test("Reconciler.start() has every key worked on once, then those that change", async (t) => {
  const log = new Changes();
  log.keys.push("old");
  const worked: string[] = [];
  const { reconciler } = open({
    follows: [[log.view, (queue, at) => queue.add(log.view.keyOf(at))]],
    all: (queue) => queue.scan(log.view, (_at, key) => queue.add(key)),
    work: (key) => void worked.push(key),
  });
  reconciler.start();
  reconciler.start();
  await reconciler.idle();
  t.same(worked, ["old"]);
  log.tell("a", "b", "a");
  t.same(worked, ["old"], "not in the middle of the news");
  await reconciler.idle();
  t.same(worked, ["old", "a", "b"]);
  await reconciler.stop();
  log.tell("c");
  await reconciler.idle();
  t.equal(worked.length, 3);
  t.equal(log.news.size, 0);
});

t.test("Reconciler calls all() when changes were missed, when changed() throws, and every resyncMs", async (t) => {
  const log = new Changes();
  let resyncs = 0;
  const { reconciler, troubles, pass } = open({
    follows: [
      [
        log.view,
        (queue, at) => {
          if (log.view.keyOf(at) === "bad") throw new Error("broken");
          queue.add(log.view.keyOf(at));
        },
      ],
    ],
    pace: { resyncMs: 10_000 },
    all: () => void resyncs++,
  });
  reconciler.start();
  await reconciler.idle();
  log.from = 2;
  log.tell("a", "b", "c");
  await reconciler.idle();
  t.equal(resyncs, 2, "the position was recycled");
  log.tell("d");
  await reconciler.idle();
  t.equal(resyncs, 2);
  log.tell("bad");
  await reconciler.idle();
  t.equal(resyncs, 3);
  t.match(troubles, [{ controller: "c", key: "", message: "Controller c cannot follow /changes" }]);
  await pass(30_000);
  t.equal(resyncs, 6);
  log.gone = true;
  log.tell();
  t.equal(log.news.size, 0, "a log that is given up is left");
  await reconciler.stop();
});

t.test("Reconciler catches no failure of state that threads share", async (t) => {
  const log = new Changes();
  const broken = (): void => {
    throw new SharedStateFailure("broken");
  };
  // A turn that is over on a busy machine would put the change off.
  const { reconciler } = open({ follows: [[log.view, broken]] }, { turn: new Turn(Number.POSITIVE_INFINITY) });
  reconciler.start();
  await reconciler.idle();
  t.throws(() => log.tell("a"), { name: "SharedStateFailure" });
  await reconciler.stop();
});

t.test("Reconciler has so many keys in work at a time, and never one twice", async (t) => {
  const [inWork, most] = [new Map<string, () => void>(), { count: 0 }];
  const worked: string[] = [];
  const { reconciler } = open({
    pace: { workers: 3 },
    work: async (key) => {
      t.notOk(inWork.has(key), key);
      worked.push(key);
      await new Promise<void>((resolve) => {
        inWork.set(key, resolve);
        most.count = Math.max(most.count, inWork.size);
      });
      inWork.delete(key);
      return undefined;
    },
  });
  for (const key of ["a", "b", "c", "d", "a"]) reconciler.add(key);
  t.ok(await until(() => inWork.size === 3));
  reconciler.add("a");
  inWork.get("b")?.();
  t.ok(await until(() => inWork.has("d")));
  t.equal(worked.join(""), "abcd", "what is in work waits for itself");
  inWork.get("a")?.();
  t.ok(await until(() => worked.length === 5));
  for (const go of inWork.values()) go();
  await reconciler.idle();
  t.equal(worked.join(""), "abcda");
  t.equal(most.count, 3);
});

t.test("Reconciler tries again what failed or threw, and looks again when it is told to", async (t) => {
  const tries: string[] = [];
  const error = new Error("broken");
  const { reconciler, troubles, pass } = open({
    work: async (key) => {
      tries.push(key);
      const count = tries.filter((one) => one === key).length;
      if (key === "throws" && count < 3) throw error;
      if (key === "fails" && count < 3) return { cause: error, message: "It cannot be done" };
      if (key === "again" && count < 3) return { againMs: 1_000 };
      return undefined;
    },
  });
  for (const key of ["throws", "fails", "again"]) reconciler.add(key);
  await pass(49);
  t.equal(tries.length, 3);
  await pass(1);
  t.same(tries.slice(3), ["throws", "fails"], "half of the first pause");
  await pass(100);
  t.same(tries.slice(5), ["throws", "fails"]);
  await pass(60_000);
  t.same(tries.slice(7), ["again", "again"]);
  t.match(troubles, [
    { controller: "c", key: "throws", message: "Controller c failed", cause: error, failures: 1, untold: 0 },
    { controller: "c", key: "fails", message: "It cannot be done", cause: error, failures: 1, untold: 0 },
  ]);
  await reconciler.stop();
});

t.test("Reconciler reports a key that goes on failing once a minute, and of many keys so many", async (t) => {
  const { reconciler, troubles, pass } = open({ work: (key) => ({ cause: `${key} is broken` }) });
  reconciler.add("a");
  await pass(179_000);
  t.equal(troubles.length, 3);
  t.ok((troubles[2]?.failures ?? 0) > 8, `${troubles[2]?.failures}`);
  troubles.length = 0;
  for (let i = 0; i < 10_000; i++) reconciler.add(`k${i}`);
  await reconciler.idle();
  t.ok(troubles.length <= 20, `${troubles.length}`);
  await pass(10_000);
  t.ok(troubles.length > 25 && troubles.length <= 31, `${troubles.length}`);
  t.ok(
    troubles.some(({ untold }) => untold > 9_000),
    "and how many it left out",
  );
  await reconciler.stop();
});

t.test("Reconciler.stop() begins nothing any more, tells what is under way, and waits for it", async (t) => {
  let signal: AbortSignal | undefined;
  let go: (() => void) | undefined;
  const worked: string[] = [];
  const { reconciler, troubles, pass } = open({
    work: async (key, queue: Queue) => {
      worked.push(key);
      signal = queue.signal;
      await new Promise<void>((resolve) => (go = resolve));
      throw new Error("cut short");
    },
  });
  for (const key of ["a", "b"]) reconciler.add(key);
  reconciler.addAfter("c", 10);
  t.ok(await until(() => go !== undefined));
  t.notOk(signal?.aborted);
  let isOver = false;
  const stopped = reconciler.stop().then(() => (isOver = true));
  t.ok(signal?.aborted);
  for (const key of ["a", "d"]) reconciler.add(key);
  reconciler.addAfter("e", 1);
  reconciler.postpone("f", 1);
  reconciler.start();
  await new Promise((resolve) => setImmediate(resolve));
  t.notOk(isOver);
  go?.();
  await stopped;
  await pass(100_000);
  t.same(worked, ["a"]);
  t.same(troubles, [], "an end is no failure");
});

t.test("Reconciler looks for all keys again once there is room for those it refused", async (t) => {
  const left = new Set(Array.from({ length: 100 }, (_, at) => `k${at}`));
  let most = 0;
  const { reconciler, pass } = open({
    pace: { keysMax: 10 },
    all: (queue) => {
      for (const key of left) queue.addAfter(key, 100);
      most = Math.max(most, reconciler.laterCount);
    },
    work: (key) => void left.delete(key),
  });
  reconciler.start();
  await pass(100_000);
  t.equal(left.size, 0);
  t.equal(most, 10);
});

t.test("Reconciler gives way while it follows, scans and works on what is there", async (t) => {
  const spin = (ms: number): void => {
    for (const end = performance.now() + ms; performance.now() < end; );
  };
  const count = 20_000;
  const longest = await leastOf(20, async () => {
    const log = new Changes();
    let [changes, records, worked] = [0, 0, 0];
    const { reconciler } = open({
      follows: [
        [
          log.view,
          () => {
            spin(0.01);
            changes++;
          },
        ],
      ],
      all: async (queue) => {
        await queue.scan(log.view, (_at, key) => {
          spin(0.01);
          records++;
          if (records % 10 === 0) queue.add(key);
        });
      },
      work: () => {
        spin(0.2);
        worked++;
      },
    });
    reconciler.start();
    await reconciler.idle();
    const turn = await longestTurn(async () => {
      log.tell(...Array.from({ length: count }, (_, at) => `k${at}`));
      await reconciler.idle();
      reconciler.add("\0all");
      await reconciler.idle();
    });
    await reconciler.stop();
    t.same([changes, records, worked], [count, count, count / 10]);
    return turn;
  });
  t.ok(longest <= 20, `${longest} ms`);
});

t.test("two reconcilers of a thread share its turns, and both get on", async (t) => {
  const turn = new Turn(2);
  const done = [0, 0];
  const both = done.map((_zero, index) => {
    const work = (): undefined => {
      for (const end = performance.now() + 1; performance.now() < end; );
      done[index] = (done[index] ?? 0) + 1;
    };
    return open({ work }, { turn }).reconciler;
  });
  for (const reconciler of both) for (let i = 0; i < 100; i++) reconciler.add(`k${i}`);
  t.ok(await until(() => (done[0] ?? 0) + (done[1] ?? 0) > 60));
  t.ok(Math.min(...done) > 10, done.join());
  await Promise.all(both.map((reconciler) => reconciler.stop()));
});

t.test("Reconciler counts its queue by the names dashboards read", async (t) => {
  let go: (() => void) | undefined;
  const { reconciler, registry, pass } = open({
    work: (key) => (key === "slow" ? new Promise((resolve) => (go = () => resolve(undefined))) : { againMs: 60_000 }),
  });
  const value = (series: string): number => {
    const line = exposition([registry.snapshot()])
      .split("\n")
      .find((one) => one.startsWith(`${series} `));
    return Number(line?.slice(series.length) ?? Number.NaN);
  };
  const name = '{name="c"}';
  for (const metric of ["depth", "adds_total", "retries_total", "unfinished_work_seconds"])
    t.equal(value(`workqueue_${metric}${name}`), 0, metric);
  for (const key of ["a", "slow", "b", "c"]) reconciler.add(key);
  t.equal(value(`workqueue_depth${name}`), 4);
  t.ok(await until(() => go !== undefined));
  void pass(2_500);
  t.ok(await until(() => value(`workqueue_depth${name}`) === 2));
  t.equal(value(`workqueue_adds_total${name}`), 4);
  t.equal(value(`workqueue_retries_total${name}`), 1);
  t.equal(value(`workqueue_work_duration_seconds_count${name}`), 1);
  t.equal(value(`workqueue_queue_duration_seconds_count${name}`), 2);
  go?.();
  await reconciler.idle();
  t.equal(value(`workqueue_queue_duration_seconds_count${name}`), 4);
  t.equal(value(`workqueue_work_duration_seconds_bucket{name="c",le="1e-08"}`), 4);
  t.equal(value(`workqueue_longest_running_processor_seconds${name}`), 0);
  await reconciler.stop();
  t.equal(value(`workqueue_depth${name}`), 0);
});

t.test("a pass that is sampled is a trace, and what it does finds its own among those under way at once", async (t) => {
  const chances = [0, 0, 0.9, 0];
  const { tracer, spans, flush } = openTracing(0.5, () => chances.shift() ?? 0.9);
  const found = new Map<string, TraceSpans | undefined>();
  const { reconciler } = open(
    {
      pace: { workers: 4 },
      all: (queue) => {
        for (const key of ["a", "b", "c"]) queue.add(key);
      },
      async work(key) {
        // Others begin and end meanwhile.
        for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        found.set(key, spansOfPass());
        return key === "c" ? { cause: new Error("c") } : undefined;
      },
    },
    { tracer },
  );
  reconciler.start();
  await reconciler.idle();
  await reconciler.stop();
  flush();
  t.equal(found.get("b"), undefined, "what added the key of a pass is none of its trace");
  t.same(
    spans.map(({ name, parentId, attributes, isError }) => [
      name,
      parentId,
      new Map(attributes).get("controller.key"),
      isError,
    ]),
    [
      ["reconcile c", "", "", false],
      ["reconcile c", "", "a", false],
      ["reconcile c", "", "c", true],
    ],
  );
  t.same(
    [found.get("a")?.own, found.get("c")?.own],
    spans.slice(1).map(({ traceId, spanId }) => ({ traceId, spanId })),
  );
  t.equal(spansOfPass(), undefined);
});
