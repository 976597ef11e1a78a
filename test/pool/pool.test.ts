import t from "tap";
import { Pool, type PoolFault, type PoolOptions } from "../../src/pool/pool.ts";
import { until } from "../support/inprocess.ts";
import type { TestResult, TestTask } from "./tasks.worker.ts";

const script = new URL("./tasks.worker.js", import.meta.url);

function open(options: Partial<PoolOptions> = {}): Pool<TestTask, TestResult> {
  return new Pool({ script, setup: { a: 1 }, threadsMax: 1, queueMax: 4, idleMs: 60_000, heapMiBMax: 32, ...options });
}

function faultOf(result: TestResult | PoolFault): string {
  return "fault" in result ? result.fault : "none";
}

t.test("run() starts a thread when it is first needed and uses it again", async (t) => {
  const pool = open();
  t.equal(pool.isStarted, false);
  const first = await pool.run("answer", [], 10_000);
  t.equal(pool.isStarted, true);
  t.match(first, { setup: { a: 1 } });
  t.same(await pool.run("answer", [], 10_000), first);
  await pool.close();
});

t.test("run() fails a task whose thread throws, ends, hangs or needs too much, and goes on", async (t) => {
  const pool = open();
  const table: [TestTask, number, string][] = [
    ["throw", 10_000, "failed"],
    ["exit", 10_000, "failed"],
    ["heap", 60_000, "failed"],
    ["hang", 300, "late"],
  ];
  for (const [task, msMax, expected] of table) {
    t.equal(faultOf(await pool.run(task, [], msMax)), expected, task);
    t.equal(faultOf(await pool.run("answer", [], 10_000)), "none", `after ${task}`);
  }
  await pool.close();
});

t.test("run() lets no more wait than the queue holds, nor longer than they may", async (t) => {
  const pool = open({ queueMax: 2 });
  await pool.run("answer", [], 10_000);
  const hung = pool.run("hang", [], 1_000);
  const waits = [pool.run("answer", [], 100), pool.run("answer", [], 30_000)];
  t.equal(faultOf(await pool.run("answer", [], 30_000)), "full");
  t.equal(faultOf(await (waits[0] as Promise<TestResult>)), "late", "waited too long");
  t.equal(faultOf(await hung), "late");
  t.equal(faultOf(await (waits[1] as Promise<TestResult>)), "none", "had its turn");
  await pool.close();
});

t.test("threads end when nobody needs them, and start again", async (t) => {
  const pool = open({ idleMs: 1 });
  const threads = new Set<unknown>();
  for (let round = 0; round < 2; round += 1) {
    threads.add(((await pool.run("answer", [], 10_000)) as TestResult).thread);
    t.ok(await until(() => !pool.isStarted));
  }
  t.equal(threads.size, 2);
  await pool.close();
});

t.test("close() fails what is under way, and what comes later", async (t) => {
  const pool = open();
  await pool.run("answer", [], 10_000);
  const hung = pool.run("hang", [], 30_000);
  await new Promise((resolve) => setImmediate(resolve));
  await pool.close();
  t.equal(faultOf(await hung), "failed");
  t.equal(faultOf(await pool.run("answer", [], 10_000)), "failed");
  await open().close();
});
