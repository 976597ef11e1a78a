// Slices of Endpoints that clients write for services without a selector.
import { limits } from "../../../src/config/limits.ts";
import { core, eventually, makeService, merge, running, settled, slicesOf } from "../../support/endpoints.ts";

const ports = [{ name: "http", port: 80 }];
const manual = { selector: null, ports };

// biome-ignore lint/suspicious/noExplicitAny: tests look into any answer
type Json = any;

/** Slices in short: kind, addresses (not ready ones in parentheses), ports. */
function short({ items }: Json): string {
  return items
    .map(({ addressType, endpoints, ports }: Json) => {
      const each = endpoints.map(({ addresses, conditions }: Json) =>
        conditions.ready ? addresses[0] : `(${addresses[0]})`,
      );
      return `${addressType} ${each.sort().join()} ${(ports ?? []).map(({ port }: Json) => port).join()}`;
    })
    .sort()
    .join("; ");
}

const address = (ip: string): object => ({ ip });
const steps: readonly [title: string, subsets: readonly object[] | null, slices: string][] = [
  [
    "ready and not",
    [{ addresses: [address("1.0.0.1")], notReadyAddresses: [address("1.0.0.2")], ports: [{ port: 80 }] }],
    "IPv4 (1.0.0.2),1.0.0.1 80",
  ],
  [
    "both families, and two sets of ports",
    [
      { addresses: [address("1.0.0.1"), address("fd00::1")], ports: [{ port: 80 }] },
      {
        addresses: [address("1.0.0.3")],
        ports: [
          { name: "a", port: 81 },
          { name: "b", port: 82, protocol: "UDP" },
        ],
      },
    ],
    "IPv4 1.0.0.1 80; IPv4 1.0.0.3 81,82; IPv6 fd00::1 80",
  ],
  ["without ports", [{ addresses: [address("1.0.0.1")] }], "IPv4 1.0.0.1 "],
  ["none", null, ""],
  ["again", [{ addresses: [address("1.0.0.9")], ports: [{ port: 80 }] }], "IPv4 1.0.0.9 80"],
];

running("slices follow Endpoints of services without a selector", async (t, { server, reports }) => {
  await makeService(server, "one", manual);
  const annotations = { my: "note", "endpoints.kubernetes.io/last-change-trigger-time": "2026-01-01T00:00:07Z" };
  await server.call("POST", `${core}/endpoints`, { metadata: { name: "one", labels: { my: "label" }, annotations } });
  for (const [title, subsets, slices] of steps) {
    await server.call("PATCH", `${core}/endpoints/one`, { subsets }, merge);
    const found = await eventually(server, slicesOf("one"), (json) => short(json) === slices);
    t.equal(short(found), slices, title);
  }
  const { json: endpoints } = await server.call("GET", `${core}/endpoints/one`);
  const { json } = await server.call("GET", slicesOf("one"));
  t.match(json.items[0].metadata, {
    generateName: "one-",
    labels: {
      my: "label",
      "kubernetes.io/service-name": "one",
      "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io",
    },
    annotations: { my: "note" },
    ownerReferences: [{ kind: "Endpoints", name: "one", uid: endpoints.metadata.uid, controller: true }],
  });
  t.same(Object.keys(json.items[0].metadata.annotations), ["my"]);
  t.same(reports, []);
});

