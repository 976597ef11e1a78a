// Plugins that are off by default: each alone, switched on by its name, with the settings its file would hold.
import t from "tap";
import { readNodeSelectors } from "../../src/admission/nodeselector.ts";
import type { Attributes } from "../../src/authz/authorizer.ts";
import { type Answer, type InProcess, openInProcess } from "../support/inprocess.ts";

const pods = "/api/v1/namespaces/default/pods";
const merge = { "content-type": "application/merge-patch+json" };

function open(plugin: string, settings?: object): Promise<InProcess> {
  return openInProcess("kubernetes", {
    admission: {
      enabled: [plugin],
      disabled: ["ServiceAccount", "DefaultTolerationSeconds"],
      settings: new Map(settings === undefined ? [] : [[plugin, JSON.stringify(settings)]]),
    },
  });
}

function create(server: InProcess, name: string, spec: object = {}, query = ""): Promise<Answer> {
  const containers = [{ name: "c", image: "i:1" }];
  return server.call("POST", `${pods}${query}`, { metadata: { name }, spec: { containers, ...spec } });
}

t.test("AlwaysDeny denies every write, and no read", async (t) => {
  const server = await open("AlwaysDeny");
  const why = "is forbidden: admission control is denying all modifications";
  const body = { metadata: { name: "n" } };
  t.equal((await server.call("POST", "/api/v1/namespaces", body)).json.message, `namespaces "n" ${why}`);
  t.equal((await server.call("GET", pods)).code, 200);
  server.close();
});

t.test("NamespaceAutoProvision makes the namespace of a new object, but not in a dry run", async (t) => {
  const server = await open("NamespaceAutoProvision");
  const body = { metadata: { name: "m" } };
  t.equal((await server.call("POST", "/api/v1/namespaces/new/configmaps?dryRun=All", body)).code, 404);
  t.equal((await server.call("GET", "/api/v1/namespaces/new")).code, 404);
  t.equal((await server.call("POST", "/api/v1/namespaces/new/configmaps", body)).code, 201);
  t.equal((await server.call("GET", "/api/v1/namespaces/new")).code, 200);
  const racing = ["a", "b", "c"].map((name) =>
    server.call("POST", "/api/v1/namespaces/raced/configmaps", { metadata: { name } }),
  );
  for (const { code } of await Promise.all(racing)) t.equal(code, 201);
  t.equal((await server.call("POST", "/api/v1/namespaces/__proto__/configmaps", body)).code, 422);
  server.close();
});

t.test("NamespaceExists refuses writes into nowhere", async (t) => {
  const server = await open("NamespaceExists");
  t.equal((await create(server, "p")).code, 201);
  const { code, json } = await server.call("POST", "/api/v1/namespaces/none/pods", { metadata: { name: "p" } });
  t.equal(code, 404);
  t.equal(json.message, 'namespaces "none" not found');
  server.close();
});

t.test("SecurityContextDeny and LimitPodHardAntiAffinityTopology refuse what they are there for", async (t) => {
  const context = (securityContext: object): object => ({ containers: [{ name: "c", image: "i", securityContext }] });
  const affinity = (topologyKey: string): object => ({
    affinity: {
      podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector: {} }] },
    },
  });
  for (const [plugin, spec, why] of [
    ["SecurityContextDeny", {}, undefined],
    ["SecurityContextDeny", { securityContext: { runAsNonRoot: true } }, undefined],
    ["SecurityContextDeny", { securityContext: { runAsUser: 0 } }, "pod.Spec.SecurityContext.RunAsUser is forbidden"],
    [
      "SecurityContextDeny",
      { securityContext: { supplementalGroups: [1] } },
      "pod.Spec.SecurityContext.SupplementalGroups is forbidden",
    ],
    ["SecurityContextDeny", { securityContext: { fsGroup: 1 } }, "pod.Spec.SecurityContext.FSGroup is forbidden"],
    ["SecurityContextDeny", context({ runAsUser: 1 }), "SecurityContext.RunAsUser is forbidden"],
    ["SecurityContextDeny", context({ seLinuxOptions: {} }), "SecurityContext.SELinuxOptions is forbidden"],
    ["LimitPodHardAntiAffinityTopology", affinity("kubernetes.io/hostname"), undefined],
    [
      "LimitPodHardAntiAffinityTopology",
      affinity("zone"),
      "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey zone but only key kubernetes.io/hostname is allowed",
    ],
  ] as const) {
    const server = await open(plugin);
    const { code, json } = await create(server, "p", spec);
    t.equal(code, why === undefined ? 201 : 403, plugin);
    if (why !== undefined) t.equal(json.message, `pods "p" is forbidden: ${why}`);
    server.close();
  }
});

