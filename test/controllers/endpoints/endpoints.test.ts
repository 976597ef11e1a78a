// What Endpoints and endpoint slices say of pods, case by case, as upstream's controllers do; and how often it is written.
import type { Test } from "tap";
import { sliceMeter } from "../../../src/observe/endpointslices.ts";
import { exposition, Registry } from "../../../src/observe/metrics.ts";
import { changeTypes } from "../../../src/storage/store.ts";
import {
  core,
  eventually,
  makePod,
  makeService,
  merge,
  type PodSketch,
  runEndpoints,
  running,
  setPod,
  settled,
  slicesOf,
} from "../../support/endpoints.ts";
import { type InProcess, until } from "../../support/inprocess.ts";

const ports = [{ name: "http", port: 80, targetPort: "web" }];
const named = { ports: { web: 8080 } };

/** Subsets in short: `ready|not ready:ports`, addresses by their last part. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into any answer
function short(subsets: any[] | undefined): string {
  // biome-ignore lint/suspicious/noExplicitAny: as above
  const last = (list: any[] = []): string => list.map(({ ip }) => ip.replace(/^.*[.:]/, "")).join(",");
  return (subsets ?? [])
    .map(({ addresses, notReadyAddresses, ports = [] }) => {
      const numbers = ports.map(({ port }: { port: number }) => port).join(",");
      return `${last(addresses)}|${last(notReadyAddresses)}:${numbers}`;
    })
    .join(" ");
}

/** Slices in short: `address rst` of each endpoint (ready, serving, terminating), `:ports`. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into any answer
function shortSlices(items: any[]): string {
  return items
    .map(({ endpoints, ports }) => {
      // biome-ignore lint/suspicious/noExplicitAny: as above
      const each = (endpoints ?? []).map(({ addresses, conditions: c }: any) => {
        const flags = `${c.ready ? "r" : ""}${c.serving ? "s" : ""}${c.terminating ? "t" : ""}`;
        return `${addresses.map((ip: string) => ip.replace(/^.*[.:]/, "")).join("+")}${flags}`;
      });
      return `${each.sort().join(",")}:${(ports ?? []).map(({ port }: { port: number }) => port).join(",")}`;
    })
    .sort()
    .join(" ");
}

interface Case {
  readonly title: string;
  readonly spec: object;
  readonly annotations?: Record<string, string>;
  readonly pods: Readonly<Record<string, PodSketch>>;
  readonly subsets: string;
  readonly slices: string;
  /** Pods deleted with a grace period before anything is looked at. */
  readonly deleted?: readonly string[];
}

const cases: readonly Case[] = [
  { title: "no pods", spec: { ports }, pods: {}, subsets: "", slices: ":" },
  {
    title: "ready and not ready",
    spec: { ports },
    pods: { p1: named, p2: { ...named, isReady: false } },
    subsets: "1|2:8080",
    slices: "1rs,2:8080",
  },
  {
    title: "publishNotReadyAddresses",
    spec: { ports, publishNotReadyAddresses: true },
    pods: { p1: named, p2: { ...named, isReady: false } },
    subsets: "1,2|:8080",
    slices: "1rs,2r:8080",
  },
  {
    title: "the old annotation counts for Endpoints, and before the field",
    spec: { ports, publishNotReadyAddresses: true },
    annotations: { "service.alpha.kubernetes.io/tolerate-unready-endpoints": "false" },
    pods: { p1: named, p2: { ...named, isReady: false } },
    subsets: "1|2:8080",
    slices: "1rs,2r:8080",
  },
  {
    title: "finished, without an address, without a node, of other labels",
    spec: { ports },
    pods: {
      p1: { ...named, phase: "Succeeded" },
      p2: { ...named, phase: "Failed" },
      p3: { ...named, ips: [] },
      p4: { ...named, labels: { app: "b" } },
      p5: named,
    },
    subsets: "5|:8080",
    slices: "5rs:8080",
  },
  {
    title: "terminating: only slices show it",
    spec: { ports },
    pods: { p1: named, p2: named, p3: { ...named, isReady: false } },
    deleted: ["p2", "p3"],
    subsets: "1|:8080",
    slices: "1rs,2st,3t:8080",
  },
  {
    title: "terminating, with publishNotReadyAddresses",
    spec: { ports, publishNotReadyAddresses: true },
    pods: { p1: named, p2: named },
    deleted: ["p2"],
    subsets: "1,2|:8080",
    slices: "1rs,2rst:8080",
  },
  {
    title: "a name is another port at each pod, and none at some",
    spec: { ports: [...ports, { name: "other", port: 90 }] },
    pods: { p1: named, p2: { ports: { web: 9090 } }, p3: {} },
    subsets: "1|:8080 2|:9090 1,2,3|:90",
    slices: "1rs:8080,90 2rs:9090,90 3rs:90",
  },
  {
    title: "a name means the protocol as well",
    spec: { ports: [{ name: "http", port: 80, protocol: "UDP", targetPort: "web" }] },
    pods: { p1: named },
    subsets: "",
    slices: "1rs:",
  },
  {
    title: "headless, without ports",
    spec: { clusterIP: "None" },
    pods: { p1: {}, p2: { isReady: false } },
    subsets: "1|2:",
    slices: "1rs,2:",
  },
  {
    title: "the first address of the family counts; a slice has all of them",
    spec: { ports: [{ port: 80 }] },
    pods: { p1: { ips: ["10.1.0.1", "fd00::1"] }, p2: { ips: ["fd00::2"] } },
    subsets: "1|:80",
    slices: "1rs:80",
  },
];