running("nothing is mirrored that is not to be, and what was goes", async (t, { server, reports, reconcilers }) => {
  const subsets = [{ addresses: [address("1.0.0.1")], ports: [{ port: 80 }] }];
  const make = (name: string, metadata: object = {}): Promise<unknown> =>
    server.call("POST", `${core}/endpoints`, { metadata: { name, ...metadata }, subsets });
  const skip = { labels: { "endpointslice.kubernetes.io/skip-mirror": "true" } };
  const leader = { annotations: { "control-plane.alpha.kubernetes.io/leader": "{}" } };
  for (const name of ["skipped", "leader", "one", "two", "three"]) await makeService(server, name, manual);
  // Endpoints without a service are removed at the start, and only then.
  await settled(server, reconcilers);
  await make("skipped", skip);
  await make("leader", leader);
  await make("unserved");
  for (const name of ["one", "two", "three"]) await make(name);
  await settled(server, reconcilers);
  const count = async (name: string): Promise<number> => (await server.call("GET", slicesOf(name))).json.items.length;
  for (const name of ["skipped", "leader", "unserved"]) t.equal(await count(name), 0, name);
  for (const name of ["one", "two", "three"]) t.equal(await count(name), 1, name);
  await server.call("PATCH", `${core}/endpoints/one`, { metadata: skip }, merge);
  await server.call("DELETE", `${core}/services/two`);
  await server.call("PATCH", `${core}/services/three`, { spec: { selector: { app: "a" } } }, merge);
  await makeService(server, "unserved", manual);
  await settled(server, reconcilers);
  t.equal(await count("one"), 0, "to be skipped now");
  t.equal(await count("two"), 0, "the service is gone");
  t.equal(await count("unserved"), 1, "there is a service now");
  const { json } = await server.call("GET", slicesOf("three"));
  const managers = json.items.map(({ metadata }: Json) => metadata.labels["endpointslice.kubernetes.io/managed-by"]);
  t.same(managers, ["endpointslice-controller.k8s.io"], "it selects pods now");
  await server.call("PATCH", `${core}/services/three`, { spec: { selector: null } }, merge);
  await settled(server, reconcilers);
  t.same(reports, []);
});

running("what was mirrored is put right when it is changed by hand", async (t, { server, reconcilers }) => {
  await makeService(server, "one", manual);
  const subsets = [{ addresses: [address("1.0.0.1"), address("1.0.0.2")], ports: [{ port: 80 }] }];
  await server.call("POST", `${core}/endpoints`, { metadata: { name: "one" }, subsets });
  const slices = "IPv4 1.0.0.1,1.0.0.2 80";
  const { items } = await eventually(server, slicesOf("one"), (json) => short(json) === slices);
  const path = `/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/${items[0].metadata.name}`;
  await server.call("PATCH", path, { endpoints: [{ addresses: ["9.9.9.9"] }] }, merge);
  await settled(server, reconcilers);
  t.equal(short((await server.call("GET", slicesOf("one"))).json), slices);
  await server.call("DELETE", path);
  await settled(server, reconcilers);
  t.equal(short((await server.call("GET", slicesOf("one"))).json), slices);
  const before = server.store.changes.length;
  await settled(server, reconcilers);
  t.equal(server.store.changes.length, before, "what is right is not written");
});

running(
  "one Endpoints object is mirrored to so many slices, and no more",
  async (t, { server, reports, reconcilers }) => {
    await makeService(server, "many", manual);
    const set = (port: number): object => ({ addresses: [address("1.0.0.1")], ports: [{ port }] });
    const subsets = Array.from({ length: limits.mirroredSlicesMax + 20 }, (_none, at) => set(at + 1));
    await server.call("POST", `${core}/endpoints`, { metadata: { name: "many" }, subsets });
    const isFull = ({ items }: Json): boolean => items.length >= limits.mirroredSlicesMax;
    t.equal((await eventually(server, slicesOf("many"), isFull)).items.length, limits.mirroredSlicesMax);
    await settled(server, reconcilers);
    t.equal((await server.call("GET", slicesOf("many"))).json.items.length, limits.mirroredSlicesMax);
    t.match(reports[0], "Endpoints default/many are not mirrored whole");
    reports.length = 0;
    const last = [set(7), ...subsets.slice(0, 6)];
    await server.call("PATCH", `${core}/endpoints/many`, { subsets: last }, merge);
    const isLess = ({ items }: Json): boolean => items.length === last.length;
    t.equal((await eventually(server, slicesOf("many"), isLess)).items.length, last.length);
  },
);
