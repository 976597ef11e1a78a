// No user gains rights (ATTACKS A09): roles and bindings grant what their writer holds.
import t, { type Test } from "tap";
import { inOrder, masters } from "../../src/authz/authorizer.ts";
import { Rbac } from "../../src/authz/rbac.ts";
import { type Answer, type InProcess, openInProcess } from "../support/inprocess.ts";

const apiGroup = "rbac.authorization.k8s.io";
const api = `/apis/${apiGroup}/v1`;
const inDefault = `${api}/namespaces/default`;
const ed = { name: "ed", uid: "", groups: ["devs"], extra: new Map() };

/** A server where ed may write roles and bindings everywhere, and get and list config maps in one namespace. */
async function open(t: Test): Promise<InProcess> {
  const server = await openInProcess();
  t.teardown(() => server.close());
  server.authorizer = inOrder([masters, new Rbac(server.scheme.identity, server.objects)]);
  await give(server, "editor", "", [rule("*", "roles rolebindings clusterroles clusterrolebindings", apiGroup)], {
    // Everything but the two verbs that say "more than I have".
    verbs: ["create", "update", "patch", "get", "delete"],
  });
  await give(server, "reader", "default", [rule("get list", "configmaps")]);
  return server;
}

function rule(verbs: string, resources: string, group = ""): Record<string, unknown> {
  return { verbs: verbs.split(" "), apiGroups: [group], resources: resources.split(" ") };
}

/** Makes a role and binds ed to it, as administrator. */
async function give(server: InProcess, name: string, namespace: string, rules: object[], more = {}): Promise<void> {
  const asked = server.user;
  server.user = { name: "admin", uid: "", groups: ["system:masters"], extra: new Map() };
  const [base, cluster] = namespace === "" ? [api, "cluster"] : [`${api}/namespaces/${namespace}`, ""];
  await server.call("POST", `${base}/${cluster}roles`, {
    metadata: { name },
    rules: rules.map((r) => ({ ...r, ...more })),
  });
  const roleRef = { apiGroup, kind: namespace === "" ? "ClusterRole" : "Role", name };
  const subjects = [{ kind: "User", apiGroup, name: "ed" }];
  await server.call("POST", `${base}/${cluster}rolebindings`, { metadata: { name }, roleRef, subjects });
  server.user = asked;
}

function role(name: string, ...rules: object[]): object {
  return { metadata: { name }, rules };
}

function binding(name: string, kind: string, to: string): object {
  return {
    metadata: { name },
    roleRef: { apiGroup, kind, name: to },
    subjects: [{ kind: "User", apiGroup, name: "eve" }],
  };
}

const merge = { "content-type": "application/merge-patch+json" };
const apply = { "content-type": "application/apply-patch+yaml" };

t.test("A09: no user grants what they do not hold, by any way of writing", async (t) => {
  const server = await open(t);
  const secret = rule("get", "secrets");
  await server.call("POST", `${inDefault}/roles`, role("secrets", secret));
  server.user = ed;
  const refused = (answer: Answer, what: string): void => {
    t.strictSame([answer.code, answer.json.reason], [403, "Forbidden"], `${what}: ${answer.text}`);
    t.match(answer.json.message, "is attempting to grant RBAC permissions not currently held", what);
  };
  const allowed = (answer: Answer, what: string): unknown => t.ok(answer.code < 300, `${what}: ${answer.text}`);
  allowed(await server.call("POST", `${inDefault}/roles`, role("sub", rule("get", "configmaps"))), "within own rights");
  refused(await server.call("POST", `${inDefault}/roles`, role("super", secret)), "create");
  refused(await server.call("POST", `${api}/clusterroles`, role("super", rule("get", "configmaps"))), "elsewhere");
  refused(await server.call("PUT", `${inDefault}/roles/sub`, role("sub", secret)), "update");
  refused(await server.call("PUT", `${inDefault}/roles/new`, role("new", secret)), "create by update");
  refused(await server.call("PATCH", `${inDefault}/roles/sub`, { rules: [secret] }, merge), "patch");
  const applied = { apiVersion: `${apiGroup}/v1`, kind: "Role", ...role("sub", secret) };
  refused(await server.call("PATCH", `${inDefault}/roles/sub?fieldManager=m&force=true`, applied, apply), "apply");
  refused(
    await server.call(
      "PATCH",
      `${inDefault}/roles/other?fieldManager=m`,
      { ...applied, metadata: { name: "other" } },
      apply,
    ),
    "apply-create",
  );
  refused(await server.call("POST", `${inDefault}/roles?dryRun=All`, role("super", secret)), "dry run");
  allowed(await server.call("PATCH", `${inDefault}/roles/sub`, { metadata: { labels: { a: "b" } } }, merge), "label");
  refused(
    await server.call("PATCH", `${inDefault}/roles/secrets`, { metadata: { labels: { a: "b" } } }, merge),
    "label of more",
  );
  allowed(
    await server.call("PATCH", `${inDefault}/roles/secrets`, { metadata: { finalizers: ["a.example/b"] } }, merge),
    "what the garbage collector changes",
  );
  allowed(await server.call("POST", `${inDefault}/rolebindings`, binding("b1", "Role", "sub")), "bind what is held");
  refused(await server.call("POST", `${inDefault}/rolebindings`, binding("b2", "Role", "secrets")), "bind more");
  refused(await server.call("PUT", `${inDefault}/rolebindings/b2`, binding("b2", "Role", "secrets")), "bind by update");
  allowed(
    await server.call("POST", `${api}/clusterrolebindings`, binding("b3", "ClusterRole", "editor")),
    "held everywhere",
  );
  const absent = await server.call("POST", `${inDefault}/rolebindings`, binding("b4", "Role", "absent"));
  t.strictSame([absent.code, absent.json.message], [404, `roles.${apiGroup} "absent" not found`]);
});

