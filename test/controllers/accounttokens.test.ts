// Secrets of service accounts: filled, and ended with their account; the account's list follows its secrets.
import t from "tap";
import { AccountTokenController } from "../../src/controllers/accounttokens.ts";
import type { Reconciler } from "../../src/controllers/reconciler.ts";
import { reconcilerOf } from "../support/controllers.ts";
import { type InProcess, openInProcess, until } from "../support/inprocess.ts";

const authority = "-----BEGIN CERTIFICATE-----\n";
const space = "/api/v1/namespaces/default";

function controllerOf(server: InProcess, reports: string[]): Reconciler {
  const controller = new AccountTokenController(server.server, authority);
  return reconcilerOf(controller, server.server.clock, (message) => void reports.push(message));
}

function secret(name: string, account: string, more: object = {}): object {
  const annotations = { "kubernetes.io/service-account.name": account };
  return { metadata: { name, annotations, ...more }, type: "kubernetes.io/service-account-token" };
}

async function read(server: InProcess, name: string) {
  const { code, json } = await server.call("GET", `${space}/secrets/${name}`);
  return code === 200 ? json : undefined;
}

t.test("AccountTokenController fills secrets of the type, those that were there before it too", async (t) => {
  const server = await openInProcess();
  const reports: string[] = [];
  const { json: account } = await server.call("POST", `${space}/serviceaccounts`, { metadata: { name: "a" } });
  await server.call("POST", `${space}/secrets`, secret("old", "a"));
  await server.call("POST", `${space}/secrets`, { metadata: { name: "other" }, data: { token: "" } });
  const controller = controllerOf(server, reports);
  controller.start();
  await server.call("POST", `${space}/secrets`, secret("new", "a"));
  for (const name of ["old", "new"]) {
    t.ok(await until(async () => (await read(server, name))?.data?.token !== undefined), name);
    const { data, metadata } = await read(server, name);
    const text = (key: string): string => Buffer.from(data[key], "base64").toString();
    t.equal(text("ca.crt"), authority);
    t.equal(text("namespace"), "default");
    t.equal(metadata.annotations["kubernetes.io/service-account.uid"], account.metadata.uid);
    const claims = JSON.parse(Buffer.from(text("token").split(".")[1] ?? "", "base64url").toString());
    t.equal(claims.sub, "system:serviceaccount:default:a");
    t.equal(claims["kubernetes.io/serviceaccount/secret.name"], name);
  }
  t.same((await read(server, "other")).data, { token: "" }, "not of the type");
  const before = await read(server, "new");
  const merge = { "content-type": "application/merge-patch+json" };
  await server.call("PATCH", `${space}/secrets/new`, { data: { "ca.crt": null, own: "eA==" } }, merge);
  t.ok(await until(async () => (await read(server, "new")).data["ca.crt"] !== undefined));
  t.equal((await read(server, "new")).data.token, before.data.token, "a token that is there stays");
  t.equal((await read(server, "new")).data.own, "eA==");
  t.same(reports, []);
  await controller.stop();
  server.close();
});

t.test("AccountTokenController removes secrets whose account is not there, went, or is another one", async (t) => {
  const server = await openInProcess();
  const reports: string[] = [];
  const controller = controllerOf(server, reports);
  controller.start();
  const gone = (name: string): Promise<boolean> => until(async () => (await read(server, name)) === undefined);
  await server.call("POST", `${space}/secrets`, secret("orphan", "none"));
  t.ok(await gone("orphan"));
  await server.call("POST", `${space}/serviceaccounts`, {
    metadata: { name: "a" },
    secrets: [{ name: "s" }, { name: "x" }],
  });
  await server.call("POST", `${space}/secrets`, secret("s", "a"));
  await server.call("POST", `${space}/secrets`, secret("t", "a"));
  const wrong = { "kubernetes.io/service-account.name": "a", "kubernetes.io/service-account.uid": "another" };
  await server.call("POST", `${space}/secrets`, secret("stale", "a", { annotations: wrong }));
  t.ok(await gone("stale"));
  t.ok(await until(async () => (await read(server, "s"))?.data?.token !== undefined));
  await server.call("DELETE", `${space}/secrets/s`);
  const listed = async () => (await server.call("GET", `${space}/serviceaccounts/a`)).json.secrets;
  t.ok(await until(async () => (await listed()).length === 1), "the account forgets it");
  t.same(await listed(), [{ name: "x" }], "and nothing else");
  await server.call("DELETE", `${space}/serviceaccounts/a`);
  t.ok(await gone("t"));
  t.same(reports, []);
  await controller.stop();
  server.close();
});
