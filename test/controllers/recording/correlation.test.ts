// Which event tells of what happened, and of how much nothing is told.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import t from "tap";
import { limits } from "../../../src/config/limits.ts";
import { type CorrelatedEvent, Correlation, type Occurrence } from "../../../src/controllers/recording/correlation.ts";

const pod: Occurrence = {
  component: "c",
  about: { kind: "Pod", apiVersion: "v1", namespace: "n", name: "p", uid: "u", resourceVersion: "7" },
  type: "Warning",
  reason: "Failed",
  message: "no",
};

class Bench {
  nowMs = Date.UTC(2026, 0, 2, 3, 4, 5);
  readonly correlation = new Correlation({ now: () => this.nowMs, monotonic: () => this.nowMs }, () => 0.25);

  take(more: Partial<Occurrence> = {}): CorrelatedEvent | undefined {
    return this.correlation.take({ ...pod, ...more });
  }

  /** Of so many occurrences, one after the other. */
  written(count: number, occurrence: (index: number) => Partial<Occurrence>): number {
    let written = 0;
    for (let index = 0; index < count; index++) if (this.take(occurrence(index)) !== undefined) written += 1;
    return written;
  }
}

t.test("an occurrence makes an event of the object's namespace, named by object and time", async (t) => {
  const bench = new Bench();
  const event = bench.take();
  const name = `p.${(BigInt(bench.nowMs) * 1_000_000n + 250_000n).toString(16)}`;
  t.match(event, { name, namespace: "n", message: "no", count: 1, firstMs: bench.nowMs, lastMs: bench.nowMs });
  const node = bench.take({ about: { kind: "Node", apiVersion: "v1", name: "p" } });
  t.equal(node?.namespace, "default", "of objects in no namespace");
  t.not(node?.name, event?.name, "no name twice, though no time went by");
});

t.test("what differs is told in another event, and what is the same is counted", async (t) => {
  const bench = new Bench();
  const first = bench.take();
  const { about } = pod;
  const others: Partial<Occurrence>[] = [
    { component: "d" },
    { type: "Normal" },
    { reason: "Other" },
    { message: "never" },
    { about: { ...about, name: "q" } },
    { about: { ...about, uid: "v" } },
    { about: { ...about, namespace: "m" } },
    { about: { ...about, apiVersion: "v2" } },
    { about: { ...about, kind: "Node" } },
    { about: { ...about, fieldPath: "spec" } },
    { component: "cP", about: { ...about, kind: "od" } },
  ];
  const keys = new Set([first?.key, ...others.map((other) => bench.take(other)?.key)]);
  t.equal(keys.size, others.length + 1);
  const begunMs = bench.nowMs;
  bench.nowMs += 60_000;
  const again = bench.take({ about: { ...about, resourceVersion: "8" } });
  t.match(again, { key: first?.key, name: first?.name, count: 2, firstMs: begunMs, lastMs: bench.nowMs });
});

t.test("the tenth message of one kind in ten minutes is told with all that follow", async (t) => {
  const bench = new Bench();
  const names = new Set<string | undefined>();
  for (let index = 1; index <= 9; index++) {
    bench.nowMs += limits.eventsSimilarMs;
    const event = bench.take({ message: `m${index}` });
    t.match(event, { message: `m${index}`, count: 1 });
    names.add(event?.name);
  }
  t.equal(names.size, 9);
  const tenth = bench.take({ message: "m10" });
  t.match(tenth, { message: "(combined from similar events): m10", count: 1 });
  t.notOk(names.has(tenth?.name));
  const next = bench.take({ message: "m11" });
  t.match(next, { key: tenth?.key, name: tenth?.name, message: "(combined from similar events): m11", count: 2 });
  t.match(bench.take({ message: "m3" }), { message: "m3", count: 2 }, "one that has an event is counted there");
  t.match(bench.take({ message: "m11", reason: "Other" }), { message: "m11", count: 1 }, "of another reason");
  bench.nowMs += limits.eventsSimilarMs + 1;
  t.match(bench.take({ message: "m12" }), { message: "m12", count: 1 }, "after ten quiet minutes");
});

t.test("an object has 25 writes and one more every five minutes; what is not written is counted", async (t) => {
  const bench = new Bench();
  t.equal(
    bench.written(40, () => ({})),
    limits.eventsPerObjectMax,
  );
  t.ok(bench.take({ about: { ...pod.about, name: "q" } }), "another object");
  t.ok(bench.take({ component: "d" }), "another controller");
  bench.nowMs += 299_000;
  t.equal(bench.take(), undefined);
  bench.nowMs += 1_001;
  t.equal(bench.take()?.count, 42);
  t.equal(bench.take(), undefined);
});

t.test(
  "a namespace has a bounded number of writes, whatever number of objects is in it, and so have all",
  async (t) => {
    const bench = new Bench();
    const object = (index: number, namespace: string): Partial<Occurrence> => ({
      about: { ...pod.about, namespace, name: `p${index}`, uid: `u${index}` },
    });
    t.equal(
      bench.written(10_000, (index) => object(index, "n")),
      limits.eventsPerNamespaceMax,
    );
    t.ok(bench.take(object(0, "m")), "another namespace");
    const left = limits.eventsAtOnceMax - limits.eventsPerNamespaceMax - 1;
    t.equal(
      bench.written(10_000, (index) => object(index, `n${index}`)),
      left,
    );
    bench.nowMs += 10_000;
    const perTenSeconds = 10 * limits.eventsPerNamespacePerSecond;
    t.equal(
      bench.written(100, (index) => object(index, "n")),
      perTenSeconds,
    );
    t.equal(
      bench.written(10_000, (index) => object(index, `o${index}`)),
      10 * limits.eventsPerSecond - perTenSeconds,
    );
  },
);

t.test("messages are cut to what an event may say, between characters", async (t) => {
  const bench = new Bench();
  const long = bench.take({ message: `x${"é".repeat(2_000)}` });
  t.equal(long?.message, `x${"é".repeat(511)}`);
  const longer = bench.take({ message: `x${"é".repeat(2_001)}` });
  t.not(longer?.key, long?.key, "whole messages are compared");
});

t.test("a flood of events that are not written makes none that are known forgotten", async (t) => {
  const bench = new Bench();
  const first = bench.take();
  const about = (index: number): object => ({ about: { ...pod.about, name: `p${index}`, namespace: "flooded" } });
  t.equal(bench.written(5 * limits.eventsRememberedMax, about), limits.eventsPerNamespaceMax);
  t.match(bench.take(), { key: first?.key, count: 2 });
});

t.test("what is remembered is bounded, whatever clients make of objects", async (t) => {
  const bench = new Bench();
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const text = "x".repeat(900);
  const take = (index: number): void => {
    bench.nowMs += 1_000 / limits.eventsPerSecond;
    const about = { ...pod.about, namespace: `${index}${text}`, name: `${text}${index}`, uid: `${text}${index}` };
    if (bench.take({ about, message: `${text}${index}` }) === undefined) t.fail(`${index} is not written`);
  };
  const heapAfter = (from: number, to: number): number => {
    for (let index = from; index < to; index++) take(index);
    collect();
    return process.memoryUsage().heapUsed;
  };
  const count = 3 * limits.eventsRememberedMax;
  const before = heapAfter(0, count);
  const after = heapAfter(count, 2 * count);
  t.ok(after - before < 4e6, `${after - before} bytes more`);
  const { about } = pod;
  t.equal(bench.take({ about: { ...about, name: "again" } })?.count, 1);
});
