// Secrets of service accounts: filled, and ended with their account; the account's list follows its secrets.
import t from "tap";
import { defaultGates, noTokenSecrets } from "../../src/config/gates.ts";
import { AccountTokenController } from "../../src/controllers/accounttokens.ts";
import type { Reconciler } from "../../src/controllers/reconciler.ts";
import { reconcilerOf } from "../support/controllers.ts";
import { type InProcess, type InProcessOptions, openInProcess, until } from "../support/inprocess.ts";

const authority = "-----BEGIN CERTIFICATE-----\n";
const space = "/api/v1/namespaces/default";

/** Tests of secrets that clients make have no others. */
const without: InProcessOptions = { gates: new Set([...defaultGates, noTokenSecrets]) };

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
  const server = await openInProcess("kubernetes", without);
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
  const server = await openInProcess("kubernetes", without);
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

interface Listed {
  readonly metadata: { readonly name: string; readonly annotations?: Record<string, string> };
}

async function accountOf(server: InProcess, name: string) {
  return (await server.call("GET", `${space}/serviceaccounts/${name}`)).json;
}

async function secretsOf(server: InProcess, account: string): Promise<string[]> {
  const { items } = (await server.call("GET", `${space}/secrets`)).json as { items: Listed[] };
  return items
    .filter(({ metadata }) => metadata.annotations?.["kubernetes.io/service-account.name"] === account)
    .map(({ metadata }) => metadata.name);
}

/** Waits until an account lists exactly the one secret there is for it, and `rest`; its name. */
async function provided(server: InProcess, account: string, ...rest: string[]): Promise<string> {
  let own = "";
  const settled = await until(async () => {
    const secrets = ((await accountOf(server, account)).secrets ?? []) as { name: string }[];
    const made = await secretsOf(server, account);
    own = made[0] ?? "";
    return made.length === 1 && JSON.stringify(secrets.map(({ name }) => name)) === JSON.stringify([...rest, own]);
  });
  if (!settled) throw new Error(JSON.stringify([await accountOf(server, account), await secretsOf(server, account)]));
  return own;
}

t.test(
  "AccountTokenController makes a secret for each account, old and new ones, and another one for one that goes",
  async (t) => {
    const server = await openInProcess();
    const reports: string[] = [];
    await server.call("POST", `${space}/serviceaccounts`, { metadata: { name: "old" } });
    await server.call("POST", `${space}/secrets`, secret("byhand", "old"));
    const controller = controllerOf(server, reports);
    controller.start();
    t.ok(await until(async () => (await accountOf(server, "old")).secrets?.length === 1));
    t.match((await accountOf(server, "old")).secrets[0].name, /^old-token-[a-z0-9]{5}$/, "not the one made by hand");
    const listed = [{ name: "mine" }];
    await server.call("POST", `${space}/serviceaccounts`, { metadata: { name: "new" }, secrets: listed });
    const name = await provided(server, "new", "mine");
    const { type, data, metadata } = await read(server, name);
    t.equal(type, "kubernetes.io/service-account-token");
    t.equal(metadata.annotations["kubernetes.io/service-account.uid"], (await accountOf(server, "new")).metadata.uid);
    const text = (key: string): string => Buffer.from(data[key], "base64").toString();
    t.equal(text("ca.crt"), authority);
    t.equal(text("namespace"), "default");
    const claims = JSON.parse(Buffer.from(text("token").split(".")[1] ?? "", "base64url").toString());
    t.equal(claims["kubernetes.io/serviceaccount/secret.name"], name);
    await server.call("DELETE", `${space}/secrets/${name}`);
    t.ok(await until(async () => !(await secretsOf(server, "new")).includes(name)));
    const next = await provided(server, "new", "mine");
    t.not(next, name, "a token that was revoked does not come back");
    await server.call("DELETE", `${space}/serviceaccounts/new`);
    t.ok(await until(async () => (await secretsOf(server, "new")).length === 0));
    await controller.idle();
    const before = server.store.changes.length;
    controller.add("default/old/");
    await controller.idle();
    t.equal(server.store.changes.length, before, "what is right is not written");
    t.same(reports, []);
    await controller.stop();
    server.close();
  },
);

t.test("AccountTokenController makes nothing where the gate says so", async (t) => {
  const server = await openInProcess("kubernetes", without);
  const controller = controllerOf(server, []);
  await server.call("POST", `${space}/serviceaccounts`, { metadata: { name: "old" } });
  controller.start();
  await server.call("POST", `${space}/serviceaccounts`, { metadata: { name: "new" } });
  controller.add("default//");
  await controller.idle();
  t.same([...(await secretsOf(server, "old")), ...(await secretsOf(server, "new"))], []);
  t.equal((await accountOf(server, "new")).secrets, undefined);
  await controller.stop();
  server.close();
});

t.test(
  "AccountTokenController that ends between any two writes leaves an account with one secret in the end",
  async (t) => {
    for (const [what, fails] of [
      ["the account is not written", (key: string) => key.endsWith("/serviceaccounts/default/a")],
      [
        "nor the secret removed",
        (key: string) => /\/serviceaccounts\/default\/a$|\/secrets\/default\/a-token-/.test(key),
      ],
    ] as const) {
      const server = await openInProcess();
      const first = controllerOf(server, []);
      await server.call("POST", `${space}/serviceaccounts`, { metadata: { name: "a" } });
      let made = 0;
      server.store.before = ({ key, expected }) => {
        if (/\/secrets\//.test(key) && expected === 0) {
          made += 1;
          return undefined;
        }
        return made > 0 && fails(key) ? { refused: "unavailable", message: "down" } : undefined;
      };
      first.start();
      t.ok(await until(() => made > 0), what);
      await first.stop();
      server.store.before = undefined;
      const next = controllerOf(server, []);
      next.start();
      await provided(server, "a");
      await next.idle();
      t.equal((await secretsOf(server, "a")).length, 1, what);
      await next.stop();
      server.close();
    }
  },
);

t.test(
  "AccountTokenController removes the secret of an account that went, or got another one, meanwhile",
  async (t) => {
    const server = await openInProcess();
    const controller = controllerOf(server, []);
    await server.call("POST", `${space}/serviceaccounts`, { metadata: { name: "a" } });
    let isFirst = true;
    server.store.before = async ({ key, expected }) => {
      if (!isFirst || !key.includes("/secrets/") || expected !== 0) return undefined;
      isFirst = false;
      await server.call("DELETE", `${space}/serviceaccounts/a`);
      await server.call("POST", `${space}/serviceaccounts`, { metadata: { name: "a" } });
      return undefined;
    };
    controller.start();
    const name = await provided(server, "a");
    const { metadata } = await read(server, name);
    t.equal(metadata.annotations["kubernetes.io/service-account.uid"], (await accountOf(server, "a")).metadata.uid);
    t.notOk(isFirst);
    await controller.stop();
    server.close();
  },
);

t.test("AccountTokenController makes nothing in a namespace that ends, and complains about nothing", async (t) => {
  const server = await openInProcess();
  const reports: string[] = [];
  const controller = controllerOf(server, reports);
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "n" } });
  const path = "/api/v1/namespaces/n/serviceaccounts";
  await server.call("POST", path, { metadata: { name: "a", finalizers: ["example.com/x"] } });
  await server.call("DELETE", "/api/v1/namespaces/n");
  controller.start();
  controller.add("n/a/");
  await controller.idle();
  t.equal((await server.call("GET", `${path}/a`)).json.secrets, undefined);
  t.same(reports, []);
  await controller.stop();
  server.close();
});
