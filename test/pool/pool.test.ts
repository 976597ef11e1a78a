import t from "tap";
import type { Owner } from "../../src/base/shares.ts";
import { Pool, type PoolFault, type PoolOptions } from "../../src/pool/pool.ts";
import type { PoolSetup } from "../../src/pool/task.ts";
import { until } from "../support/inprocess.ts";
import { sizeTask, type TestInput, type TestOutput, testTask, unknownTask } from "./tasks.ts";

t.setTimeout(300_000);

const script = new URL("./tasks.worker.js", import.meta.url);

const times = { taskMsMax: 30_000, startMsMax: 120_000, pauseMs: 60_000 };
const alice: Owner = { name: "alice", level: "ordinary" };
const bob: Owner = { name: "bob", level: "ordinary" };
const admin: Owner = { name: "admin", level: "masters" };

/** Threads of a test know what the test wants. */
const setupOf = (setup: object): PoolSetup => setup as PoolSetup;

function open(options: Partial<PoolOptions> = {}): Pool {
  return new Pool({
    script,
    setup: setupOf({ a: 1 }),
    what: "tasks waiting",
    threadsMax: 1,
    queueMax: 4,
    idleMs: 60_000,
    heapMiBMax: 32,
    ...times,
    ...options,
  });
}

function run(pool: Pool, input: TestInput, owner: Owner, msMax: number): Promise<TestOutput | PoolFault> {
  return pool.run(testTask, input, { owner, msMax });
}

function faultOf(result: object): string {
  return "fault" in result ? (result as PoolFault).fault : "none";
}

t.test("run() starts a thread when it is first needed and uses it again", async (t) => {
  const pool = open();
  t.equal(pool.isStarted, false);
  const first = await run(pool, "answer", admin, 10_000);
  t.equal(pool.isStarted, true);
  t.match(first, { setup: { a: 1 } });
  t.same(await run(pool, "answer", admin, 10_000), first);
  await pool.close();
});

t.test("run() fails a task whose thread throws, ends, hangs or needs too much, and goes on", async (t) => {
  const pool = open({ taskMsMax: 20_000 });
  const table: [TestInput, string][] = [
    ["throw", "failed"],
    ["exit", "failed"],
    ["heap", "failed"],
    ["uncloneable", "failed"],
  ];
  for (const [task, expected] of table) {
    t.equal(faultOf(await run(pool, task, { name: task, level: "ordinary" }, 60_000)), expected, task);
    t.equal(faultOf(await run(pool, "answer", bob, 60_000)), "none", `after ${task}`);
  }
  await pool.close();
  const hung = open({ taskMsMax: 3_000 });
  t.equal(faultOf(await run(hung, "hang", alice, 60_000)), "late");
  t.equal(faultOf(await run(hung, "answer", bob, 60_000)), "none", "after hang");
  await hung.close();
});

t.test("the start of a thread is no time of its task", async (t) => {
  const pool = open({ setup: setupOf({ startMs: 3_000 }), taskMsMax: 1_500 });
  t.equal(faultOf(await run(pool, "answer", alice, 60_000)), "none");
  await pool.close();
  const stuck = open({ setup: setupOf({ startMs: 20_000 }), startMsMax: 100 });
  t.equal(faultOf(await run(stuck, "answer", alice, 60_000)), "late", "one that does not start is ended");
  await stuck.close();
});

t.test("threads that cannot start fail the tasks they were started for, and are tried again", async (t) => {
  const pool = open({ setup: setupOf({ fails: true }), threadsMax: 2 });
  for (const owner of [alice, bob]) {
    const result = await run(pool, "answer", owner, 60_000);
    t.match(result, { fault: "failed", error: { message: "A thread cannot start" } }, owner.name);
    t.equal(faultOf(await run(pool, "answer", owner, 60_000)), "paused", owner.name);
  }
  const both = await Promise.all(["carol", "dave"].map((name) => run(pool, "answer", { ...alice, name }, 60_000)));
  t.same(both.map(faultOf), ["failed", "failed"]);
  await pool.close();
});

t.test("a thread that does not start is given up with what waits for it, and others go on", async (t) => {
  const pool = open({ setup: setupOf({ startMs: 400 }), startMsMax: 100, threadsMax: 2, pauseMs: 1 });
  const late = await Promise.all([alice, bob].map((owner) => run(pool, "answer", owner, 60_000)));
  t.same(late.map(faultOf), ["late", "late"]);
  await pool.close();
});

