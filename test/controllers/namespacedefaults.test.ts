// What every namespace has: made with it, made again when it goes, put right when it changes.
import t from "tap";
import { CompanionController, defaultAccount, rootCaConfigMap } from "../../src/controllers/namespacedefaults.ts";
import { reconcilerOf } from "../support/controllers.ts";
import { type InProcess, openInProcess, until } from "../support/inprocess.ts";

const authority = "-----BEGIN CERTIFICATE-----\n";

async function running(): Promise<{ server: InProcess; reports: string[]; stop: () => void }> {
  const server = await openInProcess();
  const reports: string[] = [];
  const { writers } = server;
  const controllers = [defaultAccount(writers), rootCaConfigMap(writers, authority)].map((companion) =>
    reconcilerOf(
      new CompanionController(writers, companion),
      server.server.clock,
      (message) => void reports.push(message),
    ),
  );
  for (const controller of controllers) controller.start();
  return {
    server,
    reports,
    stop() {
      for (const controller of controllers) void controller.stop();
      server.close();
    },
  };
}

const account = (namespace: string): string => `/api/v1/namespaces/${namespace}/serviceaccounts/default`;
const configMap = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps/kube-root-ca.crt`;

t.test("CompanionController gives every namespace its account and config map, old and new ones", async (t) => {
  const { server, reports, stop } = await running();
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "later" } });
  for (const namespace of ["default", "kube-system", "later"]) {
    for (const path of [account(namespace), configMap(namespace)]) {
      t.ok(await until(async () => (await server.call("GET", path)).code === 200), path);
    }
  }
  const { json } = await server.call("GET", configMap("later"));
  t.same(json.data, { "ca.crt": authority });
  t.equal(json.metadata.managedFields[0].manager, "kube-controller-manager");
  t.same(reports, []);
  stop();
});

t.test("CompanionController makes again what is deleted, and puts right what is changed", async (t) => {
  const { server, reports, stop } = await running();
  const path = configMap("default");
  t.ok(await until(async () => (await server.call("GET", path)).code === 200));
  const { json: before } = await server.call("GET", path);
  await server.call("DELETE", path);
  t.ok(
    await until(
      async () => ((await server.call("GET", path)).json.metadata.uid ?? before.metadata.uid) !== before.metadata.uid,
    ),
  );
  await server.call(
    "PATCH",
    path,
    { data: { "ca.crt": "mine", more: "x" } },
    { "content-type": "application/merge-patch+json" },
  );
  t.ok(await until(async () => (await server.call("GET", path)).json.data["ca.crt"] === authority));
  t.same((await server.call("GET", path)).json.data, { "ca.crt": authority }, "and nothing else is in it");
  const annotation = "kubernetes.io/description";
  const described = async () => (await server.call("GET", path)).json.metadata.annotations[annotation];
  const description = await described();
  const metadata = { labels: { mine: "yes" }, annotations: { [annotation]: "changed", other: "x" } };
  await server.call("PATCH", path, { metadata }, { "content-type": "application/merge-patch+json" });
  t.ok(await until(async () => (await described()) === description));
  t.match((await server.call("GET", path)).json.metadata, { labels: { mine: "yes" }, annotations: { other: "x" } });
  t.same(reports, []);
  stop();
});

t.test("CompanionController leaves namespaces that are going alone, and tries again what was refused", async (t) => {
  const { server, reports, stop } = await running();
  t.ok(await until(async () => (await server.call("GET", account("default"))).code === 200));
  let refusals = 1;
  server.store.before = (change) => {
    if (refusals === 0 || !change.key.endsWith("/serviceaccounts/stubborn/default")) return undefined;
    refusals -= 1;
    return { refused: "unavailable", message: "not now" };
  };
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "stubborn" } });
  t.ok(await until(async () => (await server.call("GET", account("stubborn"))).code === 200), "tried again");
  t.equal(reports.length, 1);
  server.store.before = undefined;
  await server.call("DELETE", "/api/v1/namespaces/stubborn");
  await server.call("DELETE", account("stubborn"));
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "after" } });
  t.ok(await until(async () => (await server.call("GET", account("after"))).code === 200));
  t.equal((await server.call("GET", account("stubborn"))).code, 404);
  stop();
});
