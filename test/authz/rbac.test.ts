// Decisions by roles and bindings, whatever they are called (ATTACKS A09).
import t, { type Test } from "tap";
import type { Attributes, Decision } from "../../src/authz/authorizer.ts";
import { Rbac } from "../../src/authz/rbac.ts";
import { RbacIndex } from "../../src/authz/rbacindex.ts";
import { type InProcess, openInProcess } from "../support/inprocess.ts";

const api = "/apis/rbac.authorization.k8s.io/v1";
const apiGroup = "rbac.authorization.k8s.io";

/** A user in groups: `name group…`. */
function userOf(text: string): Attributes["user"] {
  const [name = "", ...groups] = text.split(" ");
  return { name, uid: "", groups, extra: new Map() };
}

/** `verb resource namespace name`, a dash for none. */
function attributes(who: string, text: string): Attributes {
  const [verb = "", resource = "", namespace = "", name = ""] = text
    .split(" ")
    .map((word) => (word === "-" ? "" : word));
  const rest = { group: "", version: "v1", subresource: "", path: "" };
  return { user: userOf(who), verb, isResource: true, resource, namespace, name, ...rest };
}

async function open(t: Test): Promise<{ server: InProcess; ask: (who: string, text: string) => Decision }> {
  const server = await openInProcess();
  t.teardown(() => server.close());
  const rbac = new Rbac(server.scheme.identity, server.objects);
  return { server, ask: (who, text) => rbac.authorize(attributes(who, text)) };
}

async function write(t: Test, server: InProcess, resource: string, name: string, rest: object): Promise<void> {
  const answer = await server.call("PUT", `${api}/${resource}/${encodeURIComponent(name)}`, {
    metadata: { name },
    ...rest,
  });
  t.ok(answer.code < 300, answer.text);
}

function rule(verbs: string, resources: string): object {
  return { verbs: verbs.split(" "), apiGroups: [""], resources: resources.split(" ") };
}

function to(kind: string, name: string, ...subjects: object[]): object {
  return { roleRef: { apiGroup, kind, name }, subjects };
}

t.test("authorize() follows bindings of both kinds, to users, groups and accounts", async (t) => {
  const { server, ask } = await open(t);
  await write(t, server, "clusterroles", "reader", { rules: [rule("get list", "pods")] });
  await write(t, server, "namespaces/default/roles", "writer", { rules: [rule("create", "pods")] });
  const user = { kind: "User", name: "ann", apiGroup };
  const group = { kind: "Group", name: "devs", apiGroup };
  const account = { kind: "ServiceAccount", name: "bot", namespace: "kube-system" };
  await write(t, server, "clusterrolebindings", "all", to("ClusterRole", "reader", user));
  await write(t, server, "namespaces/default/rolebindings", "some", to("ClusterRole", "reader", group, account));
  await write(t, server, "namespaces/default/rolebindings", "more", to("Role", "writer", account));
  const cases: readonly (readonly [string, string, boolean])[] = [
    ["ann", "get pods default x", true],
    ["ann", "list pods -", true],
    ["ann", "create pods default", false],
    ["bob devs", "get pods default x", true],
    ["bob devs", "get pods kube-system x", false],
    ["bob devs", "list pods -", false],
    ["devs", "get pods default x", false],
    ["bob ann", "get pods default x", false],
    ["system:serviceaccount:kube-system:bot", "create pods default", true],
    ["system:serviceaccount:default:bot", "create pods default", false],
    ["system:serviceaccount:kube-system:bot:x", "create pods default", false],
    ["bot", "create pods default", false],
  ];
  for (const [who, what, allowed] of cases)
    t.equal(ask(who, what).verdict, allowed ? "allow" : "none", `${who}: ${what}`);
  t.equal(
    ask("ann", "get pods default x").reason,
    'RBAC: allowed by ClusterRoleBinding "all" of ClusterRole "reader" to User "ann"',
  );
  t.equal(
    ask("system:serviceaccount:kube-system:bot", "create pods default").reason,
    'RBAC: allowed by RoleBinding "more/default" of Role "writer" to ServiceAccount "bot/kube-system"',
  );
});

