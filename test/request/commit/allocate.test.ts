// Cluster addresses and node ports of services through the whole request path.
import { AddressRepair } from "../../../src/controllers/addresses.ts";
import { storedKind } from "../../../src/controllers/storedkind.ts";
import { parseRanges, rangeText } from "../../../src/kinds/ranges.ts";
import { allocationMeter, showRanges } from "../../../src/observe/allocations.ts";
import { exposition, Registry } from "../../../src/observe/metrics.ts";
import { claim, claimPrefixes, findClaim, rangeFigures } from "../../../src/request/commit/serviceallocations.ts";
import { reconcilerOf, Told } from "../../support/controllers.ts";
import { type Answer, type InProcess, until } from "../../support/inprocess.ts";
import { scenario } from "../../support/scenario.ts";

const services = "/api/v1/namespaces/default/services";
const merge = { "content-type": "application/merge-patch+json" };

function brief({ code, json }: Answer): string {
  return json?.kind === "Status" && json.message !== undefined ? `${code} ${json.message}` : String(code);
}

function make(server: InProcess, name: string, spec: object = {}, query = ""): Promise<Answer> {
  const body = { metadata: { name }, spec: { ports: [{ port: 80 }], selector: { a: "b" }, ...spec } };
  return server.call("POST", `${services}${query}`, body);
}

/** Everything claimed, in order. */
function claimed(server: InProcess): string[] {
  return Object.values(claimPrefixes).flatMap((prefix) => {
    const view = server.writers.views.log(prefix);
    const keys: string[] = [];
    view.drain();
    view.scan("", "", 0, (_at, key) => keys.push(key) > 0);
    return keys;
  });
}

scenario("allocate() gives every service an address of its own", async (t, server) => {
  const made = await Promise.all(Array.from({ length: 50 }, (_, index) => make(server, `s${index}`)));
  const ips = made.map(({ json }) => json.spec.clusterIP);
  t.equal(new Set(ips).size, 50);
  t.ok(
    ips.every((ip) => /^10\.0\.0\.([1-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-4])$/.test(ip)),
    ips.join(),
  );
  t.match(made[0]?.json.spec, { clusterIPs: [ips[0]], ipFamilies: ["IPv4"], ipFamilyPolicy: "SingleStack" });
  t.strictSame(claimed(server).sort(), ips.toSorted());
});

scenario("addresses that are given out, refused and left are counted by range", async (t, server) => {
  const registry = new Registry();
  const { ranges } = server.writers;
  Object.assign(server.writers, { allocations: allocationMeter(registry, ranges.addresses.map(rangeText)) });
  showRanges(registry, () => rangeFigures(server.views, ranges));
  const figure = (name: string): string | undefined =>
    new RegExp(`^kube_apiserver_clusterip_allocator_${name}\\{cidr="10\\.0\\.0\\.0/24"\\} (.*)$`, "m").exec(
      exposition([registry.snapshot()]),
    )?.[1];
  const figures = (): (string | undefined)[] =>
    ["allocated_ips", "available_ips", "allocation_total", "allocation_errors_total"].map(figure);
  t.same(figures(), ["0", "254", "0", undefined]);
  await make(server, "a", { clusterIP: "10.0.0.9" });
  await make(server, "b");
  t.same(figures(), ["2", "252", "2", undefined]);
  await make(server, "c", { clusterIP: "10.0.0.9" });
  await make(server, "c", { clusterIP: "10.1.0.9" });
  await make(server, "c", {}, "?dryRun=All");
  await make(server, "c", { clusterIP: "None" });
  t.same(figures(), ["2", "252", "2", "2"]);
  await server.call("DELETE", `${services}/a`);
  t.same(figures(), ["1", "253", "2", "2"]);
  const both = parseRanges("10.0.0.0/24,fd00::/112", "30000-32767");
  if (typeof both === "string") throw new Error(both);
  const owner = { namespace: "default", name: "d", uid: "1" };
  t.equal(await claim(server.writers, "address", "fd00::5", owner, false), undefined);
  t.match(rangeFigures(server.views, both), [
    { range: "10.0.0.0/24", allocated: 1, available: 253 },
    { range: "fd00::/112", allocated: 1, available: 65_534 },
  ]);
});

