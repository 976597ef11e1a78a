// What a start does about roles and bindings that are there, half there, changed by a client, or not there; and what
// strangers see with them (ATTACKS A11).
import t, { type Test } from "tap";
import { inOrder, masters } from "../../src/authz/authorizer.ts";
import { policyObjects } from "../../src/authz/policy/objects.ts";
import { Rbac } from "../../src/authz/rbac.ts";
import { bootstrapPolicy, hasPolicy } from "../../src/controllers/rbacpolicy.ts";
import { type InProcess, openInProcess } from "../support/inprocess.ts";

const api = "/apis/rbac.authorization.k8s.io/v1";
const merge = { "content-type": "application/merge-patch+json" };

async function open(t: Test): Promise<InProcess> {
  const server = await openInProcess();
  t.teardown(() => server.close());
  t.notOk(hasPolicy(server.scheme, server.objects));
  t.equal(await start(server), undefined);
  t.ok(hasPolicy(server.scheme, server.objects));
  return server;
}

function start(server: InProcess): Promise<unknown> {
  return bootstrapPolicy(server.writers, server.objects);
}

async function get(server: InProcess, path: string) {
  return (await server.call("GET", `${api}/${path}`)).json;
}

t.test("a second start writes nothing", async (t) => {
  const server = await open(t);
  const { revision } = server.store;
  t.equal(await start(server), undefined);
  t.equal(server.store.revision, revision);
  t.equal((await get(server, "clusterroles")).items.length, 62);
  t.equal((await get(server, "clusterrolebindings")).items.length, 43);
});

t.test("a start adds what is missing and leaves what is more", async (t) => {
  const server = await open(t);
  const role = "clusterroles/system:basic-user";
  const binding = "clusterrolebindings/system:public-info-viewer";
  const [before, bound] = [await get(server, role), await get(server, binding)];
  const own = { verbs: ["get"], apiGroups: [""], resources: ["pods"] };
  await server.call(
    "PATCH",
    `${api}/${role}`,
    { rules: [own], metadata: { labels: null, annotations: { a: "b" } } },
    merge,
  );
  const ann = { kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "ann" };
  await server.call("PATCH", `${api}/${binding}`, { subjects: [ann, bound.subjects[1]] }, merge);
  await server.call("DELETE", `${api}/clusterroles/system:node`);
  t.equal(await start(server), undefined);
  const after = await get(server, role);
  const parts = before.rules[0].resources.map((resource: string) => ({ ...before.rules[0], resources: [resource] }));
  t.strictSame(after.rules, [own, ...parts]);
  t.strictSame(after.metadata.labels, before.metadata.labels);
  t.strictSame(after.metadata.annotations, { ...before.metadata.annotations, a: "b" });
  t.strictSame((await get(server, binding)).subjects, [ann, bound.subjects[1], bound.subjects[0]]);
  t.equal((await get(server, "clusterroles/system:node")).kind, "ClusterRole");
});

t.test("a start leaves alone what an administrator took over", async (t) => {
  const server = await open(t);
  const annotations = { "rbac.authorization.kubernetes.io/autoupdate": "false" };
  for (const path of ["clusterroles/system:discovery", "clusterroles/view", "clusterrolebindings/system:discovery"]) {
    await server.call("PATCH", `${api}/${path}`, { metadata: { annotations }, rules: [], subjects: [] }, merge);
    const before = await get(server, path);
    t.equal(await start(server), undefined);
    t.strictSame(await get(server, path), before, path);
  }
});

t.test("a start binds to our role again what was bound to another", async (t) => {
  const server = await open(t);
  const path = `${api}/clusterrolebindings`;
  const before = await get(server, "clusterrolebindings/system:discovery");
  await server.call("DELETE", `${path}/system:discovery`);
  await server.call("POST", path, {
    ...before,
    metadata: { name: "system:discovery" },
    roleRef: { ...before.roleRef, name: "cluster-admin" },
  });
  t.equal(await start(server), undefined);
  const after = await get(server, "clusterrolebindings/system:discovery");
  t.strictSame([after.roleRef, after.subjects], [before.roleRef, before.subjects]);
});

t.test("A11: with the policy, strangers see the version and members the API's shape", async (t) => {
  const server = await open(t);
  server.authorizer = inOrder([masters, new Rbac(server.scheme.identity, server.objects)]);
  const open200 = ["/version", "/version/", "/healthz", "/livez", "/readyz"];
  const members200 = ["/api", "/api/v1", "/apis", "/apis/apps/v1", "/openapi/v2", "/openapi/v3"];
  const others403 = ["/metrics", "/", "/logs", "/debug/pprof/", "/debug/flags/v", "/healthz/ping", "/nothing"];
  const as = async (name: string, group: string, path: string): Promise<boolean> => {
    server.user = { name, uid: "", groups: [group], extra: new Map() };
    const { code } = await server.call("GET", path);
    return code !== 403;
  };
  for (const path of [...open200, ...members200, ...others403]) {
    const isOpen = open200.includes(path);
    t.equal(await as("system:anonymous", "system:unauthenticated", path), isOpen, `anonymous ${path}`);
    t.equal(await as("ann", "system:authenticated", path), isOpen || members200.includes(path), `ann ${path}`);
  }
});

t.test("only administrators write endpoints, and names follow the identity", async (t) => {
  const server = await openInProcess("orch");
  t.teardown(() => server.close());
  const objects = policyObjects(server.scheme.identity);
  for (const { name, rules } of objects) {
    if (!/^(admin|edit|view|system:aggregate)/.test(name)) continue;
    for (const { verbs = [], resources = [] } of rules) {
      if (!resources.some((resource) => resource.startsWith("endpoint"))) continue;
      t.ok(
        verbs.every((verb) => ["get", "list", "watch"].includes(verb)),
        `${name} ${verbs}`,
      );
    }
  }
  t.notMatch(
    JSON.stringify(
      objects.map((object) => ({ ...object, labels: [...object.labels], annotations: [...object.annotations] })),
    ),
    /k8s\.io|kubernetes/,
  );
  t.equal(await bootstrapPolicy(server.writers, server.objects), undefined);
  t.ok(hasPolicy(server.scheme, server.objects));
});
