import t from "tap";
import { openPool } from "../../src/boot/pool.ts";
import type { PoolSetup } from "../../src/pool/task.ts";
import { printTask } from "../../src/request/answer/printtask.ts";

t.setTimeout(300_000);

const setup: PoolSetup = { identity: "kubernetes", runtimeConfig: new Map(), gates: new Set(), release: 23 };

const input = { format: "yaml", message: "core/v1.ConfigMap", body: Buffer.from('{"data":{"a":"b"}}') } as const;

t.test("the pool of a front does the tasks of the table", async (t) => {
  const pool = openPool(setup);
  const result = await pool.run(printTask, input, { owner: { name: "alice", level: "ordinary" }, msMax: 60_000 });
  t.ok("printed" in result);
  if ("printed" in result) t.equal(Buffer.from(result.printed).toString(), "data:\n  a: b\n");
  await pool.close();
});

t.test("a pool without threads does tasks in turns of this thread, those of owners in turn", async (t) => {
  const pool = openPool(setup, { threadsMax: 0 });
  const done: string[] = [];
  let turns = 0;
  let counts = true;
  const count = (): void => {
    turns += 1;
    if (counts) setImmediate(count);
  };
  setImmediate(count);
  const results = ["alice", "alice", "alice", "bob"].map(async (name) => {
    const result = await pool.run(printTask, input, { owner: { name, level: "ordinary" }, msMax: 60_000 });
    done.push(name);
    return "printed" in result ? Buffer.from(result.printed).toString() : result.fault;
  });
  t.equal(pool.running, 1, "one at a time");
  t.same(await Promise.all(results), Array(4).fill("data:\n  a: b\n"));
  counts = false;
  t.same(done.toSorted(), ["alice", "alice", "alice", "bob"]);
  t.ok(done.indexOf("bob") < 3, "bob does not wait for all of alice's");
  t.ok(turns >= 4, `others had ${turns} turns`);
  const late = await pool.run(printTask, input, { owner: { name: "alice", level: "ordinary" }, msMax: 0 });
  t.ok("printed" in late || late.fault === "late");
  const broken = { ...input, message: "core/v1.Nothing" };
  const failed = await pool.run(printTask, broken, { owner: { name: "alice", level: "ordinary" }, msMax: 60_000 });
  t.match(failed, { fault: "failed" });
  t.match(
    await pool.run(printTask, input, { owner: { name: "alice", level: "ordinary" }, msMax: 60_000 }),
    { printed: Uint8Array },
    "what throws pauses nobody",
  );
  await pool.close();
});

t.test("a pool is closed at any moment of the start of its threads, and the process goes on", async (t) => {
  // Node 20 aborts where a thread ends while it loads an ES module by require(): within the first 0.2 s.
  for (let ms = 0; ms < 200; ms += 8) {
    const pool = openPool(setup);
    const results = ["alice", "bob"].map((name) =>
      pool.run(printTask, input, { owner: { name, level: "ordinary" }, msMax: 60_000 }),
    );
    await new Promise((resolve) => setTimeout(resolve, ms));
    await pool.close();
    for (const result of await Promise.all(results)) {
      t.ok("printed" in result || result.fault === "failed", `after ${ms} ms`);
    }
  }
});
