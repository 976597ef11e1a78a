// The rules of the groups beside core, apps and batch: one broken field per line, through defaults and preparation,
// and what it is reported as. Recorded answers are judged in ../recorded.test.ts; these are the rules nobody recorded.
import t from "tap";
import { identities } from "../../../src/api/identity.ts";
import type { ApiObject } from "../../../src/api/object.ts";
import { createScheme } from "../../../src/api/scheme.ts";
import { assert } from "../../../src/base/assert.ts";
import { applyDefaults } from "../../../src/kinds/defaults.ts";
import { strategyOf } from "../../../src/kinds/table.ts";
import { contextOf } from "../../support/context.ts";
import { load } from "../load.ts";

const identity = identities.kubernetes;
const scheme = createScheme({ identity });

type Fault = string;
/** What is sent and the faults it has, as `Reason path`. */
type Case = readonly [why: string, json: object, faults: readonly Fault[]];
/** A change: what is sent, over what. */
type Change = readonly [why: string, json: object, old: object, faults: readonly Fault[]];

function tested(
  group: string,
  version: string,
  name: string,
  creates: readonly Case[],
  changes: readonly Change[] = [],
): void {
  const resource = scheme.find(group, version, name);
  assert(resource !== undefined, `${name} is served`);
  const strategy = strategyOf(resource, identity);
  const context = contextOf(resource);
  const read = (json: object): ApiObject => {
    const object = load<ApiObject>(resource.message.name, { metadata: { name: "a" }, ...json });
    applyDefaults(resource, object, identity);
    return object;
  };
  t.test(`${resource.kind}: what is refused on create and on update`, (t) => {
    for (const [why, json, faults] of creates) {
      const object = read(json);
      strategy.prepareForCreate(context, object);
      t.strictSame(
        strategy.validate(context, object).map((e) => `${e.reason} ${e.field}`),
        faults,
        why,
      );
    }
    for (const [why, json, old, faults] of changes) {
      const [object, before] = [read(json), read(old)];
      strategy.update.prepare(context, object, before);
      t.strictSame(
        strategy.update.validate(context, object, before).map((e) => `${e.reason} ${e.field}`),
        faults,
        why,
      );
    }
    t.end();
  });
}

const service = (name: string, port: object) => ({ service: { name, port } });
const path = (of: object) => ({ spec: { rules: [{ http: { paths: [of] } }] } });
const backend = service("web", { number: 80 });
const at = "spec.rules[0].http.paths[0]";
tested("networking.k8s.io", "v1", "ingresses", [
  ["a good one", path({ path: "/a", pathType: "Prefix", backend }), []],
  ["a host that is an address", { spec: { rules: [{ host: "10.0.0.1" }] } }, ["Invalid spec.rules[0].host"]],
  ["a wildcard in the middle", { spec: { rules: [{ host: "a.*.b" }] } }, ["Invalid spec.rules[0].host"]],
  ["a wildcard at the start", { spec: { rules: [{ host: "*.b" }] } }, []],
  ["no type of path", path({ path: "/a", backend }), [`Required ${at}.pathType`]],
  ["an unknown type of path", path({ path: "/a", pathType: "X", backend }), [`NotSupported ${at}.pathType`]],
  ["a relative path", path({ path: "a", pathType: "Exact", backend }), [`Invalid ${at}.path`]],
  [
    "steps back",
    path({ path: "/a/../b/..", pathType: "Exact", backend }),
    [`Invalid ${at}.path`, `Invalid ${at}.path`],
  ],
  [
    "any path where the implementation decides",
    path({ path: "/a//b", pathType: "ImplementationSpecific", backend }),
    [],
  ],
  ["no backend", path({ path: "/", pathType: "Exact" }), [`Invalid ${at}.backend`]],
  [
    "two ports",
    path({ path: "/", pathType: "Exact", backend: service("w", { name: "a", number: 1 }) }),
    [`Invalid ${at}.backend`],
  ],
  ["no port", path({ path: "/", pathType: "Exact", backend: service("w", {}) }), [`Required ${at}.backend`]],
  [
    "a bad service",
    { spec: { defaultBackend: service("1w", { number: 99999 }) } },
    ["Invalid spec.defaultBackend.service.name", "Invalid spec.defaultBackend.service.port.number"],
  ],
  [
    "tls",
    { spec: { defaultBackend: backend, tls: [{ hosts: ["A"], secretName: "B" }] } },
    ["Invalid spec.tls[0].hosts[0]", "Invalid spec.tls[0].secretName"],
  ],
]);

