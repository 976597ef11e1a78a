// Which server runs the controllers: the one that holds the lease, one at a time, and the next one when it ends, falls
// silent or loses it.
import t, { type Test } from "tap";
import type { Clock } from "../../src/base/clock.ts";
import { Controllers, leaseName } from "../../src/boot/controllers.ts";
import { Lease, type LeaseOptions } from "../../src/controllers/lease.ts";
import { createLog } from "../../src/observe/log.ts";
import { Registry } from "../../src/observe/metrics.ts";
import type { Outcome } from "../../src/storage/store.ts";
import { reconcilerParts, Told } from "../support/controllers.ts";
import { type InProcess, openInProcess, until } from "../support/inprocess.ts";
import { nodesConfig } from "./nodes/cluster.ts";

const path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/l";
/** Runs on its own: a renewal says when it was. */
const clock: Clock = { now: () => Date.now(), monotonic: () => performance.now() };
const full: Outcome = { refused: "full", message: "no space" };
const merge = { "content-type": "application/merge-patch+json" };
const times = { durationMs: 3_000, renewMsMax: 2_000, retryMs: 5 };

interface Setup {
  readonly server: InProcess;
  readonly said: string[];
  /** Who holds it now, by what they were told. */
  readonly holders: Set<string>;
  /** What they tell in events. */
  readonly told: Told;
  open(holder: string, more?: Partial<LeaseOptions>): Lease;
  spec(): Promise<{
    holderIdentity: string;
    leaseTransitions: number;
    leaseDurationSeconds: number;
    renewTime: string;
  }>;
}

async function setup(t: Pick<Test, "teardown" | "equal">): Promise<Setup> {
  const server = await openInProcess();
  const told = new Told();
  const [said, holders, leases]: [string[], Set<string>, Lease[]] = [[], new Set(), []];
  t.teardown(async () => {
    for (const lease of leases) await lease.stop();
    server.close();
  });
  return {
    server,
    said,
    holders,
    told,
    open(holder, more = {}) {
      const lease = new Lease(
        { ...server.writers, clock },
        {
          name: "l",
          holder,
          alone: false,
          times,
          onHeld: () => {
            t.equal(holders.size, 0, `${holder} is the only one`);
            holders.add(holder);
          },
          onLost: () => {
            holders.delete(holder);
            return Promise.resolve();
          },
          record: told.recorder("c"),
          ...more,
        },
        reconcilerParts(clock, ({ message }) => void said.push(message)),
      );
      leases.push(lease);
      lease.start();
      return lease;
    },
    spec: async () => (await server.call("GET", path)).json.spec,
  };
}

t.test("Lease is held by one, renewed, and given back to the next", async (t) => {
  const { server, said, holders, told, open, spec } = await setup(t);
  const a = open("a");
  t.ok(await until(() => holders.has("a")));
  const first = await spec();
  t.match(first, { holderIdentity: "a", leaseTransitions: 0, leaseDurationSeconds: 3 });
  t.ok(await until(async () => (await spec()).renewTime > first.renewTime), "it is renewed");
  open("b");
  const changes = server.store.changes.length;
  t.ok(await until(() => server.store.changes.length > changes + 3));
  t.same([...holders], ["a"], "who is in time keeps it");
  await a.stop();
  t.ok(await until(() => holders.has("b"), times.durationMs - 500), "and who ends lets go of it at once");
  t.match(await spec(), { holderIdentity: "b", leaseTransitions: 1 });
  t.same(said, []);
  t.same(
    told.events.map(({ message }) => message),
    ["a became leader", "a stopped leading", "b became leader"],
  );
  const { uid } = (await server.call("GET", path)).json.metadata;
  for (const { about, ...event } of told.events) {
    t.match(event, { component: "c", type: "Normal", reason: "LeaderElection" });
    const { resourceVersion, ...of } = about;
    t.same(of, { kind: "Lease", apiVersion: "coordination.k8s.io/v1", namespace: "kube-system", name: "l", uid });
    t.match(resourceVersion, /^\d+$/);
  }
});

t.test("Lease of a holder that fell silent is taken when its time is over, not before", async (t) => {
  const { server, holders, open, spec } = await setup(t);
  const gone = { holderIdentity: "gone", leaseDurationSeconds: 15, renewTime: "2000-01-01T00:00:00.000000Z" };
  const made = await server.call("POST", path.slice(0, -2), { metadata: { name: "l" }, spec: gone });
  t.equal(made.code, 201, made.text);
  const began = performance.now();
  const silenceMs = 800;
  open("a", { times: { ...times, durationMs: silenceMs } });
  t.ok(await until(() => holders.has("a")));
  // Its own clock may be wrong: what counts is how long we saw nothing of it.
  t.ok(performance.now() - began >= silenceMs - 100, `${performance.now() - began} ms`);
  t.match(await spec(), { holderIdentity: "a", leaseTransitions: 1 });
});

