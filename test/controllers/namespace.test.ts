import t, { type Test } from "tap";
import { bootstrapNamespaces } from "../../src/controllers/bootstrap.ts";
import { NamespaceController } from "../../src/controllers/namespace.ts";
import type { Change } from "../../src/storage/store.ts";
import { reconcilerOf } from "../support/controllers.ts";
import { type InProcess, openInProcess, until } from "../support/inprocess.ts";
import { scenario } from "../support/scenario.ts";

const merge = { "content-type": "application/merge-patch+json" };

/** A server with the controller running; `reports` is what it complained about. */
function running(name: string, check: (t: Test, server: InProcess, reports: string[]) => Promise<void>): void {
  scenario(name, async (t, server) => {
    const reports: string[] = [];
    const namespaces = new NamespaceController(server.server);
    const controller = reconcilerOf(namespaces, server.server.clock, (message) => void reports.push(message));
    controller.start();
    try {
      await check(t, server, reports);
    } finally {
      await controller.stop();
    }
  });
}

async function gone(server: InProcess, path: string): Promise<boolean> {
  return until(async () => (await server.call("GET", path)).code === 404);
}

t.test("bootstrapNamespaces() makes the system's namespaces and may run again", async (t) => {
  const server = await openInProcess();
  const list = async (): Promise<unknown> => (await server.call("GET", "/api/v1/namespaces")).json.items;
  const before = (await list()) as { metadata: { name: string } }[];
  const names = before.map(({ metadata }) => metadata.name);
  t.strictSame(names, ["default", "kube-node-lease", "kube-public", "kube-system"]);
  t.equal(await bootstrapNamespaces(server.writers), undefined);
  t.strictSame(await list(), before);
  server.close();
});

running("NamespaceController removes a namespace and everything in it, pods first", async (t, server, reports) => {
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "n" } });
  const base = "/api/v1/namespaces/n";
  const spec = { containers: [{ name: "c", image: "i" }] };
  for (let i = 0; i < 40; i++) await server.call("POST", `${base}/configmaps`, { metadata: { name: `m${i}` } });
  await server.call("POST", `${base}/secrets`, { metadata: { name: "s" } });
  await server.call("POST", `${base}/pods`, { metadata: { name: "p" }, spec });
  await server.call("POST", `${base}/events`, {
    metadata: { name: "e" },
    involvedObject: { namespace: "n", kind: "Pod", name: "p" },
  });
  await server.call("POST", "/api/v1/namespaces/default/configmaps", { metadata: { name: "other" } });
  await server.call("DELETE", base);
  t.ok(await gone(server, base));
  for (const resource of ["configmaps", "secrets", "pods", "events"]) {
    t.strictSame((await server.call("GET", `${base}/${resource}`)).json.items, [], resource);
  }
  t.equal((await server.call("GET", "/api/v1/namespaces/default/configmaps/other")).code, 200);
  const deleted = server.store.changes.filter(({ type }) => type === 3).map(({ prefix }) => prefix);
  t.equal(deleted[0], "/registry/pods");
  t.equal(deleted.at(-1), "/registry/namespaces");
  t.strictSame(reports, []);
  const again = await server.call("POST", "/api/v1/namespaces", { metadata: { name: "n" } });
  t.equal(again.code, 201, "the name is free");
});

running("NamespaceController waits for finalizers and says so in conditions", async (t, server, reports) => {
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "n" } });
  const base = "/api/v1/namespaces/n";
  await server.call("POST", `${base}/configmaps`, { metadata: { name: "held", finalizers: ["x.example/y"] } });
  await server.call("DELETE", base);
  type Condition = { type: string; status: string; reason: string; message: string; lastTransitionTime?: string };
  const conditions = async (): Promise<Condition[]> => (await server.call("GET", base)).json.status?.conditions ?? [];
  t.ok(await until(async () => (await conditions()).length === 5));
  const brief = (await conditions()).map(({ type, status, reason, message }) => [type, status, reason, message]);
  t.strictSame(brief, [
    ["NamespaceDeletionDiscoveryFailure", "False", "ResourcesDiscovered", "All resources successfully discovered"],
    [
      "NamespaceDeletionGroupVersionParsingFailure",
      "False",
      "ParsedGroupVersions",
      "All legacy kube types successfully parsed",
    ],
    [
      "NamespaceDeletionContentFailure",
      "False",
      "ContentDeleted",
      "All content successfully deleted, may be waiting on finalization",
    ],
    [
      "NamespaceContentRemaining",
      "True",
      "SomeResourcesRemain",
      "Some resources are remaining: configmaps. has 1 resource instances",
    ],
    [
      "NamespaceFinalizersRemaining",
      "True",
      "SomeFinalizersRemain",
      "Some content in the namespace has finalizers remaining: x.example/y in 1 resource instances",
    ],
  ]);
  t.equal((await server.call("GET", `${base}/configmaps/held`)).json.metadata.deletionGracePeriodSeconds, 0);
  await server.call("PATCH", `${base}/configmaps/held`, { metadata: { finalizers: null } }, merge);
  t.ok(await gone(server, base));
  t.strictSame(reports, []);
});

