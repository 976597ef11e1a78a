// A server that was just started takes the first pod, in an old namespace and in one made a moment before, and
// what its pods will ask for is there.
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { eventually, startServer, type TestServer } from "../support/server.ts";
import { takeoverMsMax } from "../support/servers/storage.ts";

t.test("a fresh server takes pods at once, with token, authority and account", { timeout: 120_000 }, async (t) => {
  const server = await startServer(["--identity=kubernetes", "--front-workers=2", "--controllers=*"]);
  t.teardown(() => server.stop());
  const pod = { metadata: { generateName: "web-" }, spec: { containers: [{ name: "web", image: "nginx" }] } };
  for (const namespace of ["default", "one", "two", "three"]) {
    if (namespace !== "default") await server.call("POST", "/api/v1/namespaces", { metadata: { name: namespace } });
    const { code, json } = await server.call("POST", `/api/v1/namespaces/${namespace}/pods`, pod);
    t.equal(code, 201, namespace);
    t.equal(json.spec.serviceAccountName, "default");
    t.match(json.spec.volumes[0].name, /^kube-api-access-/);
  }
  const own = "/api/v1/namespaces/default/services/kubernetes";
  t.ok(await eventually(async () => (await server.call("GET", own)).code === 200));
  const { clusterIP } = (await server.call("GET", own)).json.spec;
  t.equal(clusterIP, "10.0.0.1");
  const certificate = new X509Certificate(readFileSync(join(server.dir, "pki", "serving.crt")));
  t.equal(certificate.checkIP(clusterIP), clusterIP, "pods verify the server by the address they know");
  const secrets = "/api/v1/namespaces/two/secrets";
  const configMap = "/api/v1/namespaces/two/configmaps/kube-root-ca.crt";
  t.ok(await eventually(async () => (await server.call("GET", configMap)).code === 200));
  t.equal((await server.call("GET", configMap)).json.data["ca.crt"], server.ca);
  const annotations = { "kubernetes.io/service-account.name": "default" };
  const secret = { metadata: { name: "s", annotations }, type: "kubernetes.io/service-account-token" };
  t.equal((await server.call("POST", secrets, secret)).code, 201);
  const read = async () => (await server.call("GET", `${secrets}/s`)).json;
  t.ok(await eventually(async () => (await read()).data?.token !== undefined));
  const filled = await read();
  const authorization = `Bearer ${Buffer.from(filled.data.token, "base64")}`;
  const review = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SelfSubjectAccessReview",
    spec: { nonResourceAttributes: { path: "/api", verb: "get" } },
  };
  const asked = await server.call("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review, {
    authorization,
  });
  t.equal(asked.code, 201, asked.text);
  t.equal(asked.json.status.allowed, true);
});

t.test(
  "the controllers of a killed server work again at the next start, and one Lease says whose they are",
  {
    timeout: 120_000,
  },
  async (t) => {
    const args = ["--identity=kubernetes", "--controllers=*"];
    const lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/apiserver-controllers";
    const first = await startServer(args);
    t.teardown(() => first.stop("SIGKILL"));
    const held = async (server: TestServer): Promise<boolean> =>
      eventually(async () => ((await server.call("GET", lease)).json.spec?.holderIdentity ?? "") !== "");
    t.ok(await held(first));
    const { spec: before } = (await first.call("GET", lease)).json;
    t.match(before, { leaseDurationSeconds: 15, leaseTransitions: 0 });
    await first.stop("SIGKILL", false);
    const second = await startServer(args, first.dir);
    t.teardown(() => second.stop());
    await second.call("POST", "/api/v1/namespaces", { metadata: { name: "n" } });
    // With a store of its own far below the time the lease of the dead one would stand.
    const account = "/api/v1/namespaces/n/serviceaccounts/default";
    t.ok(await eventually(async () => (await second.call("GET", account)).code === 200, takeoverMsMax));
    const { spec: after } = (await second.call("GET", lease)).json;
    t.equal(after.leaseTransitions, 1);
    t.not(after.holderIdentity, before.holderIdentity);
    t.ok(await eventually(async () => (await second.call("GET", lease)).json.spec.renewTime > after.renewTime));
  },
);
