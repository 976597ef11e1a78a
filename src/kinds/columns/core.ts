// How the core group is shown, but for pods and what makes them.
import type {
  ComponentStatus,
  ConfigMap,
  Event,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  ResourceQuota,
  Secret,
  ServiceAccount,
} from "../../api/gen/core/v1.ts";
import type { Identity } from "../../api/identity.ts";
import type { ApiObject } from "../../api/object.ts";
import { compareBytes, sortedKeys } from "../../codec/json/write.ts";
import { ageColumn, type Columns, column, nameColumn, none, since, unknown, unset } from "./cells.ts";

const wide = { wide: true } as const;

/** Columns of config maps. */
export function configMapColumns(): Columns<ConfigMap> {
  return {
    columns: [
      nameColumn,
      column("Data", "Number of keys", ({ data, binaryData }) => (data?.size ?? 0) + (binaryData?.size ?? 0)),
      ageColumn,
    ],
  };
}

/** Columns of secrets. */
export function secretColumns(): Columns<Secret> {
  return {
    columns: [
      nameColumn,
      column("Type", "What the secret is for", ({ type }) => type ?? ""),
      column("Data", "Number of keys", ({ data }) => data?.size ?? 0),
      ageColumn,
    ],
  };
}

/** Columns of service accounts. */
export function serviceAccountColumns(): Columns<ServiceAccount> {
  return {
    columns: [
      nameColumn,
      column("Secrets", "Number of secrets it may use", ({ secrets }) => secrets?.length ?? 0),
      ageColumn,
    ],
  };
}

/** Columns of namespaces. */
export function namespaceColumns(): Columns<Namespace> {
  return {
    columns: [
      nameColumn,
      column("Status", "Whether the namespace is in use or being deleted", ({ status }) => status.phase ?? ""),
      ageColumn,
    ],
  };
}

/** Columns of events; those of both groups are stored in the core one's form. */
export function eventColumns(): Columns<Event> {
  return {
    columns: [
      column("Last Seen", "Time since the event was last observed", lastSeen),
      column("Type", "Kind of event: Normal or Warning", ({ type }) => type ?? ""),
      column("Reason", "Short word for why it happened", ({ reason }) => reason ?? ""),
      column("Object", "What the event is about", ({ involvedObject: { kind = "", name = "" } }) =>
        name === "" ? kind.toLowerCase() : `${kind.toLowerCase()}/${name}`,
      ),
      column("Subobject", "The part of it", ({ involvedObject }) => involvedObject.fieldPath ?? "", wide),
      column("Source", "Who reported it", source, wide),
      column("Message", "What happened, for people", ({ message }) => (message ?? "").trim()),
      column("First Seen", "Time since the event was first observed", firstSeen, wide),
      column(
        "Count",
        "How often it was observed",
        ({ series, count }) => series?.count ?? (series ? 0 : count || 1),
        wide,
      ),
      column("Name", "Name of the event", ({ metadata }) => metadata.name ?? "", { format: "name", wide: true }),
    ],
  };
}

function lastSeen(event: Event, now: number): string {
  if (event.series !== undefined) return since(event.series.lastObservedTime, now);
  return event.lastTimestamp === undefined ? firstSeen(event, now) : since(event.lastTimestamp, now);
}

function firstSeen({ firstTimestamp, eventTime }: Event, now: number): string {
  return since(firstTimestamp ?? eventTime, now);
}

function source({ source, reportingComponent, reportingInstance }: Event): string {
  const component = source.component || reportingComponent;
  const host = source.host || reportingInstance;
  return host === "" ? component : `${component}, ${host}`;
}

/** Columns of nodes. */
export function nodeColumns(identity: Identity): Columns<Node> {
  const rolePrefix = identity.spell("node-role.kubernetes.io/");
  const roleLabel = identity.spell("kubernetes.io/role");
  const address = (wanted: string) => (node: Node) =>
    node.status.addresses?.find(({ type }) => type === wanted)?.address ?? none;
  return {
    columns: [
      nameColumn,
      column("Status", "Whether the node is ready and takes pods", nodeStatus),
      column("Roles", "Roles of the node, from its labels", ({ metadata }) => {
        const roles = new Set<string>();
        for (const [key, value] of metadata.labels ?? []) {
          if (key.startsWith(rolePrefix) && key.length > rolePrefix.length) roles.add(key.slice(rolePrefix.length));
          else if (key === roleLabel && value !== "") roles.add(value);
        }
        return roles.size === 0 ? none : [...roles].sort(compareBytes).join(",");
      }),
      ageColumn,
      column("Version", "Version of the node's agent", ({ status }) => status.nodeInfo.kubeletVersion),
      column("Internal-IP", "First address inside the cluster", address("InternalIP"), wide),
      column("External-IP", "First address outside the cluster", address("ExternalIP"), wide),
      column("OS-Image", "Operating system", ({ status }) => status.nodeInfo.osImage || unknown, wide),
      column("Kernel-Version", "Version of the kernel", ({ status }) => status.nodeInfo.kernelVersion || unknown, wide),
      column(
        "Container-Runtime",
        "Container runtime and its version",
        ({ status }) => status.nodeInfo.containerRuntimeVersion || unknown,
        wide,
      ),
    ],
  };
}