t.test("AlwaysPullImages has every image pulled, those of ephemeral containers too", async (t) => {
  const server = await open("AlwaysPullImages");
  const init = { initContainers: [{ name: "i", image: "i:1", imagePullPolicy: "Never" }] };
  const { json } = await create(server, "p", init);
  t.equal(json.spec.containers[0].imagePullPolicy, "Always");
  t.equal(json.spec.initContainers[0].imagePullPolicy, "Always");
  const spec = { ephemeralContainers: [{ name: "d", image: "d:1", imagePullPolicy: "Never" }] };
  const added = await server.call("PATCH", `${pods}/p/ephemeralcontainers`, { spec }, merge);
  t.equal(added.code, 200);
  t.equal(added.json.spec.ephemeralContainers[0].imagePullPolicy, "Always");
  server.close();
});

t.test("PodNodeSelector merges the namespace's selector, and keeps pods to what is allowed", async (t) => {
  const config = { clusterDefaultNodeSelector: "env=test", default: "env=test,a=b", other: "" };
  const server = await open("PodNodeSelector", { podNodeSelectorPluginConfig: config });
  t.same((await create(server, "plain")).json.spec.nodeSelector, { env: "test" });
  t.same((await create(server, "more", { nodeSelector: { a: "b" } })).json.spec.nodeSelector, { a: "b", env: "test" });
  for (const [nodeSelector, why] of [
    [{ env: "prod" }, "pod node label selector conflicts with its namespace node label selector"],
    [{ a: "c" }, "pod node label selector labels conflict with its namespace whitelist"],
    [{ x: "y" }, "pod node label selector labels conflict with its namespace whitelist"],
  ] as const) {
    const { code, json } = await create(server, "p", { nodeSelector });
    t.equal(code, 403);
    t.equal(json.message, `pods "p" is forbidden: ${why}`);
  }
  const annotations = { "scheduler.alpha.kubernetes.io/node-selector": "a=b" };
  await server.call("PATCH", "/api/v1/namespaces/default", { metadata: { annotations } }, merge);
  t.same((await create(server, "annotated")).json.spec.nodeSelector, { a: "b" });
  server.close();
  t.match(readNodeSelectors('{"podNodeSelectorPluginConfig":{"x":"a"}}'), /invalid selector: a/);
});

t.test("PodTolerationRestriction adds defaults and holds pods to the list", async (t) => {
  const own = { key: "own", operator: "Exists", effect: "NoSchedule" };
  const other = { key: "other", operator: "Exists" };
  const server = await open("PodTolerationRestriction", { default: [own], whitelist: [own, other] });
  t.same((await create(server, "plain")).json.spec.tolerations, [own]);
  const refused = await create(server, "p", { tolerations: [{ key: "x", operator: "Exists" }] });
  t.equal(
    refused.json.message,
    'pods "p" is forbidden: pod tolerations (possibly merged with namespace default tolerations) conflict with its cluster whitelist',
  );
  const narrow = { key: "other", operator: "Equal", value: "v", effect: "NoExecute" };
  t.same((await create(server, "narrow", { tolerations: [narrow] })).json.spec.tolerations, [narrow, own]);
  const annotations = {
    "scheduler.alpha.kubernetes.io/defaultTolerations": "[]",
    "scheduler.alpha.kubernetes.io/tolerationsWhitelist": JSON.stringify([{ key: "ns", operator: "Exists" }]),
  };
  await server.call("PATCH", "/api/v1/namespaces/default", { metadata: { annotations } }, merge);
  t.equal((await create(server, "empty")).json.spec.tolerations, undefined);
  t.match((await create(server, "q", { tolerations: [other] })).json.message, /conflict with its namespace whitelist$/);
  annotations["scheduler.alpha.kubernetes.io/tolerationsWhitelist"] = "{";
  await server.call("PATCH", "/api/v1/namespaces/default", { metadata: { annotations } }, merge);
  t.equal((await create(server, "r", { tolerations: [other] })).code, 403, "what cannot be read allows nothing");
  server.close();
});

t.test("ExtendedResourceToleration tolerates the taints of what a pod asks for", async (t) => {
  const server = await open("ExtendedResourceToleration");
  const limits = { "example.com/b": "1", "example.com/a": "1", cpu: "1" };
  const { json } = await create(server, "p", { containers: [{ name: "c", image: "i", resources: { limits } }] });
  const toleration = (key: string): object => ({ key, operator: "Exists", effect: "NoSchedule" });
  t.same(json.spec.tolerations, [toleration("example.com/a"), toleration("example.com/b")]);
  server.close();
});

