// A monitoring server: the whole of a pod within, and every protocol it speaks.
import {
  age,
  anything,
  cel,
  column,
  conditions,
  duration,
  flag,
  inlined,
  integer,
  intOrString,
  type Json,
  keyed,
  list,
  mapOf,
  object,
  quantity,
  text,
} from "./parts.ts";
import type { Shape } from "./shape.ts";

const names = {
  group: "monitoring.example.dev",
  kind: "Prometheus",
  plural: "prometheuses",
  shortNames: ["prom"],
  categories: ["prometheus-operator"],
};
const pod = inlined("core/v1.PodSpec")["properties"] as Record<string, Json>;
const keySelector = object({ key: text(), name: text({ default: "" }), optional: flag() }, ["key"], {
  "x-kubernetes-map-type": "atomic",
});
const either = object({ configMap: keySelector, secret: keySelector });
const tls = object({
  ca: either,
  caFile: text(),
  cert: either,
  certFile: text(),
  insecureSkipVerify: flag(),
  keyFile: text(),
  keySecret: keySelector,
  maxVersion: text({ enum: ["TLS10", "TLS11", "TLS12", "TLS13"] }),
  minVersion: text({ enum: ["TLS10", "TLS11", "TLS12", "TLS13"] }),
  serverName: text(),
});
const basicAuth = object({ password: keySelector, username: keySelector });
const authorization = object({ credentials: keySelector, credentialsFile: text(), type: text() });
const oauth2 = object(
  {
    clientId: either,
    clientSecret: keySelector,
    endpointParams: mapOf(text()),
    scopes: list(text()),
    tlsConfig: tls,
    tokenUrl: text({ minLength: 1 }),
  },
  ["clientId", "clientSecret", "tokenUrl"],
);
const size = text({ pattern: "(^0|([0-9]*[.])?[0-9]+((K|M|G|T|E|P)i?)?B)$" });
const labelSelector = inlined("meta/v1.LabelSelector");
const relabel = object({
  action: text({
    enum: ["replace", "Replace", "keep", "Keep", "drop", "Drop", "hashmod", "HashMod", "labelmap", "LabelMap"],
    default: "replace",
  }),
  modulus: integer({ format: "int64" }),
  regex: text(),
  replacement: text(),
  separator: text(),
  sourceLabels: list(text({ pattern: "^[a-zA-Z_][a-zA-Z0-9_]*$" })),
  targetLabel: text(),
});
const http = {
  authorization,
  basicAuth,
  bearerToken: text(),
  bearerTokenFile: text(),
  oauth2,
  tlsConfig: tls,
  proxyUrl: text(),
  enableHTTP2: flag(),
  followRedirects: flag(),
};
const remote = (more: Json): Json =>
  object(
    { ...http, name: text(), url: text({ minLength: 1 }), remoteTimeout: duration, headers: mapOf(text()), ...more },
    ["url"],
  );
