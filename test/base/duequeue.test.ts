import t from "tap";
import { Allowance } from "../../src/base/allowance.ts";
import { DueQueue } from "../../src/base/duequeue.ts";
import { draws, fuzzRun } from "../support/random.ts";

t.test(
  "DueQueue gives keys in order of their time, as a sorted list does, however they come, move and go",
  async (t) => {
    const { seed, rounds } = fuzzRun(20_000);
    const { next } = draws(seed);
    const queue = new DueQueue();
    const model = new Map<string, number>();
    let now = 0;
    for (let round = 0; round < rounds; round++) {
      const key = `k${next(200)}`;
      const first = Math.min(Number.POSITIVE_INFINITY, ...model.values());
      if (queue.firstMs !== first || queue.size !== model.size) t.fail(`seed ${seed}, round ${round}: ${first}`);
      if (queue.dueMs(key) !== (model.get(key) ?? Number.POSITIVE_INFINITY)) t.fail(`seed ${seed}, round ${round}`);
      const what = next(4);
      if (what < 2) {
        const atMs = now + next(100);
        queue.set(key, atMs);
        model.set(key, atMs);
      } else if (what === 2) {
        if (queue.delete(key) !== model.delete(key)) t.fail(`seed ${seed}, round ${round}: deleted`);
      } else {
        now += next(5);
        const taken = queue.take(now);
        const isRight = taken === undefined ? first > now : model.get(taken) === first && first <= now;
        if (!isRight) t.fail(`seed ${seed}, round ${round}: took ${taken}`);
        if (taken !== undefined) model.delete(taken);
      }
    }
    queue.clear();
    t.equal(queue.take(Number.POSITIVE_INFINITY), undefined);
  },
);

t.test("Allowance.take() says yes so often at once, and so often per second", async (t) => {
  const allowance = new Allowance(10, 3);
  let taken = 0;
  for (let i = 0; i < 10; i++) if (allowance.take(0)) taken++;
  t.equal(taken, 3);
  t.equal(allowance.nextMs, 100);
  for (let nowMs = 0; nowMs < 10_000; nowMs += 7) if (allowance.take(nowMs)) taken++;
  t.ok(taken >= 3 + 98 && taken <= 3 + 100, `${taken}`);
  for (let i = 0; i < 10; i++) if (allowance.take(60_000)) taken++;
  t.ok(taken <= 106, "what was not used does not add up");
});
