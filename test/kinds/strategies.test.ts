import t from "tap";
import { identities } from "../../src/api/identity.ts";
import type { ApiObject } from "../../src/api/object.ts";
import { createScheme, type Resource } from "../../src/api/scheme.ts";
import { assert } from "../../src/base/assert.ts";
import { qosClass } from "../../src/kinds/core/podqos.ts";
import type { Strategy, StrategyContext } from "../../src/kinds/strategy.ts";
import { strategyOf } from "../../src/kinds/table.ts";
import { contextOf } from "../support/context.ts";
import { dump, load } from "./load.ts";

const identity = identities.kubernetes;
const scheme = createScheme({ identity });
const now = "2026-01-01T00:00:00Z";

interface Kind {
  readonly resource: Resource;
  readonly strategy: Strategy<ApiObject>;
  readonly context: StrategyContext;
}

function kind(group: string, version: string, name: string): Kind {
  const resource = scheme.find(group, version, name);
  assert(resource !== undefined, `${name} is served`);
  const extra = new Map([["scope", ["a", "b"]]]);
  const user = { name: "mallory", uid: "7", groups: ["devs"], extra };
  return {
    resource,
    strategy: strategyOf(resource, identity),
    context: contextOf(resource, { now, user }),
  };
}

type Json = Record<string, unknown>;

function created({ resource, strategy, context }: Kind, json: object): Json {
  const object = load<ApiObject>(resource.message.name, json);
  strategy.canonicalize?.(object);
  strategy.prepareForCreate(context, object);
  return dump(object) as Json;
}

/** `json` written over `old` through `part` (status, approval, …; the whole object when left out). */
function updated({ resource, strategy, context }: Kind, json: object, old: object, part?: string): Json {
  const object = load<ApiObject>(resource.message.name, json);
  const before = load<ApiObject>(resource.message.name, old);
  const rules =
    part === undefined ? strategy.update : part === "status" ? strategy.status : strategy.subresources?.get(part);
  assert(rules !== undefined, `${resource.kind} has ${part}`);
  strategy.canonicalize?.(object);
  rules.prepare(context, object, before);
  return dump(object) as Json;
}

t.test("qosClass() follows requests and limits of all containers", (t) => {
  const of = (...containers: object[]) =>
    load<{ spec: { containers: [] } }>("core/v1.Pod", { spec: { containers } }).spec;
  const box = (requests?: object, limits?: object) => ({ name: "c", resources: { requests, limits } });
  const full = { cpu: "1", memory: "1Gi" };
  const cases: readonly [why: string, containers: object[], expected: string][] = [
    ["nothing asked", [box()], "BestEffort"],
    ["zero asked", [box({ cpu: "0" })], "BestEffort"],
    ["something else asked", [box({ "example.com/gpu": "1" })], "BestEffort"],
    ["limits without requests", [box(undefined, full)], "Burstable"],
    ["the same in another unit", [box({ cpu: "1000m", memory: "1Gi" }, full)], "Guaranteed"],
    ["one container without limits", [box(full, full), box()], "Burstable"],
    ["less asked than allowed", [box({ cpu: "500m", memory: "1Gi" }, full)], "Burstable"],
  ];
  for (const [why, containers, expected] of cases) t.equal(qosClass(of(...containers)), expected, why);
  t.end();
});

t.test("Pods start pending, in their class, with seccomp said both ways", (t) => {
  const pods = kind("", "v1", "pods");
  const pod = created(pods, {
    metadata: { name: "p", annotations: { "seccomp.security.alpha.kubernetes.io/pod": "runtime/default" } },
    spec: {
      os: { name: "linux" },
      serviceAccount: "s",
      containers: [
        {
          name: "c",
          image: "i",
          securityContext: { seccompProfile: { type: "Localhost", localhostProfile: "p.json" }, procMount: "Unmasked" },
          livenessProbe: { grpc: { port: 1 }, terminationGracePeriodSeconds: 3 },
        },
      ],
    },
    status: { phase: "Running" },
  });
  t.strictSame(pod["status"], { phase: "Pending", qosClass: "BestEffort" });
  t.hasStrict(pod, {
    metadata: {
      annotations: {
        "seccomp.security.alpha.kubernetes.io/pod": "runtime/default",
        "container.seccomp.security.alpha.kubernetes.io/c": "localhost/p.json",
      },
    },
    spec: {
      serviceAccount: "s",
      serviceAccountName: "s",
      securityContext: { seccompProfile: { type: "RuntimeDefault" } },
      containers: [{ securityContext: { procMount: "Default" }, livenessProbe: {} }],
    },
  });
  t.notOk((pod["spec"] as Json)["os"], "switched-off fields are dropped");
  t.end();
});