const claim = { ...inlined("core/v1.PersistentVolumeClaim") };
claim["x-kubernetes-embedded-resource"] = true;
claim["properties"] = {
  ...(claim["properties"] as Json),
  metadata: { type: "object", properties: { name: text(), labels: mapOf(text()), annotations: mapOf(text()) } },
};
delete (claim["properties"] as Json)["status"];
const kept = [
  "affinity",
  "containers",
  "imagePullSecrets",
  "initContainers",
  "securityContext",
  "tolerations",
  "topologySpreadConstraints",
  "volumes",
  "hostAliases",
  "nodeSelector",
  "priorityClassName",
  "serviceAccountName",
];
const fromPod = Object.fromEntries(kept.map((name) => [name, pod[name] as Json]));
const containers = pod["containers"] as Json;
const container = containers["items"] as Json;
const spec = object(
  {
    ...fromPod,
    resources: (container["properties"] as Json)["resources"],
    volumeMounts: (container["properties"] as Json)["volumeMounts"],
    additionalAlertManagerConfigs: keySelector,
    additionalArgs: list(object({ name: text({ minLength: 1 }), value: text() }, ["name"])),
    alerting: object(
      {
        alertmanagers: list(
          object(
            {
              ...http,
              apiVersion: text({ enum: ["v1", "V1", "v2", "V2"] }),
              name: text({ minLength: 1 }),
              namespace: text(),
              pathPrefix: text(),
              port: intOrString,
              scheme: text({ enum: ["http", "https"] }),
              timeout: duration,
              alertRelabelings: list(relabel),
              relabelings: list(relabel),
            },
            ["name", "port"],
          ),
        ),
      },
      ["alertmanagers"],
    ),
    apiserverConfig: object({ ...http, host: text() }, ["host"]),
    enforcedBodySizeLimit: size,
    evaluationInterval: { ...duration, default: "30s" },
    extra: anything,
    externalLabels: mapOf(text()),
    image: text(),
    logLevel: text({ enum: ["", "debug", "info", "warn", "error"] }),
    paused: flag(),
    podMetadata: object({ annotations: mapOf(text()), labels: mapOf(text()), name: text() }),
    podMonitorSelector: labelSelector,
    portName: text({ default: "web" }),
    remoteRead: list(remote({ readRecent: flag(), requiredMatchers: mapOf(text()), filterExternalLabels: flag() })),
    remoteWrite: list(
      remote({
        metadataConfig: object({ send: flag(), sendInterval: duration }),
        queueConfig: object({
          batchSendDeadline: duration,
          capacity: integer(),
          maxBackoff: duration,
          maxRetries: integer(),
          maxSamplesPerSend: integer(),
          maxShards: integer(),
          minBackoff: duration,
          minShards: integer(),
        }),
        sendExemplars: flag(),
        sigv4: object({
          accessKey: keySelector,
          profile: text(),
          region: text(),
          roleArn: text(),
          secretKey: keySelector,
        }),
        writeRelabelConfigs: list(relabel),
      }),
    ),
    replicas: integer({ format: "int32", minimum: 0, default: 1 }),
    retention: duration,
    retentionSize: size,
    scrapeClasses: keyed(
      object(
        {
          ...http,
          name: text({ minLength: 1 }),
          default: flag(),
          relabelings: list(relabel),
          metricRelabelings: list(relabel),
        },
        ["name"],
      ),
      ["name"],
    ),
    scrapeInterval: { ...duration, default: "30s" },
    serviceMonitorNamespaceSelector: labelSelector,
    serviceMonitorSelector: labelSelector,
    shards: integer({ format: "int32" }),
    storage: object({
      disableMountSubPath: flag(),
      emptyDir: object({ medium: text(), sizeLimit: quantity }),
      ephemeral: object({ volumeClaimTemplate: anything }),
      volumeClaimTemplate: claim,
    }),
    thanos: object({
      image: text(),
      resources: (container["properties"] as Json)["resources"],
      objectStorageConfig: keySelector,
      grpcServerTlsConfig: tls,
      logLevel: text(),
      volumeMounts: (container["properties"] as Json)["volumeMounts"],
    }),
    tsdb: object({ outOfOrderTimeWindow: duration }),
    version: text(),
    web: object({
      httpConfig: object({
        headers: object({ contentSecurityPolicy: text(), xFrameOptions: text({ enum: ["", "Deny", "SameOrigin"] }) }),
        http2: flag(),
      }),
      maxConnections: integer({ format: "int32", minimum: 0 }),
      tlsConfig: tls,
    }),
  },
  [],
  { "x-kubernetes-validations": [cel("!has(self.retention) || size(self.retention) < 20", "retention is too long")] },
);
const shard = object(
  {
    availableReplicas: integer({ format: "int32" }),
    replicas: integer({ format: "int32" }),
    shardID: text(),
    unavailableReplicas: integer({ format: "int32" }),
    updatedReplicas: integer({ format: "int32" }),
  },
  ["shardID"],
);
const status = object({
  availableReplicas: integer({ format: "int32" }),
  conditions: conditions({ maxItems: undefined }),
  paused: flag(),
  replicas: integer({ format: "int32" }),
  selector: text(),
  shardStatuses: keyed(shard, ["shardID"]),
  unavailableReplicas: integer({ format: "int32" }),
});
const columns = [
  column("Version", ".spec.version", "string"),
  column("Desired", ".spec.replicas", "integer"),
  column("Ready", ".status.availableReplicas", "integer"),
  column("Reconciled", ".status.conditions[?(@.type == 'Reconciled')].status"),
  age,
  column("Paused", ".status.paused", "boolean", { priority: 1 }),
];
const scale = {
  specReplicasPath: ".spec.replicas",
  statusReplicasPath: ".status.replicas",
  labelSelectorPath: ".status.selector",
};