tested(
  "networking.k8s.io",
  "v1",
  "ingressclasses",
  [
    ["a long controller", { spec: { controller: `a.b/${"c".repeat(250)}` } }, ["TooLong spec.controller"]],
    [
      "cluster parameters with a namespace",
      { spec: { controller: "a.b/c", parameters: { kind: "K", name: "n", namespace: "x" } } },
      ["Forbidden spec.parameters.namespace"],
    ],
    [
      "namespaced parameters without one",
      { spec: { controller: "a.b/c", parameters: { kind: "K", name: "n", scope: "Namespace" } } },
      ["Required spec.parameters.namespace"],
    ],
    [
      "empty parameters",
      { spec: { controller: "a.b/c", parameters: { scope: "X" } } },
      ["Required spec.parameters.kind", "Required spec.parameters.name", "NotSupported spec.parameters.scope"],
    ],
  ],
  [
    [
      "another controller",
      { spec: { controller: "a.b/d" } },
      { spec: { controller: "a.b/c" } },
      ["Invalid spec.controller"],
    ],
  ],
);

const from = (peer: object) => ({ spec: { ingress: [{ from: [peer] }] } });
const ports = (port: object) => ({ spec: { egress: [{ ports: [port] }] } });
tested("networking.k8s.io", "v1", "networkpolicies", [
  ["nobody", from({}), ["Required spec.ingress[0].from[0]"]],
  [
    "a block and pods",
    from({ ipBlock: { cidr: "10.0.0.0/8" }, podSelector: {} }),
    ["Forbidden spec.ingress[0].from[0]"],
  ],
  ["a bad block", from({ ipBlock: { cidr: "10.0.0.0" } }), ["Invalid spec.ingress[0].from[0].ipBlock.cidr"]],
  [
    "a hole outside the block",
    from({ ipBlock: { cidr: "10.0.0.0/8", except: ["11.0.0.0/9", "10.1.0.0/16"] } }),
    ["Invalid spec.ingress[0].from[0].ipBlock.except[0]"],
  ],
  [
    "a hole as large as the block",
    from({ ipBlock: { cidr: "10.0.0.0/8", except: ["10.0.0.0/8"] } }),
    ["Invalid spec.ingress[0].from[0].ipBlock.except[0]"],
  ],
  ["a range upside down", ports({ port: 80, endPort: 79 }), ["Invalid spec.egress[0].ports[0].endPort"]],
  ["a range from a name", ports({ port: "http", endPort: 79 }), ["Invalid spec.egress[0].ports[0].endPort"]],
  ["a range from nothing", ports({ endPort: 79 }), ["Invalid spec.egress[0].ports[0].endPort"]],
  ["a protocol", ports({ port: 80, protocol: "X" }), ["NotSupported spec.egress[0].ports[0].protocol"]],
  ["unknown policy types", { spec: { policyTypes: ["X", "Egress"] } }, ["NotSupported spec.policyTypes[0]"]],
]);

