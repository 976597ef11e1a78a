// What the agent of a node may not do: to other nodes, to its own labels, taints and owners, to pods elsewhere, to tokens
// of pods elsewhere (ATTACKS D08, D09; CVE-2025-4563, CVE-2025-5187).
import fc from "fast-check";
import t from "tap";
import { nodeOf } from "../../src/admission/noderestriction.ts";
import type { User } from "../../src/api/user.ts";
import { type Answer, type InProcess, openInProcess } from "../support/inprocess.ts";

const agent: User = { name: "system:node:n1", uid: "", groups: ["system:nodes"], extra: new Map() };
const pods = "/api/v1/namespaces/default/pods";
const merge = { "content-type": "application/merge-patch+json" };
const strategic = { "content-type": "application/strategic-merge-patch+json" };
const json = { "content-type": "application/json-patch+json" };
const mirror = { "kubernetes.io/config.mirror": "x" };
const containers = [{ name: "c", image: "i" }];

async function open(identity: "kubernetes" | "orch" = "kubernetes"): Promise<{ server: InProcess; uid: string }> {
  const server = await openInProcess(identity, {
    admission: { enabled: ["NodeRestriction"], disabled: ["ServiceAccount"] },
  });
  const { json } = await server.call("POST", "/api/v1/nodes", { metadata: { name: "n1" } });
  await server.call("POST", "/api/v1/nodes", { metadata: { name: "n2" } });
  for (const name of ["n1", "n2"]) {
    await server.call("POST", pods, { metadata: { name: `on-${name}` }, spec: { nodeName: name, containers } });
  }
  return { server, uid: json.metadata.uid };
}

function as(server: InProcess, user: User, send: () => Promise<Answer>): Promise<Answer> {
  const before = server.user;
  server.user = user;
  return send().finally(() => {
    server.user = before;
  });
}

t.test("nodeOf() tells agents from others", async (t) => {
  t.equal(nodeOf(agent), "n1");
  t.equal(nodeOf({ ...agent, groups: [] }), undefined);
  t.equal(nodeOf({ ...agent, name: "kubelet" }), "");
});

t.test("D09: NodeRestriction keeps an agent to its own node and what it may say of it", async (t) => {
  const { server } = await open();
  const nodes = "/api/v1/nodes";
  const owner = { apiVersion: "v1", kind: "ConfigMap", name: "x", uid: "u" };
  for (const [method, path, body, why] of [
    ["PATCH", `${nodes}/n2`, { metadata: { labels: { a: "b" } } }, 'node "n1" is not allowed to modify node "n2"'],
    ["PATCH", `${nodes}/n2/status`, { status: {} }, 'node "n1" is not allowed to modify node "n2"'],
    ["DELETE", `${nodes}/n2`, undefined, 'node "n1" is not allowed to modify node "n2"'],
    ["PATCH", `${nodes}/n1`, { spec: { taints: [] } }, 'node "n1" is not allowed to modify taints'],
    [
      "PATCH",
      `${nodes}/n1`,
      { metadata: { ownerReferences: [owner] } },
      'node "n1" is not allowed to modify ownerReferences',
    ],
    [
      "PATCH",
      `${nodes}/n1/status`,
      { metadata: { labels: { "node-restriction.kubernetes.io/x": "y" } } },
      "is not allowed to modify labels: node-restriction.kubernetes.io/x",
    ],
    [
      "PATCH",
      `${nodes}/n1`,
      { metadata: { labels: { "node-role.kubernetes.io/x": "", "a.k8s.io/b": "", own: "fine" } } },
      "is not allowed to modify labels: a.k8s.io/b, node-role.kubernetes.io/x",
    ],
    ["PATCH", `${nodes}/n1`, { metadata: { labels: { own: "fine", "kubernetes.io/os": "linux" } } }, undefined],
    ["PATCH", `${nodes}/n1`, { metadata: { labels: { "node.kubernetes.io/mine": "x" } } }, undefined],
    ["PATCH", `${nodes}/n1/status`, { status: { phase: "Running" } }, undefined],
    [
      "POST",
      nodes,
      { metadata: { name: "n1", labels: { "node-role.kubernetes.io/x": "" } } },
      'node "n1" is not allowed to set the following labels: node-role.kubernetes.io/x',
    ],
  ] as const) {
    const answer = await as(server, agent, () => server.call(method, path, body, method === "PATCH" ? merge : {}));
    if (why === undefined) t.equal(answer.code, 200, `${path} ${answer.text}`);
    else {
      t.equal(answer.code, 403, `${method} ${path}`);
      t.ok(answer.json.message.endsWith(`is forbidden: ${why}`), answer.json.message);
    }
  }
  const nameless = await as(server, { ...agent, name: "kubelet" }, () => server.call("DELETE", `${nodes}/n1`));
  t.match(nameless.json.message, /could not determine node from user "kubelet"$/);
  const admin = await server.call("PATCH", `${nodes}/n1`, { spec: { taints: [] } }, merge);
  t.equal(admin.code, 200, "others are not restricted");
  server.close();
});

