// Defaults of the core group: workloads' parts are in pods.ts.
import type {
  ConfigMap,
  Endpoints,
  LimitRangeItem,
  Namespace,
  NamespaceStatus,
  NodeStatus,
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
  ReplicationController,
  Secret,
  Service,
} from "../../api/gen/core/v1.ts";
import type { Identity } from "../../api/identity.ts";
import { copyMap, type DefaultRule, rule } from "./rule.ts";

/** Time to live of sticky sessions. */
const affinitySeconds = 10_800;

/** Rules of core/v1. */
export function coreDefaults(identity: Identity): readonly DefaultRule[] {
  const nameLabel = identity.spell("kubernetes.io/metadata.name");
  return [
    rule<ReplicationController>("core/v1.ReplicationController", (controller) => {
      const labels = controller.spec.template?.metadata.labels;
      if (labels !== undefined) {
        if (!controller.spec.selector?.size) controller.spec.selector = copyMap(labels);
        if (!controller.metadata.labels?.size) controller.metadata.labels = copyMap(labels);
      }
      controller.spec.replicas ??= 1;
    }),
    rule<Service>("core/v1.Service", serviceDefaults),
    rule<Secret>("core/v1.Secret", (secret) => {
      if (!secret.type) secret.type = "Opaque";
    }),
    rule<PersistentVolume>("core/v1.PersistentVolume", ({ spec, status }) => {
      if (!status.phase) status.phase = "Pending";
      if (!spec.persistentVolumeReclaimPolicy) spec.persistentVolumeReclaimPolicy = "Retain";
      spec.volumeMode ??= "Filesystem";
    }),
    rule<PersistentVolumeClaim>("core/v1.PersistentVolumeClaim", ({ status }) => {
      if (!status.phase) status.phase = "Pending";
    }),
    rule<PersistentVolumeClaimSpec>("core/v1.PersistentVolumeClaimSpec", (spec) => {
      spec.volumeMode ??= "Filesystem";
    }),
    rule<Endpoints>("core/v1.Endpoints", ({ subsets }) => {
      for (const subset of subsets ?? []) {
        for (const port of subset.ports ?? []) if (!port.protocol) port.protocol = "TCP";
      }
    }),
    rule<Namespace>("core/v1.Namespace", ({ metadata }) => {
      if (!metadata.name) return;
      metadata.labels ??= new Map();
      metadata.labels.set(nameLabel, metadata.name);
    }),
    rule<NamespaceStatus>("core/v1.NamespaceStatus", (status) => {
      if (!status.phase) status.phase = "Active";
    }),
    rule<NodeStatus>("core/v1.NodeStatus", (status) => {
      if (status.allocatable === undefined && status.capacity) status.allocatable = copyMap(status.capacity);
    }),
    rule<LimitRangeItem>("core/v1.LimitRangeItem", limitDefaults),
    rule<ConfigMap>("core/v1.ConfigMap", (map) => {
      map.data ??= new Map();
    }),
  ];
}

function serviceDefaults({ spec }: Service): void {
  if (!spec.sessionAffinity) spec.sessionAffinity = "None";
  if (spec.sessionAffinity === "None") spec.sessionAffinityConfig = undefined;
  if (spec.sessionAffinity === "ClientIP" && spec.sessionAffinityConfig?.clientIP?.timeoutSeconds === undefined) {
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: affinitySeconds } };
  }
  if (!spec.type) spec.type = "ClusterIP";
  for (const port of spec.ports ?? []) {
    if (!port.protocol) port.protocol = "TCP";
    if (!port.targetPort) port.targetPort = port.port;
  }
  const outside = spec.type === "NodePort" || spec.type === "LoadBalancer";
  if (outside && !spec.externalTrafficPolicy) spec.externalTrafficPolicy = "Cluster";
  spec.internalTrafficPolicy ??= "Cluster";
  if (spec.type === "LoadBalancer") spec.allocateLoadBalancerNodePorts ??= true;
}

function limitDefaults(item: LimitRangeItem): void {
  if (item.type !== "Container") return;
  item.default = fill(item.default, item.max);
  item.defaultRequest = fill(fill(item.defaultRequest, item.default), item.min);
}

/** `target` with the keys of `source` it lacks; an empty map where there was none, as in upstream. */
function fill(
  target: Map<string, string> | undefined,
  source: ReadonlyMap<string, string> | undefined,
): Map<string, string> {
  const filled = target ?? new Map<string, string>();
  for (const [key, value] of source ?? []) if (!filled.has(key)) filled.set(key, value);
  return filled;
}
