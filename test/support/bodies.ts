// Bodies that are valid, or nearly, for the kinds with the most rules.
const core = "/api/v1/namespaces/default";
const containers = [
  { name: "c", image: "i", ports: [{ containerPort: 80 }], resources: { limits: { cpu: "1", memory: "1Gi" } } },
];
const template = { metadata: { labels: { a: "b" } }, spec: { containers } };
const selector = { matchLabels: { a: "b" } };
/** Paths of kinds, and bodies they take. */
export const kinds: readonly (readonly [path: string, body: Record<string, unknown>])[] = [
  [`${core}/configmaps`, { data: { k: "v" }, binaryData: { b: "AAAA" } }],
  [`${core}/secrets`, { stringData: { k: "v" }, type: "Opaque" }],
  [`${core}/pods`, { spec: { containers, volumes: [{ name: "v", emptyDir: {} }] }, status: { phase: "Running" } }],
  [`${core}/services`, { spec: { ports: [{ port: 80, targetPort: "http" }], selector: { a: "b" } } }],
  [
    `${core}/persistentvolumeclaims`,
    { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } },
  ],
  [`${core}/events`, { involvedObject: { kind: "Pod", namespace: "default" }, count: 1 }],
  ["/api/v1/namespaces", { spec: { finalizers: ["x.example/y"] } }],
  ["/api/v1/nodes", { spec: { podCIDR: "10.0.0.0/24", taints: [{ key: "k", effect: "NoSchedule" }] } }],
  ["/apis/apps/v1/namespaces/default/deployments", { spec: { replicas: 1, selector, template } }],
  ["/apis/apps/v1/namespaces/default/statefulsets", { spec: { serviceName: "s", selector, template } }],
  ["/apis/batch/v1/namespaces/default/jobs", { spec: { template: { spec: { restartPolicy: "Never", containers } } } }],
  [
    "/apis/autoscaling/v2beta2/namespaces/default/horizontalpodautoscalers",
    { spec: { maxReplicas: 2, scaleTargetRef: { kind: "X", name: "x" } } },
  ],
  [
    "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
    { spec: { rules: [{ host: "h", http: { paths: [] } }] } },
  ],
  [
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    { rules: [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }] },
  ],
  [
    "/apis/coordination.k8s.io/v1/namespaces/default/leases",
    { spec: { holderIdentity: "h", renewTime: "2026-01-01T00:00:00.000000Z" } },
  ],
  [
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    { spec: { group: "g.example", names: { plural: "x", kind: "X" }, scope: "Namespaced", versions: [] } },
  ],
];