t.test("D09: an agent changes owners and taints of its node in no way", async (t) => {
  const { server } = await open();
  const path = "/api/v1/nodes/n1";
  const { json: node } = await server.call("GET", path);
  const owner = { apiVersion: "v1", kind: "ConfigMap", name: "x", uid: "u" };
  const taint = { key: "k", effect: "NoSchedule" };
  for (const [what, metadata, spec, pointer, value] of [
    ["ownerReferences", { ownerReferences: [owner] }, {}, "/metadata/ownerReferences", [owner]],
    ["taints", {}, { taints: [taint] }, "/spec/taints", [taint]],
  ] as const) {
    const { name } = node.metadata;
    const whole = { ...node, metadata: { name, ...metadata }, spec: { ...node.spec, ...spec } };
    const applied = { apiVersion: "v1", kind: "Node", metadata: { name, ...metadata }, spec };
    for (const [method, query, type, body] of [
      ["PUT", "", "json", whole],
      ["PATCH", "", "merge-patch+json", { metadata, spec }],
      ["PATCH", "", "strategic-merge-patch+json", { metadata, spec }],
      ["PATCH", "", "json-patch+json", [{ op: "add", path: pointer, value }]],
      ["PATCH", "?fieldManager=m&force=true", "apply-patch+yaml", applied],
    ] as const) {
      const headers = { "content-type": `application/${type}` };
      const { code, text } = await as(server, agent, () => server.call(method, path + query, body, headers));
      t.equal(code, 403, `${what} by ${type}`);
      t.ok(text.includes(`is not allowed to modify ${what}`), text);
      const status = await as(server, agent, () => server.call(method, `${path}/status${query}`, body, headers));
      const { json: after } = await server.call("GET", path);
      const kept = { ownerReferences: undefined, taints: node.spec.taints };
      t.strictSame(
        { ownerReferences: after.metadata.ownerReferences, taints: after.spec.taints },
        kept,
        `${what} by status, ${type}: ${status.code}`,
      );
    }
  }
  server.close();
});

t.test("D09: NodeRestriction protects both spellings of a branded domain", async (t) => {
  const { server } = await open("orch");
  for (const label of ["node-restriction.orch.io/x", "node-restriction.kubernetes.io/x", "node-role.orch.io/x"]) {
    const patch = { metadata: { labels: { [label]: "y" } } };
    const { code } = await as(server, agent, () => server.call("PATCH", "/api/v1/nodes/n1", patch, merge));
    t.equal(code, 403, label);
  }
  server.close();
});

