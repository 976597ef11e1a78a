// Several servers over one store: each says by a lease that it lives, and the service they share leads to all that do.
import t, { type Test } from "tap";
import { limits } from "../../src/config/limits.ts";
import { OwnService } from "../../src/controllers/ownservice.ts";
import type { Reconciler } from "../../src/controllers/reconciler.ts";
import { ServerLease } from "../../src/controllers/serverleases.ts";
import { reconcilerOf, reconcilerParts } from "../support/controllers.ts";
import { type InProcess, openInProcess, until } from "../support/inprocess.ts";

type IdentityName = "kubernetes" | "orch";

const merge = { "content-type": "application/merge-patch+json" };

interface World {
  readonly server: InProcess;
  readonly reports: string[];
  readonly leases: string;
  readonly keeper: Reconciler;
  /** A server at this address; stopped at the end. */
  serve(holder: string, ip?: string, port?: number): ServerLease;
  /** Holders of the leases there are. */
  holders(): Promise<string[]>;
  /** Waits until the endpoints list exactly these, `ip:port`. */
  leadsTo(...addresses: string[]): Promise<boolean>;
  /** Time passes, and what is due happens. */
  pass(ms: number): Promise<void>;
}

/** Who keeps the endpoints is at `ip`. */
async function open(t: Test, ip?: string, identity: IdentityName = "kubernetes"): Promise<World> {
  const server = await openInProcess(identity);
  const reports: string[] = [];
  const { clock } = server.server;
  const { spell } = server.server.identity;
  const service = new OwnService(server.writers, { ip, port: 6443 });
  const keeper = reconcilerOf(service, clock, (message) => void reports.push(message));
  const served: ServerLease[] = [];
  t.teardown(async () => {
    server.store.before = undefined;
    await keeper.stop();
    for (const one of served) await one.stop();
    server.close();
  });
  keeper.start();
  const leases = `/apis/${spell("coordination.k8s.io")}/v1/namespaces/${spell("kube-system")}/leases`;
  const serve = (holder: string, at?: string, port = 6443): ServerLease => {
    const address = at === undefined ? undefined : { ip: at, port };
    const parts = reconcilerParts(clock, ({ message }) => void reports.push(message));
    const lease = ServerLease.open(server.writers, { holder, address }, parts);
    if (lease === undefined) throw new Error("Leases are served");
    served.push(lease);
    lease.start();
    return lease;
  };
  const holders = async (): Promise<string[]> =>
    (await server.call("GET", leases)).json.items
      .map(({ spec }: { spec: { holderIdentity: string } }) => spec.holderIdentity)
      .sort();
  type Subset = { addresses: { ip: string }[]; ports: { port: number }[] };
  const leadsTo = (...addresses: string[]): Promise<boolean> =>
    until(async () => {
      const { json } = await server.call("GET", `/api/v1/namespaces/default/endpoints/${spell("kubernetes")}`);
      const subsets = (json.subsets ?? []) as Subset[];
      const found = subsets.flatMap((one) => one.addresses.map((each) => `${each.ip}:${one.ports[0]?.port}`));
      return JSON.stringify(found) === JSON.stringify(addresses);
    });
  const pass = async (ms: number): Promise<void> => {
    // In steps: what is due in between is due then.
    for (let left = ms; left > 0; left -= 1000) {
      server.aheadMs += Math.min(left, 1000);
      server.nowMs += Math.min(left, 1000);
      await new Promise((resolve) => setTimeout(resolve, 5));
      await keeper.idle();
    }
  };
  return { server, reports, leases, keeper, serve, holders, leadsTo, pass };
}

for (const identity of ["kubernetes", "orch"] as const) {
  t.test(`${identity}: the service leads to every live server, and to one that ended no more`, async (t) => {
    const { server, reports, leases, serve, holders, leadsTo, pass } = await open(t, "10.0.0.2", identity);
    const { spell } = server.server.identity;
    t.ok(await leadsTo("10.0.0.2:6443"), "the one that keeps it");
    serve("a", "10.0.0.2");
    const other = serve("b", "10.0.0.1");
    serve("c");
    t.ok(await leadsTo("10.0.0.1:6443", "10.0.0.2:6443"), "c is nowhere");
    t.strictSame(await holders(), ["a", "b", "c"]);
    const [lease] = (await server.call("GET", leases)).json.items;
    t.match(lease.metadata.name, /^kube-apiserver-[0-9a-f]{32}$/);
    t.equal(lease.metadata.labels[spell("k8s.io/component")], "kube-apiserver");
    t.equal(lease.spec.leaseDurationSeconds, 15);
    const slices = `/apis/${spell("discovery.k8s.io")}/v1/namespaces/default/endpointslices`;
    const { json: slice } = await server.call("GET", `${slices}/${spell("kubernetes")}`);
    t.strictSame(
      slice.endpoints.map(({ addresses }: { addresses: string[] }) => addresses),
      [["10.0.0.1"], ["10.0.0.2"]],
    );
    await pass(40_000);
    t.ok(await leadsTo("10.0.0.1:6443", "10.0.0.2:6443"), "they renew their leases");
    await other.stop();
    t.ok(await leadsTo("10.0.0.2:6443"), "at once");
    t.strictSame(await holders(), ["a", "c"]);
    t.strictSame(reports, []);
  });
}