running("NamespaceController removes the rest while a pod has grace", async (t, server, reports) => {
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "n" } });
  const base = "/api/v1/namespaces/n";
  const spec = { nodeName: "node", containers: [{ name: "c", image: "i" }], terminationGracePeriodSeconds: 60 };
  await server.call("POST", `${base}/pods`, { metadata: { name: "p" }, spec });
  await server.call("POST", `${base}/configmaps`, { metadata: { name: "m" } });
  await server.call("DELETE", base);
  t.ok(await until(async () => (await server.call("GET", `${base}/configmaps/m`)).code === 404));
  type Condition = { type: string; status: string; message: string; lastTransitionTime: string };
  const conditionOf = async (type: string): Promise<Condition | undefined> =>
    ((await server.call("GET", base)).json.status.conditions ?? []).find((one: Condition) => one.type === type);
  t.ok(await until(async () => (await conditionOf("NamespaceContentRemaining"))?.status === "True"));
  const remaining = await conditionOf("NamespaceContentRemaining");
  t.equal(remaining?.message, "Some resources are remaining: pods. has 1 resource instances");
  t.equal((await conditionOf("NamespaceDeletionContentFailure"))?.status, "False");
  t.equal((await server.call("GET", `${base}/pods/p`)).json.metadata.deletionGracePeriodSeconds, 60);
  t.strictSame(reports, []);
  // Its node is gone: the grace period passes, and nothing happens.
  server.nowMs += 61_000;
  server.aheadMs += 61_000;
  t.ok(await until(async () => (await conditionOf("NamespaceDeletionContentFailure"))?.status === "True"));
  const failed =
    "Failed to delete all resource types, 1 remaining: " +
    "unexpected items still remain in namespace: n for gvr: /v1, Resource=pods";
  t.equal((await conditionOf("NamespaceDeletionContentFailure"))?.message, failed);
  t.same(await conditionOf("NamespaceContentRemaining"), remaining, "a status that stays keeps its time");
  await server.call("DELETE", `${base}/pods/p?gracePeriodSeconds=0`);
  t.ok(await gone(server, base));
});

running("NamespaceController lets an empty namespace go without conditions", async (t, server) => {
  const base = "/api/v1/namespaces/n";
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "n" } });
  const before = server.store.changes.length;
  await server.call("DELETE", base);
  t.ok(await gone(server, base));
  // Marked, finalized, deleted.
  const own = server.store.changes.slice(before).filter(({ prefix }) => prefix === "/registry/namespaces");
  t.notMatch(own.map(({ body }) => Buffer.from(body).toString()).join(), /conditions/);
});

running("NamespaceController keeps a namespace that has finalizers of its own", async (t, server) => {
  const base = "/api/v1/namespaces/n";
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "n", finalizers: ["x.example/y"] } });
  await server.call("DELETE", base);
  const finalized = async (): Promise<boolean> => (await server.call("GET", base)).json.spec.finalizers === undefined;
  t.ok(await until(finalized));
  t.equal((await server.call("GET", base)).json.status.phase, "Terminating");
  await server.call("PATCH", base, { metadata: { finalizers: null } }, merge);
  t.ok(await gone(server, base));
});

scenario("NamespaceController that is stopped in the middle lets no namespace go", async (t, server) => {
  const base = "/api/v1/namespaces/n";
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "n" } });
  for (const kind of ["configmaps", "secrets"])
    await server.call("POST", `${base}/${kind}`, { metadata: { name: "m" } });
  const controller = reconcilerOf(new NamespaceController(server.server), server.server.clock);
  server.store.before = ({ type }) => {
    if (type === 3) void controller.stop();
    return undefined;
  };
  await server.call("DELETE", base);
  controller.start();
  t.ok(await until(() => controller.signal.aborted));
  await controller.stop();
  const { code, json } = await server.call("GET", base);
  t.equal(code, 200);
  t.strictSame(json.spec.finalizers, ["kubernetes"]);
  server.store.before = undefined;
  const next = reconcilerOf(new NamespaceController(server.server), server.server.clock);
  next.start();
  t.ok(await gone(server, base));
  await next.stop();
});

