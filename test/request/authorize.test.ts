import t, { type Test } from "tap";
import { inOrder, masters } from "../../src/authz/authorizer.ts";
import { Rbac } from "../../src/authz/rbac.ts";
import { changeTypes } from "../../src/storage/store.ts";
import { type InProcess, openInProcess } from "../support/inprocess.ts";

const rbacGroup = "rbac.authorization.k8s.io";
const bob = { name: "bob", uid: "", groups: ["system:authenticated"], extra: new Map() };
const maps = "/api/v1/namespaces/default/configmaps";

async function open(t: Test): Promise<InProcess> {
  const server = await openInProcess();
  t.teardown(() => server.close());
  server.authorizer = inOrder([masters, new Rbac(server.scheme.identity, server.objects)]);
  return server;
}

t.test("a user without rights reads upstream's 403", async (t) => {
  const server = await open(t);
  server.user = bob;
  const inDefault = 'in API group "" in the namespace "default"';
  const cases: readonly (readonly [string, string, string, object])[] = [
    [
      "GET",
      maps,
      `configmaps is forbidden: User "bob" cannot list resource "configmaps" ${inDefault}`,
      { kind: "configmaps" },
    ],
    [
      "GET",
      `${maps}/x`,
      `configmaps "x" is forbidden: User "bob" cannot get resource "configmaps" ${inDefault}`,
      { name: "x", kind: "configmaps" },
    ],
    [
      "GET",
      "/apis/apps/v1/namespaces/default/deployments/x/scale",
      'deployments.apps "x" is forbidden: User "bob" cannot get resource "deployments/scale" in API group "apps" in the namespace "default"',
      { name: "x", group: "apps", kind: "deployments" },
    ],
    [
      "GET",
      "/apis/none.example/v1/things",
      'things.none.example is forbidden: User "bob" cannot list resource "things" in API group "none.example" at the cluster scope',
      { group: "none.example", kind: "things" },
    ],
    ["GET", "/nothing", 'forbidden: User "bob" cannot get path "/nothing"', {}],
    ["GET", "/%3Cb%3E&", 'forbidden: User "bob" cannot get path "/&lt;b&gt;&amp;"', {}],
    ["GET", "/%ff", 'forbidden: User "bob" cannot get path "/%ff"', {}],
  ];
  for (const [method, path, message, details] of cases) {
    const { code, json } = await server.call(method, path);
    t.strictSame([code, json.message, json.reason, json.details], [403, message, "Forbidden", details], path);
  }
});

t.test("an apply and a PUT of what is not there need the right to create it, on every try", async (t) => {
  const server = await open(t);
  const rules = [{ verbs: ["patch", "update"], apiGroups: ["*"], resources: ["*"] }];
  const rbac = `/apis/${rbacGroup}/v1`;
  await server.call("POST", `${rbac}/clusterroles`, { metadata: { name: "writer" }, rules });
  const roleRef = { apiGroup: rbacGroup, kind: "ClusterRole", name: "writer" };
  const subjects = [{ apiGroup: rbacGroup, kind: "User", name: "bob" }];
  await server.call("POST", `${rbac}/clusterrolebindings`, { metadata: { name: "writer" }, roleRef, subjects });
  server.user = bob;
  const { revision } = server.store;
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p" },
    spec: { containers: [{ name: "c", image: "i" }] },
  };
  const lease = { metadata: { name: "l" } };
  const applies = { "content-type": "application/apply-patch+yaml" };
  const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
  const cases = [
    ["PATCH", "/api/v1/namespaces/default/pods/p?fieldManager=m", pod, applies, "pods", ""],
    ["PUT", `${leases}/l`, lease, {}, "leases", "coordination.k8s.io"],
  ] as const;
  for (const [method, path, body, headers, plural, group] of cases) {
    for (const dryRun of ["", `${path.includes("?") ? "&" : "?"}dryRun=All`]) {
      const { code, json } = await server.call(method, `${path}${dryRun}`, body, headers);
      const what = `${plural}${group === "" ? "" : `.${group}`} "${body.metadata.name}" is forbidden`;
      const why = `User "bob" cannot create resource "${plural}" in API group "${group}" in the namespace "default"`;
      t.strictSame([code, json.reason, json.message], [403, "Forbidden", `${what}: ${why}`], `${path}${dryRun}`);
    }
  }
  t.equal((await server.call("PUT", "/api/v1/namespaces/default/pods/p", pod)).code, 404, "no PUT creates a pod");
  t.equal(server.store.revision, revision, "nothing was stored");

  // The object goes between two tries: the second one is a create.
  const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "m" } };
  const apply = (data: object) => server.call("PATCH", `${maps}/m?fieldManager=m`, { ...map, data }, applies);
  server.user = { ...bob, groups: ["system:masters"] };
  t.equal((await apply({ a: "1" })).code, 201);
  server.user = bob;
  t.equal((await apply({ a: "2" })).code, 200);
  server.store.before = (change) => {
    server.store.before = undefined;
    server.store.apply({ ...change, type: changeTypes.delete });
    return undefined;
  };
  const late = await apply({ a: "3" });
  t.strictSame([late.code, late.json.reason], [403, "Forbidden"]);
});

