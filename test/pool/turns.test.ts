import t from "tap";
import { Turns } from "../../src/pool/turns.ts";

interface Item {
  readonly owner: string;
  readonly at: number;
}

const items = (owner: string, count: number): Item[] => Array.from({ length: count }, (_, at) => ({ owner, at }));

t.test("take() gives each owner one turn after the other, and none more than its bound", (t) => {
  const turns = new Turns<Item>(2);
  for (const item of [...items("a", 4), ...items("b", 1)]) turns.add(item);
  const taken = (): string => {
    const item = turns.take();
    return item === undefined ? "none" : `${item.owner}${item.at}`;
  };
  t.same([taken(), taken(), taken(), taken()], ["a0", "b0", "a1", "none"]);
  t.equal(turns.running, 3);
  turns.add({ owner: "b", at: 1 });
  turns.done("a");
  t.same([taken(), taken(), taken()], ["b1", "a2", "none"], "who is done stands behind others");
  t.end();
});

t.test("remove() and removeAll() forget what waits, and not what is under way", (t) => {
  const turns = new Turns<Item>(1);
  const [first, second, third] = items("a", 3) as [Item, Item, Item];
  for (const item of [first, second, third]) turns.add(item);
  t.equal(turns.take(), first);
  t.same([turns.remove(first), turns.remove(second), turns.remove(second)], [false, true, false]);
  t.same(turns.removeAll("b"), []);
  t.same(turns.removeAll("a"), [third]);
  t.equal(turns.running, 1);
  turns.done("a");
  for (const item of [second, { owner: "b", at: 0 }]) turns.add(item);
  t.equal(turns.removeAll().length, 2);
  t.equal(turns.take(), undefined);
  t.equal(turns.running, 0);
  t.end();
});