running("NamespaceController reports what fails and tries again", async (t, server, reports) => {
  const base = "/api/v1/namespaces/n";
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "n" } });
  await server.call("POST", `${base}/configmaps`, { metadata: { name: "m" } });
  server.store.before = ({ type }) => (type === 3 ? { refused: "unavailable", message: "down" } : undefined);
  await server.call("DELETE", base);
  t.ok(await until(() => reports.length > 0));
  t.match(reports[0], /Deleting the contents of namespace n failed/);
  server.store.before = undefined;
  t.ok(await gone(server, base));
});

running("NamespaceController removes what arrives after its namespace is gone", async (t, server) => {
  const base = "/api/v1/namespaces/n";
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "n" } });
  let late: Change | undefined;
  server.store.before = (change) => {
    late = { ...change, selection: change.selection.slice(), body: change.body.slice() };
    return { refused: "unavailable", message: "later" };
  };
  await server.call("POST", `${base}/configmaps`, { metadata: { name: "late" } });
  server.store.before = undefined;
  await server.call("DELETE", base);
  t.ok(await gone(server, base));
  if (late !== undefined) server.store.apply(late);
  const list = async (): Promise<unknown[]> => (await server.call("GET", `${base}/configmaps`)).json.items;
  t.equal((await list()).length, 1);
  t.ok(await until(async () => (await list()).length === 0));
});

running("A12: network policies outlive the pods they hold in", async (t, server) => {
  const base = "/api/v1/namespaces/n";
  const policies = "/apis/networking.k8s.io/v1/namespaces/n/networkpolicies";
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "n" } });
  const spec = { containers: [{ name: "c", image: "i" }] };
  await server.call("POST", `${base}/pods`, { metadata: { name: "p", finalizers: ["x.example/y"] }, spec });
  t.equal((await server.call("POST", policies, { metadata: { name: "q" }, spec: { podSelector: {} } })).code, 201);
  await server.call("DELETE", base);
  t.ok(await until(async () => (await server.call("GET", base)).json.status.conditions?.length === 5));
  t.equal(
    (await server.call("GET", `${policies}/q`)).json.metadata.deletionTimestamp,
    undefined,
    "it is not even marked",
  );
  const late = await server.call("POST", `${base}/pods`, { metadata: { name: "late" }, spec });
  t.equal(late.code, 403);
  t.match(late.json.details.causes, [{ reason: "NamespaceTerminating", field: "metadata.namespace" }]);
  await server.call("PATCH", `${base}/pods/p`, { metadata: { finalizers: null } }, merge);
  t.ok(await gone(server, base));
  const deleted = server.store.changes.filter(({ type }) => type === 3).map(({ prefix }) => prefix);
  t.ok(deleted.indexOf("/registry/pods") < deleted.indexOf("/registry/networkpolicies"), "pods went first");
});

running("A12: creates that race the end of their namespace leave no orphan", async (t, server) => {
  const rounds = 400;
  const racing = 25;
  let made = 0;
  for (let round = 0; round < rounds; round++) {
    const base = `/api/v1/namespaces/n${round}`;
    await server.call("POST", "/api/v1/namespaces", { metadata: { name: `n${round}` } });
    const create = async (index: number): Promise<void> => {
      // Some before, some during and some after the delete.
      for (let turn = 0; turn < (index * 7) % 20; turn++) await Promise.resolve();
      const { code } = await server.call("POST", `${base}/configmaps`, { metadata: { name: `m${index}` } });
      if (code === 201) made += 1;
      else if (code !== 403 && code !== 404) t.fail(`answered ${code}`);
    };
    const end = server.call("DELETE", base);
    const racers = Array.from({ length: racing }, (_, index) => create(index));
    await Promise.all([...racers, end]);
  }
  const left = async (path: string): Promise<number> => {
    const { items } = (await server.call("GET", path)).json as { items: { metadata: Record<string, string> }[] };
    return items.filter(({ metadata }) => /^n\d+$/.test(metadata["namespace"] ?? metadata["name"] ?? "")).length;
  };
  t.ok(await until(async () => (await left("/api/v1/namespaces")) === 0, 60_000), "the namespaces are gone");
  t.ok(await until(async () => (await left("/api/v1/configmaps")) === 0, 10_000), "and all that was in them");
  t.ok(made > rounds && made < rounds * racing, `${made} of ${rounds * racing} creates won`);
});
