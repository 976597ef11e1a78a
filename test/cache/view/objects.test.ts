// Tables of decoded objects: they show what was acknowledged, decode once per change and tell what changed.
import t from "tap";
import { identities } from "../../../src/api/identity.ts";
import type { ApiObject } from "../../../src/api/object.ts";
import { createScheme } from "../../../src/api/scheme.ts";
import { Objects, type ObjectTable } from "../../../src/cache/view/objects.ts";
import { openInProcess } from "../../support/inprocess.ts";

function namesOf(table: ObjectTable<ApiObject>): string[] {
  return table.list("default").map(({ metadata }) => metadata.name ?? "");
}

const roles = "/apis/rbac.authorization.k8s.io/v1";

function role(name: string, verb: string): object {
  return { metadata: { name }, rules: [{ apiGroups: [""], resources: ["pods"], verbs: [verb] }] };
}

t.test("ObjectTable follows creates, updates and deletes and decodes once per change", async (t) => {
  const server = await openInProcess("kubernetes");
  t.teardown(() => server.close());
  const objects = new Objects(server.scheme, server.writers.views);
  const table = objects.table<{ metadata: { name?: string }; rules?: { verbs: string[] }[] } & object>(
    "rbac.authorization.k8s.io",
    "v1",
    "roles",
  );
  const told: string[] = [];
  table.onChange((namespace, name) => told.push(`${namespace}/${name}`));
  const first = table.refresh();
  t.equal(table.get("default", "a"), undefined);
  await server.call("POST", `${roles}/namespaces/default/roles`, role("a", "get"));
  await server.call("POST", `${roles}/namespaces/default/roles`, role("constructor", "list"));
  t.ok(table.refresh() > first, "its version grows with a change");
  const version = table.refresh();
  t.equal(table.refresh(), version, "and with nothing else");
  const a = table.get("default", "a");
  t.same(a?.rules?.[0]?.verbs, ["get"]);
  t.equal(table.get("default", "a"), a, "decoded once");
  t.same(namesOf(table).toSorted(), ["a", "constructor"]);
  t.equal(table.all().length, 2);
  await server.call("PUT", `${roles}/namespaces/default/roles/a`, role("a", "watch"));
  t.same(table.get("default", "a")?.rules?.[0]?.verbs, ["watch"]);
  await server.call("DELETE", `${roles}/namespaces/default/roles/a`);
  t.equal(table.get("default", "a"), undefined);
  t.same(namesOf(table), ["constructor"]);
  t.same(told, ["default/a", "default/constructor", "default/a", "default/a"]);
});

t.test("ObjectTable shows in every call what was acknowledged before it", async (t) => {
  const server = await openInProcess("kubernetes");
  t.teardown(() => server.close());
  const table = new Objects(server.scheme, server.writers.views).table<{ metadata: { name?: string } } & object>(
    "rbac.authorization.k8s.io",
    "v1",
    "roles",
  );
  const names = (objects: readonly { metadata: { name?: string } }[]): (string | undefined)[] =>
    objects.map(({ metadata }) => metadata.name).toSorted();
  const calls: readonly (() => (string | undefined)[])[] = [
    () => names(table.all()),
    () => names(table.list("default")),
    () => namesOf(table).toSorted(),
    () => names([table.get("default", "a"), table.get("default", "b")].filter((found) => found !== undefined)),
  ];
  for (const [index, call] of calls.entries()) {
    t.same(call(), [], `call ${index}: nothing yet`);
    for (const name of ["a", "b"]) {
      await server.call("POST", `${roles}/namespaces/default/roles`, role(name, "get"));
      t.same(call(), name === "a" ? ["a"] : ["a", "b"], `call ${index}: after a create`);
    }
    for (const name of ["b", "a"]) {
      await server.call("DELETE", `${roles}/namespaces/default/roles/${name}`);
      t.same(call(), name === "b" ? ["a"] : [], `call ${index}: after a delete`);
    }
  }
});

t.test("Objects shows nothing of a kind that is not served", async (t) => {
  const server = await openInProcess("orch");
  t.teardown(() => server.close());
  const runtimeConfig = new Map([["rbac.authorization.orch.io/v1", false]]);
  const scheme = createScheme({ identity: identities.orch, runtimeConfig });
  const objects = new Objects(scheme, server.writers.views);
  const table = objects.table("rbac.authorization.k8s.io", "v1", "roles");
  t.equal(table.refresh(), 0);
  t.same(table.all(), []);
  t.equal(objects.read("rbac.authorization.k8s.io", "v1", "roles", "default", "a"), undefined);
  t.equal(objects.view("rbac.authorization.k8s.io", "v1", "roles"), undefined);
  t.equal(
    objects.read<{ metadata: { name?: string } }>("", "v1", "namespaces", "", "default")?.metadata.name,
    "default",
  );
});
