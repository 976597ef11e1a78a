// A front's way to the writer: order, bounds, and who waits for what.
import { MessageChannel } from "node:worker_threads";
import t, { type Test } from "tap";
import type { ToWriter } from "../../src/audit/messages.ts";
import { Outlet, type Pressure } from "../../src/audit/outlet.ts";
import type { Owner } from "../../src/base/shares.ts";
import { limits } from "../../src/config/limits.ts";
import { until } from "../support/inprocess.ts";

const ours: Owner = { name: "admin", level: "masters" };

/** An outlet whose writer answers when the test says so. */
function open(t: Test, pressure: Pressure) {
  const { port1, port2 } = new MessageChannel();
  const messages: string[] = [];
  let dropped = 0;
  port2.on("message", ({ lines }: ToWriter) => void messages.push(lines));
  const outlet = new Outlet(port1, pressure, (events) => {
    dropped += events;
  });
  t.teardown(() => {
    port1.close();
    port2.close();
  });
  const answer = (stored: boolean): void => port2.postMessage({ stored });
  return { outlet, messages, answer, dropped: () => dropped };
}

t.test("events of a turn are one message, in order", async (t) => {
  const { outlet, messages } = open(t, "waits");
  outlet.put("1", ours);
  outlet.put("2", ours);
  t.ok(await until(() => messages.length === 1));
  outlet.put("3", ours);
  t.ok(await until(() => messages.length === 2));
  t.same(messages, ["1\n2\n", "3\n"]);
  outlet.put("4", ours);
  outlet.close();
  t.ok(await until(() => messages.length === 3), "close() sends the rest");
});

t.test("stored() hears of its own message", async (t) => {
  const { outlet, messages, answer } = open(t, "stores");
  outlet.put("1", ours);
  const first = outlet.stored();
  t.ok(await until(() => messages.length === 1));
  outlet.put("2", ours);
  const second = outlet.stored();
  t.ok(await until(() => messages.length === 2));
  answer(true);
  answer(false);
  t.equal(await first, true);
  t.equal(await second, false);
});

t.test("requests wait while too much is unwritten, first come first served", async (t) => {
  const { outlet, messages, answer, dropped } = open(t, "waits");
  t.equal(outlet.room(ours), undefined);
  for (let index = 0; index < limits.auditEventsMax; index += 1) outlet.put("x", ours);
  const order: number[] = [];
  const waits = [1, 2, 3].map((number) =>
    outlet.room(ours)?.then((room) => {
      order.push(number);
      return room;
    }),
  );
  t.ok(await until(() => messages.length === 1));
  t.same(order, [], "no request goes on");
  outlet.put("late", ours);
  t.equal(dropped(), 0, "and what belongs to requests under way is still taken");
  answer(true);
  t.same(await Promise.all(waits), [true, true, true]);
  t.same(order, [1, 2, 3]);
  t.equal(outlet.room(ours), undefined);
});

t.test("a large event fills an outlet, too", async (t) => {
  const { outlet, messages, answer } = open(t, "waits");
  outlet.put("x".repeat(limits.auditCharsMax), ours);
  const waits = outlet.room(ours);
  t.ok(waits instanceof Promise);
  t.ok(await until(() => messages.length === 1));
  answer(true);
  t.equal(await waits, true);
});

t.test("where no request waits, events are dropped and counted", async (t) => {
  const { outlet, messages, answer, dropped } = open(t, "drops");
  for (let index = 0; index < limits.auditEventsMax + 5; index += 1) outlet.put("x", ours);
  t.equal(outlet.room(ours), undefined);
  t.equal(dropped(), 5);
  t.ok(await until(() => messages.length === 1));
  answer(true);
  t.ok(
    await until(() => {
      const before = dropped();
      outlet.put("x", ours);
      return dropped() === before;
    }),
    "until the writer keeps up again",
  );
});

const alice: Owner = { name: "alice", level: "ordinary" };
const bob: Owner = { name: "bob", level: "ordinary" };

t.test("a user whose events are not written waits alone", async (t) => {
  const { outlet, messages, answer } = open(t, "waits");
  for (let index = 0; index < limits.auditEventsMax / 2; index += 1) outlet.put("x", alice);
  const order: string[] = [];
  const waits = ["first", "second"].map((name) => outlet.room(alice)?.then(() => void order.push(name)));
  t.ok(waits.every((wait) => wait instanceof Promise));
  t.equal(outlet.room(bob), undefined, "another user's request goes on");
  outlet.put("y", bob);
  t.equal(outlet.room({ name: "node", level: "system" }), undefined);
  t.ok(await until(() => messages.length === 1));
  t.same(order, []);
  answer(true);
  await Promise.all(waits);
  t.same(order, ["first", "second"]);
  t.ok(await until(() => outlet.unwritten === 0), "nothing stays charged");
});

t.test("a user has a share of the places to wait, and is refused beyond", async (t) => {
  const { outlet, messages, answer } = open(t, "waits");
  for (let index = 0; index < limits.auditEventsMax; index += 1) outlet.put("x", ours);
  t.ok(await until(() => messages.length === 1));
  const waits = Array.from({ length: limits.auditWaitersMax / 2 }, () => outlet.room(alice));
  t.equal(await outlet.room(alice), false);
  const other = outlet.room(bob);
  answer(true);
  t.equal(await other, true);
  // Its events are not more than its share, however many wait.
  const first = await Promise.all(waits.slice(0, limits.auditEventsMax / 4));
  t.ok(first.every(Boolean));
  t.same([...new Set(await Promise.all(waits))], [true], "the others in their turn");
});

t.test("a user whose events are not taken loses its own", async (t) => {
  const { outlet, dropped } = open(t, "drops");
  const share = limits.auditEventsMax / 2;
  for (let index = 0; index < share + 7; index += 1) outlet.put("x", alice);
  t.equal(dropped(), 7);
  outlet.put("y", bob);
  t.equal(dropped(), 7);
  t.equal(outlet.unwritten, share + 1);
});
