// How events of controllers are written: as upstream's look, later than they are told, and only as far as they can be.
import t, { type Test } from "tap";
import type { IdentityName } from "../../../src/api/identity.ts";
import { limits } from "../../../src/config/limits.ts";
import { EventWriter, type Recorder } from "../../../src/controllers/recording/eventwriter.ts";
import { Registry, seriesOf } from "../../../src/observe/metrics.ts";
import { eventMeter } from "../../../src/observe/recordedevents.ts";
import type { Outcome } from "../../../src/storage/store.ts";
import { reconcilerParts } from "../../support/controllers.ts";
import { type InProcess, openInProcess, until } from "../../support/inprocess.ts";

const full: Outcome = { refused: "full", message: "no space" };
const about = { kind: "Pod", apiVersion: "v1", namespace: "default", name: "p", uid: "u" };

class Desk {
  readonly server: InProcess;
  readonly reports: string[] = [];
  readonly writer: EventWriter;
  readonly record: Recorder;
  readonly #registry = new Registry();

  constructor(server: InProcess) {
    this.server = server;
    const { clock } = server.server;
    const parts = reconcilerParts(clock, ({ message, cause }) => {
      this.reports.push(`${message}: ${(cause as Error).message}`);
    });
    this.writer = new EventWriter(server.writers, parts, eventMeter(this.#registry));
    this.record = this.writer.recorder("some-controller", "system:serviceaccount:kube-system:some-controller");
  }

  // biome-ignore lint/suspicious/noExplicitAny: tests look into any answer
  async events(namespace = "default"): Promise<any[]> {
    return (await this.server.call("GET", `/api/v1/namespaces/${namespace}/events`)).json.items;
  }

  /** How many occurrences ended so. */
  count(outcome: string): number {
    const family = this.#registry.snapshot().find(({ name }) => name === "orch_recorded_events_total");
    return (family && seriesOf(family))?.find(([key]) => key === `some-controller\0${outcome}`)?.[1][0] ?? -1;
  }
}

function desk(
  title: string,
  check: (t: Test, desk: Desk) => Promise<void>,
  identity: IdentityName = "kubernetes",
): void {
  t.test(title, async (t) => {
    const server = await openInProcess(identity);
    const one = new Desk(server);
    try {
      await check(t, one);
      t.strictSame(server.faults, []);
    } finally {
      await one.writer.stop();
      server.close();
    }
  });
}

for (const identity of ["kubernetes", "orch"] as const) {
  const title = `an event is as upstream's recorder writes it, in both groups (${identity})`;
  const check = async (t: Test, desk: Desk): Promise<void> => {
    const of = { kind: "Lease", apiVersion: "g/v1", namespace: "default", name: "l", uid: "u", resourceVersion: "7" };
    desk.record(of, "Normal", "Came", "It came");
    t.equal((await desk.events()).length, 0, "not in the turn it is told in");
    t.ok(await until(async () => (await desk.events()).length === 1));
    const [{ metadata, ...said }] = await desk.events();
    t.match(metadata.name, /^l\.[0-9a-f]{16}$/);
    t.match(metadata.managedFields, [{ manager: "kube-controller-manager", operation: "Update" }]);
    const time = "2026-01-02T03:04:05Z";
    t.strictSame(said, {
      involvedObject: of,
      reason: "Came",
      message: "It came",
      source: { component: "some-controller" },
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
      type: "Normal",
      eventTime: null,
      reportingComponent: "",
      reportingInstance: "",
    });
    const group = identity === "orch" ? "events.orch.io" : "events.k8s.io";
    const { json } = await desk.server.call("GET", `/apis/${group}/v1/namespaces/default/events`);
    t.match(json.items, [{ regarding: of, note: "It came", deprecatedSource: { component: "some-controller" } }]);
    t.equal(desk.count("written"), 1);
  };
  desk(title, check, identity);
}

desk("what happens again is counted in the event there is, also where that is gone", async (t, desk) => {
  const { server, record } = desk;
  record(about, "Warning", "Failed", "no");
  t.ok(await until(async () => (await desk.events()).length === 1));
  const [first] = await desk.events();
  server.nowMs += 5_000;
  for (let index = 0; index < 3; index++) record(about, "Warning", "Failed", "no");
  t.ok(await until(async () => (await desk.events())[0]?.count === 4));
  const [{ metadata, firstTimestamp, lastTimestamp }] = await desk.events();
  t.equal(metadata.name, first.metadata.name);
  t.strictSame([firstTimestamp, lastTimestamp], ["2026-01-02T03:04:05Z", "2026-01-02T03:04:10Z"]);
  t.equal(desk.count("written"), 2, "three are one write");
  await server.call("DELETE", "/api/v1/namespaces/default/events");
  record(about, "Warning", "Failed", "no");
  t.ok(await until(async () => (await desk.events())[0]?.count === 5));
  t.equal((await desk.events())[0].metadata.name, first.metadata.name);
});

desk(
  "objects in no namespace have their events in the default one, and any name of an object fits",
  async (t, desk) => {
    const name = `${"n".repeat(240)}:1 2%3`;
    desk.record({ kind: "ClusterRole", apiVersion: "rbac/v1", name, uid: "u" }, "Warning", "Failed", "no");
    desk.record({ ...about, name: "x".repeat(253) }, "Warning", "Failed", "no");
    t.ok(await until(async () => (await desk.events()).length === 1), desk.reports.join());
    t.ok(await until(() => desk.count("written") + desk.count("dropped") === 2));
    const names = (await desk.events()).map(({ involvedObject }) => involvedObject.name);
    t.strictSame(names, ["x".repeat(253)]);
    t.match(
      desk.reports,
      [/^Event default\/n+:1 2%3\.[0-9a-f]{16} cannot be written: /],
      "a name that cannot be in a path",
    );
    desk.record({ kind: "ClusterRole", apiVersion: "rbac/v1", name: "system:x", uid: "u" }, "Warning", "Failed", "no");
    t.ok(await until(async () => (await desk.events()).length === 2));
    t.match((await desk.events())[0].involvedObject, { name: "system:x", kind: "ClusterRole" });
  },
);

desk("nothing is said about events of namespaces that go, are gone or were never there", async (t, desk) => {
  const { server, record, reports } = desk;
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "going" } });
  await server.call("DELETE", "/api/v1/namespaces/going");
  const [{ code }] = [await server.call("GET", "/api/v1/namespaces/going")];
  t.equal(code, 200, "it is being deleted");
  for (const namespace of ["going", "nowhere"]) record({ ...about, namespace }, "Warning", "Failed", "no");
  t.ok(await until(() => desk.count("dropped") === 2));
  t.strictSame(reports, []);
});