t.test("A09: the verbs escalate and bind allow more, for the role they name", async (t) => {
  const server = await open(t);
  const secret = rule("get", "secrets");
  await server.call("POST", `${inDefault}/roles`, role("secrets", secret));
  await server.call("POST", `${inDefault}/roles`, role("others", secret));
  const named = { resourceNames: ["secrets"] };
  await give(server, "more", "default", [{ ...rule("escalate bind", "roles", apiGroup), ...named }]);
  server.user = ed;
  const code = async (method: string, path: string, body: object): Promise<number> =>
    (await server.call(method, `${inDefault}/${path}`, body)).code;
  t.equal(await code("PUT", "roles/secrets", role("secrets", secret, rule("list", "secrets"))), 200);
  t.equal(await code("PUT", "roles/others", role("others", secret, rule("list", "secrets"))), 403);
  t.equal(await code("POST", "roles", role("new", secret)), 403, "a create has no name yet");
  t.equal(await code("POST", "rolebindings", binding("b1", "Role", "secrets")), 201);
  t.equal(await code("POST", "rolebindings", binding("b2", "Role", "others")), 403);
});

t.test("A09: aggregation can gather anything: only who may do everything may set it up", async (t) => {
  const server = await open(t);
  const gathers = { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] } };
  await server.call("POST", `${api}/clusterroles`, { metadata: { name: "all" }, ...gathers });
  server.user = ed;
  const created = await server.call("POST", `${api}/clusterroles`, { metadata: { name: "mine" }, ...gathers });
  t.strictSame(
    [created.code, created.json.message],
    [
      403,
      `clusterroles.${apiGroup} "mine" is forbidden: must have cluster-admin privileges to use the aggregationRule`,
    ],
  );
  t.equal((await server.call("PATCH", `${api}/clusterroles/all`, { aggregationRule: null }, merge)).code, 403);
  await give(server, "everything", "", [rule("*", "*", "*"), { verbs: ["*"], nonResourceURLs: ["*"] }]);
  t.equal((await server.call("POST", `${api}/clusterroles`, { metadata: { name: "mine" }, ...gathers })).code, 201);
});

t.test("a refusal lists what is missing, put together by resource", async (t) => {
  const server = await open(t);
  server.user = ed;
  const rules = [
    { ...rule("get list", "secrets pods"), resourceNames: ["x"] },
    rule("watch", "configmaps"),
    rule("get", "configmaps"),
    rule("list", "configmaps"),
    rule("*", "nodes", "*"),
  ];
  const { json } = await server.call("POST", `${inDefault}/roles`, role("r", ...rules));
  t.equal(
    json.message,
    `roles.${apiGroup} "r" is forbidden: user "ed" (groups=["devs"]) is attempting to grant RBAC permissions not currently held:
{APIGroups:[""], Resources:["configmaps"], Verbs:["watch"]}
{APIGroups:[""], Resources:["pods"], ResourceNames:["x"], Verbs:["get" "list"]}
{APIGroups:[""], Resources:["secrets"], ResourceNames:["x"], Verbs:["get" "list"]}
{APIGroups:["*"], Resources:["nodes"], Verbs:["*"]}`,
  );
});
