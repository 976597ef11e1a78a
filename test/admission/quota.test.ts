// ResourceQuota through the request path: what is charged, what is refused and in which words, and that racing writes
// never get more than there is.
import t, { type Test } from "tap";
import { limits } from "../../src/config/limits.ts";
import { QuotaController } from "../../src/controllers/quota.ts";
import { reconcilerOf } from "../support/controllers.ts";
import { type InProcess, openInProcess, until } from "../support/inprocess.ts";

const core = "/api/v1/namespaces/default";

async function open(t: Pick<Test, "fail" | "teardown">): Promise<InProcess> {
  const server = await openInProcess("kubernetes");
  const controller = reconcilerOf(new QuotaController(server.server), server.server.clock, (message, cause) =>
    t.fail(`${message}: ${JSON.stringify(cause)}`),
  );
  controller.start();
  t.teardown(() => {
    void controller.stop();
    server.close();
  });
  return server;
}

/** Creates a quota and waits until its limits count. */
async function limit(server: InProcess, name: string, spec: object): Promise<void> {
  const made = await server.call("POST", `${core}/resourcequotas`, { metadata: { name }, spec });
  if (made.code !== 201) throw new Error(made.text);
  await until(async () => (await used(server, name)) !== undefined);
}

async function used(server: InProcess, name: string): Promise<{ [resource: string]: string } | undefined> {
  return (await server.call("GET", `${core}/resourcequotas/${name}`)).json.status?.used;
}

function pod(name: string, resources: object = {}, more: object = {}): object {
  return { metadata: { name }, spec: { containers: [{ name: "c", image: "i", resources }], ...more } };
}

function map(name: string): object {
  return { metadata: { name } };
}

t.test("writes of one user that wait for a quota leave places for others", async (t) => {
  const server = await open(t);
  await limit(server, "q", { hard: { "count/configmaps": "5k" } });
  let go: () => void = () => undefined;
  const held = new Promise<undefined>((resolve) => (go = () => resolve(undefined)));
  server.store.before = ({ prefix }) => (prefix.endsWith("resourcequotas") ? held : undefined);
  const as = (name: string): void => {
    server.user = { name, uid: "", groups: [], extra: new Map() };
  };
  as("mallory");
  const many = Array.from({ length: limits.quotaWaitersMax }, (_, index) =>
    server.call("POST", `${core}/configmaps`, map(`m${index}`)),
  );
  // Beyond its share a write is refused while the others wait.
  t.equal((await many.at(-1))?.code, 429);
  as("bob");
  const bob = server.call("POST", `${core}/configmaps`, map("b"));
  await new Promise((resolve) => setImmediate(resolve));
  server.store.before = undefined;
  go();
  t.equal((await bob).code, 201);
  const codes = (await Promise.all(many)).map(({ code }) => code);
  t.equal(codes.filter((code) => code === 201).length, limits.quotaWaitersMax / 2);
});

t.test("a write beyond the quota is refused in upstream's words and leaves nothing", async (t) => {
  const server = await open(t);
  await limit(server, "q", { hard: { pods: "1", "requests.cpu": "1500m", "count/configmaps": "2" } });
  const cpu = (amount: string): object => ({ requests: { cpu: amount } });
  const silent = await server.call("POST", `${core}/pods`, pod("silent"));
  t.equal(silent.code, 403);
  t.equal(silent.json.message, 'pods "silent" is forbidden: failed quota: q: must specify requests.cpu');
  const large = await server.call("POST", `${core}/pods`, pod("large", cpu("2")));
  t.equal(
    large.json.message,
    'pods "large" is forbidden: exceeded quota: q, requested: requests.cpu=2, used: requests.cpu=0, limited: requests.cpu=1500m',
  );
  t.equal((await server.call("POST", `${core}/pods?dryRun=All`, pod("a", cpu("1")))).code, 201);
  t.same(await used(server, "q"), { "count/configmaps": "0", pods: "0", "requests.cpu": "0" }, "a dry run is free");
  t.equal((await server.call("POST", `${core}/pods`, pod("a", cpu("1")))).code, 201);
  t.same(await used(server, "q"), { "count/configmaps": "0", pods: "1", "requests.cpu": "1" });
  const second = await server.call("POST", `${core}/pods`, pod("b", cpu("1")));
  t.equal(
    second.json.message,
    'pods "b" is forbidden: exceeded quota: q, requested: pods=1,requests.cpu=1, used: pods=1,requests.cpu=1, limited: pods=1,requests.cpu=1500m',
  );
  t.equal((await server.call("GET", `${core}/pods/b`)).code, 404);
  t.equal((await server.call("POST", `${core}/pods?dryRun=All`, pod("b", cpu("1")))).code, 403);
  const again = await server.call("POST", `${core}/pods`, pod("a", cpu("100m")));
  t.equal(again.code, 403, "the quota is asked before the store knows of the name");
});