running("Endpoints and slices say of a service's pods what upstream's do", async (t, { server, reports }) => {
  for (const { title, spec, annotations = {}, pods, subsets, slices, deleted = [] } of cases) {
    for (const [name, sketch] of Object.entries(pods)) await makePod(server, name, sketch);
    for (const name of deleted) await server.call("DELETE", `${core}/pods/${name}?gracePeriodSeconds=60`);
    await makeService(server, "one", spec, { annotations });
    const endpoints = await eventually(server, `${core}/endpoints/one`, (json) => short(json.subsets) === subsets);
    t.equal(short(endpoints.subsets), subsets, `${title}: Endpoints`);
    const found = await eventually(server, slicesOf("one"), (json) => shortSlices(json.items) === slices);
    t.equal(shortSlices(found.items), slices, `${title}: slices`);
    for (const name of Object.keys(pods)) await server.call("DELETE", `${core}/pods/${name}?gracePeriodSeconds=0`);
    await server.call("DELETE", `${core}/services/one`);
    await eventually(server, slicesOf("one"), (json) => json.items.length === 0);
  }
  t.same(reports, []);
});

running(
  "objects of a service carry its labels, their owner and what led to them",
  async (t, { server, reports, reconcilers }) => {
    const labels = { my: "label", "service.kubernetes.io/headless": "x" };
    await makeService(server, "one", { clusterIP: "None", ports: [{ port: 80 }] }, { labels });
    const { metadata: made } = await eventually(server, `${core}/endpoints/one`, (json) => json.kind === "Endpoints");
    t.same(made.annotations, { "endpoints.kubernetes.io/last-change-trigger-time": "2026-01-02T03:04:05Z" });
    await eventually(server, slicesOf("one"), (json) => json.items.length === 1);
    await makePod(server, "p1", { spec: { hostname: "first", subdomain: "one" }, since: "2026-01-01T00:00:07Z" });
    const { json: service } = await server.call("GET", `${core}/services/one`);
    const hasOne = (json: { subsets?: unknown[] }): boolean => json.subsets?.length === 1;
    const { metadata, subsets } = await eventually(server, `${core}/endpoints/one`, hasOne);
    t.same(metadata.labels, { my: "label", "service.kubernetes.io/headless": "" });
    const trigger = { "endpoints.kubernetes.io/last-change-trigger-time": "2026-01-01T00:00:07Z" };
    t.same(metadata.annotations, trigger);
    t.match(subsets[0].addresses, [{ ip: "10.1.0.1", hostname: "first", nodeName: "n1", targetRef: { name: "p1" } }]);
    const hasEndpoint = (json: { items: { endpoints: unknown[] | null }[] }): boolean =>
      json.items[0]?.endpoints?.length === 1;
    const { items } = await eventually(server, slicesOf("one"), hasEndpoint);
    t.same(items[0].metadata.labels, {
      my: "label",
      "service.kubernetes.io/headless": "",
      "kubernetes.io/service-name": "one",
      "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    });
    t.same(items[0].metadata.ownerReferences, [
      {
        apiVersion: "v1",
        kind: "Service",
        name: "one",
        uid: service.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
    t.same(items[0].metadata.annotations, trigger);
    t.match(items[0].endpoints[0], {
      hostname: "first",
      nodeName: "n1",
      zone: "z1",
      targetRef: { kind: "Pod", name: "p1" },
    });
    // What changes only the version of a pod is no reason to write.
    await eventually(server, `${core}/endpoints/one`, () => true);
    await server.call("PATCH", `${core}/pods/p1`, { metadata: { annotations: { a: "b" } } }, merge);
    const before = server.store.changes.length;
    server.aheadMs += 5_000;
    await settled(server, reconcilers);
    t.equal(server.store.changes.length, before);
    t.same(reports, []);
  },
);

running(
  "more than 1,000 addresses are cut in Endpoints, ready ones first, and all in slices",
  async (t, { server }) => {
    for (let index = 0; index < 1_002; index += 1) await makePod(server, `p${index}`, { isReady: index > 1 });
    await makeService(server, "one", { ports: [{ port: 80 }] });
    // biome-ignore lint/suspicious/noExplicitAny: tests look into any answer
    const isRight = (json: any): boolean => json.subsets?.[0].addresses?.length === 1_000;
    const { metadata, subsets } = await eventually(server, `${core}/endpoints/one`, isRight);
    t.equal(subsets[0].notReadyAddresses, undefined);
    t.equal(metadata.annotations["endpoints.kubernetes.io/over-capacity"], "truncated");
    const { items } = await eventually(server, slicesOf("one"), (json) => json.items.length === 11);
    const sizes = items
      .map(({ endpoints }: { endpoints: unknown[] }) => endpoints.length)
      .sort((a: number, b: number) => b - a);
    t.same(sizes, [100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 2]);
    await server.call("DELETE", `${core}/pods/p0?gracePeriodSeconds=0`);
    await server.call("DELETE", `${core}/pods/p5?gracePeriodSeconds=0`);
    // biome-ignore lint/suspicious/noExplicitAny: as above
    const fits = (json: any): boolean => json.subsets?.[0].notReadyAddresses?.length === 1;
    const after = await eventually(server, `${core}/endpoints/one`, fits);
    t.equal(after.subsets[0].addresses.length, 999);
    t.equal(after.metadata.annotations?.["endpoints.kubernetes.io/over-capacity"], undefined);
  },
);

running(
  "slices have as many endpoints as they may; changed by hand, they are put right",
  async (t, { server, reports }) => {
    for (let index = 0; index < 10; index += 1) await makePod(server, `p${index}`);
    await makeService(server, "one", { ports: [{ port: 80 }] });
    const { items } = await eventually(server, slicesOf("one"), (json) => json.items.length === 3);
    const names: string[] = items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
    const [first = "", second = "", third = ""] = names;
    const path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
    await server.call("PATCH", `${path}/${first}`, { endpoints: [] }, merge);
    await server.call(
      "PATCH",
      `${path}/${second}`,
      { metadata: { labels: { "kubernetes.io/service-name": "x" } } },
      merge,
    );
    await server.call("DELETE", `${path}/${third}`);
    interface Found {
      readonly items: readonly { readonly endpoints: readonly { readonly addresses: string[] }[] | null }[];
    }
    const all = ({ items }: Found): string[] =>
      items.flatMap(({ endpoints }) => (endpoints ?? []).flatMap(({ addresses }) => addresses));
    const isRight = (json: Found): boolean => new Set(all(json)).size === 10 && all(json).length === 10;
    const after = await eventually(server, slicesOf("one"), isRight);
    t.ok(isRight(after));
    t.same(reports, []);
  },
  { endpointsPerSliceMax: 4 },
);

running(
  "services without a selector are left alone, and Endpoints without a service at the start go",
  async (t, { server, reconcilers }) => {
    const address = { subsets: [{ addresses: [{ ip: "1.2.3.4" }], ports: [{ port: 1 }] }] };
    await makeService(server, "manual", { selector: null, ports: [{ port: 80 }] });
    await makeService(server, "one", { ports: [{ port: 80 }] });
    await server.call("POST", `${core}/endpoints`, { metadata: { name: "manual" }, ...address });
    await server.call("POST", `${core}/endpoints`, { metadata: { name: "late" }, ...address });
    const leader = { annotations: { "control-plane.alpha.kubernetes.io/leader": "{}" } };
    await server.call("POST", `${core}/endpoints`, { metadata: { name: "lock", ...leader } });
    await server.call("POST", `${core}/endpoints`, { metadata: { name: "late" }, ...address });
    await settled(server, reconcilers);
    const there = async (name: string): Promise<number> => (await server.call("GET", `${core}/endpoints/${name}`)).code;
    t.equal(await there("late"), 200, "none is looked for while the controller runs");
    const again = runEndpoints(server, []);
    t.ok(await until(async () => (await there("late")) === 404));
    t.equal(await there("lock"), 200);
    t.match((await server.call("GET", `${core}/endpoints/manual`)).json, address);
    await server.call("DELETE", `${core}/endpoints/one`);
    await eventually(server, `${core}/endpoints/one`, (json) => json.kind === "Endpoints");
    t.equal(await there("one"), 200, "made again");
    for (const reconciler of again) await reconciler.stop();
  },
);

running("a pod whose node is not there is left out of slices until it is", async (t, { server, reports, told }) => {
  await makeService(server, "one", { ports: [{ port: 80 }] });
  await makePod(server, "p1");
  await makePod(server, "p2", { nodeName: "n2" });
  const one = await eventually(server, slicesOf("one"), (json) => shortSlices(json.items) === "1rs:80");
  t.equal(shortSlices(one.items), "1rs:80");
  t.ok(await until(() => reports.length > 0));
  t.match(reports, [/^Pod p2 is missing in the endpoint slices of service default\/one: There is no node "n2"$/]);
  t.match(told.events, [
    {
      component: "endpoint-slice-controller",
      about: { kind: "Service", apiVersion: "v1", namespace: "default", name: "one" },
      type: "Warning",
      reason: "FailedToUpdateEndpointSlices",
      message: 'Error updating Endpoint Slices for Service default/one: node "n2" not found',
    },
  ]);
  await server.call("POST", "/api/v1/nodes", { metadata: { name: "n2" } });
  const both = await eventually(server, slicesOf("one"), (json) => shortSlices(json.items) === "1rs,2rs:80");
  t.equal(shortSlices(both.items), "1rs,2rs:80");
});

running("a service of a name that was there before gets slices of its own", async (t, { server, reports }) => {
  await makeService(server, "one", { ports: [{ port: 80 }] });
  await makePod(server, "p1");
  await eventually(server, slicesOf("one"), (json) => shortSlices(json.items) === "1rs:80");
  await server.call("DELETE", `${core}/services/one`);
  await makeService(server, "one", { ports: [{ port: 80 }], selector: { app: "a" } });
  const { json: service } = await server.call("GET", `${core}/services/one`);
  // biome-ignore lint/suspicious/noExplicitAny: tests look into any answer
  const isOwn = (json: any): boolean =>
    json.items.length === 1 && json.items[0].metadata.ownerReferences[0].uid === service.metadata.uid;
  t.ok(isOwn(await eventually(server, slicesOf("one"), isOwn)));
  // It selects others now, and then none.
  await makePod(server, "p7", { labels: { app: "b" } });
  await server.call("PATCH", `${core}/services/one`, { spec: { selector: { app: "b" } } }, merge);
  const moved = await eventually(server, slicesOf("one"), (json) => shortSlices(json.items) === "7rs:80");
  t.equal(shortSlices(moved.items), "7rs:80");
  await server.call("PATCH", `${core}/pods/p7`, { metadata: { labels: { app: "c" } } }, merge);
  const none = await eventually(server, slicesOf("one"), (json) => shortSlices(json.items) === ":");
  t.equal(shortSlices(none.items), ":");
  t.same(reports, []);
});

/** Writes of one kind since a point of the store's history. */
function writes(server: InProcess, from: number, prefix: string): number {
  return server.store.changes.slice(from).filter((change) => change.prefix === prefix).length;
}

running(
  "changes of pods are gathered: at most one write of a service's endpoints a second",
  async (t, { server, reconcilers }) => {
    await makeService(server, "one", { ports: [{ port: 80 }] });
    for (let index = 0; index < 20; index += 1) await makePod(server, `p${index}`, { isReady: false });
    // biome-ignore lint/suspicious/noExplicitAny: tests look into any answer
    const unready = (json: any): number => json.subsets?.[0].notReadyAddresses?.length ?? 0;
    await eventually(server, `${core}/endpoints/one`, (json) => unready(json) === 20);
    await settled(server, reconcilers);
    const from = server.store.changes.length;
    // Nothing of this takes time on the controllers' clock but what is said.
    for (let index = 0; index < 20; index += 1) {
      await setPod(server, `p${index}`, { isReady: true });
      server.aheadMs += 50;
    }
    const done = await eventually(
      server,
      `${core}/endpoints/one`,
      (json) => json.subsets?.[0].addresses?.length === 20,
    );
    t.equal(done.subsets[0].addresses.length, 20);
    const spentMs = 20 * 50 + 3_000;
    const count = writes(server, from, "/registry/services/endpoints");
    t.ok(count >= 1 && count <= 1 + spentMs / 1_000, `${count} writes of endpoints for 20 changes in a second`);
  },
);

running(
  "a write that is refused is tried again, and what was cut short is finished at the next start",
  async (t, { server, reports }) => {
    let refusals = 4;
    server.store.before = (change) => {
      if (refusals === 0 || !/endpoints/.test(change.prefix)) return undefined;
      refusals -= 1;
      return { refused: "unavailable", message: "not now" };
    };
    await makeService(server, "one", { ports: [{ port: 80 }] });
    await makePod(server, "p1");
    const found = await eventually(server, slicesOf("one"), (json) => shortSlices(json.items) === "1rs:80");
    t.equal(shortSlices(found.items), "1rs:80");
    t.ok(reports.length > 0);
    await checkRestart(t, server);
  },
);

running("writes that fail are told of, as upstream does", async (t, { server, told }) => {
  const refuse: typeof server.store.before = ({ prefix }) =>
    /endpoints/.test(prefix) ? { refused: "unavailable", message: "not now" } : undefined;
  server.store.before = refuse;
  await makeService(server, "one", { ports: [{ port: 80 }] });
  await makePod(server, "p1");
  const isTold = (reason: string, message: RegExp, kind: string): Promise<boolean> =>
    until(() => {
      server.aheadMs += 1_000;
      return told.events.some(
        (event) =>
          event.reason === reason &&
          message.test(event.message) &&
          event.about.kind === kind &&
          event.about.namespace === "default" &&
          event.about.name === "one",
      );
    });
  const create = /^Failed to create endpoint for service default\/one: ./;
  t.ok(await isTold("FailedToCreateEndpoint", create, "Endpoints"));
  const slice = "Error updating Endpoint Slices for Service default/one: failed to";
  const createSlice = new RegExp(`^${slice} create EndpointSlice for Service default/one: .`);
  t.ok(await isTold("FailedToUpdateEndpointSlices", createSlice, "Service"));
  server.store.before = undefined;
  const found = await eventually(server, slicesOf("one"), (json) => shortSlices(json.items) === "1rs:80");
  await eventually(server, `${core}/endpoints/one`, (json) => json.kind === "Endpoints");
  server.store.before = refuse;
  await makePod(server, "p2");
  t.ok(await isTold("FailedToUpdateEndpoint", /^Failed to update endpoint default\/one: ./, "Endpoints"));
  const updateSlice = new RegExp(
    `^${slice} update ${found.items[0].metadata.name} EndpointSlice for Service default/one: .`,
  );
  t.ok(await isTold("FailedToUpdateEndpointSlices", updateSlice, "Service"));
  server.store.before = undefined;
});

/** A service, its slices and its pods change while no controller runs. */
async function checkRestart(t: Test, server: InProcess): Promise<void> {
  const stopped = runEndpoints(server, []);
  for (const reconciler of stopped) await reconciler.stop();
  await makeService(server, "two", { ports: [{ port: 80 }], selector: { app: "b" } });
  await makePod(server, "p2", { labels: { app: "b" } });
  const again = runEndpoints(server, []);
  const found = await eventually(server, slicesOf("two"), (json) => shortSlices(json.items) === "2rs:80");
  t.equal(shortSlices(found.items), "2rs:80");
  for (const reconciler of again) await reconciler.stop();
}

running(
  "controllers that look at everything anew, again and again, make nothing twice and lose nothing",
  async (t, { server, reports, reconcilers }) => {
    await makeService(server, "one", { ports: [{ port: 80 }] });
    for (let index = 0; index < 10; index += 1) await makePod(server, `p${index}`);
    await settled(server, reconcilers);
    const from = server.store.changes.length;
    for (let step = 0; step < 30; step += 1) {
      // As when changes were missed: at any moment, with work under way.
      for (const reconciler of reconcilers) reconciler.add("\0all");
      await setPod(server, `p${step % 10}`, { isReady: step % 3 === 0 });
      server.aheadMs += 700;
    }
    await settled(server, reconcilers);
    const slices = server.store.changes.slice(from).filter(({ prefix }) => prefix.endsWith("/endpointslices"));
    t.ok(slices.length > 0);
    t.notOk(
      slices.some(({ type }) => type !== changeTypes.update),
      "slices are changed, none is made or removed",
    );
    const { json } = await server.call("GET", slicesOf("one"));
    t.equal(json.items.length, 3);
    const { subsets } = (await server.call("GET", `${core}/endpoints/one`)).json;
    t.equal(subsets[0].addresses.length + subsets[0].notReadyAddresses.length, 10);
    t.same(reports, []);
  },
  { endpointsPerSliceMax: 4 },
);

const registry = new Registry();

running(
  "what the controller of slices does is counted by upstream's names",
  async (t, { server, reports, reconcilers }) => {
    const counted = (): Map<string, number> => {
      const lines = exposition([registry.snapshot()]).split("\n");
      const start = "endpoint_slice_controller_";
      const own = lines.filter((line) => line.startsWith(start)).map((line) => line.slice(start.length).split(" "));
      return new Map(own.map(([name = "", value]) => [name, Number(value)]));
    };
    await makeService(server, "one", { ports });
    for (const name of ["p1", "p2", "p3"]) await makePod(server, name, named);
    await settled(server, reconcilers);
    const full = counted();
    t.equal(full.get("endpoints_desired"), 3);
    t.equal(full.get("num_endpoint_slices"), 2, "of two endpoints each");
    t.equal(full.get("desired_endpoint_slices"), 2);
    t.equal(full.get("endpoints_added_per_sync_sum"), 3);
    t.equal(full.get("endpoints_removed_per_sync_sum"), 0);
    const made = full.get('changes{operation="create"}') ?? 0;
    t.ok(made >= 2);
    t.equal(
      full.get('endpointslices_changed_per_sync_count{topology="Disabled"}'),
      full.get("endpoints_added_per_sync_count"),
    );
    t.ok((full.get('syncs{result="success"}') ?? 0) > 0);
    for (const name of ["p1", "p3"]) await server.call("DELETE", `${core}/pods/${name}?gracePeriodSeconds=0`);
    await settled(server, reconcilers);
    const less = counted();
    t.equal(less.get("endpoints_desired"), 1);
    t.equal(less.get("num_endpoint_slices"), 1);
    t.equal(less.get("endpoints_removed_per_sync_sum"), 2);
    const deleted = less.get('changes{operation="delete"}') ?? 0;
    t.equal(made - deleted, 1, "what was created and not deleted is there");
    await server.call("DELETE", `${core}/services/one`);
    await settled(server, reconcilers);
    t.same(
      [...counted()].filter(([name]) => /desired|num_/.test(name)).map(([, count]) => count),
      [0, 0, 0],
    );
    t.same(reports, []);
  },
  { endpointsPerSliceMax: 2, meter: sliceMeter(registry) },
);