const scale = (metric: object) => ({
  spec: { maxReplicas: 2, scaleTargetRef: { kind: "D", name: "d" }, metrics: [metric] },
});
const metric = "spec.metrics[0]";
tested("autoscaling", "v2", "horizontalpodautoscalers", [
  ["an unknown type, told twice", scale({ type: "X" }), [`NotSupported ${metric}.type`, `NotSupported ${metric}.type`]],
  [
    "the wrong member",
    scale({ type: "Pods", external: { metric: { name: "a" }, target: { type: "Value", value: "1" } } }),
    [`Required ${metric}.pods`],
  ],
  [
    "two members",
    scale({
      type: "Resource",
      resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 5 } },
      pods: {},
    }),
    [
      `Required ${metric}.pods.metric.name`,
      `Required ${metric}.pods.target.type`,
      `Invalid ${metric}.pods.target.type`,
      `Required ${metric}.pods.target.averageValue`,
      `Forbidden ${metric}.pods`,
    ],
  ],
  [
    "nothing to aim at",
    scale({ type: "Resource", resource: { name: "cpu", target: { type: "Utilization" } } }),
    [`Required ${metric}.resource.target.averageUtilization`],
  ],
  [
    "two things to aim at",
    scale({
      type: "Resource",
      resource: { name: "cpu", target: { type: "Value", averageUtilization: 5, averageValue: "1" } },
    }),
    [`Forbidden ${metric}.resource.target.averageValue`],
  ],
  [
    "a negative value",
    scale({ type: "External", external: { metric: { name: "a" }, target: { type: "Value", value: "-1" } } }),
    [`Invalid ${metric}.external.target.value`],
  ],
  [
    "behavior",
    {
      spec: {
        maxReplicas: 2,
        scaleTargetRef: { kind: "D", name: "d/e" },
        behavior: {
          scaleUp: {
            stabilizationWindowSeconds: 3601,
            selectPolicy: "X",
            policies: [{ type: "Y", value: 0, periodSeconds: 1801 }],
          },
        },
      },
    },
    [
      "Invalid spec.scaleTargetRef.name",
      "Invalid spec.behavior.scaleUp.stabilizationWindowSeconds",
      "NotSupported spec.behavior.scaleUp.selectPolicy",
      "NotSupported spec.behavior.scaleUp.policies[0].type",
      "Invalid spec.behavior.scaleUp.policies[0].value",
      "Invalid spec.behavior.scaleUp.policies[0].periodSeconds",
    ],
  ],
]);
for (const version of ["v1", "v2beta1", "v2beta2"]) {
  tested("autoscaling", version, "horizontalpodautoscalers", [
    [
      "the same rules in old versions",
      { spec: { minReplicas: 0, maxReplicas: 0 } },
      [
        "Invalid spec.minReplicas",
        "Invalid spec.maxReplicas",
        "Required spec.scaleTargetRef.kind",
        "Required spec.scaleTargetRef.name",
        "Forbidden spec.metrics",
      ],
    ],
  ]);
}

const hook = (of: object) => ({
  webhooks: [
    { name: "a.b.c", sideEffects: "None", admissionReviewVersions: ["v1"], clientConfig: { url: "https://x" }, ...of },
  ],
});
const rule = (of: object) =>
  hook({ rules: [{ operations: ["CREATE"], apiGroups: ["g"], apiVersions: ["v1"], resources: ["r"], ...of }] });
tested("admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations", [
  ["a good one", rule({}), []],
  [
    "everything and more",
    rule({ operations: ["*", "CREATE"], apiGroups: ["*", "g"] }),
    ["Invalid webhooks[0].rules[0].operations", "Invalid webhooks[0].rules[0].apiGroups"],
  ],
  [
    "nothing at all",
    rule({ operations: [], apiVersions: [""], resources: [], scope: "X" }),
    [
      "Required webhooks[0].rules[0].operations",
      "Required webhooks[0].rules[0].apiVersions[0]",
      "Required webhooks[0].rules[0].resources",
      "NotSupported webhooks[0].rules[0].scope",
    ],
  ],
  [
    "subresources covered twice",
    rule({ resources: ["pods/*", "pods/log", "*/scale", "a/scale"] }),
    ["Invalid webhooks[0].rules[0].resources[1]", "Invalid webhooks[0].rules[0].resources[3]"],
  ],
  ["all resources and one", rule({ resources: ["*", "pods"] }), ["Invalid webhooks[0].rules[0].resources"]],
  [
    "url and service",
    hook({ clientConfig: { url: "https://x", service: { name: "a", namespace: "b" } } }),
    ["Required webhooks[0].clientConfig"],
  ],
  [
    "a url with everything",
    hook({ clientConfig: { url: "https://u@/p?q#f" } }),
    Array.from({ length: 4 }, () => "Invalid webhooks[0].clientConfig.url"),
  ],
  [
    "a bad service",
    hook({ clientConfig: { service: { path: "/x//Y", port: 0 } } }),
    [
      "Required webhooks[0].clientConfig.service.name",
      "Required webhooks[0].clientConfig.service.namespace",
      "Invalid webhooks[0].clientConfig.service.port",
      "Invalid webhooks[0].clientConfig.service.path",
      "Invalid webhooks[0].clientConfig.service.path",
    ],
  ],
  [
    "policies",
    hook({ failurePolicy: "X", matchPolicy: "Y", timeoutSeconds: 0 }),
    [
      "NotSupported webhooks[0].failurePolicy",
      "NotSupported webhooks[0].matchPolicy",
      "Invalid webhooks[0].timeoutSeconds",
    ],
  ],
]);