scenario("allocate() says what cannot be had and leaves nothing behind", async (t, server) => {
  await make(server, "first", { clusterIP: "10.0.0.9", type: "NodePort", ports: [{ port: 80, nodePort: 30_009 }] });
  const before = claimed(server);
  const bad = 'Service "s" is invalid: ';
  const table: [want: string, spec: object][] = [
    [
      `${bad}spec.clusterIPs: Invalid value: []string{"10.0.0.9"}: failed to allocate IP 10.0.0.9: provided IP is already allocated`,
      { clusterIP: "10.0.0.9" },
    ],
    [
      `${bad}spec.clusterIPs: Invalid value: []string{"10.1.0.9"}: failed to allocate IP 10.1.0.9: provided IP is not in the valid range. The range of valid IPs is 10.0.0.0/24`,
      { clusterIP: "10.1.0.9" },
    ],
    ["provided IP is not in the valid range", { clusterIP: "10.0.0.0" }],
    ["provided IP is not in the valid range", { clusterIP: "10.0.0.255" }],
    [
      `${bad}spec.ports[0].nodePort: Invalid value: 30009: provided port is already allocated`,
      { type: "NodePort", ports: [{ port: 80, nodePort: 30_009 }] },
    ],
    [
      `${bad}spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767`,
      { type: "NodePort", ports: [{ port: 80, nodePort: 80 }] },
    ],
    [
      'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured',
      { ipFamilyPolicy: "RequireDualStack" },
    ],
    ['spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster', { ipFamilies: ["IPv6"] }],
  ];
  for (const [want, spec] of table) {
    const answer = await make(server, "s", spec);
    t.equal(answer.code, 422, want);
    t.match(answer.json.message, want);
  }
  t.equal(brief(await make(server, "s", {}, "?dryRun=All")), "201");
  t.match((await make(server, "first")).code, 409);
  t.strictSame(claimed(server), before);
});

scenario("allocate() knows headless services, external names and shared node ports", async (t, server) => {
  const headless = await make(server, "headless", { clusterIP: "None" });
  t.match(headless.json.spec, { clusterIPs: ["None"], ipFamilies: ["IPv4"], ipFamilyPolicy: "SingleStack" });
  const bare = await make(server, "bare", { clusterIP: "None", selector: undefined });
  t.match(bare.json.spec, { ipFamilies: ["IPv4", "IPv6"], ipFamilyPolicy: "RequireDualStack" });
  const external = await make(server, "external", { type: "ExternalName", externalName: "a.b", ports: undefined });
  t.equal(external.json.spec.clusterIP, undefined);
  t.strictSame(claimed(server), []);
  const ports = [
    { name: "a", port: 53, protocol: "TCP" },
    { name: "b", port: 53, protocol: "UDP" },
    { name: "c", port: 54 },
  ];
  const dns = (await make(server, "dns", { type: "NodePort", ports })).json.spec.ports;
  t.equal(dns[0].nodePort, dns[1].nodePort);
  t.not(dns[0].nodePort, dns[2].nodePort);
  // Ports of a changed service share what they are given, and nothing else.
  await make(server, "grows");
  const grow = async (list: object[]) =>
    (await server.call("PATCH", `${services}/grows`, { spec: { type: "NodePort", ports: list } }, merge)).json.spec;
  t.equal(new Set((await grow(ports)).ports.map(({ nodePort }: { nodePort: number }) => nodePort)).size, 3);
  const given = ports.slice(0, 2).map((port) => ({ ...port, nodePort: 30_333 }));
  t.strictSame(
    (await grow(given)).ports.map(({ nodePort }: { nodePort: number }) => nodePort),
    [30_333, 30_333],
  );
  const twice = [...ports.slice(0, 1), ...ports];
  const doubled = { spec: { type: "NodePort", ports: twice.map((port, index) => ({ ...port, name: `n${index}` })) } };
  await make(server, "bare2");
  const faults = (await server.call("PATCH", `${services}/bare2`, doubled, merge)).json.details.causes;
  t.strictSame(
    faults.map(({ field }: { field: string }) => field),
    ["spec.ports[1]"],
  );
  const local = await make(server, "local", { type: "LoadBalancer", externalTrafficPolicy: "Local" });
  t.ok(local.json.spec.healthCheckNodePort >= 30_000);
  const none = { type: "LoadBalancer", allocateLoadBalancerNodePorts: false };
  t.equal((await make(server, "none", none)).json.spec.ports[0].nodePort, undefined);
});