t.test("Lease of a dead holder is taken at once by who is alone, and kept while nothing can be written", async (t) => {
  const { server, said, holders, open, spec } = await setup(t);
  const gone = { holderIdentity: "gone", leaseDurationSeconds: 15, renewTime: "2000-01-01T00:00:00.000000Z" };
  await server.call("POST", path.slice(0, -2), { metadata: { name: "l" }, spec: gone });
  server.store.before = () => full;
  const fast = { ...times, durationMs: 300, renewMsMax: 100 };
  open("a", { alone: true, times: fast });
  t.ok(await until(() => holders.has("a"), 1000), "a full disk keeps no server from working");
  t.equal(said.length, 1, said.join());
  server.store.before = undefined;
  t.ok(await until(async () => (await spec()).holderIdentity === "a", 1000));
  server.store.before = () => full;
  const began = performance.now();
  t.ok(await until(() => said.length > 1));
  t.ok(await until(() => performance.now() - began > 2 * fast.renewMsMax));
  t.same([...holders], ["a"], "nor makes one stop");
  server.store.before = undefined;
  await server.call("PATCH", path, { spec: { holderIdentity: "b", renewTime: "2000-01-01T00:00:00.000000Z" } }, merge);
  t.ok(await until(() => holders.size === 0), "who comes later is believed");
  t.ok(await until(() => holders.has("a")), "until nothing is seen of them");
});

t.test("Lease is lost by who cannot renew it, and taken again after its deletion", async (t) => {
  const { server, said, holders, open, spec } = await setup(t);
  const fast = { ...times, renewMsMax: 100 };
  open("a", { times: fast });
  t.ok(await until(() => holders.has("a")));
  await server.call("DELETE", path);
  t.ok(await until(async () => (await spec())?.holderIdentity === "a"));
  t.same([...holders], ["a"]);
  server.store.before = () => full;
  t.ok(await until(() => holders.size === 0), "others may think they hold it by now");
  t.ok(said.includes("Lease l was not renewed in time"), said.join("; "));
  server.store.before = undefined;
  t.ok(await until(() => holders.has("a")));
});

/** The controllers of one server, as far as these tests need them. */
function controllersOf(server: InProcess, holder: string): Controllers {
  return new Controllers(
    { ...server.server, clock, writers: { ...server.writers, clock } },
    createLog("silent", "test"),
    {
      running: ["serviceaccount"],
      eventTtlMs: 1e9,
      endpointsPerSliceMax: 100,
      nodes: nodesConfig(),
      clusterAddress: "127.0.0.1:6443",
      authority: "",
      address: { ip: undefined, port: 6443 },
      endpointReconciler: "lease",
      holder,
      alone: false,
      times: { ...times, durationMs: 800, renewMsMax: 500 },
      registry: new Registry(),
    },
  );
}

t.test("Controllers of two servers: one set works, the other when the first ends or loses its lease", async (t) => {
  const server = await openInProcess();
  const sets = ["a", "b"].map((holder) => controllersOf(server, holder));
  t.teardown(async () => {
    for (const set of sets) await set.stop();
    server.close();
  });
  const lease = path.replace(/l$/, leaseName);
  const holder = async (): Promise<string> => (await server.call("GET", lease)).json.spec?.holderIdentity;
  const hasAccount = (namespace: string): Promise<boolean> =>
    until(async () => {
      const account = `/api/v1/namespaces/${namespace}/serviceaccounts/default`;
      return (await server.call("GET", account)).code === 200;
    });
  await Promise.all(sets.map((set) => set.start()));
  t.ok(await until(async () => (await holder()) !== undefined));
  const first = await holder();
  const [winner, loser] = first === "a" ? sets : sets.toReversed();
  t.ok(await hasAccount("default"));
  // Another server's name in it: the winner stops, and no server works until that one was silent for long enough.
  await server.call("PATCH", lease, { spec: { holderIdentity: "c", renewTime: "2026-01-01T00:00:00.000000Z" } }, merge);
  t.ok(await until(async () => ["a", "b"].includes(await holder())));
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "n" } });
  t.ok(await hasAccount("n"));
  await ((await holder()) === first ? winner : loser)?.stop();
  t.ok(await until(async () => ((await holder()) ?? "") !== ""));
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "o" } });
  t.ok(await hasAccount("o"), "the one that is left works");
  const events = (await server.call("GET", "/api/v1/namespaces/kube-system/events")).json.items;
  const elections = events.map((event: { involvedObject: { name: string }; message: string }) => [
    event.involvedObject.name,
    event.message.replace(/^[ab] /, ""),
  ]);
  t.ok(elections.length >= 3, JSON.stringify(elections));
  for (const [name, message] of elections) {
    t.equal(name, leaseName);
    t.match(message, /^(became leader|stopped leading)$/);
  }
});

t.test("Controllers end what is under way before their lease is another's", async (t) => {
  const server = await openInProcess();
  const set = controllersOf(server, "a");
  t.teardown(async () => {
    await set.stop();
    server.close();
  });
  const lease = path.replace(/l$/, leaseName);
  const holder = async (): Promise<string> => (await server.call("GET", lease)).json.spec?.holderIdentity;
  await set.start();
  t.ok(await until(async () => (await holder()) === "a"));
  let goOn: (() => void) | undefined;
  server.store.before = ({ key }) => {
    if (goOn !== undefined || !key.includes("serviceaccounts/n/")) return undefined;
    return new Promise((resolve) => (goOn = () => resolve(undefined)));
  };
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "n" } });
  t.ok(await until(() => goOn !== undefined), "an account is being written");
  const stopped = set.stop();
  t.equal(set.stop(), stopped, "it ends once");
  await new Promise(setImmediate);
  t.equal(await holder(), "a", "and is waited for");
  goOn?.();
  await stopped;
  t.equal((await server.call("GET", "/api/v1/namespaces/n/serviceaccounts/default")).code, 200);
  t.equal(await holder(), "");
});
