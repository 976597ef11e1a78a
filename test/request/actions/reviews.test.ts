import t, { type Test } from "tap";
import { inOrder, masters } from "../../../src/authz/authorizer.ts";
import { Rbac } from "../../../src/authz/rbac.ts";
import { type Answer, type InProcess, openInProcess } from "../../support/inprocess.ts";

const rbacGroup = "rbac.authorization.k8s.io";
const api = "/apis/authorization.k8s.io/v1";
const ann = { name: "ann", uid: "", groups: ["devs"], extra: new Map() };
const pods = { verb: "get", resource: "pods", namespace: "default" };

/** A server where devs may get pods in one namespace, and every user may see one path. */
async function open(t: Test): Promise<InProcess> {
  const server = await openInProcess();
  t.teardown(() => server.close());
  server.authorizer = inOrder([masters, new Rbac(server.scheme.identity, server.objects)]);
  const devs = [{ kind: "Group", apiGroup: rbacGroup, name: "devs" }];
  const bind = async (base: string, name: string, rules: object[]): Promise<void> => {
    const rbac = `/apis/${rbacGroup}/v1`;
    await server.call("POST", `${rbac}/clusterroles`, { metadata: { name }, rules });
    const roleRef = { apiGroup: rbacGroup, kind: "ClusterRole", name };
    await server.call("POST", `${rbac}${base}`, { metadata: { name }, roleRef, subjects: devs });
  };
  await bind("/namespaces/default/rolebindings", "reader", [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }]);
  await bind("/clusterrolebindings", "visitor", [{ verbs: ["get"], nonResourceURLs: ["/see"] }]);
  return server;
}

function ask(server: InProcess, resource: string, spec: object, metadata: object = {}): Promise<Answer> {
  return server.call("POST", `${api}/${resource}`, { metadata, spec });
}

t.test("reviews answer what authorization would", async (t) => {
  const server = await open(t);
  const byRole = 'RBAC: allowed by RoleBinding "reader/default" of ClusterRole "reader" to Group "devs"';
  const whole = await ask(server, "subjectaccessreviews", { user: "eve", groups: ["devs"], resourceAttributes: pods });
  t.equal(whole.code, 201);
  t.strictSame(
    { ...whole.json, metadata: { ...whole.json.metadata, managedFields: undefined } },
    {
      kind: "SubjectAccessReview",
      apiVersion: "authorization.k8s.io/v1",
      metadata: { creationTimestamp: null, managedFields: undefined },
      spec: {
        resourceAttributes: { namespace: "default", verb: "get", resource: "pods" },
        user: "eve",
        groups: ["devs"],
      },
      status: { allowed: true, reason: byRole },
    },
  );
  const cases: readonly (readonly [string, object, boolean])[] = [
    ["subjectaccessreviews", { user: "eve", resourceAttributes: pods }, false],
    ["subjectaccessreviews", { groups: ["devs"], resourceAttributes: pods }, true],
    ["subjectaccessreviews", { groups: ["devs"], resourceAttributes: { ...pods, subresource: "log" } }, false],
    ["subjectaccessreviews", { groups: ["devs"], resourceAttributes: { ...pods, namespace: "" } }, false],
    ["subjectaccessreviews", { groups: ["devs"], nonResourceAttributes: { verb: "get", path: "/see" } }, true],
    ["subjectaccessreviews", { groups: ["devs"], nonResourceAttributes: { verb: "get", path: "/" } }, false],
    ["subjectaccessreviews", { groups: ["system:masters"], nonResourceAttributes: { verb: "x", path: "/" } }, true],
    ["subjectaccessreviews", { user: "__proto__", resourceAttributes: pods }, false],
    ["selfsubjectaccessreviews", { resourceAttributes: pods }, true],
    ["selfsubjectaccessreviews", { resourceAttributes: { ...pods, verb: "list" } }, false],
    [
      "selfsubjectaccessreviews",
      { user: "admin", groups: ["system:masters"], resourceAttributes: { verb: "*" } },
      false,
    ],
  ];
  server.authorizer = inOrder([masters, new Rbac(server.scheme.identity, server.objects)]);
  // Who may send reviews is another question.
  const { authorizer } = server;
  server.authorizer = {
    authorize: (asked) =>
      asked.group === "authorization.k8s.io" ? { verdict: "allow", reason: "" } : authorizer.authorize(asked),
  };
  server.user = ann;
  for (const [resource, spec, allowed] of cases) {
    const { code, json } = await ask(server, resource, spec);
    t.strictSame([code, json.status.allowed], [201, allowed], JSON.stringify(spec));
  }
});

