import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { noEtcd, noEtcdctl } from "../support/etcd/binary.ts";
import { random } from "../support/random.ts";
import { runEtcd } from "./etcd.ts";
import { runMove } from "./etcdmove.ts";
import { runRestore } from "./etcdrestore.ts";

const seed = Number(process.env["ORCH_SEED"] ?? Date.now() % 1_000_000);
t.comment(`ORCH_SEED=${seed}`);
t.setTimeout(600_000);

function folder(t: Test): string {
  const dir = mkdtempSync(join(tmpdir(), "orch-crash-etcd-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  return join(dir, "servers");
}

t.test("two servers on an etcd keep their promises through faults of both", { skip: noEtcd }, async (t) => {
  const names = ["leader", "kill", "partition", "compact"];
  const run = { dir: folder(t), runMs: 0, pick: random(seed), faults: names, lastsMsMax: 3000, isEachOnce: true };
  const { violations, surprises, ...figures } = await runEtcd(run);
  t.comment(JSON.stringify(figures));
  t.same(violations.slice(0, 20), []);
  t.same(surprises.slice(0, 20), []);
  t.ok(figures.leaderGapMsMax < 5000, `${figures.leaderGapMsMax} ms without a write after the loss of a leader`);
  t.ok(figures.acknowledged > 200, `${figures.acknowledged} changes were acknowledged`);
});

t.test(
  "servers on an etcd that was restored end, and serve nothing older before",
  { skip: noEtcd || noEtcdctl },
  async (t) => {
    const { violations, ...figures } = await runRestore(folder(t), random(seed));
    t.comment(JSON.stringify(figures));
    t.same(violations.slice(0, 20), []);
    t.equal(figures.ended, 2);
  },
);

t.test("watches of a killed server go on at the other one where they were", { skip: noEtcd }, async (t) => {
  const { violations, ...figures } = await runMove(folder(t), 200);
  t.comment(JSON.stringify(figures));
  t.same(violations.slice(0, 20), []);
  t.equal(figures.relists, 0);
  t.ok(figures.moved >= 90, `${figures.moved} watches moved`);
});
