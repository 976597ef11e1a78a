import t from "tap";
import { EventExpirer } from "../../src/controllers/events.ts";
import { type InProcess, openInProcess, until } from "../support/inprocess.ts";

const events = "/api/v1/namespaces/default/events";
const ttlMs = 3_600_000;

function event(name: string, more: object = {}): object {
  return { metadata: { name }, involvedObject: { namespace: "default", kind: "Pod", name: "p" }, ...more };
}

async function names(server: InProcess): Promise<string[]> {
  const { json } = await server.call("GET", events);
  return json.items.map((item: { metadata: { name: string } }) => item.metadata.name);
}

t.test("EventExpirer removes events nobody wrote to for the time to live", async (t) => {
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
  server.nowMs = startMs + 0.5 * hour;
  const expirer = new EventExpirer(server.writers, ttlMs, 5);
  expirer.start();
  server.nowMs = startMs + 0.75 * hour;
  await create("quiet");
  await create("busy");
  t.ok(await until(() => expirer.noted === 5));
  server.nowMs = startMs + hour;
  t.ok(await only("busy", "future", "quiet", "seen"));
  server.nowMs = startMs + 1.25 * hour;
  await server.call("PUT", `${events}/busy`, event("busy", { count: 2 }));
  t.ok(await until(() => expirer.noted === 5), "one is over, one is new");
  server.nowMs = startMs + 1.5 * hour;
  t.ok(await only("busy", "quiet"), "what an event says counts, but not if it is yet to come");
  server.nowMs = startMs + 1.75 * hour;
  t.ok(await only("busy"));
  let asked = 0;
  server.store.before = () => {
    asked++;
    return { refused: "unavailable", message: "down" };
  };
  server.nowMs = startMs + 2.25 * hour;
  t.ok(await until(() => asked > 1), "it tries again");
  server.store.before = undefined;
  t.ok(await only());
  expirer.stop();
  server.close();
});

t.test("EventExpirer keeps events forever when the time to live is 0", async (t) => {
  const server = await openInProcess();
  await server.call("POST", events, event("old"));
  const expirer = new EventExpirer(server.writers, 0, 1);
  expirer.start();
  server.nowMs += 100 * ttlMs;
  await until(() => false, 50);
  t.strictSame(await names(server), ["old"]);
  expirer.stop();
  server.close();
});
