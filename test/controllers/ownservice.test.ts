// The service pods find the server by: made at the first address, put right, and leading to where the server is.
import t, { type Test } from "tap";
import { OwnService } from "../../src/controllers/ownservice.ts";
import { reconcilerOf } from "../support/controllers.ts";
import { type InProcess, openInProcess } from "../support/inprocess.ts";

const core = "/api/v1/namespaces/default";
const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
const merge = { "content-type": "application/merge-patch+json" };

interface Setup {
  readonly server: InProcess;
  readonly reports: string[];
  /** A look that has ended. */
  look(): Promise<void>;
}

async function open(
  t: Pick<Test, "teardown">,
  ip?: string,
  identity: "kubernetes" | "orch" = "kubernetes",
): Promise<Setup> {
  const server = await openInProcess(identity);
  const reports: string[] = [];
  const service = new OwnService(server.writers, { ip, port: 6443 });
  const own = reconcilerOf(service, server.server.clock, (message) => void reports.push(message));
  t.teardown(() => {
    void own.stop();
    server.close();
  });
  const look = (): Promise<void> => {
    service.all(own);
    return own.idle();
  };
  return { server, reports, look };
}

t.test("OwnService makes the server's service at the first address, and what it leads to", async (t) => {
  const { server, reports, look } = await open(t, "10.9.8.7");
  await look();
  const { json: service } = await server.call("GET", `${core}/services/kubernetes`);
  t.match(service, {
    metadata: { labels: { component: "apiserver", provider: "kubernetes" } },
    spec: {
      type: "ClusterIP",
      clusterIP: "10.0.0.1",
      ports: [{ name: "https", protocol: "TCP", port: 443, targetPort: 6443 }],
      sessionAffinity: "None",
    },
  });
  t.equal(service.spec.selector, undefined);
  t.match((await server.call("GET", `${core}/endpoints/kubernetes`)).json, {
    metadata: { labels: { "endpointslice.kubernetes.io/skip-mirror": "true" } },
    subsets: [{ addresses: [{ ip: "10.9.8.7" }], ports: [{ name: "https", port: 6443, protocol: "TCP" }] }],
  });
  t.match((await server.call("GET", `${slices}/kubernetes`)).json, {
    metadata: { labels: { "kubernetes.io/service-name": "kubernetes" } },
    addressType: "IPv4",
    endpoints: [{ addresses: ["10.9.8.7"], conditions: { ready: true } }],
    ports: [{ name: "https", port: 6443, protocol: "TCP" }],
  });
  const changes = server.store.changes.length;
  await look();
  t.equal(server.store.changes.length, changes, "what is right is not written");
  t.same(reports, []);
});

t.test("OwnService puts right what was changed, and makes again what was deleted", async (t) => {
  const { server, reports, look } = await open(t, "fd00::7");
  await look();
  const ports = [{ name: "https", port: 444, protocol: "TCP" }];
  await server.call(
    "PATCH",
    `${core}/services/kubernetes`,
    { spec: { ports }, metadata: { labels: { a: "b" } } },
    merge,
  );
  await server.call("PATCH", `${core}/endpoints/kubernetes`, { subsets: null }, merge);
  await server.call("DELETE", `${slices}/kubernetes`);
  await look();
  const { json: service } = await server.call("GET", `${core}/services/kubernetes`);
  t.match(service.spec.ports, [{ port: 443, targetPort: 6443 }]);
  t.equal(service.metadata.labels.a, "b", "what else is there stays");
  t.match((await server.call("GET", `${core}/endpoints/kubernetes`)).json.subsets, [
    { addresses: [{ ip: "fd00::7" }] },
  ]);
  t.equal((await server.call("GET", `${slices}/kubernetes`)).json.addressType, "IPv6");
  await server.call("DELETE", `${core}/services/kubernetes`);
  await look();
  t.equal((await server.call("GET", `${core}/services/kubernetes`)).json.spec.clusterIP, "10.0.0.1");
  t.same(reports, []);
});

t.test("OwnService leads nowhere where no host can reach the server, and is named in the identity", async (t) => {
  const { server, look } = await open(t, undefined, "orch");
  await look();
  t.equal((await server.call("GET", `${core}/services/orch`)).json.metadata.labels.provider, "orch");
  t.equal((await server.call("GET", `${core}/endpoints/orch`)).code, 404);
  t.equal(
    (await server.call("GET", "/apis/discovery.orch.io/v1/namespaces/default/endpointslices")).json.items.length,
    0,
  );
});

t.test("OwnService says once that its address is another service's, and takes it when it is free", async (t) => {
  const { server, reports, look } = await open(t);
  const spec = { ports: [{ port: 80 }], clusterIP: "10.0.0.1" };
  t.equal((await server.call("POST", `${core}/services`, { metadata: { name: "other" }, spec })).code, 201);
  await look();
  await look();
  t.same(reports, ["The server's own services cannot be written"]);
  await server.call("DELETE", `${core}/services/other`);
  await look();
  t.equal((await server.call("GET", `${core}/services/kubernetes`)).code, 200);
});