tested("rbac.authorization.k8s.io", "v1", "roles", [
  ["a role over urls", { rules: [{ verbs: ["get"], nonResourceURLs: ["/x"] }] }, ["Invalid rules[0].nonResourceURLs"]],
  ["no resources", { rules: [{ verbs: ["get"], apiGroups: [""] }] }, ["Required rules[0].resources"]],
]);
tested("rbac.authorization.k8s.io", "v1", "clusterroles", [
  ["an empty aggregation", { aggregationRule: {} }, ["Required aggregationRule.clusterRoleSelectors"]],
  ["a role over urls", { rules: [{ verbs: ["get"], nonResourceURLs: ["/x"] }] }, []],
]);
const roleRef = { kind: "Role", name: "r" };
tested(
  "rbac.authorization.k8s.io",
  "v1",
  "rolebindings",
  [
    [
      "subjects",
      {
        roleRef,
        subjects: [
          { kind: "User", name: "" },
          { kind: "ServiceAccount", name: "a", apiGroup: "x" },
          { kind: "Group", name: "g", apiGroup: "x" },
        ],
      },
      ["Required subjects[0].name", "NotSupported subjects[1].apiGroup", "NotSupported subjects[2].apiGroup"],
    ],
    ["another group", { roleRef: { ...roleRef, apiGroup: "x" } }, ["NotSupported roleRef.apiGroup"]],
  ],
  [["another role", { roleRef: { ...roleRef, name: "s" } }, { roleRef }, ["Invalid roleRef"]]],
);

tested(
  "scheduling.k8s.io",
  "v1",
  "priorityclasses",
  [["a class of the system with its value", { metadata: { name: "system-node-critical" }, value: 2000001000 }, []]],
  [
    [
      "what pods were given",
      { value: 2, preemptionPolicy: "Never" },
      { value: 1 },
      ["Forbidden Value", "Invalid preemptionPolicy"],
    ],
  ],
);

const subject = { kind: "User", user: { name: "u" } };
const flow = (of: object) => ({
  spec: { priorityLevelConfiguration: { name: "p" }, rules: [{ subjects: [subject], ...of }] },
});
const resources = (of: object) =>
  flow({ resourceRules: [{ verbs: ["get"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], ...of }] });
