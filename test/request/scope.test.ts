// What a path says about the place of an object is what counts (ATTACKS A01), and no name is a path (ATTACKS A04).
import t, { type Test } from "tap";
import type { Resource } from "../../src/api/scheme.ts";
import { inOrder, masters } from "../../src/authz/authorizer.ts";
import { Rbac } from "../../src/authz/rbac.ts";
import { type InProcess, openInProcess } from "../support/inprocess.ts";

const apiGroup = "rbac.authorization.k8s.io";
const rbac = `/apis/${apiGroup}/v1`;
const ann = { name: "ann", uid: "", groups: ["system:authenticated"], extra: new Map() };
const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
const patch = { "content-type": "application/merge-patch+json" };

async function open(t: Test): Promise<InProcess> {
  const server = await openInProcess();
  t.teardown(() => server.close());
  server.authorizer = inOrder([masters, new Rbac(server.scheme.identity, server.objects)]);
  return server;
}

/** All users that may do everything in namespace `a`, and nothing elsewhere. */
async function boundInA(server: InProcess): Promise<void> {
  const made = async (path: string, body: object): Promise<void> => {
    const { code, text } = await server.call("POST", path, body);
    if (code !== 201) throw new Error(text);
  };
  await made("/api/v1/namespaces", { metadata: { name: "a" } });
  const rules = [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }];
  await made(`${rbac}/namespaces/a/roles`, { metadata: { name: "all" }, rules });
  const roleRef = { apiGroup, kind: "Role", name: "all" };
  const subjects = [{ apiGroup, kind: "User", name: "ann" }];
  await made(`${rbac}/namespaces/a/rolebindings`, { metadata: { name: "all" }, roleRef, subjects });
}

const rootOf = ({ group, version }: Resource): string =>
  group === "" ? `/api/${version}` : `/apis/${group}/${version}`;

/** The paths of a resource as if its scope were the other one. */
function misplaced(resource: Resource): string[] {
  const { resource: name, namespaced, subresources } = resource;
  const wrong = `${rootOf(resource)}${namespaced ? "" : "/namespaces/a"}/${name}`;
  const objects = ["", ...subresources.map((one) => `/${one.name}`)].map((end) => `${wrong}/x${end}`);
  // The collection of a namespaced resource has a path of its own at the cluster's scope.
  return namespaced ? objects : [wrong, `${wrong}?watch=1`, ...objects];
}

t.test("A01: nothing is reached through a path of the other scope", async (t) => {
  const server = await open(t);
  await boundInA(server);
  const wrong: string[] = [];
  let asked = 0;
  const { revision } = server.store;
  // Namespaces are objects of the cluster in a namespace of their own name.
  const resources = server.scheme.resources.filter(({ resource }) => resource !== "namespaces");
  for (const user of [server.user, ann]) {
    server.user = user;
    for (const resource of resources) {
      for (const path of misplaced(resource)) {
        for (const method of methods) {
          asked += 1;
          const body = method === "GET" || method === "HEAD" ? undefined : { metadata: { name: "x" } };
          const { code } = await server.call(method, path, body, method === "PATCH" ? patch : {});
          // Who may do nothing at the cluster's scope is told so first.
          const isRefused = user === ann && resource.namespaced && code === 403;
          if (code !== 404 && !isRefused) wrong.push(`${user.name}: ${method} ${path}: ${code}`);
        }
      }
    }
  }
  t.strictSame(wrong.slice(0, 20), [], `${wrong.length} of ${asked}`);
  t.ok(asked > 1_500, `${asked} requests`);
  t.equal(server.store.revision, revision, "storage is untouched");
});