t.test("an administrator learns what is not there, others do not", async (t) => {
  const server = await open(t);
  for (const path of ["/api/v1/nothings", "/apis/none.example/v1/things", "/nothing", `${maps}/none`]) {
    t.equal((await server.call("GET", path)).code, 404, path);
  }
  server.user = bob;
  for (const path of ["/api/v1/nothings", "/apis/none.example/v1/things", "/nothing", `${maps}/none`]) {
    t.equal((await server.call("GET", path)).code, 403, path);
  }
});

t.test("a missing role stands in the refusal", async (t) => {
  const server = await open(t);
  const roleRef = { apiGroup: rbacGroup, kind: "ClusterRole", name: "gone" };
  const subjects = [{ kind: "User", apiGroup: rbacGroup, name: "bob" }];
  await server.call("POST", `/apis/${rbacGroup}/v1/clusterrolebindings`, {
    metadata: { name: "b" },
    roleRef,
    subjects,
  });
  server.user = bob;
  t.match(
    (await server.call("GET", maps)).json.message,
    /"default": RBAC: clusterrole\.rbac\.authorization\.k8s\.io "gone" not found$/,
  );
});

t.test("A10: requests act as whom they may, with the rights of that user", async (t) => {
  const server = await open(t);
  const asBob = { "impersonate-user": "bob" };
  t.equal((await server.call("GET", maps, undefined, asBob)).code, 403);
  t.equal((await server.call("GET", maps, undefined, { ...asBob, "impersonate-group": "system:masters" })).code, 200);
  t.equal((await server.call("GET", maps, undefined, { "impersonate-group": "system:masters" })).code, 400);
  server.user = bob;
  const refused = await server.call("GET", maps, undefined, { "impersonate-user": "ann" });
  t.strictSame(
    [refused.code, refused.json.message],
    [
      403,
      'users "ann" is forbidden: User "bob" cannot impersonate resource "users" in API group "" at the cluster scope',
    ],
  );
});

t.test("A08: a connection opened by GET needs the right to create it when the gate says so", async (t) => {
  for (const gates of [new Set<string>(), new Set(["AuthorizePodWebsocketUpgradeCreatePermission"])]) {
    const server = await openInProcess("kubernetes", { gates });
    t.teardown(() => server.close());
    server.authorizer = { authorize: ({ verb }) => ({ verdict: verb === "get" ? "allow" : "none", reason: "" }) };
    for (const subresource of ["exec", "attach", "portforward"]) {
      const { code, json } = await server.call("GET", `/api/v1/namespaces/default/pods/x/${subresource}`);
      t.equal(code, gates.size === 0 ? 404 : 403, subresource);
      if (gates.size > 0) t.match(json.message, `cannot create resource "pods/${subresource}"`);
    }
    t.equal((await server.call("GET", "/api/v1/namespaces/default/pods/x/log")).code, 404);
    t.equal((await server.call("GET", "/api/v1/namespaces/default/pods/x")).code, 404);
  }
});