desk("a store that takes nothing is asked again, and what waits is bounded", async (t, desk) => {
  const { server, reports } = desk;
  server.store.before = () => full;
  const count = 2 * limits.eventsPendingMax;
  for (let index = 0; index < count; index++) {
    server.aheadMs += 1_000 / limits.eventsPerSecond;
    desk.record({ ...about, namespace: `n${index}` }, "Warning", "Failed", "no");
  }
  t.equal(desk.count("limited"), 0);
  t.equal(desk.count("dropped"), count - limits.eventsPendingMax);
  server.store.before = undefined;
  // They are of namespaces that are not there.
  t.ok(await until(() => desk.count("dropped") === count));
  server.store.before = () => full;
  desk.record(about, "Warning", "Failed", "no");
  t.ok(await until(() => reports.length > 0));
  t.match(reports[0], /^Event \S+ cannot be written: /);
  t.equal(desk.count("written"), 0);
  server.store.before = undefined;
  t.ok(
    await until(async () => {
      server.aheadMs += 1_000;
      return (await desk.events()).length === 1;
    }),
  );
});

desk("an event that cannot be written for long is given up", async (t, desk) => {
  const { server } = desk;
  server.store.before = () => full;
  desk.record(about, "Warning", "Failed", "no");
  const isGivenUp = (): boolean => {
    server.aheadMs += 30_000;
    return desk.count("dropped") === 1;
  };
  t.ok(await until(isGivenUp));
  server.store.before = undefined;
  await desk.writer.stop();
  t.strictSame(await desk.events(), []);
});

desk(
  "forget() leaves nothing to write, and the same is told in a new event; stop() writes what waits",
  async (t, desk) => {
    const { record, writer } = desk;
    record(about, "Warning", "Failed", "no");
    writer.forget();
    record({ ...about, name: "q" }, "Warning", "Failed", "no");
    t.ok(await until(async () => (await desk.events()).length === 1));
    t.equal((await desk.events())[0].involvedObject.name, "q");
    writer.forget();
    record({ ...about, name: "q" }, "Warning", "Failed", "no");
    await writer.stop();
    t.strictSame(
      (await desk.events()).map(({ count }) => count),
      [1, 1],
    );
    record(about, "Warning", "Failed", "no");
    await writer.stop();
    t.equal((await desk.events()).length, 2, "nothing is taken after the end");
  },
);