t.test("E15: authorize() sees every change that was acknowledged", async (t) => {
  const { server, ask } = await open(t);
  const ann = { kind: "User", name: "ann", apiGroup };
  const bob = { kind: "User", name: "bob", apiGroup };
  const is = (who: string, verdict: string, reason = ""): void => {
    const decision = ask(who, "get pods default x");
    t.equal(decision.verdict, verdict, `${who} ${verdict}`);
    if (verdict === "none") t.equal(decision.reason, reason);
  };
  is("ann", "none");
  await write(t, server, "clusterrolebindings", "b", to("ClusterRole", "late", ann, ann));
  is("ann", "none", `RBAC: clusterrole.${apiGroup} "late" not found`);
  await write(t, server, "clusterroles", "late", { rules: [] });
  is("ann", "none");
  await write(t, server, "clusterroles", "late", { rules: [rule("get", "pods")] });
  is("ann", "allow");
  is("bob", "none");
  await write(t, server, "clusterrolebindings", "b", to("ClusterRole", "late", bob));
  is("ann", "none");
  is("bob", "allow");
  await server.call("DELETE", `${api}/clusterroles/late`);
  is("bob", "none", `RBAC: clusterrole.${apiGroup} "late" not found`);
  await write(t, server, "clusterroles", "late", { rules: [rule("*", "*")] });
  is("bob", "allow");
  await server.call("DELETE", `${api}/clusterrolebindings/b`);
  is("bob", "none");
});

t.test("A09: roles and subjects named like parts of objects are like any other", async (t) => {
  const { server, ask } = await open(t);
  for (const name of ["__proto__", "constructor", "hasOwnProperty", "toString"]) {
    t.equal(ask(name, `get ${name} default x`).verdict, "none");
    t.equal(ask(`u ${name}`, `get ${name} default x`).verdict, "none");
    await write(t, server, "namespaces/default/roles", name, { rules: [rule("get", name)] });
    const subjects = [
      { kind: "User", name, apiGroup },
      { kind: "Group", name, apiGroup },
    ];
    await write(t, server, "namespaces/default/rolebindings", name, to("Role", name, ...subjects));
    t.equal(ask(name, `get ${name} default x`).verdict, "allow");
    t.equal(ask(`u ${name}`, `get ${name} default x`).verdict, "allow");
    t.equal(ask(name, "get pods default x").verdict, "none");
    t.equal(ask(name, `get ${name} kube-system x`).verdict, "none");
  }
});

t.test("rulesFor() collects each binding's rules once", async (t) => {
  const { server } = await open(t);
  const rbac = new Rbac(server.scheme.identity, server.objects);
  await write(t, server, "clusterroles", "reader", { rules: [rule("get", "pods"), rule("list", "nodes")] });
  const ann = { kind: "User", name: "ann", apiGroup };
  const devs = { kind: "Group", name: "devs", apiGroup };
  await write(t, server, "clusterrolebindings", "a", to("ClusterRole", "reader", ann, devs));
  await write(t, server, "namespaces/default/rolebindings", "b", to("Role", "none", devs));
  const held = rbac.rulesFor(userOf("ann devs"), "default");
  t.equal(held.rules.length, 2);
  t.strictSame(held.errors, [`role.${apiGroup} "none" not found`]);
  t.strictSame(rbac.rulesFor(userOf("ann devs"), "").errors, []);
  t.strictSame(rbac.rulesFor(userOf("eve"), "default").rules, []);
});

t.test("namespaces without bindings leave nothing in the index", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  const index = new RbacIndex(server.objects);
  const bob = { kind: "User", name: "bob", apiGroup };
  for (const namespace of ["default", "kube-system"]) {
    await write(
      t,
      server,
      `namespaces/${namespace}/rolebindings`,
      "b",
      to("Role", "r", bob, { ...bob, kind: "Group" }),
    );
  }
  index.refresh();
  t.equal(index.scopeCount, 2);
  await write(t, server, "namespaces/default/rolebindings", "b", to("Role", "r"));
  await server.call("DELETE", `${api}/namespaces/default/rolebindings/b`);
  await server.call("DELETE", `${api}/namespaces/kube-system/rolebindings/b`);
  index.refresh();
  t.equal(index.scopeCount, 0);
});
