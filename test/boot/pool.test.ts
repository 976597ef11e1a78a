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
