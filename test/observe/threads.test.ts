// What threads cost: counters that never go back, whoever reads them.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { exposition, Registry } from "../../src/observe/metrics.ts";
import { countThread, cpuSecondsOf, LagLooks, NamedCpu, threadCpuSeconds } from "../../src/observe/threads.ts";

/** A stat file of /proc: a thread's name, and its user and system time in ticks. */
function stat(name: string, user: number, system: number): string {
  return `12 (${name}) S 1 1 1 0 -1 4194368 9 0 0 0 ${user} ${system} 0 0 20 0 11 0 100 1 2`;
}

t.test("cpuSecondsOf() reads the times behind any name", (t) => {
  t.equal(cpuSecondsOf(stat("front-0", 150, 50)), 2);
  t.equal(cpuSecondsOf(stat("a) b (c", 100, 1)), 1.01);
  t.end();
});

t.test("NamedCpu.read() adds up threads of the name, and keeps what ended ones used", (t) => {
  const dir = t.testdir();
  const write = (task: string, text: string): void => {
    mkdirSync(join(dir, task), { recursive: true });
    writeFileSync(join(dir, task, "stat"), text);
  };
  const pool = new NamedCpu("pool", dir);
  t.equal(pool.read(), 0);
  write("1", stat("pool", 100, 0));
  write("2", stat("pool", 100, 100));
  write("3", stat("front-0", 900, 0));
  t.equal(pool.read(), 3);
  rmSync(join(dir, "2"), { recursive: true });
  write("1", stat("pool", 150, 0));
  t.equal(pool.read(), 3.5);
  write("2", stat("pool", 10, 0));
  t.equal(pool.read().toFixed(2), "3.60", "a number that is used again begins anew");
  t.equal(new NamedCpu("pool", join(dir, "none")).read(), 0);
  t.end();
});

t.test("countThread() counts what two scrapers can share", (t) => {
  const registry = new Registry();
  countThread(registry, "front-0");
  const read = (): number => Number(/^orch_thread_cpu_seconds_total\{thread="front-0"\} (.+)$/m.exec(text())?.[1]);
  const text = (): string => exposition([registry.snapshot()]);
  const before = read();
  const busy = threadCpuSeconds() ?? 0;
  while ((threadCpuSeconds() ?? 1) - busy < 0.01);
  t.ok(read() >= before + 0.009 || threadCpuSeconds() === undefined);
  t.match(text(), /^orch_event_loop_active_seconds_total\{thread="front-0"\} /m);
  t.match(text(), /^orch_event_loop_lag_seconds_count\{thread="front-0"\} 0$/m, "a series from the start on");
  t.end();
});

t.test("LagLooks.look() tells of each look, also of a loop whose turns are longer than the looks' pause", (t) => {
  const sampler = {
    samples: [] as number[],
    hasBegun: false,
    /** As the runtime's: the first after a reset only begins. */
    add(ms: number): void {
      if (this.hasBegun) this.samples.push(ms);
      this.hasBegun = true;
    },
    get count(): number {
      return this.samples.length;
    },
    get max(): number {
      return 1e6 * Math.max(0, ...this.samples);
    },
    reset(): void {
      this.samples = [];
      this.hasBegun = false;
    },
  };
  const [looked, longest]: [number[], number[]] = [[], []];
  const looks = new LagLooks(
    sampler,
    (ms) => looked.push(ms),
    (ms) => longest.push(ms),
  );
  for (let at = 0; at < 4; at++) looks.look();
  t.same([looked, longest], [[], []], "nothing was sampled");
  for (const ms of [20, 20, 120, 20]) sampler.add(ms);
  looks.look();
  t.same([looked.splice(0), longest.splice(0)], [[100, 100, 100, 100, 100], [100]]);
  for (let at = 0; at < 4; at++) {
    for (const ms of [20, 21, 25]) sampler.add(ms);
    looks.look();
  }
  t.same([looked.splice(0), longest.splice(0)], [[5, 5, 5, 5], [5]]);
  for (let at = 0; at < 8; at++) {
    sampler.add(620);
    looks.look();
  }
  t.same(looked.splice(0), new Array(8).fill(600), "one sample in two looks");
  t.same(longest, [600, 600]);
  t.end();
});

t.test("countThread() sees a loop whose turns are long", async (t) => {
  const registry = new Registry();
  const looked: number[] = [];
  countThread(registry, "front-0", (lagMs) => looked.push(lagMs));
  const endMs = performance.now() + 60_000;
  while (looked.filter((lagMs) => lagMs >= 200).length < 4 && performance.now() < endMs) {
    const fromMs = performance.now();
    while (performance.now() - fromMs < 300);
    await new Promise((resolve) => setImmediate(resolve));
  }
  t.ok(looked.filter((lagMs) => lagMs >= 200).length >= 4, looked.join());
});