scenario("allocate() follows a service through changes of its type to its end", async (t, server) => {
  const { clusterIP } = (await make(server, "s", { type: "NodePort" })).json.spec;
  t.equal(claimed(server).length, 2);
  const path = `${services}/s`;
  const patched = async (spec: object) => (await server.call("PATCH", path, { spec }, merge)).json.spec;
  const plain = await patched({ type: "ClusterIP" });
  t.match(plain, { clusterIP, clusterIPs: [clusterIP] });
  t.equal(plain.ports[0].nodePort, undefined);
  t.strictSame(claimed(server), [clusterIP]);
  const balanced = await patched({ type: "LoadBalancer", externalTrafficPolicy: "Local" });
  t.strictSame(
    claimed(server).sort(),
    [clusterIP, String(balanced.ports[0].nodePort), String(balanced.healthCheckNodePort)].sort(),
  );
  const external = await patched({ type: "ExternalName", externalName: "a.b" });
  t.equal(external.clusterIP, undefined);
  t.strictSame(claimed(server), []);
  t.ok((await patched({ type: "ClusterIP" })).clusterIP);
  const other = await server.call(
    "PATCH",
    path,
    { spec: { clusterIP: "10.0.0.77", clusterIPs: ["10.0.0.77"] } },
    merge,
  );
  t.match(brief(other), "422 ");
  t.equal(claimed(server).length, 1);
  const endpoints = "/api/v1/namespaces/default/endpoints";
  for (const name of ["s", "other"]) await server.call("POST", endpoints, { metadata: { name } });
  await server.call("DELETE", `${path}?dryRun=All`);
  t.equal((await server.call("GET", `${endpoints}/s`)).code, 200);
  t.equal(claimed(server).length, 1);
  await server.call("DELETE", path);
  t.strictSame(claimed(server), []);
  t.equal((await server.call("GET", `${endpoints}/s`)).code, 404);
  t.equal((await server.call("GET", `${endpoints}/other`)).code, 200);
});

scenario("allocate() undoes its claims when the service is not written, and retries", async (t, server) => {
  let races = 0;
  server.store.before = (change) => {
    if (!change.key.startsWith("/registry/services/specs/") || races++ > 0) return undefined;
    return { actual: 7 };
  };
  t.equal(brief(await make(server, "s")), '409 services "s" already exists');
  t.strictSame(claimed(server), []);
  server.store.before = (change) =>
    change.key.startsWith("/registry/services/specs/") ? { refused: "full", message: "" } : undefined;
  t.equal((await make(server, "s")).code, 503);
  t.strictSame(claimed(server), []);
});

scenario("AddressRepair.look() releases what no service has and claims what one has", async (t, server) => {
  const { metadata, spec } = (await make(server, "s", { type: "NodePort" })).json;
  const owner = { namespace: "default", name: "gone", uid: "x" };
  await claim(server.writers, "address", "10.0.0.200", owner, false);
  // As if the store had been written by a server that did not know of claims.
  const prefix = claimPrefixes.address;
  const view = server.writers.views.log(prefix);
  const at = view.get("", spec.clusterIP);
  const change = server.store.changes.find(({ key }) => key === `${prefix}/${spec.clusterIP}`);
  if (change === undefined) throw new Error("No claim was made");
  server.store.apply({ ...change, type: 3, expected: view.revisionOf(at) });
  t.equal(findClaim(server.writers, "address", spec.clusterIP), undefined);
  const reports: string[] = [];
  const told = new Told();
  const claims = new AddressRepair(server.writers, storedKind(server, "", "v1", "services"), told);
  const repair = reconcilerOf(claims, server.server.clock, (message) => void reports.push(message));
  claims.all(repair);
  await repair.idle();
  t.equal(findClaim(server.writers, "address", spec.clusterIP)?.uid, metadata.uid);
  t.ok(findClaim(server.writers, "address", "10.0.0.200"), "it may belong to a write under way");
  server.nowMs += 61_000;
  claims.all(repair);
  await repair.idle();
  t.equal(findClaim(server.writers, "address", "10.0.0.200"), undefined);
  t.strictSame(reports, []);
  t.match(told.events, [
    {
      component: "ipallocator-repair-controller",
      about: { kind: "Service", apiVersion: "v1", namespace: "default", name: "s", uid: metadata.uid },
      type: "Warning",
      reason: "ClusterIPNotAllocated",
      message: `Cluster IP [IPv4]:${spec.clusterIP} is not allocated; repairing`,
    },
  ]);
  t.equal(told.events.length, 1);
  t.equal(claimed(server).length, 2);
  repair.start();
  t.ok(await until(() => claimed(server).length === 2));
  await repair.stop();
});
