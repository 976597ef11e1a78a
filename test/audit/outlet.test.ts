// A front's way to the writer: order, bounds, and who waits for what.
import { MessageChannel } from "node:worker_threads";
import t, { type Test } from "tap";
import type { ToWriter } from "../../src/audit/messages.ts";
import { Outlet, type Pressure } from "../../src/audit/outlet.ts";
import { limits } from "../../src/config/limits.ts";
import { until } from "../support/inprocess.ts";

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
  outlet.put("1");
  outlet.put("2");
  t.ok(await until(() => messages.length === 1));
  outlet.put("3");
  t.ok(await until(() => messages.length === 2));
  t.same(messages, ["1\n2\n", "3\n"]);
  outlet.put("4");
  outlet.close();
  t.ok(await until(() => messages.length === 3), "close() sends the rest");
});

t.test("stored() hears of its own message", async (t) => {
  const { outlet, messages, answer } = open(t, "stores");
  outlet.put("1");
  const first = outlet.stored();
  t.ok(await until(() => messages.length === 1));
  outlet.put("2");
  const second = outlet.stored();
  t.ok(await until(() => messages.length === 2));
  answer(true);
  answer(false);
  t.equal(await first, true);
  t.equal(await second, false);
});

t.test("requests wait while too much is unwritten, first come first served", async (t) => {
  const { outlet, messages, answer, dropped } = open(t, "waits");
  t.equal(outlet.room(), undefined);
  for (let index = 0; index < limits.auditEventsMax; index += 1) outlet.put("x");
  const order: number[] = [];
  const waits = [1, 2, 3].map((number) =>
    outlet.room()?.then((room) => {
      order.push(number);
      return room;
    }),
  );
  t.ok(await until(() => messages.length === 1));
  t.same(order, [], "nobody goes on");
  outlet.put("late");
  t.equal(dropped(), 0, "and what belongs to requests under way is still taken");
  answer(true);
  t.same(await Promise.all(waits), [true, true, true]);
  t.same(order, [1, 2, 3]);
  t.equal(outlet.room(), undefined);
});

t.test("a large event fills an outlet, too", async (t) => {
  const { outlet, messages, answer } = open(t, "waits");
  outlet.put("x".repeat(limits.auditCharsMax));
  const waits = outlet.room();
  t.ok(waits instanceof Promise);
  t.ok(await until(() => messages.length === 1));
  answer(true);
  t.equal(await waits, true);
});

t.test("where nobody waits, events are dropped and counted", async (t) => {
  const { outlet, messages, answer, dropped } = open(t, "drops");
  for (let index = 0; index < limits.auditEventsMax + 5; index += 1) outlet.put("x");
  t.equal(outlet.room(), undefined);
  t.equal(dropped(), 5);
  t.ok(await until(() => messages.length === 1));
  answer(true);
  t.ok(
    await until(() => {
      const before = dropped();
      outlet.put("x");
      return dropped() === before;
    }),
    "until the writer keeps up again",
  );
});