t.test("a write that fails after it was charged gives back what it was charged", async (t) => {
  const server = await open(t);
  await limit(server, "q", { hard: { "count/configmaps": "5" } });
  t.equal((await server.call("POST", `${core}/configmaps`, map("a"))).code, 201);
  t.equal((await server.call("POST", `${core}/configmaps`, map("a"))).code, 409);
  t.ok(await until(async () => (await used(server, "q"))?.["count/configmaps"] === "1"));
});

t.test("two hundred racing creates against a quota of one hundred leave exactly one hundred", async (t) => {
  const server = await open(t);
  await limit(server, "q", { hard: { "count/configmaps": "100" } });
  await limit(server, "other", { hard: { configmaps: "150", secrets: "1" } });
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, index) => server.call("POST", `${core}/configmaps`, map(`m-${index}`))),
  );
  t.equal(answers.filter(({ code }) => code === 201).length, 100);
  t.equal(answers.filter(({ code }) => code === 403).length, 100);
  t.equal((await server.call("GET", `${core}/configmaps`)).json.items.length, 100);
  t.equal((await used(server, "q"))?.["count/configmaps"], "100");
  t.ok(
    await until(async () => (await used(server, "other"))?.["configmaps"] === "100"),
    "the quota that was charged first is given back what the other one refused",
  );
});

t.test("what is deleted, and a pod that ends, is free again", async (t) => {
  const server = await open(t);
  await limit(server, "q", { hard: { pods: "1", "count/pods": "3" } });
  t.equal((await server.call("POST", `${core}/pods`, pod("a"))).code, 201);
  t.equal((await server.call("POST", `${core}/pods`, pod("b"))).code, 403);
  const status = { status: { phase: "Succeeded" } };
  const headers = { "content-type": "application/merge-patch+json" };
  t.equal((await server.call("PATCH", `${core}/pods/a/status`, status, headers)).code, 200);
  t.ok(await until(async () => (await used(server, "q"))?.["pods"] === "0"), "it uses no place to run");
  t.equal((await used(server, "q"))?.["count/pods"], "1", "but one in the store");
  t.equal((await server.call("POST", `${core}/pods`, pod("b"))).code, 201);
  t.equal((await server.call("DELETE", `${core}/pods/a`)).code, 200);
  t.ok(await until(async () => (await used(server, "q"))?.["count/pods"] === "1"));
});

t.test("scopes choose pods", async (t) => {
  const server = await open(t);
  await limit(server, "best", { hard: { pods: "0" }, scopes: ["BestEffort"] });
  await limit(server, "ending", { hard: { pods: "0" }, scopes: ["Terminating"] });
  const inClass = (operator: string, values?: string[]): object => ({
    hard: { pods: "0" },
    scopeSelector: { matchExpressions: [{ scopeName: "PriorityClass", operator, values }] },
  });
  await limit(server, "class", inClass("In", ["system-node-critical"]));
  const burst = { requests: { cpu: "1" } };
  t.match((await server.call("POST", `${core}/pods`, pod("a"))).json.message, /exceeded quota: best, /);
  t.equal((await server.call("POST", `${core}/pods`, pod("b", burst))).code, 201);
  const ending = await server.call("POST", `${core}/pods`, pod("c", burst, { activeDeadlineSeconds: 5 }));
  t.match(ending.json.message, /exceeded quota: ending, /);
});