// CVE-2020-8554
t.test("D04: DenyServiceExternalIPs lets no user add one, by whatever verb", async (t) => {
  const server = await open("DenyServiceExternalIPs");
  const services = "/api/v1/namespaces/default/services";
  const apply = { "content-type": "application/apply-patch+yaml" };
  const body = { apiVersion: "v1", kind: "Service", metadata: { name: "s" }, spec: { ports: [{ port: 80 }] } };
  const { json: plain } = await server.call("POST", services, body);
  const spec = { ...plain.spec, externalIPs: ["1.2.3.4"] };
  const why = 'services "s" is forbidden: Use of external IPs is denied by admission control.';
  for (const [method, path, sent, headers] of [
    ["PUT", `${services}/s`, { ...plain, spec }, {}],
    ["PATCH", `${services}/s`, { spec: { externalIPs: ["1.2.3.4"] } }, merge],
    ["PATCH", `${services}/s?fieldManager=m&force=true`, { ...body, spec: { externalIPs: ["1.2.3.4"] } }, apply],
    [
      "PATCH",
      `${services}/s`,
      [{ op: "add", path: "/spec/externalIPs", value: ["1.2.3.4"] }],
      { "content-type": "application/json-patch+json" },
    ],
  ] as const) {
    const { code, json } = await server.call(method, path, sent, headers);
    t.equal(code, 403);
    t.equal(json.message, why);
  }
  t.equal((await server.call("POST", services, { ...body, metadata: { name: "t" }, spec })).code, 403);
  const balancer = { spec: { externalIPs: ["1.2.3.4"] }, status: { loadBalancer: { ingress: [{ ip: "1.2.3.4" }] } } };
  const { json: after } = await server.call("PATCH", `${services}/s/status`, balancer, merge);
  t.equal(after.spec?.externalIPs, undefined, "a status brings none");
  t.equal((await server.call("GET", `${services}/s`)).json.spec.externalIPs, undefined);
  server.close();
});

t.test("EventRateLimit refuses events beyond the burst until time has passed", async (t) => {
  const limits = [{ type: "Namespace", qps: 1, burst: 2, cacheSize: 2 }];
  const server = await open("EventRateLimit", { limits });
  const create = (namespace: string, name: string, query = ""): Promise<Answer> =>
    server.call("POST", `/api/v1/namespaces/${namespace}/events${query}`, {
      metadata: { name },
      involvedObject: { kind: "Pod", namespace, name: "p" },
    });
  for (const name of ["a", "b"]) t.equal((await create("default", name)).code, 201);
  const { code, json } = await create("default", "c");
  t.equal(code, 429);
  t.equal(json.message, "Too many requests: limit reached on type Namespace for key default");
  t.equal((await create("default", "c", "?dryRun=All")).code, 201, "a dry run costs nothing");
  t.equal((await create("kube-system", "c")).code, 201, "others are not concerned");
  server.aheadMs += 1100;
  t.equal((await create("default", "c")).code, 201);
  server.close();
});

t.test("EventRateLimit tells long keys apart, and keeps their digests", async (t) => {
  const server = await open("EventRateLimit", { limits: [{ type: "SourceAndObject", qps: 1, burst: 1 }] });
  t.teardown(() => server.close());
  const create = async (name: string, about: string): Promise<number> => {
    const involvedObject = { kind: "Pod", namespace: "default", name: about };
    const body = { metadata: { name }, involvedObject };
    return (await server.call("POST", "/api/v1/namespaces/default/events", body)).code;
  };
  const long = "x".repeat(10_000);
  t.same(
    [await create("a", `${long}1`), await create("b", `${long}2`), await create("c", `${long}1`)],
    [201, 201, 429],
  );
});

t.test(
  "OwnerReferencesPermissionEnforcement asks whether owners may be changed, and may be made to wait",
  async (t) => {
    const server = await open("OwnerReferencesPermissionEnforcement");
    const asked: string[] = [];
    const denied = new Set<string>();
    server.authorizer = {
      authorize({ verb, resource, subresource, name, namespace }: Attributes) {
        const question = `${verb} ${resource}${subresource === "" ? "" : `/${subresource}`} ${namespace}/${name}`;
        asked.push(question);
        return { verdict: denied.has(question) ? "none" : "allow", reason: "no rule" };
      },
    };
    await create(server, "p");
    const owner = (blockOwnerDeletion: boolean, kind = "ReplicaSet"): object => ({
      metadata: {
        ownerReferences: [{ apiVersion: "apps/v1", kind, name: "r", uid: "u", blockOwnerDeletion }],
      },
    });
    const patch = (body: object): Promise<Answer> => server.call("PATCH", `${pods}/p`, body, merge);
    denied.add("delete pods default/p");
    t.equal(
      (await patch(owner(false))).json.message,
      `pods "p" is forbidden: cannot set an ownerRef on a resource you can't delete: no rule, <nil>`,
    );
    denied.clear();
    denied.add("update replicasets/finalizers default/r");
    t.match(
      (await patch(owner(true))).json.message,
      /refers to a resource you can't set finalizers on: no rule, <nil>$/,
    );
    t.match(
      (await patch(owner(true, "Odd"))).json.message,
      /cannot find RESTMapping for APIVersion apps\/v1 Kind Odd: no matches for kind "Odd" in version "apps\/v1"$/,
    );
    t.equal((await patch(owner(false))).code, 200);
    asked.length = 0;
    t.equal((await patch({ metadata: { labels: { a: "b" } } })).code, 200);
    t.notOk(asked.includes("delete pods default/p"), "no authorizer is asked when owners stay");
    server.close();
  },
);