t.test("NodeRestriction lets an agent make mirror pods of its own, and end pods on its node", async (t) => {
  const { server, uid } = await open();
  const owner = { apiVersion: "v1", kind: "Node", name: "n1", uid, controller: true };
  const metadata = { name: "m", annotations: mirror, ownerReferences: [owner] };
  const spec = { nodeName: "n1", containers };
  const volume = (source: object): object => ({ ...spec, volumes: [{ name: "v", ...source }] });
  const not = 'node "n1" can not create pods that reference';
  const only = 'node "n1" can only create pods';
  for (const [meta, pod, why] of [
    [
      { annotations: {} },
      spec,
      'pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create mirror pods',
    ],
    [{}, { ...spec, nodeName: "n2" }, `${only} with spec.nodeName set to itself`],
    [{ ownerReferences: [] }, spec, `${only} with an owner reference set to itself`],
    [{ ownerReferences: [{ ...owner, name: "n2" }] }, spec, `${only} with an owner reference set to itself`],
    [
      { ownerReferences: [{ ...owner, controller: false }] },
      spec,
      `${only} with a controller owner reference set to itself`,
    ],
    [
      { ownerReferences: [{ ...owner, blockOwnerDeletion: true }] },
      spec,
      'node "n1" must not set blockOwnerDeletion on an owner reference',
    ],
    [{ ownerReferences: [{ ...owner, uid: "x" }] }, spec, `node n1 UID mismatch: expected x got ${uid}`],
    [{}, { ...spec, serviceAccountName: "a" }, `${not} a service account`],
    [{}, volume({ secret: { secretName: "s" } }), `${not} secrets`],
    [{}, volume({ configMap: { name: "s" } }), `${not} configmaps`],
    [{}, volume({ persistentVolumeClaim: { claimName: "s" } }), `${not} persistentvolumeclaims`],
  ] as const) {
    const body = { metadata: { ...metadata, ...meta }, spec: pod };
    const { code, json } = await as(server, agent, () => server.call("POST", pods, body));
    t.equal(code, 403, why);
    t.equal(json.message, `pods "m" is forbidden: ${why}`);
  }
  t.equal((await as(server, agent, () => server.call("POST", pods, { metadata, spec }))).code, 201);
  const evict = (name: string): object => ({ apiVersion: "policy/v1", kind: "Eviction", metadata: { name } });
  for (const [method, path, body, code, why] of [
    ["PATCH", `${pods}/on-n2/status`, { status: { phase: "Failed" } }, 403, "can only update pod status for pods"],
    [
      "PATCH",
      `${pods}/on-n1/status`,
      { metadata: { labels: { a: "b" } } },
      403,
      "cannot update labels through pod status",
    ],
    ["PATCH", `${pods}/on-n1/status`, { status: { phase: "Running" } }, 200, ""],
    ["PATCH", `${pods}/on-n1`, { metadata: { labels: { a: "b" } } }, 403, 'unexpected operation "UPDATE"'],
    ["PATCH", `${pods}/on-n1/ephemeralcontainers`, { spec: {} }, 403, "unexpected pod subresource"],
    [
      "POST",
      `${pods}/on-n2/eviction`,
      evict("on-n2"),
      403,
      "node n1 can only evict pods with spec.nodeName set to itself",
    ],
    ["DELETE", `${pods}/on-n2`, undefined, 403, "can only delete pods with spec.nodeName set to itself"],
    ["DELETE", pods, undefined, 403, "can only delete pods with spec.nodeName set to itself"],
    ["DELETE", `${pods}/on-n1`, undefined, 200, ""],
  ] as const) {
    const answer = await as(server, agent, () => server.call(method, path, body, method === "PATCH" ? merge : {}));
    t.equal(answer.code, code, `${method} ${path} ${answer.text}`);
    t.ok(answer.text.includes(JSON.stringify(why).slice(1, -1)), `${method} ${path}`);
  }
  server.close();
});