t.test("services and claims are charged for what an update adds", async (t) => {
  const server = await open(t);
  const slow = "slow.storageclass.storage.k8s.io/requests.storage";
  await limit(server, "q", {
    hard: { "services.nodeports": "1", services: "5", "requests.storage": "3Gi", [slow]: "1Gi" },
  });
  const service = { metadata: { name: "s" }, spec: { type: "ClusterIP", ports: [{ name: "a", port: 80 }] } };
  t.equal((await server.call("POST", `${core}/services`, service)).code, 201);
  const headers = { "content-type": "application/merge-patch+json" };
  const two = {
    spec: {
      type: "NodePort",
      ports: [
        { name: "a", port: 80 },
        { name: "b", port: 81 },
      ],
    },
  };
  const refused = await server.call("PATCH", `${core}/services/s`, two, headers);
  t.match(
    refused.json.message,
    /exceeded quota: q, requested: services.nodeports=2, used: services.nodeports=0, limited: /,
  );
  t.equal((await server.call("PATCH", `${core}/services/s`, { spec: { type: "NodePort" } }, headers)).code, 200);
  t.equal((await used(server, "q"))?.["services.nodeports"], "1");
  const claim = (name: string, storage: string, storageClassName?: string): object => ({
    metadata: { name },
    spec: { accessModes: ["ReadWriteOnce"], storageClassName, resources: { requests: { storage } } },
  });
  t.equal((await server.call("POST", `${core}/persistentvolumeclaims`, claim("a", "2Gi"))).code, 201);
  t.equal((await server.call("POST", `${core}/persistentvolumeclaims`, claim("b", "2Gi"))).code, 403);
  t.match(
    (await server.call("POST", `${core}/persistentvolumeclaims`, claim("c", "1100Mi", "slow"))).json.message,
    /slow/,
  );
  t.equal((await server.call("POST", `${core}/persistentvolumeclaims`, claim("c", "1Gi", "slow"))).code, 201);
  t.same((await used(server, "q"))?.[slow], "1Gi");
});

t.test("subresources and cluster-scoped objects are not charged; a quota without status bounds nothing", async (t) => {
  const server = await openInProcess("orch");
  t.teardown(() => server.close());
  await server.call("POST", `${core}/resourcequotas`, {
    metadata: { name: "q" },
    spec: { hard: { "count/configmaps": "0" } },
  });
  t.equal((await server.call("POST", `${core}/configmaps`, map("a"))).code, 201);
  t.equal((await server.call("POST", "/api/v1/namespaces", map("another"))).code, 201);
});

t.test("QuotaController goes on counting after an error of ours", async (t) => {
  const server = await openInProcess("kubernetes");
  const reports: [message: string, cause: unknown][] = [];
  const quotas = new QuotaController(server.server);
  const controller = reconcilerOf(quotas, server.server.clock, (...report) => void reports.push(report));
  t.teardown(() => {
    void controller.stop();
    server.close();
  });
  const error = new Error("broken");
  server.store.before = (change) => {
    if (!change.key.includes("/resourcequotas/") || change.expected === 0) return undefined;
    server.store.before = undefined;
    throw error;
  };
  controller.start();
  const made = (name: string) => ({ metadata: { name }, spec: { hard: { pods: "1" } } });
  await server.call("POST", `${core}/resourcequotas`, made("a"));
  t.ok(await until(async () => reports.length > 0));
  t.same(reports, [["Controller test failed", error]]);
  await server.call("POST", `${core}/resourcequotas`, made("b"));
  for (const name of ["a", "b"]) t.ok(await until(async () => (await used(server, name))?.["pods"] === "0"), name);
});