t.test("a local review is about its own namespace, which need not exist", async (t) => {
  const server = await open(t);
  const local = "namespaces/default/localsubjectaccessreviews";
  const spec = { groups: ["devs"], resourceAttributes: pods };
  const here = await ask(server, local, spec, { namespace: "default" });
  t.strictSame([here.code, here.json.status.allowed], [201, true]);
  const other = { groups: ["devs"], resourceAttributes: { ...pods, namespace: "none" } };
  t.equal((await ask(server, "namespaces/none/localsubjectaccessreviews", other, { namespace: "none" })).code, 201);
  t.equal((await ask(server, local, other, { namespace: "none" })).code, 400);
  t.equal((await ask(server, local, spec)).code, 422);
  t.equal(
    (await ask(server, local, { groups: ["devs"], nonResourceAttributes: {} }, { namespace: "default" })).code,
    422,
  );
});

t.test("a review that asks nothing, or too much, is refused with upstream's words", async (t) => {
  const server = await open(t);
  const page = { verb: "get", path: "/" };
  const cases: readonly (readonly [string, object, object, RegExp])[] = [
    [
      "subjectaccessreviews",
      { user: "u" },
      {},
      /^\.authorization\.k8s\.io "" is invalid: spec\.resourceAttributes: Invalid value: "null": exactly one of/,
    ],
    [
      "subjectaccessreviews",
      { resourceAttributes: pods },
      {},
      /spec\.user: Invalid value: "": at least one of user or group must be specified$/,
    ],
    [
      "subjectaccessreviews",
      { user: "u", resourceAttributes: pods, nonResourceAttributes: page },
      {},
      /cannot be specified in combination/,
    ],
    [
      "subjectaccessreviews",
      { user: "u", resourceAttributes: pods },
      { name: "x" },
      /metadata: Invalid value: .*: must be empty$/,
    ],
    ["selfsubjectaccessreviews", {}, {}, /exactly one of/],
    ["selfsubjectaccessreviews", { resourceAttributes: pods }, { labels: { a: "b" } }, /must be empty$/],
  ];
  for (const [resource, spec, metadata, message] of cases) {
    const { code, json } = await ask(server, resource, spec, metadata);
    t.equal(code, 422);
    t.match(json.message, message);
  }
  const unnamed = await ask(server, "selfsubjectrulesreviews", {});
  t.strictSame([unnamed.code, unnamed.json.message], [400, "no namespace on request"]);
  for (const method of ["GET", "PUT", "DELETE", "PATCH"]) {
    t.equal((await server.call(method, `${api}/subjectaccessreviews`)).code, 405, method);
  }
});

t.test("a rules review lists what holds in a namespace", async (t) => {
  const server = await open(t);
  server.user = { ...ann, groups: ["devs", "system:masters"] };
  const { code, json } = await ask(server, "selfsubjectrulesreviews", { namespace: "default" });
  t.equal(code, 201);
  t.strictSame(json, {
    kind: "SelfSubjectRulesReview",
    apiVersion: "authorization.k8s.io/v1",
    metadata: { creationTimestamp: null },
    spec: {},
    status: {
      resourceRules: [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }],
      nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/see"] }],
      incomplete: false,
    },
  });
  const elsewhere = await ask(server, "selfsubjectrulesreviews", { namespace: "kube-system" });
  t.strictSame(elsewhere.json.status.resourceRules, []);
});
