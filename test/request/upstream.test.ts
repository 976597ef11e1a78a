// Answers as upstream gives them to the same requests (asked of v1.23.17), one row per class that a differential fuzzer
// found. Every row has a server of its own names: rows do not see one another.
import t from "tap";
import { type InProcess, openInProcess } from "../support/inprocess.ts";
import { signingRequest } from "../support/signing.ts";

type Call = readonly [method: string, path: string, body?: unknown, type?: string];

interface Row {
  readonly why: string;
  readonly calls: readonly Call[];
  /** Of the last answer. */
  readonly code: number;
  /** Parts of its body that must be so; undefined: must not be there. */
  readonly has?: readonly (readonly [path: string, value: unknown])[];
  /** Fields of its causes, in any order. */
  readonly causes?: readonly string[];
  /** Texts of its warnings. */
  readonly warnings?: readonly string[];
  /** Whether its version is another than that of the answer before it. */
  readonly moves?: boolean;
  /** A part of its body that must be there. */
  readonly present?: string;
}

const merge = "application/merge-patch+json";
const apply = "application/apply-patch+yaml";
const core = (resource: string) => `/api/v1/namespaces/default/${resource}`;
const group = (version: string, resource: string) => `/apis/${version}/namespaces/default/${resource}`;
const scalers = (version: string) => group(`autoscaling/${version}`, "horizontalpodautoscalers");
const scaler = (name: string, spec: object) => ({
  metadata: { name },
  spec: { scaleTargetRef: { kind: "Deployment", name: "d" }, maxReplicas: 3, ...spec },
});
const cpu = (percent: number) => ({
  type: "Resource",
  resource: { name: "cpu", target: { type: "Utilization", averageUtilization: percent } },
});
const memory = {
  type: "Resource",
  resource: { name: "memory", target: { type: "Utilization", averageUtilization: 50 } },
};
const pods = {
  metadata: { labels: { app: "x" } },
  spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] },
};
const always = { ...pods, spec: { containers: [{ name: "c", image: "i" }] } };
const selector = { matchLabels: { app: "x" } };
const partial = "PartialObjectMetadataList";
const strategic = "application/strategic-merge-patch+json";
const mixed = [
  { name: "a", port: 80 },
  { name: "b", port: 81, protocol: "UDP" },
];
const claim = {
  metadata: { name: "pc1" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
};
const twice = {
  spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i", env: [{ name: "A" }, { name: "A" }] }] },
};

const asked = Buffer.from(await signingRequest("CN=dev")).toString("base64");

const rows: readonly Row[] = [
  {
    why: "an autoscaler of v1 without a target aims at 80 %, and its creator owns that",
    calls: [["POST", `${scalers("v1")}?fieldManager=m`, scaler("h1", {})]],
    code: 201,
    has: [
      ["spec.targetCPUUtilizationPercentage", 80],
      ["metadata.managedFields.0.fieldsV1.f:spec.f:targetCPUUtilizationPercentage", {}],
    ],
  },
  {
    why: "an apply of v1 that names no target aims at 80 %, and owns nothing of it",
    calls: [
      [
        "PATCH",
        `${scalers("v1")}/h2?fieldManager=m`,
        { apiVersion: "autoscaling/v1", kind: "HorizontalPodAutoscaler", ...scaler("h2", {}) },
        apply,
      ],
    ],
    code: 201,
    has: [
      ["spec.targetCPUUtilizationPercentage", 80],
      ["metadata.managedFields.0.fieldsV1.f:spec.f:targetCPUUtilizationPercentage", undefined],
    ],
  },
  {
    why: "of several shares of CPU the first is kept, behind all other metrics",
    calls: [["POST", scalers("v2"), scaler("h3", { metrics: [cpu(50), memory, cpu(60)] })]],
    code: 201,
    has: [["spec.metrics", [memory, cpu(50)]]],
  },
  {
    why: "metrics in the annotation of v1 are no reason to aim at CPU",
    calls: [
      ["POST", scalers("v2"), scaler("h4", { metrics: [memory] })],
      ["PATCH", `${scalers("v1")}/h4`, { spec: { maxReplicas: 5 } }, merge],
    ],
    code: 200,
    has: [["spec.targetCPUUtilizationPercentage", undefined]],
  },
  {
    why: "scaling to nothing takes a metric of something else, and the gate",
    calls: [["POST", scalers("v1"), scaler("h5", { minReplicas: 0 })]],
    code: 422,
    causes: ["spec.minReplicas", "spec.metrics"],
  },
  {
    why: "a service that is a name has the default for traffic inside, too",
    calls: [
      ["POST", core("services"), { metadata: { name: "s1" }, spec: { type: "ExternalName", externalName: "a.b" } }],
    ],
    code: 201,
    has: [["spec.internalTrafficPolicy", "Cluster"]],
  },
  {
    why: "claims of a stateful set say what they are",
    calls: [
      [
        "POST",
        group("apps/v1", "statefulsets"),
        {
          metadata: { name: "t1" },
          spec: {
            serviceName: "s",
            selector,
            template: always,
            volumeClaimTemplates: [
              {
                metadata: { name: "v" },
                spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
              },
            ],
          },
        },
      ],
    ],
    code: 201,
    has: [
      ["spec.volumeClaimTemplates.0.kind", "PersistentVolumeClaim"],
      ["spec.volumeClaimTemplates.0.apiVersion", "v1"],
    ],
  },
  {
    why: "a new job without labels of its own has those its pods get",
    calls: [["POST", group("batch/v1", "jobs"), { metadata: { name: "j1" }, spec: { template: pods } }]],
    code: 201,
    has: [
      ["metadata.labels.app", "x"],
      ["metadata.labels.job-name", "j1"],
    ],
  },
  {
    why: "a new job with labels of its own keeps to them",
    calls: [
      ["POST", group("batch/v1", "jobs"), { metadata: { name: "j2", labels: { app: "x" } }, spec: { template: pods } }],
    ],
    code: 201,
    has: [["metadata.labels", { app: "x" }]],
  },
  {
    why: "an annotation that stands for a field is no part of the metadata shown alone",
    calls: [
      ["POST", group("apps/v1", "daemonsets"), { metadata: { name: "d1" }, spec: { selector, template: always } }],
      ["GET", `${group("apps/v1", "daemonsets")}/d1`, undefined, "PartialObjectMetadata"],
    ],
    code: 200,
    has: [["metadata.annotations", undefined]],
  },
  {
    why: "an autoscaler's conditions are no part of the metadata of a list",
    calls: [
      ["POST", scalers("v2"), scaler("h6", { metrics: [memory] })],
      ["GET", `${scalers("v2")}?fieldSelector=metadata.name=h6`, undefined, partial],
    ],
    code: 200,
    has: [["items.0.metadata.annotations", undefined]],
  },
  {
    why: "the rules of a role run twice on a change",
    calls: [
      ["POST", group("rbac.authorization.k8s.io/v1", "roles"), { metadata: { name: "r1" }, rules: [] }],
      [
        "PATCH",
        `${group("rbac.authorization.k8s.io/v1", "roles")}/r1`,
        { rules: [{ resources: ["pods"], verbs: ["get"] }] },
        merge,
      ],
    ],
    code: 422,
    causes: ["rules[0].apiGroups", "rules[0].apiGroups"],
  },
  {
    why: "the name of a new disruption budget is looked at when all else is well",
    calls: [
      ["POST", group("policy/v1", "poddisruptionbudgets"), { metadata: { name: "UP" }, spec: { minAvailable: -1 } }],
    ],
    code: 422,
    causes: ["spec.minAvailable"],
  },
  {
    why: "an immutable config map without data may change its labels, also by an apply that names data",
    calls: [
      ["POST", core("configmaps"), { metadata: { name: "c1" }, immutable: true }],
      ["PATCH", `${core("configmaps")}/c1`, { metadata: { labels: { a: "b" } } }, merge],
      [
        "PATCH",
        `${core("configmaps")}/c1?fieldManager=m`,
        { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c1" }, data: null },
        apply,
      ],
    ],
    code: 200,
    has: [["metadata.managedFields.0.fieldsV1.f:data", {}]],
  },
  {
    why: "two appliers of nothing under one name conflict",
    calls: ["m1", "m2"].map((manager) => [
      "PATCH",
      `${core("configmaps")}/c2?fieldManager=${manager}`,
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c2" }, data: null },
      apply,
    ]),
    code: 409,
    causes: [".data"],
  },
  {
    why: "a limit range without a name is called by a uid",
    calls: [["POST", core("limitranges"), { metadata: {}, spec: { limits: [] } }]],
    code: 201,
  },
  {
    why: "a dry run of a create does not look at the version",
    calls: [["POST", `${core("configmaps")}?dryRun=All`, { metadata: { name: "c3", resourceVersion: "7" } }]],
    code: 201,
    has: [["metadata.resourceVersion", "7"]],
  },
  {
    why: "selectors are read before options are checked together",
    calls: [["GET", `${core("configmaps")}?resourceVersionMatch=Exact&labelSelector=%2C`]],
    code: 400,
  },
  {
    why: "options are checked together before fields are looked up",
    calls: [["GET", `${core("configmaps")}?resourceVersionMatch=Exact&fieldSelector=no=1`]],
    code: 422,
    causes: ["resourceVersionMatch"],
  },
  {
    why: "a deletecollection reads its selectors before its options",
    calls: [["DELETE", `${core("configmaps")}?fieldSelector=no=1`, { propagationPolicy: "Bad" }]],
    code: 400,
  },
  {
    why: "a kind without namespaces that names its fields is not selected by namespace",
    calls: [["GET", "/apis/certificates.k8s.io/v1/certificatesigningrequests?fieldSelector=metadata.namespace=a"]],
    code: 400,
  },
  {
    why: "a signing request's name is looked at where all else is well",
    calls: [
      ["POST", "/apis/certificates.k8s.io/v1/certificatesigningrequests", { metadata: { name: "a%b" }, spec: {} }],
    ],
    code: 422,
    causes: ["spec.request", "spec.signerName", "spec.usages"],
  },
  {
    why: "bytes of a strategic patch that are not base64 are told of with where they were read",
    calls: [
      ["POST", core("configmaps"), { metadata: { name: "b64" } }],
      ["PATCH", `${core("configmaps")}/b64`, { binaryData: { b: " " } }, strategic],
    ],
    code: 422,
    has: [
      [
        "message",
        ' "" is invalid: patch: Invalid value: "map[binaryData:map[b: ]]": error decoding from json: illegal base64 data at input byte 0',
      ],
    ],
  },
  {
    why: "an apply to an object without owners whose items cannot be told apart names the object",
    calls: [
      ["POST", core("configmaps"), { metadata: { name: "twf", finalizers: ["a.b/f", "a.b/f"] } }],
      [
        "PATCH",
        `${core("configmaps")}/twf?fieldManager=m`,
        { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "twf" } },
        apply,
      ],
    ],
    // Upstream: 500.
    code: 400,
    has: [
      [
        "message",
        'failed to create manager for existing fields: failed to convert new object (default/twf; /v1, Kind=ConfigMap) to smd typed: .metadata.finalizers: duplicate entries for key [="a.b/f"]',
      ],
    ],
  },
  {
    why: "a condition of a signing request without type or status is told of both",
    calls: [
      [
        "POST",
        "/apis/certificates.k8s.io/v1/certificatesigningrequests",
        { metadata: { name: "cond" }, spec: { request: asked, signerName: "a.b/c", usages: ["client auth"] } },
      ],
      [
        "PATCH",
        "/apis/certificates.k8s.io/v1/certificatesigningrequests/cond/approval",
        { status: { conditions: [{}] } },
        merge,
      ],
    ],
    code: 422,
    causes: ["status.conditions[0].status", "status.conditions[0].type"],
  },
  {
    why: "an endpoint slice with an address that comes twice has no managers",
    calls: [
      [
        "POST",
        group("discovery.k8s.io/v1", "endpointslices"),
        { metadata: { name: "es2" }, addressType: "IPv4", endpoints: [{ addresses: ["1.2.3.4", "1.2.3.4"] }] },
      ],
    ],
    code: 201,
    has: [["metadata.managedFields", undefined]],
  },
  {
    why: "a page ends with a token where anything follows, whether it matches or not",
    calls: [
      ["POST", group("coordination.k8s.io/v1", "leases"), { metadata: { name: "l1", labels: { a: "b" } } }],
      ["POST", group("coordination.k8s.io/v1", "leases"), { metadata: { name: "l2" } }],
      ["GET", `${group("coordination.k8s.io/v1", "leases")}?limit=1&labelSelector=a=b`],
    ],
    code: 200,
    has: [["metadata.remainingItemCount", undefined]],
    present: "metadata.continue",
  },
  {
    why: "addresses of a slice are checked as addresses and as usable ones",
    calls: [
      [
        "POST",
        group("discovery.k8s.io/v1", "endpointslices"),
        { metadata: { name: "e1" }, addressType: "IPv4", endpoints: [{ addresses: ["*"] }] },
      ],
    ],
    code: 422,
    causes: ["endpoints[0].addresses[0]", "endpoints[0].addresses[0]"],
  },
  {
    why: "names in a slice have two labels",
    calls: [
      [
        "POST",
        group("discovery.k8s.io/v1", "endpointslices"),
        { metadata: { name: "e2" }, addressType: "FQDN", endpoints: [{ addresses: ["", "a", "a.b", "a.b."] }] },
      ],
    ],
    code: 422,
    causes: ["endpoints[0].addresses[0]", "endpoints[0].addresses[1]"],
  },
  {
    why: "a strategic patch is applied whatever kind it names",
    calls: [
      ["POST", core("secrets"), { metadata: { name: "s2" } }],
      ["PATCH", `${core("secrets")}/s2`, { kind: "Other", apiVersion: "150%" }, strategic],
    ],
    code: 200,
    has: [["kind", "Secret"]],
  },
  {
    why: "a patched document without a version has no name",
    calls: [
      ["POST", core("secrets"), { metadata: { name: "s3" } }],
      ["PATCH", `${core("secrets")}/s3`, { apiVersion: null }, merge],
    ],
    code: 400,
    has: [["message", "the name of the object (s3 based on URL) was undeterminable: name must be provided"]],
  },
  {
    why: "a patch is read when there is an object",
    calls: [["PATCH", `${core("secrets")}/none`, "{", merge]],
    code: 404,
  },
  {
    why: "what is no patch and has no body is not acceptable",
    calls: [["PATCH", `${core("secrets")}/none`, "", "text/plain"]],
    code: 406,
  },
  {
    why: "a quota's spec is checked once on a change",
    calls: [
      ["POST", core("resourcequotas"), { metadata: { name: "q1" }, spec: { hard: { pods: "1" } } }],
      ["PATCH", `${core("resourcequotas")}/q1`, { spec: { hard: { Pods: "1" } } }, merge],
    ],
    code: 422,
    causes: ["spec.hard[Pods]", "spec.hard[Pods]"],
  },
  {
    why: "selectors of an aggregation are refused in their parts and as a whole",
    calls: [
      [
        "POST",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        { metadata: { name: "r2" }, aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: "b/c/d" } }] } },
      ],
    ],
    code: 422,
    causes: ["aggregationRule.clusterRoleSelectors[0]", "aggregationRule.clusterRoleSelectors[0].matchLabels"],
  },
  {
    why: "a balancer that mixes protocols already may go on",
    calls: [
      ["POST", core("services"), { metadata: { name: "s4" }, spec: { type: "NodePort", ports: mixed } }],
      ["PATCH", `${core("services")}/s4`, { spec: { type: "LoadBalancer" } }, merge],
    ],
    code: 200,
  },
  {
    why: "a new balancer may not mix protocols",
    calls: [["POST", core("services"), { metadata: { name: "s5" }, spec: { type: "LoadBalancer", ports: mixed } }]],
    code: 422,
    causes: ["spec.ports"],
  },
  {
    why: "the address of a pod stands in its list of addresses, and its writer owns both",
    calls: [
      ["POST", core("serviceaccounts"), { metadata: { name: "default" } }],
      ["POST", core("pods"), { metadata: { name: "p1" }, spec: { containers: [{ name: "c", image: "i" }] } }],
      ["PATCH", `${core("pods")}/p1/status?fieldManager=m`, { status: { podIP: "1.2.3.4" } }, merge],
    ],
    code: 200,
    has: [
      ["status.podIPs", [{ ip: "1.2.3.4" }]],
      [
        "metadata.managedFields.0.fieldsV1.f:status.f:podIPs",
        { ".": {}, 'k:{"ip":"1.2.3.4"}': { ".": {}, "f:ip": {} } },
      ],
    ],
  },
  {
    why: "names that come twice in a template are warned of",
    calls: [
      [
        "POST",
        group("apps/v1", "deployments"),
        {
          metadata: { name: "w1" },
          spec: {
            selector,
            template: {
              ...always,
              spec: {
                hostAliases: [{ ip: "1.2.3.4" }, { ip: "1.2.3.4" }],
                nodeSelector: { "beta.kubernetes.io/os": "linux" },
                containers: [{ name: "c", image: "i", env: [{ name: "A" }, { name: "A" }] }],
              },
            },
          },
        },
      ],
    ],
    code: 201,
    warnings: [
      'spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use \\"kubernetes.io/os\\" instead',
      'spec.template.spec.hostAliases[1].ip: duplicate ip \\"1.2.3.4\\"',
      'spec.template.spec.containers[0].env[1].name: duplicate name \\"A\\"',
    ],
  },
  {
    why: "a change that leaves the spec alone repeats no warning",
    calls: [
      [
        "POST",
        group("batch/v1", "cronjobs"),
        {
          metadata: { name: "w2" },
          spec: { schedule: "TZ=UTC 1 * * * *", jobTemplate: { spec: { template: twice } } },
        },
      ],
      ["PATCH", `${group("batch/v1", "cronjobs")}/w2`, { metadata: { labels: { a: "b" } } }, merge],
    ],
    code: 200,
    warnings: [
      "CRON_TZ or TZ used in spec.spec.schedule is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details",
    ],
  },
  {
    why: "a patch of a size without an owner leaves it so",
    calls: [
      [
        "PATCH",
        `${group("apps/v1", "deployments")}/w3?fieldManager=m`,
        { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "w3" }, spec: { selector, template: always } },
        apply,
      ],
      ["PATCH", `${group("apps/v1", "deployments")}/w3/scale?fieldManager=n`, { spec: { replicas: 3 } }, merge],
      ["GET", `${group("apps/v1", "deployments")}/w3`],
    ],
    code: 200,
    has: [
      ["spec.replicas", 3],
      ["metadata.managedFields.1", undefined],
    ],
  },
  {
    why: "the first change of a claim counts, also when it changes nothing",
    calls: [
      ["POST", core("persistentvolumeclaims"), claim],
      ["PATCH", `${core("persistentvolumeclaims")}/pc1`, { metadata: { labels: null } }, merge],
    ],
    code: 200,
    moves: true,
  },
  {
    why: "the second change of a claim that changes nothing does not count",
    calls: [
      ["PATCH", `${core("persistentvolumeclaims")}/pc1`, { metadata: { labels: null } }, merge],
      ["PATCH", `${core("persistentvolumeclaims")}/pc1`, { metadata: { labels: null } }, merge],
    ],
    code: 200,
    moves: false,
  },
  {
    why: "a port of a service keeps its node port by its name",
    calls: [
      [
        "POST",
        core("services"),
        { metadata: { name: "s6" }, spec: { type: "NodePort", ports: [{ name: "a", port: 80, nodePort: 30123 }] } },
      ],
      [
        "PUT",
        `${core("services")}/s6`,
        { metadata: { name: "s6" }, spec: { type: "NodePort", ports: [{ name: "a", port: 81 }] } },
      ],
    ],
    code: 200,
    has: [["spec.ports.0.nodePort", 30123]],
  },
  {
    why: "the old version of a slice tells its node among its topology",
    calls: [
      [
        "POST",
        group("discovery.k8s.io/v1beta1", "endpointslices"),
        { metadata: { name: "e3" }, addressType: "IPv4", endpoints: [{ addresses: ["1.2.3.4"], nodeName: "n" }] },
      ],
    ],
    code: 201,
    has: [["endpoints.0.topology", { "kubernetes.io/hostname": "n" }]],
  },
  {
    why: "a new job whose template has no labels has those its pods get",
    calls: [["POST", group("batch/v1", "jobs"), { metadata: { name: "j3" }, spec: { template: twice } }]],
    code: 201,
    has: [["metadata.labels.job-name", "j3"]],
  },
  {
    why: "an empty list that was sent is owned",
    calls: [["POST", core("limitranges"), { metadata: { name: "lr" }, spec: { limits: [] } }]],
    code: 201,
    has: [["metadata.managedFields.0.fieldsV1", { "f:spec": { "f:limits": {} } }]],
  },
  {
    why: "debugging containers that are applied have no owner",
    calls: [
      [
        "PATCH",
        `${core("pods")}/p1/ephemeralcontainers?fieldManager=q&force=true`,
        {
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name: "p1" },
          spec: { ephemeralContainers: [{ name: "d", image: "i" }] },
        },
        apply,
      ],
    ],
    code: 200,
    has: [["metadata.managedFields.2", undefined]],
  },
  {
    why: "a dry run of a create shows the version that was sent, also where another version is stored",
    calls: [
      [
        "POST",
        `${group("policy/v1", "poddisruptionbudgets")}?dryRun=All`,
        { metadata: { name: "b1", resourceVersion: "7" }, spec: { minAvailable: 1 } },
      ],
    ],
    code: 201,
    has: [["metadata.resourceVersion", "7"]],
  },
  {
    why: "a patched document of another kind without a version is refused for its kind",
    calls: [
      ["POST", core("secrets"), { metadata: { name: "s7" } }],
      ["PATCH", `${core("secrets")}/s7`, { apiVersion: null, kind: "Other" }, merge],
    ],
    code: 422,
    causes: ["patch"],
  },
  {
    why: "a size that is patched to zero has no owner",
    calls: [
      [
        "POST",
        group("apps/v1", "deployments"),
        { metadata: { name: "w4" }, spec: { replicas: 3, selector, template: always } },
      ],
      ["PATCH", `${group("apps/v1", "deployments")}/w4/scale?fieldManager=n`, { spec: { replicas: 0 } }, merge],
      ["GET", `${group("apps/v1", "deployments")}/w4`],
    ],
    code: 200,
    has: [
      ["spec.replicas", 0],
      ["metadata.managedFields.1", undefined],
    ],
  },
  {
    why: "a service that is a name no longer keeps the name",
    calls: [
      ["POST", core("services"), { metadata: { name: "s8" }, spec: { type: "ExternalName", externalName: "a.b" } }],
      ["PATCH", `${core("services")}/s8`, { spec: { type: "ClusterIP", ports: [{ port: 80 }] } }, merge],
    ],
    code: 200,
    has: [["spec.externalName", "a.b"]],
  },
  {
    why: "a service that needs no node ports any more gives them up, whatever ports come and go",
    calls: [
      [
        "POST",
        core("services"),
        { metadata: { name: "s9" }, spec: { type: "NodePort", ports: [{ name: "a", port: 80 }] } },
      ],
      ["PATCH", `${core("services")}/s9`, { spec: { type: "ClusterIP", ports: [{ name: "b", port: 81 }] } }, strategic],
    ],
    code: 200,
    has: [["spec.ports.0.nodePort", undefined]],
  },
  {
    why: "a strategic patch makes null of empty bytes: its manager owns them",
    calls: [
      ["POST", `${core("secrets")}?fieldManager=a`, { metadata: { name: "n1" }, data: { e: "", f: "eA==" } }],
      ["PATCH", `${core("secrets")}/n1?fieldManager=m`, { metadata: { labels: { a: "b" } } }, strategic],
    ],
    code: 200,
    moves: true,
    has: [
      ["data.e", ""],
      ["metadata.managedFields.1.manager", "m"],
      ["metadata.managedFields.1.fieldsV1.f:data", { "f:e": {} }],
    ],
  },
  {
    why: "a write after which bytes are null counts although it changes nothing",
    calls: [
      ["POST", core("configmaps"), { metadata: { name: "n2" }, binaryData: { e: "" } }],
      ["PATCH", `${core("configmaps")}/n2?fieldManager=m`, {}, strategic],
      ["PATCH", `${core("configmaps")}/n2?fieldManager=m`, {}, strategic],
    ],
    code: 200,
    moves: true,
  },
  {
    why: "the write after bytes that were null counts although it changes nothing",
    calls: [
      ["POST", core("secrets"), { metadata: { name: "n3" }, data: { e: "" } }],
      ["PATCH", `${core("secrets")}/n3`, {}, strategic],
      ["PATCH", `${core("secrets")}/n3`, {}, merge],
    ],
    code: 200,
    moves: true,
    has: [["data.e", ""]],
  },
  {
    why: "the write after bytes that are only empty counts for nothing",
    calls: [
      ["POST", core("secrets"), { metadata: { name: "n4" }, data: { e: "" } }],
      ["PATCH", `${core("secrets")}/n4`, {}, strategic],
      ["PATCH", `${core("secrets")}/n4`, {}, merge],
      ["PATCH", `${core("secrets")}/n4`, {}, merge],
    ],
    code: 200,
    moves: false,
  },
  {
    why: "an immutable secret with empty bytes takes no strategic patch",
    calls: [
      ["POST", core("secrets"), { metadata: { name: "n5" }, immutable: true, data: { e: "" } }],
      ["PATCH", `${core("secrets")}/n5`, { metadata: { labels: { a: "b" } } }, strategic],
    ],
    code: 422,
    causes: ["data"],
  },
  {
    why: "an immutable secret with empty bytes takes a merge patch",
    calls: [
      ["POST", core("secrets"), { metadata: { name: "n6" }, immutable: true, data: { e: "" } }],
      ["PATCH", `${core("secrets")}/n6`, { metadata: { labels: { a: "b" } } }, merge],
    ],
    code: 200,
  },
  {
    why: "a dry run shows empty bytes as they would be read",
    calls: [
      [
        "PATCH",
        `${core("secrets")}/n7?fieldManager=m&dryRun=All`,
        { apiVersion: "v1", kind: "Secret", metadata: { name: "n7" }, data: { e: "" } },
        apply,
      ],
    ],
    code: 201,
    has: [["data.e", ""]],
  },
  {
    why: "a list of nothing but metadata does not count what is left",
    calls: [
      ["POST", core("podtemplates"), { metadata: { name: "p1" }, template: always }],
      ["POST", core("podtemplates"), { metadata: { name: "p2" }, template: always }],
      ["GET", `${core("podtemplates")}?limit=1`, undefined, partial],
    ],
    code: 200,
    has: [["metadata.remainingItemCount", undefined]],
    present: "metadata.continue",
  },
  {
    why: "a PUT that would create reads the version it goes without",
    calls: [
      [
        "PUT",
        `${group("coordination.k8s.io/v1", "leases")}/l3`,
        { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "l3", resourceVersion: "abc" } },
      ],
    ],
    code: 400,
  },
  {
    why: "a dry run shows an address and ports that no service gets",
    calls: [
      [
        "POST",
        `${core("services")}?dryRun=All`,
        {
          metadata: { name: "s10" },
          spec: {
            type: "NodePort",
            ports: [
              { name: "a", port: 80 },
              { name: "b", port: 81 },
            ],
          },
        },
      ],
    ],
    code: 201,
    has: [
      ["spec.clusterIP", "10.0.0.0"],
      ["spec.ports.0.nodePort", 32_769],
      ["spec.ports.1.nodePort", 32_770],
    ],
  },
  {
    why: "an empty list that is sent for none is owned, where none is written, too",
    calls: [
      ["POST", group("rbac.authorization.k8s.io/v1", "roles"), { metadata: { name: "r1" }, rules: null }],
      [
        "PATCH",
        `${group("rbac.authorization.k8s.io/v1", "roles")}/r1?fieldManager=m`,
        { apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", metadata: { name: "r1", labels: { a: "b" } } },
        apply,
      ],
      [
        "PATCH",
        `${group("rbac.authorization.k8s.io/v1", "roles")}/r1?fieldManager=n`,
        [{ op: "add", path: "/rules", value: [] }],
        "application/json-patch+json",
      ],
    ],
    code: 200,
    moves: true,
    has: [["metadata.managedFields.1.fieldsV1.f:rules", {}]],
  },
];