t.test("gracePeriod() waits only for pods that run", (t) => {
  const { strategy } = kind("", "v1", "pods");
  const grace = (spec: object, phase: string, requested?: number) =>
    strategy.gracePeriod?.(load<ApiObject>("core/v1.Pod", { spec, status: { phase } }), requested);
  const running = { nodeName: "n", terminationGracePeriodSeconds: 30 };
  t.equal(grace(running, "Running"), 30);
  t.equal(grace(running, "Running", 5), 5);
  t.equal(grace(running, "Running", 0), 0);
  t.equal(grace(running, "Running", -1), 1);
  t.equal(grace(running, "Succeeded", 5), 0);
  t.equal(grace({ terminationGracePeriodSeconds: 30 }, "Pending"), 0);
  t.end();
});

t.test("Status and ephemeral containers of pods change nothing else", (t) => {
  const pods = kind("", "v1", "pods");
  const old = {
    metadata: { name: "p", uid: "u", labels: { a: "b" } },
    spec: { nodeName: "n" },
    status: { phase: "Pending" },
  };
  const wish = {
    metadata: { name: "p", resourceVersion: "7", labels: { a: "c" }, ownerReferences: [{ kind: "X" }] },
    spec: { nodeName: "m", ephemeralContainers: [{ name: "d" }] },
    status: { phase: "Running", podIP: "10.0.0.1" },
  };
  const status = updated(pods, wish, old, "status");
  t.hasStrict(status, { spec: { nodeName: "n" }, status: { phase: "Running", podIPs: [{ ip: "10.0.0.1" }] } });
  t.hasStrict(status, { metadata: { labels: { a: "c" } } });
  t.notOk((status["metadata"] as Json)["ownerReferences"]);
  const ephemeral = updated(pods, wish, old, "ephemeralcontainers");
  t.hasStrict(ephemeral, {
    metadata: { uid: "u", labels: { a: "b" }, resourceVersion: "7" },
    status: { phase: "Pending" },
  });
  t.hasStrict(ephemeral, { spec: { nodeName: "n", ephemeralContainers: [{ name: "d" }] } });
  t.end();
});

t.test("Generations count what the kind counts", (t) => {
  const meta = { name: "a", generation: 4 };
  const template = (image: string) => ({ spec: { containers: [{ name: "c", image }] } });
  const cases: readonly [why: string, of: Kind, json: object, old: object, generation: number | undefined][] = [
    [
      "an annotation of a deployment",
      kind("apps", "v1", "deployments"),
      { metadata: { ...meta, annotations: { a: "b" } } },
      { metadata: meta },
      5,
    ],
    [
      "a label of a deployment",
      kind("apps", "v1", "deployments"),
      { metadata: { ...meta, labels: { a: "b" } } },
      { metadata: meta },
      4,
    ],
    [
      "the spec of a replica set",
      kind("apps", "v1", "replicasets"),
      { metadata: meta, spec: { replicas: 2 } },
      { metadata: meta },
      5,
    ],
    [
      "the template of a pod template",
      kind("", "v1", "podtemplates"),
      { metadata: meta, template: template("i") },
      { metadata: meta },
      5,
    ],
    [
      "a webhook",
      kind("admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations"),
      { metadata: meta, webhooks: [{ name: "w" }] },
      { metadata: meta },
      5,
    ],
    [
      "a label of an endpoint slice",
      kind("discovery.k8s.io", "v1", "endpointslices"),
      { metadata: { ...meta, labels: { a: "b" } } },
      { metadata: meta },
      5,
    ],
    [
      "an annotation of an endpoint slice",
      kind("discovery.k8s.io", "v1", "endpointslices"),
      { metadata: { ...meta, annotations: { a: "b" } } },
      { metadata: meta },
      4,
    ],
    [
      "token requests of a driver",
      kind("storage.k8s.io", "v1", "csidrivers"),
      { metadata: meta, spec: { tokenRequests: [{ audience: "a" }] } },
      { metadata: meta },
      5,
    ],
    [
      "the rest of a driver",
      kind("storage.k8s.io", "v1", "csidrivers"),
      { metadata: meta, spec: { storageCapacity: true } },
      { metadata: meta },
      4,
    ],
    [
      "the value of a priority class",
      kind("scheduling.k8s.io", "v1", "priorityclasses"),
      { metadata: meta, value: 5 },
      { metadata: meta },
      4,
    ],
  ];
  for (const [why, of, json, old, generation] of cases) {
    t.equal((updated(of, json, old)["metadata"] as Json)["generation"], generation, why);
  }
  t.end();
});