const place = "spec.rules[0]";
tested("flowcontrol.apiserver.k8s.io", "v1beta2", "flowschemas", [
  ["a good one", resources({}), []],
  [
    "nobody and nothing",
    { spec: { priorityLevelConfiguration: { name: "p" }, rules: [{}] } },
    [`Required ${place}.subjects`, `Required ${place}`],
  ],
  [
    "a subject of two kinds",
    flow({
      subjects: [{ kind: "User", user: { name: "u" }, group: { name: "g" } }],
      nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
    }),
    [`Forbidden ${place}.subjects[0].group`],
  ],
  [
    "an account without a namespace",
    flow({
      subjects: [{ kind: "ServiceAccount", serviceAccount: { name: "*" } }],
      nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
    }),
    [`Required ${place}.subjects[0].serviceAccount.namespace`],
  ],
  ["no scope", resources({ namespaces: [] }), [`Required ${place}.resourceRules[0].namespaces`]],
  ["an unknown verb", resources({ verbs: ["fly"] }), [`NotSupported ${place}.resourceRules[0].verbs`]],
  [
    "urls",
    flow({ nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["a", "/b c", "/d//e", "/f*", "/g/*"] }] }),
    [0, 1, 2, 3].map((i) => `Invalid ${place}.nonResourceRules[0].nonResourceURLs[${i}]`),
  ],
  [
    "precedence",
    {
      spec: {
        matchingPrecedence: 10001,
        distinguisherMethod: { type: "X" },
        priorityLevelConfiguration: { name: "p" },
      },
    },
    ["Invalid spec.matchingPrecedence", "NotSupported spec.distinguisherMethod.type"],
  ],
]);
const level = (limitResponse: object) => ({ spec: { type: "Limited", limited: { limitResponse } } });
const queuing = "spec.limited.limitResponse.queuing";
tested("flowcontrol.apiserver.k8s.io", "v1beta2", "prioritylevelconfigurations", [
  ["a good one", level({ type: "Queue", queuing: {} }), []],
  ["no queues", level({ type: "Queue" }), [`Required ${queuing}`]],
  ["queues nobody uses", level({ type: "Reject", queuing: {} }), [`Forbidden ${queuing}`]],
  [
    "a hand larger than the deck",
    level({ type: "Queue", queuing: { queues: 4, handSize: 5 } }),
    [`Invalid ${queuing}.handSize`],
  ],
  [
    "too many deals",
    level({ type: "Queue", queuing: { queues: 10000000, handSize: 3 } }),
    [`Invalid ${queuing}.handSize`],
  ],
  [
    "too many queues",
    level({ type: "Queue", queuing: { queues: 10000001, handSize: 1, queueLengthLimit: -1 } }),
    [`Invalid ${queuing}.queueLengthLimit`, `Invalid ${queuing}.queues`],
  ],
  ["another answer", level({ type: "X" }), ["NotSupported spec.limited.limitResponse.type"]],
]);

tested(
  "storage.k8s.io",
  "v1",
  "storageclasses",
  [
    [
      "many parameters",
      { provisioner: "p", parameters: Object.fromEntries(Array.from({ length: 513 }, (_, i) => [`k${i}`, ""])) },
      ["TooLong parameters"],
    ],
    ["large parameters", { provisioner: "p", parameters: { k: "x".repeat(262144) } }, ["TooLong parameters"]],
  ],
  [
    [
      "everything",
      { provisioner: "q", parameters: { a: "b" }, reclaimPolicy: "Retain", volumeBindingMode: "WaitForFirstConsumer" },
      { provisioner: "p" },
      ["Forbidden parameters", "Forbidden provisioner", "Forbidden reclaimPolicy", "Invalid volumeBindingMode"],
    ],
  ],
);
tested(
  "storage.k8s.io",
  "v1",
  "csidrivers",
  [
    [
      "token requests",
      { spec: { tokenRequests: [{ audience: "a", expirationSeconds: 5 }, { audience: "a" }] } },
      ["Invalid spec.tokenRequests[0].expirationSeconds", "Duplicate spec.tokenRequests[1].audience"],
    ],
  ],
  [
    [
      "what cannot change",
      {
        spec: {
          attachRequired: false,
          podInfoOnMount: true,
          fsGroupPolicy: "None",
          volumeLifecycleModes: ["Ephemeral"],
        },
      },
      {},
      [
        "Invalid spec.attachedRequired",
        "Invalid spec.fsGroupPolicy",
        "Invalid spec.podInfoOnMount",
        "Invalid spec.volumeLifecycleModes",
      ],
    ],
  ],
);
tested(
  "storage.k8s.io",
  "v1",
  "csinodes",
  [
    [
      "a driver without a node",
      { spec: { drivers: [{ name: "d", topologyKeys: ["k", "k"] }] } },
      ["Required spec.drivers[0].nodeID", "Duplicate spec.drivers[0]"],
    ],
  ],
  [
    [
      "a driver that moved",
      { spec: { drivers: [{ name: "d", nodeID: "m" }] } },
      { spec: { drivers: [{ name: "d", nodeID: "n" }] } },
      ["Invalid CSINodeDriver"],
    ],
    ["a driver that left", { spec: { drivers: [] } }, { spec: { drivers: [{ name: "d", nodeID: "n" }] } }, []],
  ],
);
tested(
  "storage.k8s.io",
  "v1",
  "volumeattachments",
  [
    [
      "a volume of two kinds",
      { spec: { attacher: "a", nodeName: "n", source: { persistentVolumeName: "p", inlineVolumeSpec: {} } } },
      ["Invalid spec.source"],
    ],
  ],
  [
    [
      "another node",
      { spec: { attacher: "a", nodeName: "m", source: { persistentVolumeName: "p" } } },
      { spec: { attacher: "a", nodeName: "n", source: { persistentVolumeName: "p" } } },
      ["Invalid spec"],
    ],
  ],
);
tested(
  "storage.k8s.io",
  "v1beta1",
  "csistoragecapacities",
  [["less than nothing", { storageClassName: "s", capacity: "-1Gi" }, ["Invalid capacity"]]],
  [
    [
      "another class and place",
      { storageClassName: "t", nodeTopology: {} },
      { storageClassName: "s" },
      ["Invalid nodeTopology", "Invalid storageClassName"],
    ],
  ],
);