function at(value: unknown, path: string): unknown {
  let here = value;
  for (const key of path.split(".")) {
    if (typeof here !== "object" || here === null || !Object.hasOwn(here, key)) return undefined;
    here = (here as Record<string, unknown>)[key];
  }
  return here;
}

async function answer(server: InProcess, calls: readonly Call[]) {
  let last: Awaited<ReturnType<InProcess["call"]>> | undefined;
  let before: unknown;
  for (const [method, path, body, type] of calls) {
    const headers: Record<string, string> =
      method === "GET" && type !== undefined
        ? { accept: `application/json;as=${type};g=meta.k8s.io;v=v1` }
        : { "content-type": type ?? "application/json" };
    before = last?.json?.metadata?.resourceVersion;
    last = await server.call(method, path, body, headers);
  }
  return { last, moved: before !== last?.json?.metadata?.resourceVersion };
}

t.test("requests are answered as upstream answers them", async (t) => {
  const server = await openInProcess();
  t.teardown(() => server.close());
  for (const { why, calls, code, has = [], causes, warnings, present, moves } of rows) {
    const { last, moved } = await answer(server, calls);
    t.equal(last?.code, code, `${why}: ${last?.text}`);
    for (const [path, value] of has) t.same(at(last?.json, path), value, `${why}: ${path}`);
    const fields = last?.json?.details?.causes?.map((cause: { field?: string }) => cause.field ?? "") ?? [];
    if (present !== undefined) t.not(at(last?.json, present), undefined, `${why}: ${present}`);
    const told = last?.headers.filter(([name]) => name === "Warning").map(([, text]) => text.slice(7, -1));
    if (warnings !== undefined) t.strictSame(told, warnings, why);
    if (moves !== undefined) t.equal(moved, moves, why);
    if (causes !== undefined) t.strictSame(fields.sort(), [...causes].sort(), why);
  }
});