t.test("A01: rights in a namespace are none of the cluster's, and none of another's", async (t) => {
  const server = await open(t);
  await boundInA(server);
  server.user = ann;
  const role = { metadata: { name: "r" }, rules: [] };
  const cases: [method: string, path: string, code: number, body?: object][] = [
    ["POST", `${rbac}/namespaces/a/roles`, 201, role],
    ["POST", `${rbac}/clusterroles`, 403, role],
    ["POST", `${rbac}/namespaces/default/roles`, 403, role],
    ["GET", "/api/v1/namespaces/a", 200],
    ["GET", "/api/v1/namespaces/default", 403],
    ["GET", "/api/v1/namespaces", 403],
    ["GET", "/api/v1/nodes", 403],
    ["GET", "/api/v1/namespaces/a/nodes", 404],
    ["GET", "/api/v1/configmaps", 403],
    ["GET", "/api/v1/namespaces/a/configmaps", 200],
    // The namespace of the body must be the path's.
    ["POST", "/api/v1/namespaces/a/configmaps", 400, { metadata: { name: "m", namespace: "default" } }],
    ["POST", "/api/v1/configmaps", 403, { metadata: { name: "m", namespace: "a" } }],
  ];
  for (const [method, path, code, body] of cases) {
    t.equal((await server.call(method, path, body)).code, code, `${method} ${path}`);
  }
});

t.test("A04: no object is called like a path, wherever its name comes from", async (t) => {
  const server = await open(t);
  const wrong: string[] = [];
  const { revision } = server.store;
  const resources = server.scheme.resources.filter(
    ({ prefix, verbs }) => prefix !== undefined && verbs.includes("create"),
  );
  t.ok(resources.length > 40);
  for (const resource of resources) {
    const base = `${rootOf(resource)}${resource.namespaced ? "/namespaces/default" : ""}/${resource.resource}`;
    for (const name of [".", "..", "a/b", "/", "../x", "a%2fb", "%", "..%2f", "x/../y"]) {
      for (const metadata of [{ name }, { generateName: `${name}/` }, { generateName: `${name}%` }]) {
        const { code } = await server.call("POST", base, { metadata });
        if (code !== 400 && code !== 422) wrong.push(`POST ${base} ${JSON.stringify(metadata)}: ${code}`);
      }
      const path = `${base}/${encodeURIComponent(name)}`;
      for (const type of ["application/apply-patch+yaml", "application/merge-patch+json"]) {
        const headers = { "content-type": type };
        const { code } = await server.call("PATCH", `${path}?fieldManager=m`, { metadata: { name } }, headers);
        if (code < 400 || code >= 500) wrong.push(`PATCH ${path}: ${code}`);
      }
      const { code } = await server.call("PUT", path, { metadata: { name } });
      if (code < 400 || code >= 500) wrong.push(`PUT ${path}: ${code}`);
    }
  }
  t.strictSame(wrong.slice(0, 20), [], String(wrong.length));
  t.equal(server.store.revision, revision, "nothing was made");
  t.strictSame(server.faults, []);
});

t.test("A04: names that are references are none, and names of any letters are only names", async (t) => {
  const server = await open(t);
  const maps = "/api/v1/namespaces/default/configmaps";
  const pods = "/api/v1/namespaces/default/pods";
  await server.call("POST", pods, { metadata: { name: "p" }, spec: { containers: [{ name: "c", image: "i" }] } });
  for (const name of ["", ".", "..", "../nodes", "a/b", "%2e%2e"]) {
    const owner = { apiVersion: "v1", kind: "Pod", name, uid: "1" };
    const owned = await server.call("POST", maps, { metadata: { name: "m", ownerReferences: [owner] } });
    // Only a name that is missing is refused there; what owns is never looked up by it.
    t.equal(owned.code, name === "" ? 422 : 201, `owner ${name}`);
    if (owned.code === 201) await server.call("DELETE", `${maps}/m`);
    const { code } = await server.call("POST", `${pods}/p/binding`, { metadata: { name: "p" }, target: { name } });
    t.ok(code === 400 || code === 422, `binding to ${name}: ${code}`);
  }
  // Names of roles may be anything but a path; long ones are cut by nothing.
  for (const name of ["a:b c", "ü".repeat(300), "x".repeat(5_000), "__proto__", "constructor", "\u202e", "a\tb"]) {
    const path = `${rbac}/clusterroles/${encodeURIComponent(name)}`;
    const shown = JSON.stringify(name.slice(0, 20));
    t.equal((await server.call("POST", `${rbac}/clusterroles`, { metadata: { name }, rules: [] })).code, 201, shown);
    t.equal((await server.call("GET", path)).json.metadata.name, name, shown);
    t.equal((await server.call("DELETE", path)).code, 200, shown);
    t.equal((await server.call("GET", path)).code, 404, shown);
  }
  t.strictSame(server.faults, []);
});
