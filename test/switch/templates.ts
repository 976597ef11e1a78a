// Objects that random writes begin with: one of each kind that the snapshot has, further ones where a kind stores more
// than its object, and a definition with its custom resources.
import type { Listed, ListedResource, Listing } from "./listing.ts";

/** JSON of an object, to be changed. */
// biome-ignore lint/suspicious/noExplicitAny: objects of any kind
export type Body = Record<string, any>;

/** A kind that objects are written of. */
export interface Template {
  readonly resource: ListedResource;
  /** Undefined: the kind has none. */
  readonly namespaces: readonly string[] | undefined;
  readonly bodies: readonly Body[];
  /** Strategic merge patches are for built-in kinds. */
  readonly isCustom: boolean;
}

/** Namespaces that hold what is written, and one for what keeps others from being written. */
export const namespaces = ["switch-a", "switch-b"];
const quotaNamespace = "switch-quota";
/** All that a run makes. */
export const allNamespaces = [...namespaces, quotaNamespace];

/** Kinds that more than their own server obeys, or that are written with a definition. */
const leftOut = ["APIService", "CustomResourceDefinition", "Node", "ComponentStatus"];
const limiting = ["ResourceQuota", "LimitRange"];

const port = { port: 80, protocol: "TCP", targetPort: 8080 };
const services: readonly Body[] = [
  { spec: { type: "ClusterIP", selector: { app: "x" }, ports: [{ ...port, name: "a", appProtocol: "http" }] } },
  { spec: { type: "ClusterIP", clusterIP: "None", selector: { app: "x" }, ports: [port] } },
  { spec: { type: "ClusterIP", ipFamilyPolicy: "PreferDualStack", ports: [port], sessionAffinity: "ClientIP" } },
  { spec: { type: "NodePort", ports: [port] } },
  { spec: { type: "NodePort", externalTrafficPolicy: "Local", ports: [{ ...port, name: "a" }] } },
  { spec: { type: "LoadBalancer", externalTrafficPolicy: "Local", ports: [port] } },
  { spec: { type: "LoadBalancer", allocateLoadBalancerNodePorts: false, ports: [port], loadBalancerClass: "x.io/y" } },
  { spec: { type: "ExternalName", externalName: "e.example" } },
];
const secrets: readonly Body[] = [
  { type: "kubernetes.io/basic-auth", data: { username: "dQ==", password: "cA==" } },
  { stringData: { password: "p", empty: "" }, immutable: true },
];
const configMaps: readonly Body[] = [
  { binaryData: { b: "AAEC/w==" }, data: { "a.txt": "line\nline\n", empty: "" } },
  { data: { text: '<é日本🙂>&"\\' }, immutable: true },
];
const legacyEvents: readonly Body[] = [
  {
    involvedObject: { kind: "Pod", name: "p", fieldPath: "spec.containers{c}" },
    reason: "Seen",
    message: "m",
    type: "Warning",
    count: 3,
    firstTimestamp: "2026-01-01T00:00:00Z",
    lastTimestamp: "2026-01-01T00:00:01Z",
    source: { component: "switch", host: "h" },
  },
];
const further: Readonly<Record<string, readonly Body[]>> = {
  "/api/v1/services": services,
  "/api/v1/secrets": secrets,
  "/api/v1/configmaps": configMaps,
  "/api/v1/events": legacyEvents,
};

const schema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        size: { type: "integer", default: 3 },
        ratio: { type: "number" },
        quantity: { anyOf: [{ type: "integer" }, { type: "string" }], "x-kubernetes-int-or-string": true },
        when: { type: "string", format: "date-time" },
        open: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        items: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["name"],
          items: {
            type: "object",
            required: ["name"],
            properties: { name: { type: "string" }, value: { type: "string", nullable: true } },
          },
        },
      },
    },
    status: { type: "object", properties: { replicas: { type: "integer" }, phase: { type: "string" } } },
  },
};

/** A definition with two versions; `n` tells one from the other. */
export function definition(n: number): Body {
  const versionOf = (name: string, storage: boolean) => ({
    name,
    served: true,
    storage,
    schema: { openAPIV3Schema: schema },
    subresources: {
      status: {},
      scale: { specReplicasPath: ".spec.size", statusReplicasPath: ".status.replicas" },
    },
    additionalPrinterColumns: [{ name: "Size", type: "integer", jsonPath: ".spec.size" }],
  });
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `things${n}.switch.example.com` },
    spec: {
      group: "switch.example.com",
      scope: "Namespaced",
      names: { plural: `things${n}`, kind: `Thing${n}` },
      versions: [versionOf("v1", true), versionOf("v1beta1", false)],
    },
  };
}

const things: readonly Body[] = [
  { spec: { ratio: 0.25, quantity: "1Gi", when: "2026-01-01T00:00:00Z", open: { a: [1, 2.5, null, { b: {} }] } } },
  { spec: { size: 12, quantity: 7, ratio: 1e21, items: [{ name: "a", value: "1" }, { name: "b" }] } },
  { spec: { size: 9007199254740991, open: { "": "empty", list: [], map: {} } } },
];

/** What the server alone sets, and what names other objects. */
const setByServer = ["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink"];

/** A listed object as a client would have sent it. */
export function asSent(object: Listed): Body {
  const body = structuredClone(object) as Body;
  for (const name of [...setByServer, "ownerReferences", "namespace"]) delete body["metadata"][name];
  delete body["status"];
  const { spec } = body;
  if (object.kind === "Service") for (const name of ["clusterIP", "clusterIPs", "ipFamilies"]) delete spec[name];
  if (object.kind === "Service") for (const each of spec.ports ?? []) delete each.nodePort;
  if (object.kind === "Pod") body["spec"] = withoutTokens(spec);
  if (object.kind === "ServiceAccount") delete body["secrets"];
  // What the job's controller is to find is made at its create.
  if (object.kind === "Job") {
    delete spec.selector;
    delete spec.template.metadata.labels;
  }
  return body;
}

/** Admission adds the account's token to each pod anew. */
function withoutTokens(spec: Body): Body {
  const volumes = (spec["volumes"] ?? []).filter(({ name }: Body) => !name.startsWith("kube-api-access-"));
  const containers = spec["containers"].map((container: Body) => ({
    ...container,
    volumeMounts: (container["volumeMounts"] ?? []).filter(({ name }: Body) => !name.startsWith("kube-api-access-")),
  }));
  return { ...spec, volumes, containers };
}

/** Templates of every kind in a listing: of objects with the label of the snapshot, which a client wrote. */
export function templatesOf({ resources, objects }: Listing): Template[] {
  const templates: Template[] = [];
  for (const resource of resources) {
    const isWritable = ["create", "patch", "delete"].every((verb) => resource.verbs.includes(verb));
    if (!isWritable || leftOut.includes(resource.kind)) continue;
    const isCustom = resource.apiVersion.includes(".example.com/");
    const found = [...objects].filter(([key]) => key.startsWith(`${resource.path} `)).map(([, object]) => object);
    const written = found.filter((object) => /^one\b|^cm-000|^g0$|^s-/.test(object.metadata.name)).slice(0, 1);
    const bodies = [...written.map(asSent), ...(further[resource.path] ?? [])];
    if (resource.path.includes("/switch.example.com/")) bodies.push(...things);
    if (bodies.length === 0) continue;
    const place = limiting.includes(resource.kind) ? [quotaNamespace] : namespaces;
    templates.push({ resource, namespaces: resource.namespaced ? place : undefined, bodies, isCustom });
  }
  return templates;
}