t.test("D09: NodeRestriction binds tokens, leases and claims to what is on the node", async (t) => {
  const { server } = await open();
  const tokens = "/api/v1/namespaces/default/serviceaccounts/default/token";
  await server.call("POST", "/api/v1/namespaces/default/serviceaccounts", { metadata: { name: "default" } });
  const { json: here } = await server.call("GET", `${pods}/on-n1`);
  const { json: there } = await server.call("GET", `${pods}/on-n2`);
  const bound = (name: string, uid: string): object => ({ apiVersion: "v1", kind: "Pod", name, uid });
  for (const [boundObjectRef, why] of [
    [undefined, "node requested token not bound to a pod"],
    [{ apiVersion: "v1", kind: "Secret", name: "s", uid: "u" }, "node requested token not bound to a pod"],
    [bound("on-n1", ""), "node requested token with a pod binding without a uid"],
    [bound("on-n1", "x"), "the UID in the bound object reference (x) does not match the UID in record"],
    [bound("on-n2", there.metadata.uid), "node requested token bound to a pod scheduled on a different node"],
    [bound("on-n1", here.metadata.uid), undefined],
  ] as const) {
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { boundObjectRef } };
    const { code, text } = await as(server, agent, () => server.call("POST", tokens, body));
    if (why === undefined) t.not(code, 403, text);
    else {
      t.equal(code, 403, why);
      t.ok(text.includes(why), text);
    }
  }
  const leases = "/apis/coordination.k8s.io/v1/namespaces";
  for (const [path, name, code] of [
    [`${leases}/default/leases`, "n1", 403],
    [`${leases}/kube-node-lease/leases`, "n2", 403],
    [`${leases}/kube-node-lease/leases`, "n1", 201],
    ["/apis/storage.k8s.io/v1/csinodes", "n2", 403],
    ["/apis/storage.k8s.io/v1/csinodes", "n1", 201],
  ] as const) {
    const body = { metadata: { name }, spec: path.endsWith("csinodes") ? { drivers: [] } : {} };
    t.equal((await as(server, agent, () => server.call("POST", path, body))).code, code, `${path}/${name}`);
  }
  const claims = "/api/v1/namespaces/default/persistentvolumeclaims";
  const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
  await server.call("POST", claims, { metadata: { name: "c" }, spec });
  for (const [path, patch, code] of [
    [`${claims}/c`, { metadata: { labels: { a: "b" } } }, 403],
    [`${claims}/c/status`, { metadata: { labels: { a: "b" } } }, 403],
    [`${claims}/c/status`, { status: { phase: "Bound" } }, 403],
    [`${claims}/c/status`, { status: { capacity: { storage: "1Gi" } } }, 200],
  ] as const) {
    const answer = await as(server, agent, () => server.call("PATCH", path, patch, merge));
    t.equal(answer.code, code, `${path} ${JSON.stringify(patch)} ${answer.text}`);
  }
  server.close();
});

// CVE-2025-4563 was a check that one verb made and another one did not.
t.test("D08: what an agent may say of its node does not depend on how it says it", async (t) => {
  const { server } = await open();
  const domains = ["", "example.com", "kubernetes.io", "x.k8s.io", "node.kubernetes.io", "kubelet.kubernetes.io"];
  const key = fc
    .tuple(
      fc.constantFrom(...domains, "node-restriction.kubernetes.io", "a.node.kubernetes.io"),
      fc.constantFrom("os", "x"),
    )
    .map(([domain, name]) => (domain === "" ? name : `${domain}/${name}`));
  const own = (label: string): boolean =>
    !/k8s\.io|kubernetes\.io/.test(label) ||
    /^((.*\.)?(node|kubelet)\.kubernetes\.io\/|kubernetes\.io\/os$)/.test(label);
  const taints = { taints: [{ key: "node.kubernetes.io/not-ready", effect: "NoSchedule" }] };
  const apply = { "content-type": "application/apply-patch+yaml" };
  const whole = (labels: object): object => ({
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "n1", labels },
    spec: taints,
  });
  const ways: readonly ((labels: object) => Promise<Answer>)[] = [
    (labels) => server.call("PATCH", "/api/v1/nodes/n1", { metadata: { labels } }, merge),
    (labels) => server.call("PATCH", "/api/v1/nodes/n1/status", { metadata: { labels } }, merge),
    (labels) => server.call("PATCH", "/api/v1/nodes/n1", { metadata: { labels } }, strategic),
    (labels) => server.call("PATCH", "/api/v1/nodes/n1/status", { metadata: { labels } }, strategic),
    (labels) =>
      server.call("PATCH", "/api/v1/nodes/n1", [{ op: "add", path: "/metadata/labels", value: labels }], json),
    (labels) => server.call("PUT", "/api/v1/nodes/n1", whole(labels)),
    (labels) => server.call("PUT", "/api/v1/nodes/n1/status", whole(labels)),
    (labels) => server.call("PATCH", "/api/v1/nodes/n1?fieldManager=x&force=true", whole(labels), apply),
    (labels) => server.call("POST", "/api/v1/nodes?dryRun=All", whole(labels)),
  ];
  const property = fc.asyncProperty(key, fc.nat(ways.length - 1), fc.nat(999), async (label, way, value) => {
    const { code, text } = await as(server, agent, () =>
      (ways[way] as (typeof ways)[number])({ [label]: `v${value}` }),
    );
    if ((code === 403) === own(label)) throw new Error(`${label} by way ${way}: ${code} ${text}`);
  });
  await t.resolves(fc.assert(property, { numRuns: 300, seed: 8 }));
  server.close();
});
