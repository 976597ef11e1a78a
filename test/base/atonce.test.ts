// Several things at a time, of many.
import t from "tap";
import { severalAtOnce } from "../../src/base/atonce.ts";
import { nextTurn } from "../../src/base/turn.ts";

t.test("severalAtOnce() works on each item once, in order, and on no more at a time than it may", async (t) => {
  for (const [count, most] of [
    [0, 3],
    [2, 3],
    [20, 3],
    [5, 1],
  ] as const) {
    const begun: number[] = [];
    let [running, highest] = [0, 0];
    const items = Array.from({ length: count }, (_none, index) => index);
    await severalAtOnce(items.values(), most, async (item) => {
      begun.push(item);
      running += 1;
      highest = Math.max(highest, running);
      for (let turns = 1 + (item % 4); turns > 0; turns--) await nextTurn();
      running -= 1;
    });
    t.same(begun, items);
    t.equal(running, 0);
    t.equal(highest, Math.min(count, most));
  }
});

t.test("severalAtOnce() rejects with what an item throws", async (t) => {
  const work = async (item: number): Promise<void> => {
    if (item === 2) throw new Error("two");
  };
  await t.rejects(severalAtOnce([1, 2, 3], 2, work), { message: "two" });
});