t.test("Daemon sets count their templates in an annotation", (t) => {
  const sets = kind("apps", "v1", "daemonsets");
  const key = "deprecated.daemonset.template.generation";
  t.hasStrict(created(sets, { metadata: { name: "d" } }), { metadata: { annotations: { [key]: "1" } } });
  const old = { metadata: { name: "d", annotations: { [key]: "3" } } };
  const changed = {
    metadata: { name: "d", annotations: { [key]: "9" } },
    spec: { template: { spec: { nodeName: "n" } } },
  };
  t.hasStrict(updated(sets, changed, old), { metadata: { annotations: { [key]: "4" } } });
  t.hasStrict(updated(sets, { metadata: { name: "d" } }, old), { metadata: { annotations: { [key]: "3" } } });
  t.end();
});

t.test("Jobs select their pods by uid unless told otherwise", (t) => {
  const { resource, strategy, context } = kind("batch", "v1", "jobs");
  const job = (manualSelector: boolean) => {
    const annotations = { "batch.kubernetes.io/job-tracking": "" };
    const object = load<ApiObject>(resource.message.name, {
      metadata: { name: "j", uid: "u", annotations },
      spec: { manualSelector },
    });
    strategy.prepareForCreate(context, object);
    strategy.validate(context, object);
    return dump(object) as Json;
  };
  t.hasStrict(job(false), {
    spec: {
      selector: { matchLabels: { "controller-uid": "u" } },
      template: { metadata: { labels: { "controller-uid": "u", "job-name": "j" } } },
    },
  });
  t.strictSame((job(false)["metadata"] as Json)["annotations"], {});
  t.notOk((job(true)["spec"] as Json)["selector"]);
  t.end();
});

t.test("Secrets keep what was written as text, and only as data", (t) => {
  const secret = created(kind("", "v1", "secrets"), { data: { a: "eA==" }, stringData: { b: "é", a: "__proto__" } });
  t.strictSame(secret["data"], { a: "X19wcm90b19f", b: "w6k=" });
  t.notOk("stringData" in secret);
  t.end();
});

t.test("Namespaces are held by the identity's finalizer, which only finalize takes away", (t) => {
  const namespaces = kind("", "v1", "namespaces");
  t.hasStrict(created(namespaces, { spec: { finalizers: ["x/y"] } }), {
    spec: { finalizers: ["x/y", "kubernetes"] },
    status: { phase: "Active" },
  });
  const old = { spec: { finalizers: ["kubernetes"] }, status: { phase: "Active" } };
  t.hasStrict(updated(namespaces, { spec: { finalizers: [] } }, old), { spec: { finalizers: ["kubernetes"] } });
  const final = updated(namespaces, { spec: { finalizers: [] }, status: { phase: "Terminating" } }, old, "finalize");
  t.strictSame(final["spec"], { finalizers: [] });
  t.strictSame(final["status"], { phase: "Active" });
  t.end();
});

t.test("Nodes keep the status they register with, and one range twice", (t) => {
  const nodes = kind("", "v1", "nodes");
  const node = created(nodes, { spec: { podCIDR: "10.0.0.0/24" }, status: { phase: "Running" } });
  t.hasStrict(node, { spec: { podCIDRs: ["10.0.0.0/24"] }, status: { phase: "Running" } });
  const both = { podCIDR: "10.0.0.0/24", podCIDRs: ["10.0.0.0/24"] };
  t.hasStrict(updated(nodes, { spec: both }, { spec: both }), { spec: both });
  t.end();
});

t.test("Signing requests say who asked, whatever they claim", (t) => {
  const requests = kind("certificates.k8s.io", "v1", "certificatesigningrequests");
  const request = created(requests, {
    spec: { username: "root", groups: ["system:masters"] },
    status: { certificate: "eA==" },
  });
  t.hasStrict(request, { spec: { username: "mallory", uid: "7", groups: ["devs"], extra: { scope: ["a", "b"] } } });
  t.strictSame(request["status"], {});
  t.end();
});

