import t from "tap";
import { Turn } from "../../src/base/turn.ts";
import { EventExpirer } from "../../src/controllers/events.ts";
import type { Pace, Reconciler, ReconcilerParts } from "../../src/controllers/reconciler.ts";
import { reconcilerOf } from "../support/controllers.ts";
import { type InProcess, openInProcess, until } from "../support/inprocess.ts";

const events = "/api/v1/namespaces/default/events";
const ttlMs = 3_600_000;
const quick: Pace = { gatherMs: 1, retryMsMax: 100 };

function expirerOf(server: InProcess, pace = quick, ttl = ttlMs, parts: Partial<ReconcilerParts> = {}): Reconciler {
  return reconcilerOf(new EventExpirer(server.writers, ttl, pace), server.server.clock, undefined, parts);
}

/** Lets time pass until `nowMs` of the wall clock. */
function passTo(server: InProcess, nowMs: number): void {
  server.aheadMs += nowMs - server.nowMs;
  server.nowMs = nowMs;
}

function event(name: string, more: object = {}): object {
  return { metadata: { name }, involvedObject: { namespace: "default", kind: "Pod", name: "p" }, ...more };
}

async function names(server: InProcess): Promise<string[]> {
  const { json } = await server.call("GET", events);
  return json.items.map((item: { metadata: { name: string } }) => item.metadata.name);
}

t.test("EventExpirer removes events that were not written for the time to live", async (t) => {
  const server = await openInProcess();
  const hour = ttlMs;
  const startMs = server.nowMs;
  const create = async (name: string, lastTimestamp?: string): Promise<void> => {
    await server.call("POST", events, event(name, lastTimestamp === undefined ? {} : { lastTimestamp }));
  };
  const only = (...left: string[]): Promise<boolean> => until(async () => (await names(server)).join() === left.join());
  await create("old");
  await create("seen", "2026-01-02T03:34:05Z");
  await create("future", "3026-01-02T03:34:05Z");
  passTo(server, startMs + 0.5 * hour);
  const expirer = expirerOf(server);
  expirer.start();
  passTo(server, startMs + 0.75 * hour);
  await create("quiet");
  await create("busy");
  t.ok(await until(() => expirer.laterCount === 5));
  passTo(server, startMs + hour);
  t.ok(await only("busy", "future", "quiet", "seen"));
  passTo(server, startMs + 1.25 * hour);
  await server.call("PUT", `${events}/busy`, event("busy", { count: 2 }));
  t.ok(await until(() => expirer.catchUp()));
  t.equal(expirer.laterCount, 4, "one is over, and a write adds none");
  passTo(server, startMs + 1.5 * hour);
  t.ok(await only("busy", "quiet"), "what an event says counts, but not if it is yet to come");
  passTo(server, startMs + 1.75 * hour);
  t.ok(await only("busy"));
  let asked = 0;
  server.store.before = () => {
    asked++;
    return { refused: "unavailable", message: "down" };
  };
  passTo(server, startMs + 2.25 * hour);
  t.ok(await until(() => asked > 1), "it tries again");
  server.store.before = undefined;
  t.ok(await only());
  await expirer.stop();
  server.close();
});

t.test("EventExpirer keeps events forever when the time to live is 0", async (t) => {
  const server = await openInProcess();
  await server.call("POST", events, event("old"));
  const expirer = expirerOf(server, quick, 0);
  expirer.start();
  passTo(server, server.nowMs + 100 * ttlMs);
  await until(() => false, 50);
  t.strictSame(await names(server), ["old"]);
  await expirer.stop();
  server.close();
});

t.test(
  "EventExpirer reads what is there a few per turn, and an event written meanwhile keeps its whole time",
  async (t) => {
    const server = await openInProcess();
    for (let i = 10; i < 40; i++) await server.call("POST", events, event(`e${i}`));
    passTo(server, server.nowMs + ttlMs / 2);
    const expirer = expirerOf(server, quick, ttlMs, { turn: new Turn(0) });
    expirer.start();
    t.equal(expirer.laterCount, 1);
    // Its own words say that it is as old as the others.
    await server.call("PUT", `${events}/e39`, event("e39", { count: 2 }));
    t.ok(await until(() => expirer.laterCount === 30));
    passTo(server, server.nowMs + ttlMs / 2);
    t.ok(await until(async () => (await names(server)).join() === "e39"));
    passTo(server, server.nowMs + ttlMs / 2);
    t.ok(await until(async () => (await names(server)).length === 0));
    await expirer.stop();
    server.close();
  },
);

t.test("EventExpirer removes a bounded number per look", async (t) => {
  const server = await openInProcess();
  for (let i = 10; i < 40; i++) await server.call("POST", events, event(`e${i}`));
  const expirer = expirerOf(server, { ...quick, gatherMs: 20, gatheredMax: 8 });
  expirer.start();
  t.ok(await until(() => expirer.laterCount === 30));
  passTo(server, server.nowMs + ttlMs);
  const left = new Set<number>();
  t.ok(
    await until(async () => {
      left.add(expirer.laterCount);
      return (await names(server)).length === 0;
    }),
  );
  left.forEach((count) => t.ok([30, 22, 14, 6, 0].includes(count), `${count}`));
  await expirer.stop();
  server.close();
});

t.test("EventExpirer keeps a bounded number of writes in mind and still removes every event", async (t) => {
  const server = await openInProcess();
  const make = async (from: number): Promise<void> => {
    for (let i = from; i < from + 30; i++) await server.call("POST", events, event(`e${i}`));
  };
  await make(10);
  const expirer = expirerOf(server, { ...quick, keysMax: 12 });
  expirer.start();
  t.ok(await until(() => expirer.laterCount === 12));
  passTo(server, server.nowMs + 1000);
  await make(40);
  t.ok(await until(() => expirer.catchUp()));
  t.equal(expirer.laterCount, 12);
  passTo(server, server.nowMs + ttlMs - 1000);
  t.ok(await until(async () => (await names(server)).length === 30), "those of the start are over");
  passTo(server, server.nowMs + 1000);
  t.ok(await until(async () => (await names(server)).length === 0), "and the others, which it had not noted");
  await expirer.stop();
  server.close();
});
