// Refusals: those of a user who is refused often are held back, others are not.
import t from "tap";
import { limits } from "../../src/config/limits.ts";
import { Refusals } from "../../src/flowcontrol/refusals.ts";

const heavy = { name: "heavy", level: "ordinary" } as const;
const light = { name: "light", level: "ordinary" } as const;

t.test("who is refused often is answered late, and nobody else", async (t) => {
  let nowMs = 5_000;
  let delayed = 0;
  const clock = { now: () => nowMs, monotonic: () => nowMs };
  const refusals = new Refusals(
    clock,
    () => 0,
    () => (delayed += 1),
  );
  const held: Promise<void>[] = [];
  for (let at = 0; at < limits.refusalsPerSecond; at++) t.equal(refusals.hold(heavy), undefined);
  for (let at = 0; at < 3; at++) held.push(refusals.hold(heavy) ?? Promise.reject(new Error("answered at once")));
  t.equal(refusals.held, 3);
  t.equal(delayed, 3);
  t.equal(refusals.hold(light), undefined, "another user");
  for (const level of ["system", "election", "masters"] as const)
    for (let at = 0; at < 2 * limits.refusalsPerSecond; at++)
      t.equal(refusals.hold({ name: "heavy", level }), undefined, level);
  nowMs += 1_000;
  t.equal(refusals.hold(heavy), undefined, "in the next second");
  await Promise.all(held);
  t.equal(refusals.held, 0, "nothing is kept");
});

t.test("no more are held back than there is room for", async (t) => {
  const clock = { now: () => 0, monotonic: () => 0 };
  const refusals = new Refusals(clock, () => 0);
  for (let at = 0; at < limits.refusalsPerSecond + limits.refusalsHeldMax; at++) void refusals.hold(heavy);
  t.equal(refusals.held, limits.refusalsHeldMax);
  t.equal(refusals.hold(heavy), undefined);
});