t.test("a server that dies is listed until its lease expires, and its lease is removed later", async (t) => {
  const { server, serve, holders, leadsTo, pass } = await open(t, "10.0.0.2");
  serve("a", "10.0.0.2");
  serve("dead", "10.0.0.1");
  t.ok(await leadsTo("10.0.0.1:6443", "10.0.0.2:6443"));
  const isDead = (body: Uint8Array): boolean => Buffer.from(body).includes('"holderIdentity":"dead"');
  server.store.before = ({ body, type }) =>
    type !== 3 && isDead(body) ? { refused: "unavailable", message: "dead" } : undefined;
  await pass(limits.serverLeaseMs - 6_000);
  t.ok(await leadsTo("10.0.0.1:6443", "10.0.0.2:6443"), "not yet");
  await pass(8_000);
  t.ok(await leadsTo("10.0.0.2:6443"), "nothing but time tells of it");
  t.strictSame(await holders(), ["a", "dead"]);
  await pass(limits.serverLeaseGoneMs + limits.serverLeaseRenewMs);
  t.ok(await until(async () => (await holders()).join() === "a"));
  server.store.before = undefined;
  await pass(limits.serverLeaseRenewMs);
  t.ok(await leadsTo("10.0.0.1:6443", "10.0.0.2:6443"), "one that was only cut off is back");
});

t.test("clocks of servers need not agree", async (t) => {
  const { server, serve, leadsTo, pass, leases } = await open(t, "10.0.0.2");
  serve("a", "10.0.0.1");
  t.ok(await leadsTo("10.0.0.1:6443", "10.0.0.2:6443"));
  const [{ metadata }] = (await server.call("GET", leases)).json.items;
  for (const year of ["1999", "2099"]) {
    const spec = { renewTime: `${year}-01-01T00:00:00.000000Z` };
    await server.call("PATCH", `${leases}/${metadata.name}`, { spec }, merge);
    await pass(2_000);
    t.ok(await leadsTo("10.0.0.1:6443", "10.0.0.2:6443"), year);
  }
});

t.test("a server whose lease is removed or changed by others writes it again", async (t) => {
  const { server, reports, leases, serve, leadsTo, pass, holders } = await open(t);
  serve("a", "fd00::1", 443);
  t.ok(await leadsTo("fd00::1:443"));
  const [{ metadata }] = (await server.call("GET", leases)).json.items;
  await server.call("DELETE", `${leases}/${metadata.name}`);
  await pass(limits.serverLeaseRenewMs);
  t.ok(await until(async () => (await holders()).join() === "a"));
  const key = "apiserver.kubernetes.io/advertised-address";
  await server.call("PATCH", `${leases}/${metadata.name}`, { metadata: { annotations: { [key]: null } } }, merge);
  await pass(limits.serverLeaseRenewMs);
  t.ok(await leadsTo("fd00::1:443"));
  t.strictSame(reports, []);
});

t.test("leases that say no address, or one that can be no endpoint, lead nowhere", async (t) => {
  const { server, leases, leadsTo, pass } = await open(t, "10.0.0.2");
  const key = "apiserver.kubernetes.io/advertised-address";
  const lies = [
    "",
    "x",
    "10.0.0.1",
    "10.0.0.1:0",
    "10.0.0.1:65536",
    "127.0.0.1:443",
    "0.0.0.0:443",
    "[::1]:443",
    "a:b:c",
  ];
  for (const [at, lie] of lies.entries()) {
    const metadata = {
      name: `lie-${at}`,
      labels: { "k8s.io/component": "kube-apiserver" },
      annotations: { [key]: lie },
    };
    t.equal((await server.call("POST", leases, { metadata, spec: { holderIdentity: "x" } })).code, 201);
  }
  const metadata = { name: "unlabelled", annotations: { [key]: "10.0.0.9:443" } };
  await server.call("POST", leases, { metadata, spec: { holderIdentity: "x" } });
  await pass(2_000);
  t.ok(await leadsTo("10.0.0.2:6443"));
});

t.test(
  "more leases than there may be servers cost no more, and endpoints with several ports have a subset each",
  async (t) => {
    const { server, leases, pass } = await open(t, "10.0.0.2");
    const key = "apiserver.kubernetes.io/advertised-address";
    for (let at = 0; at < limits.serversMax + 20; at++) {
      const metadata = {
        name: `s${at}`,
        labels: { "k8s.io/component": "kube-apiserver" },
        annotations: { [key]: `10.1.0.${at}:${at % 2 === 0 ? 6443 : 7443}` },
      };
      const { code } = await server.call("POST", leases, { metadata, spec: { holderIdentity: "x" } });
      t.equal(code, 201);
    }
    await pass(1_000);
    type Subset = { addresses: unknown[]; ports: { port: number }[] };
    const read = async (): Promise<Subset[]> =>
      (await server.call("GET", "/api/v1/namespaces/default/endpoints/kubernetes")).json.subsets ?? [];
    const countOf = (subsets: Subset[]): number => subsets.flatMap(({ addresses }) => addresses).length;
    // The first leases may have been taken in before the last ones were written.
    await until(async () => countOf(await read()) > limits.serversMax);
    await pass(1_000);
    const subsets = await read();
    t.strictSame(
      subsets.map(({ ports }) => ports[0]?.port),
      [6443, 7443],
    );
    t.equal(countOf(subsets), limits.serversMax + 1);
  },
);

t.test("OwnService leaves endpoints alone with --endpoint-reconciler-type=none", async (t) => {
  const server = await openInProcess();
  const service = new OwnService(server.writers, { ip: "10.0.0.2", port: 6443 }, "none");
  const keeper = reconcilerOf(service, server.server.clock);
  keeper.start();
  t.ok(
    await until(async () => (await server.call("GET", "/api/v1/namespaces/default/services/kubernetes")).code === 200),
  );
  await keeper.idle();
  t.equal((await server.call("GET", "/api/v1/namespaces/default/endpoints/kubernetes")).code, 404);
  await keeper.stop();
  server.close();
});
