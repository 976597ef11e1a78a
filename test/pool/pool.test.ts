import t from "tap";
import type { Owner } from "../../src/base/shares.ts";
import { Pool, type PoolFault, type PoolOptions } from "../../src/pool/pool.ts";
import { until } from "../support/inprocess.ts";
import type { TestResult, TestTask } from "./tasks.worker.ts";

t.setTimeout(300_000);

const script = new URL("./tasks.worker.js", import.meta.url);

const times = { taskMsMax: 30_000, startMsMax: 120_000, pauseMs: 60_000 };
const alice: Owner = { name: "alice", level: "ordinary" };
const bob: Owner = { name: "bob", level: "ordinary" };
const admin: Owner = { name: "admin", level: "masters" };

function open(options: Partial<PoolOptions> = {}): Pool<TestTask, TestResult> {
  return new Pool({
    script,
    setup: { a: 1 },
    threadsMax: 1,
    queueMax: 4,
    idleMs: 60_000,
    heapMiBMax: 32,
    ...times,
    ...options,
  });
}

function faultOf(result: TestResult | PoolFault): string {
  return "fault" in result ? result.fault : "none";
}

t.test("run() starts a thread when it is first needed and uses it again", async (t) => {
  const pool = open();
  t.equal(pool.isStarted, false);
  const first = await pool.run("answer", [], admin, 10_000);
  t.equal(pool.isStarted, true);
  t.match(first, { setup: { a: 1 } });
  t.same(await pool.run("answer", [], admin, 10_000), first);
  await pool.close();
});

t.test("run() fails a task whose thread throws, ends, hangs or needs too much, and goes on", async (t) => {
  const pool = open({ taskMsMax: 20_000 });
  const table: [TestTask, string][] = [
    ["throw", "failed"],
    ["exit", "failed"],
    ["heap", "failed"],
  ];
  for (const [task, expected] of table) {
    t.equal(faultOf(await pool.run(task, [], { name: task, level: "ordinary" }, 60_000)), expected, task);
    t.equal(faultOf(await pool.run("answer", [], bob, 60_000)), "none", `after ${task}`);
  }
  await pool.close();
  const hung = open({ taskMsMax: 300 });
  t.equal(faultOf(await hung.run("hang", [], alice, 60_000)), "late");
  t.equal(faultOf(await hung.run("answer", [], bob, 60_000)), "none", "after hang");
  await hung.close();
});

t.test("the start of a thread is no time of its task", async (t) => {
  const pool = open({ setup: { startMs: 3_000 }, taskMsMax: 1_500 });
  t.equal(faultOf(await pool.run("answer", [], alice, 60_000)), "none");
  await pool.close();
  const stuck = open({ setup: { startMs: 20_000 }, startMsMax: 100 });
  t.equal(faultOf(await stuck.run("answer", [], alice, 60_000)), "late", "one that does not start is ended");
  await stuck.close();
});

t.test("run() lets no more wait than the queue holds, nor longer than they may", async (t) => {
  const pool = open({ queueMax: 2, taskMsMax: 1_000 });
  await pool.run("answer", [], admin, 10_000);
  const hung = pool.run("hang", [], alice, 10_000);
  const waits = [pool.run("answer", [], admin, 100), pool.run("answer", [], admin, 30_000)];
  t.equal(faultOf(await pool.run("answer", [], admin, 30_000)), "full");
  t.equal(faultOf(await (waits[0] as Promise<TestResult>)), "late", "waited too long");
  t.equal(faultOf(await hung), "late");
  t.equal(faultOf(await (waits[1] as Promise<TestResult>)), "none", "had its turn");
  t.equal(pool.waiting.used, 0);
  await pool.close();
});

t.test("owners take turns, and one owner holds neither the queue nor all threads", async (t) => {
  const pool = open({ queueMax: 8 });
  await pool.run("answer", [], admin, 10_000);
  const order: string[] = [];
  const note = async (owner: Owner): Promise<string> => {
    const fault = faultOf(await pool.run("work", [], owner, 60_000));
    if (fault === "none") order.push(owner.name);
    return fault;
  };
  const tasks = [alice, alice, alice, alice, alice, alice, bob].map(note);
  const faults = await Promise.all(tasks);
  t.ok(faults.includes("full"), "alice has more than her part of the queue");
  t.equal(faults.at(-1), "none");
  t.ok(order.indexOf("bob") <= 1, `bob waits for one task of alice at most: ${order.join()}`);
  await pool.close();
  const two = open({ threadsMax: 2 });
  const hung = two.run("hang", [], alice, 30_000);
  const next = two.run("answer", [], alice, 30_000);
  t.equal(faultOf(await two.run("answer", [], bob, 30_000)), "none", "the other thread is not alice's");
  await two.close();
  t.equal(faultOf(await hung), "failed");
  t.equal(faultOf(await next), "failed");
});

t.test("a task whose time is over leaves its thread alive", async (t) => {
  const pool = open();
  const { thread } = (await pool.run("answer", [], alice, 10_000)) as TestResult;
  for (let round = 0; round < 5; round += 1) t.equal(faultOf(await pool.run("work", [], alice, 1)), "late");
  t.equal(((await pool.run("answer", [], alice, 60_000)) as TestResult).thread, thread);
  t.equal(pool.waiting.used, 0);
  await pool.close();
});

t.test("an owner whose task ended a thread is refused for a while", async (t) => {
  const pool = open();
  const ended = [pool.run("exit", [], alice, 10_000), pool.run("answer", [], alice, 10_000)];
  t.same((await Promise.all(ended)).map(faultOf), ["failed", "paused"]);
  t.equal(faultOf(await pool.run("answer", [], alice, 10_000)), "paused");
  t.equal(faultOf(await pool.run("answer", [], bob, 10_000)), "none");
  await pool.close();
  const brief = open({ pauseMs: 1 });
  await brief.run("exit", [], alice, 10_000);
  t.ok(await until(async () => faultOf(await brief.run("answer", [], alice, 10_000)) === "none"));
  await brief.close();
});

t.test("threads end when nobody needs them, and start again", async (t) => {
  const pool = open({ idleMs: 1 });
  const threads = new Set<unknown>();
  for (let round = 0; round < 2; round += 1) {
    threads.add(((await pool.run("answer", [], admin, 10_000)) as TestResult).thread);
    t.ok(await until(() => !pool.isStarted));
  }
  t.equal(threads.size, 2);
  await pool.close();
});

t.test("close() fails what is under way, and what comes later", async (t) => {
  const pool = open();
  await pool.run("answer", [], admin, 10_000);
  const hung = pool.run("hang", [], alice, 30_000);
  await new Promise((resolve) => setImmediate(resolve));
  await pool.close();
  t.equal(faultOf(await hung), "failed");
  t.equal(faultOf(await pool.run("answer", [], admin, 10_000)), "failed");
  await open().close();
});