t.test("Decisions on signing requests come through approval only, with times filled in", (t) => {
  const requests = kind("certificates.k8s.io", "v1", "certificatesigningrequests");
  const approved = { type: "Approved", status: "True" };
  const stored = {
    ...approved,
    reason: "Stored",
    lastUpdateTime: "2020-01-01T00:00:00Z",
    lastTransitionTime: "2020-01-01T00:00:00Z",
  };
  const old = { status: { conditions: [stored] } };
  const kept = updated(
    requests,
    { status: { certificate: "eA==", conditions: [{ ...approved, reason: "Other" }] } },
    old,
    "status",
  );
  t.strictSame(kept["status"], { certificate: "eA==", conditions: [stored] });
  const decided = updated(requests, { status: { certificate: "eA==", conditions: [approved] } }, {}, "approval");
  t.strictSame(decided["status"], { conditions: [{ ...approved, lastUpdateTime: now, lastTransitionTime: now }] });
  t.end();
});

t.test("Endpoints keep the order in which they are sent", (t) => {
  const port = (name: string, number: number) => ({ name, port: number, protocol: "TCP" });
  const subsets = [
    { addresses: [{ ip: "10.0.0.10" }, { ip: "10.0.0.9" }], ports: [port("b", 2)] },
    { addresses: [{ ip: "10.0.0.9" }, { ip: "10.0.0.10" }], ports: [port("a", 1)] },
  ];
  t.strictSame(created(kind("", "v1", "endpoints"), { subsets })["subsets"], subsets);
  t.end();
});

t.test("Endpoint slices lose the old topology but not the nodes it named", (t) => {
  const slices = kind("discovery.k8s.io", "v1", "endpointslices");
  const topology = { "kubernetes.io/hostname": "n1", rack: "r" };
  const old = { addressType: "IPv4", endpoints: [{ addresses: ["10.0.0.1"], deprecatedTopology: topology }] };
  const same = updated(slices, old, old);
  t.hasStrict(same, { endpoints: [{ deprecatedTopology: topology }] }, "untouched endpoints keep it");
  const more = { ...old, endpoints: [...old.endpoints, { addresses: ["10.0.0.2"], hints: {} }] };
  t.strictSame(updated(slices, more, old)["endpoints"], [
    { addresses: ["10.0.0.1"], nodeName: "n1", conditions: {} },
    { addresses: ["10.0.0.2"], conditions: {} },
  ]);
  t.end();
});

t.test("Registrations without a service are available from the start", (t) => {
  const registrations = kind("apiregistration.k8s.io", "v1", "apiservices");
  const status = created(registrations, { spec: { group: "g" } })["status"];
  t.hasStrict(status, {
    conditions: [{ type: "Available", status: "True", reason: "Local", lastTransitionTime: now }],
  });
  t.strictSame(created(registrations, { spec: { service: { name: "s" } } })["status"], {});
  t.end();
});

t.test("Claims are filled from claims and snapshots only", (t) => {
  const claims = kind("", "v1", "persistentvolumeclaims");
  const source = (dataSource: object) =>
    created(claims, { spec: { dataSource, dataSourceRef: dataSource } })["spec"] as Json;
  t.ok(source({ kind: "PersistentVolumeClaim", name: "a" })["dataSource"]);
  t.ok(source({ kind: "VolumeSnapshot", apiGroup: "snapshot.storage.k8s.io", name: "a" })["dataSource"]);
  t.notOk(source({ kind: "Other", name: "a" })["dataSource"]);
  t.notOk(source({ kind: "PersistentVolumeClaim", name: "a" })["dataSourceRef"]);
  t.end();
});

t.test("Status writes that keep metadata keep all of it but managed fields", (t) => {
  const schemas = kind("flowcontrol.apiserver.k8s.io", "v1beta2", "flowschemas");
  const old = { metadata: { name: "f", uid: "u", labels: { a: "b" } }, spec: { matchingPrecedence: 5 } };
  const wish = {
    metadata: { name: "f", resourceVersion: "9", labels: { a: "c" }, managedFields: [{ manager: "m" }] },
    spec: { matchingPrecedence: 6 },
    status: { conditions: [{ type: "Dangling" }] },
  };
  t.hasStrict(updated(schemas, wish, old, "status"), {
    metadata: { uid: "u", labels: { a: "b" }, resourceVersion: "9", managedFields: [{ manager: "m" }] },
    spec: { matchingPrecedence: 5 },
    status: { conditions: [{ type: "Dangling" }] },
  });
  t.end();
});