t.test("a pool does any task of its script's table, and awaits what comes later", async (t) => {
  const pool = open();
  const bytes = new Uint8Array(1_000);
  t.same(await pool.run(sizeTask, bytes, { owner: alice, msMax: 60_000, transfer: [bytes.buffer] }), { size: 1_000 });
  t.equal(bytes.length, 0, "handed over");
  t.match(await pool.run(unknownTask, undefined, { owner: alice, msMax: 60_000 }), {
    fault: "failed",
    error: { message: "No task of the pool is called unknown" },
  });
  t.equal(faultOf(await run(pool, "later", alice, 60_000)), "none", "and the thread is there");
  await pool.close();
});

t.test("tasks behind hung ones are not forgotten", async (t) => {
  const pool = open({ threadsMax: 2, queueMax: 60, taskMsMax: 3_000 });
  const hung = [alice, bob].map((owner) => run(pool, "hang", owner, 60_000));
  const waiting = Array.from({ length: 30 }, () => run(pool, "answer", admin, 60_000));
  t.same((await Promise.all(hung)).map(faultOf), ["late", "late"]);
  const faults = (await Promise.all(waiting)).map(faultOf);
  t.same([...new Set(faults)], ["none"]);
  await pool.close();
});

t.test("run() lets no more wait than the queue holds, nor longer than they may", async (t) => {
  const pool = open({ queueMax: 2, taskMsMax: 1_000 });
  await run(pool, "answer", admin, 10_000);
  const hung = run(pool, "hang", alice, 10_000);
  const waits = [run(pool, "answer", admin, 100), run(pool, "answer", admin, 30_000)];
  t.equal(faultOf(await run(pool, "answer", admin, 30_000)), "full");
  t.equal(faultOf(await (waits[0] as Promise<TestOutput>)), "late", "waited too long");
  t.equal(faultOf(await hung), "late");
  t.equal(faultOf(await (waits[1] as Promise<TestOutput>)), "none", "had its turn");
  t.equal(pool.waiting.used, 0);
  await pool.close();
});

t.test("owners take turns, and one owner holds neither the queue nor all threads", async (t) => {
  const pool = open({ queueMax: 8 });
  await run(pool, "answer", admin, 10_000);
  const order: string[] = [];
  const note = async (owner: Owner): Promise<string> => {
    const fault = faultOf(await run(pool, "work", owner, 60_000));
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
  const hung = run(two, "hang", alice, 30_000);
  const next = run(two, "answer", alice, 30_000);
  t.equal(faultOf(await run(two, "answer", bob, 30_000)), "none", "the other thread is not alice's");
  await two.close();
  t.equal(faultOf(await hung), "failed");
  t.equal(faultOf(await next), "failed");
});

t.test("a task whose time is over leaves its thread alive", async (t) => {
  const pool = open();
  const { thread } = (await run(pool, "answer", alice, 10_000)) as TestOutput;
  for (let round = 0; round < 5; round += 1) t.equal(faultOf(await run(pool, "work", alice, 1)), "late");
  t.equal(((await run(pool, "answer", alice, 60_000)) as TestOutput).thread, thread);
  t.equal(pool.waiting.used, 0);
  await pool.close();
});

t.test("an owner whose task ended a thread is refused for a while", async (t) => {
  const pool = open();
  const ended = [run(pool, "exit", alice, 10_000), run(pool, "answer", alice, 10_000)];
  t.same((await Promise.all(ended)).map(faultOf), ["failed", "paused"]);
  t.equal(faultOf(await run(pool, "answer", alice, 10_000)), "paused");
  t.equal(faultOf(await run(pool, "answer", bob, 10_000)), "none");
  await pool.close();
  const brief = open({ pauseMs: 1 });
  await run(brief, "exit", alice, 10_000);
  t.ok(await until(async () => faultOf(await run(brief, "answer", alice, 10_000)) === "none"));
  await brief.close();
});

t.test("threads end when they are not needed, and start again", async (t) => {
  const pool = open({ idleMs: 1 });
  const threads = new Set<unknown>();
  for (let round = 0; round < 2; round += 1) {
    threads.add(((await run(pool, "answer", admin, 10_000)) as TestOutput).thread);
    t.ok(await until(() => !pool.isStarted));
  }
  t.equal(threads.size, 2);
  await pool.close();
});

t.test("close() fails what is under way, and what comes later", async (t) => {
  const pool = open();
  await run(pool, "answer", admin, 10_000);
  const hung = run(pool, "hang", alice, 30_000);
  await new Promise((resolve) => setImmediate(resolve));
  await pool.close();
  t.equal(faultOf(await hung), "failed");
  t.equal(faultOf(await run(pool, "answer", admin, 10_000)), "failed");
  await open().close();
});