/** A kind of monitoring servers. */
export const monitors: Shape = {
  names,
  scope: "Namespaced",
  versions: ["v1"],
  subresources: { status: {}, scale },
  spec,
  status,
  printed: columns,
  words: 30,
  object: (name, number) => ({
    version: `v2.${number}.0`,
    retention: "15d",
    containers: [
      {
        name: "proxy",
        image: "proxy:1",
        ports: [{ containerPort: 8443, name: "https" }],
        resources: { limits: { cpu: 1, memory: "64Mi" } },
      },
    ],
    affinity: {
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 100, podAffinityTerm: { topologyKey: "zone", labelSelector: { matchLabels: { app: name } } } },
        ],
      },
    },
    alerting: { alertmanagers: [{ name: "main", namespace: "default", port: number % 2 === 0 ? "web" : 9093 }] },
    remoteWrite: [
      {
        url: "https://example.com/write",
        queueConfig: { capacity: 100 },
        writeRelabelConfigs: [{ sourceLabels: ["a"], regex: "x" }],
      },
    ],
    serviceMonitorSelector: { matchExpressions: [{ key: "team", operator: "In", values: ["a", "b"] }] },
    storage: {
      volumeClaimTemplate: {
        apiVersion: "v1",
        kind: "PersistentVolumeClaim",
        metadata: { name: "data", labels: { a: "b" } },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "10Gi" } } },
      },
    },
    volumes: [{ name: "extra", configMap: { name: "extra", items: [{ key: "a", path: "b" }] } }],
  }),
  defaults: [
    ["spec.replicas", 1],
    ["spec.portName", "web"],
    ["spec.scrapeInterval", "30s"],
    ["spec.remoteWrite[0].writeRelabelConfigs[0].action", "replace"],
    ["spec.containers[0].ports[0].protocol", "TCP"],
  ],
  unknown: [
    "spec.containers[0].imagePullPolice",
    "spec.affinity.podAntiAffinity.required",
    "spec.storage.volumeClaimTemplate.spec.size",
  ],
  open: [
    ["spec.extra", { any: { thing: [1, "a", { b: null }] } }],
    ["spec.storage.ephemeral", { volumeClaimTemplate: { what: "ever" } }],
    ["spec.storage.volumeClaimTemplate.metadata.annotations", { a: "b" }],
  ],
  faults: [
    [["spec.containers[0].resources.limits.memory", "lots"], "spec.containers.resources.limits.memory", /should match/],
    [
      ["spec.containers[0].ports", [{ containerPort: 80 }, { containerPort: 80 }]],
      "spec.containers[0].ports[1]",
      /Duplicate value: map\[string\]interface \{\}\{"containerPort":80, "protocol":"TCP"\}/,
    ],
    [
      ["spec.alerting.alertmanagers[0].port", 1.5],
      "spec.alerting.alertmanagers.port",
      /must be of type integer,string: "number"/,
    ],
    [
      ["spec.storage.volumeClaimTemplate.kind", ""],
      "spec.storage.volumeClaimTemplate.kind",
      /Invalid value: "": must not be empty/,
    ],
    [
      ["spec.storage.volumeClaimTemplate.metadata.name", "a/b"],
      "spec.storage.volumeClaimTemplate.metadata.name",
      /may not contain '\/'/,
    ],
    [["spec.retention", "two days"], "spec.retention", /should match/],
    [
      [
        "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.topologyKey",
        undefined,
      ],
      "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution.podAffinityTerm.topologyKey",
      /Required value/,
    ],
    [["spec.externalLabels", { a: 1 }], "spec.externalLabels.a", /must be of type string: "integer"/],
  ],
  broken: [[["spec.retention", "1000000000d1000000000h"], "spec", /retention is too long/]],
  list: {
    path: "status.shardStatuses",
    items: [
      { shardID: "0", replicas: 2 },
      { shardID: "1", replicas: 3 },
    ],
    changed: { shardID: "1", replicas: 4 },
  },
  columns: ["VERSION", "DESIRED", "READY", "RECONCILED", "AGE", "PAUSED"],
  explained: "spec.remoteWrite.queueConfig.capacity",
  size: "spec.replicas",
};
