// How what is limited is divided among owners.
import t from "tap";
import { type Owner, type ShareLevel, Shares } from "../../src/base/shares.ts";

function owner(name: string, level: ShareLevel = "ordinary"): Owner {
  return { name, level };
}

function fill(shares: Shares, who: Owner, amount = 1): (() => void)[] {
  const held: (() => void)[] = [];
  for (let leave = shares.take(who, amount); leave !== undefined; leave = shares.take(who, amount)) held.push(leave);
  return held;
}

t.test("take() leaves a share for the next owner, however much the others want", (t) => {
  const shares = new Shares("seats", 400);
  const counts = ["a", "b", "c", "d", "e"].map((name) => fill(shares, owner(name)).length);
  t.equal(counts[0], 200, "one owner holds two thirds of what users may fill");
  for (const [index, count] of counts.entries()) t.ok(count > 0, `owner ${index} holds ${count}`);
  t.ok(shares.used <= 300, "a quarter is kept");
  t.equal(shares.owners, 5);
  t.end();
});

t.test("take() keeps places for components, and some of these for elections", (t) => {
  const shares = new Shares("seats", 160);
  for (let index = 0; index < 200; index += 1) fill(shares, owner(`user${index}`));
  t.equal(shares.used, 120);
  t.equal(shares.take(owner("late")), undefined);
  for (let index = 0; index < 50; index += 1) fill(shares, owner(`node${index}`, "system"));
  t.equal(shares.used, 150);
  t.ok(shares.take(owner("manager", "election")));
  t.equal(fill(shares, owner("admin", "masters")).length, 9, "administrators get all that is free");
  t.end();
});

t.test("what is given back can be taken again, once", (t) => {
  const shares = new Shares("bytes", 1_000);
  const alice = owner("alice");
  const held = fill(shares, alice, 100);
  t.equal(held.length, 5);
  t.equal(shares.heldBy("alice"), 500);
  held[0]?.();
  held[0]?.();
  t.equal(shares.used, 400);
  t.ok(shares.take(alice, 100));
  for (const leave of held) leave();
  t.equal(shares.used, 100);
  t.equal(shares.heldBy("alice"), 100);
  t.end();
});

t.test("take() with a bound of one, and without a bound", (t) => {
  const one = new Shares("seats", 1);
  const leave = one.take(owner("alice"));
  t.ok(leave);
  t.equal(one.take(owner("bob", "election")), undefined);
  leave?.();
  t.equal(one.owners, 0);
  const unbounded = new Shares("seats", Number.POSITIVE_INFINITY);
  for (let index = 0; index < 1_000; index += 1) if (unbounded.take(owner("alice")) === undefined) t.fail("refused");
  t.end();
});