const endpoint = (of: object) => ({ addressType: "IPv4", endpoints: [{ addresses: ["10.0.0.1"], ...of }] });
tested("discovery.k8s.io", "v1", "endpointslices", [
  ["no addresses", endpoint({ addresses: [] }), ["Required endpoints[0].addresses"]],
  ["a loopback address", endpoint({ addresses: ["127.0.0.1"] }), ["Invalid endpoints[0].addresses[0]"]],
  [
    "many addresses",
    endpoint({ addresses: Array.from({ length: 101 }, () => "10.0.0.1") }),
    ["TooMany endpoints[0].addresses"],
  ],
  [
    "names",
    { ...endpoint({ hostname: "A", nodeName: "B" }), ports: [{ name: "C" }, {}, {}] },
    [
      "Invalid endpoints[0].nodeName",
      "Invalid endpoints[0].hostname",
      "Invalid ports[0].name",
      "Duplicate ports[2].name",
    ],
  ],
  ["a domain", { addressType: "FQDN", endpoints: [{ addresses: ["example.com"] }] }, []],
]);

tested("policy", "v1", "poddisruptionbudgets", [
  ["both", { spec: { minAvailable: 1, maxUnavailable: "5%" } }, ["Invalid spec"]],
  ["numbers", { spec: { minAvailable: -1 } }, ["Invalid spec.minAvailable"]],
  ["percents", { spec: { maxUnavailable: "101%" } }, ["Invalid spec.maxUnavailable"]],
  ["words", { spec: { maxUnavailable: "half" } }, ["Invalid spec.maxUnavailable"]],
]);

tested(
  "node.k8s.io",
  "v1beta1",
  "runtimeclasses",
  [
    [
      "overhead and tolerations",
      {
        handler: "h",
        overhead: { podFixed: { cpu: "-1" } },
        scheduling: { tolerations: [{ key: "a" }, { key: "a" }] },
      },
      ["Invalid overhead.limits[cpu]", "Duplicate scheduling.tolerations[1]"],
    ],
  ],
  [["another handler", { handler: "i" }, { handler: "h" }, ["Invalid handler"]]],
);
tested("coordination.k8s.io", "v1", "leases", [
  [
    "numbers",
    { spec: { leaseDurationSeconds: 0, leaseTransitions: -1 } },
    ["Invalid spec.leaseDurationSeconds", "Invalid spec.leaseTransitions"],
  ],
]);
const registration = { group: "g", version: "v1", groupPriorityMinimum: 1, versionPriority: 1 };
tested("apiregistration.k8s.io", "v1", "apiservices", [
  [
    "trust without a service",
    { metadata: { name: "v1.g" }, spec: { ...registration, insecureSkipTLSVerify: true, caBundle: "eA==" } },
    ["Invalid spec.caBundle", "Invalid spec.insecureSkipTLSVerify"],
  ],
  [
    "trust twice",
    {
      metadata: { name: "v1.g" },
      spec: { ...registration, service: { name: "s", namespace: "n" }, insecureSkipTLSVerify: true, caBundle: "eA==" },
    },
    ["Invalid spec.insecureSkipTLSVerify"],
  ],
  [
    "a service without a name",
    { metadata: { name: "v1.g" }, spec: { ...registration, service: { port: 0 } } },
    ["Required spec.service.namespace", "Required spec.service.name", "Invalid spec.service.port"],
  ],
]);
