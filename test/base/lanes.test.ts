// Whose turn it is among owners that wait.
import t from "tap";
import { Lanes } from "../../src/base/lanes.ts";

function takeAll(lanes: Lanes<string>, count = Number.POSITIVE_INFINITY): string[] {
  const taken: string[] = [];
  while (taken.length < count) {
    const item = lanes.take();
    if (item === undefined) break;
    taken.push(item);
  }
  return taken;
}

t.test("owners take turns, and each one's items go in their order", (t) => {
  const lanes = new Lanes<string>();
  for (const item of ["a1", "a2", "a3", "b1", "b2", "c1"]) lanes.add(item.slice(0, 1), item);
  t.equal(lanes.size, 6);
  t.same(takeAll(lanes), ["a1", "b1", "c1", "a2", "b2", "a3"]);
  t.equal(lanes.size, 0);
  t.equal(lanes.take(), undefined);
  t.end();
});

t.test("an owner of whom nothing was taken lately is next, and cannot be so time after time", (t) => {
  const lanes = new Lanes<string>();
  for (let index = 1; index <= 5; index += 1) lanes.add("many", `many${index}`);
  t.same(takeAll(lanes, 2), ["many1", "many2"]);
  lanes.add("few", "few1");
  t.same(takeAll(lanes, 1), ["few1"]);
  lanes.add("few", "few2");
  t.same(takeAll(lanes, 2), ["many3", "few2"], "comes back before its next turn, and waits for it");
  t.same(takeAll(lanes, 1), ["many4"]);
  lanes.add("other", "other1");
  t.same(takeAll(lanes), ["other1", "many5"]);
  t.end();
});

t.test("when nothing waits all owners are new again", (t) => {
  const lanes = new Lanes<string>();
  lanes.add("a", "a1");
  t.same(takeAll(lanes), ["a1"]);
  for (const item of ["b1", "b2", "a2"]) lanes.add(item.slice(0, 1), item);
  t.same(takeAll(lanes), ["b1", "a2", "b2"]);
  t.end();
});