function nodeStatus({ spec, status }: Node): string {
  const ready = status.conditions?.find(({ type }) => type === "Ready");
  const text = ready === undefined ? "Unknown" : ready.status === "True" ? "Ready" : "NotReady";
  return spec.unschedulable === true ? `${text},SchedulingDisabled` : text;
}

const modes = [
  ["ReadWriteOnce", "RWO"],
  ["ReadOnlyMany", "ROX"],
  ["ReadWriteMany", "RWX"],
  ["ReadWriteOncePod", "RWOP"],
] as const;

function accessModes(list: readonly string[] | undefined): string {
  return modes
    .filter(([mode]) => list?.includes(mode))
    .map(([, short]) => short)
    .join(",");
}

function phase({ metadata }: ApiObject, of: string | undefined): string {
  return metadata.deletionTimestamp === undefined ? (of ?? "") : "Terminating";
}

/** Columns of volumes. */
export function persistentVolumeColumns(identity: Identity): Columns<PersistentVolume> {
  const classOf = storageClassOf(identity);
  return {
    columns: [
      nameColumn,
      column("Capacity", "Size of the volume", ({ spec }) => spec.capacity?.get("storage") ?? "0"),
      column("Access Modes", "Ways the volume can be mounted", ({ spec }) => accessModes(spec.accessModes)),
      column("Reclaim Policy", "What becomes of the volume when its claim goes", ({ spec }) => {
        return spec.persistentVolumeReclaimPolicy ?? "";
      }),
      column("Status", "Phase of the volume", (volume) => phase(volume, volume.status.phase)),
      column("Claim", "Claim the volume is bound to", ({ spec: { claimRef } }) =>
        claimRef === undefined ? "" : `${claimRef.namespace ?? ""}/${claimRef.name ?? ""}`,
      ),
      column("StorageClass", "Storage class of the volume", (volume) => classOf(volume, volume.spec.storageClassName)),
      column("Reason", "Why the volume failed", ({ status }) => status.reason ?? ""),
      ageColumn,
      column("VolumeMode", "File system or raw block device", ({ spec }) => spec.volumeMode ?? unset, wide),
    ],
  };
}

/** Columns of volume claims. */
export function persistentVolumeClaimColumns(identity: Identity): Columns<PersistentVolumeClaim> {
  const classOf = storageClassOf(identity);
  return {
    columns: [
      nameColumn,
      column("Status", "Phase of the claim", (claim) => phase(claim, claim.status.phase)),
      column("Volume", "Volume the claim is bound to", ({ spec }) => spec.volumeName ?? ""),
      column("Capacity", "Size of the bound volume", ({ spec, status }) =>
        spec.volumeName ? (status.capacity?.get("storage") ?? "0") : "",
      ),
      column("Access Modes", "Ways the bound volume can be mounted", ({ spec, status }) =>
        spec.volumeName ? accessModes(status.accessModes) : "",
      ),
      column("StorageClass", "Storage class of the claim", (claim) => classOf(claim, claim.spec.storageClassName)),
      ageColumn,
      column("VolumeMode", "File system or raw block device", ({ spec }) => spec.volumeMode ?? unset, wide),
    ],
  };
}

/** An annotation came before the field, and still counts first. */
function storageClassOf(identity: Identity): (object: ApiObject, field: string | undefined) => string {
  const annotation = identity.spell("volume.beta.kubernetes.io/storage-class");
  return ({ metadata }, field) => metadata.annotations?.get(annotation) ?? field ?? "";
}

/** Columns of resource quotas. */
export function resourceQuotaColumns(): Columns<ResourceQuota> {
  const uses = (isLimit: boolean) => (quota: ResourceQuota) => {
    const { hard, used } = quota.status;
    if (hard === undefined) return "";
    return sortedKeys(hard)
      .filter((key) => key.startsWith("limits.") === isLimit)
      .map((key) => `${key}: ${used?.get(key) ?? "0"}/${hard.get(key) ?? "0"}`)
      .join(", ");
  };
  return {
    columns: [
      nameColumn,
      ageColumn,
      column("Request", "Use and bound of what is requested or counted", uses(false)),
      column("Limit", "Use and bound of limits", uses(true)),
    ],
  };
}

/** Columns of component statuses. */
export function componentStatusColumns(): Columns<ComponentStatus> {
  const healthy = ({ conditions }: ComponentStatus) => conditions?.find(({ type }) => type === "Healthy");
  return {
    columns: [
      nameColumn,
      column("Status", "Whether the component is well", (component) => {
        const condition = healthy(component);
        if (condition === undefined) return "Unknown";
        return condition.status === "True" ? "Healthy" : "Unhealthy";
      }),
      column("Message", "What the component said", (component) => healthy(component)?.message ?? ""),
      column("Error", "What went wrong asking it", (component) => healthy(component)?.error ?? ""),
    ],
  };
}
