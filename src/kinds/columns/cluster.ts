// How kinds of the cluster's own running are shown: access, storage, extension, flow control and the rest.
import type { ValidatingWebhookConfiguration } from "../../api/gen/admissionregistration/v1.ts";
import type { APIService } from "../../api/gen/apiregistration/v1.ts";
import type { StorageVersion } from "../../api/gen/apiserverinternal/v1alpha1.ts";
import type { CertificateSigningRequest } from "../../api/gen/certificates/v1.ts";
import type { Lease } from "../../api/gen/coordination/v1.ts";
import type { FlowSchema, PriorityLevelConfiguration } from "../../api/gen/flowcontrol/v1beta1.ts";
import type { RuntimeClass } from "../../api/gen/node/v1.ts";
import type { PodSecurityPolicy } from "../../api/gen/policy/v1beta1.ts";
import type { RoleBinding } from "../../api/gen/rbac/v1.ts";
import type { PriorityClass } from "../../api/gen/scheduling/v1.ts";
import type { CSIDriver, CSINode, StorageClass, VolumeAttachment } from "../../api/gen/storage/v1.ts";
import type { Identity } from "../../api/identity.ts";
import { ageColumn, type Columns, column, elapsed, firstThree, nameColumn, none, unset } from "./cells.ts";

const wide = { wide: true } as const;
const boolean = { type: "boolean" } as const;
const integer = { type: "integer" } as const;

/** Columns of role bindings, of a namespace and of the cluster. */
export function roleBindingColumns(): Columns<RoleBinding> {
  const subjects = (kind: string, text: (name: string, namespace: string) => string) => (binding: RoleBinding) =>
    (binding.subjects ?? [])
      .filter((subject) => subject.kind === kind)
      .map((subject) => text(subject.name, subject.namespace ?? ""))
      .join(", ");
  return {
    columns: [
      nameColumn,
      column("Role", "Role that is granted", ({ roleRef }) => `${roleRef.kind}/${roleRef.name}`),
      ageColumn,
      column(
        "Users",
        "Users it is granted to",
        subjects("User", (name) => name),
        wide,
      ),
      column(
        "Groups",
        "Groups it is granted to",
        subjects("Group", (name) => name),
        wide,
      ),
      column(
        "ServiceAccounts",
        "Service accounts it is granted to",
        subjects("ServiceAccount", (name, namespace) => `${namespace}/${name}`),
        wide,
      ),
    ],
  };
}

/** Columns of certificate signing requests. */
export function signingRequestColumns(): Columns<CertificateSigningRequest> {
  return {
    columns: [
      nameColumn,
      ageColumn,
      column("SignerName", "Who is asked to sign", ({ spec }) => spec.signerName || none),
      column("Requestor", "User who asks", ({ spec }) => spec.username ?? ""),
      column("RequestedDuration", "How long the certificate should be valid", ({ spec }) =>
        spec.expirationSeconds === undefined ? none : elapsed(spec.expirationSeconds * 1000),
      ),
      column("Condition", "What became of the request", signingState),
    ],
  };
}

function signingState({ status }: CertificateSigningRequest): string {
  const has = (wanted: string) => (status.conditions ?? []).some(({ type }) => type === wanted);
  const state = has("Denied") ? "Denied" : has("Approved") ? "Approved" : "Pending";
  return `${state}${has("Failed") ? ",Failed" : ""}${status.certificate ? ",Issued" : ""}`;
}

/** Columns of pod security policies. */
export function podSecurityPolicyColumns(): Columns<PodSecurityPolicy> {
  return {
    columns: [
      nameColumn,
      column("Priv", "Privileged containers may run", ({ spec }) => String(spec.privileged ?? false)),
      column("Caps", "Capabilities that may be added", ({ spec }) => (spec.allowedCapabilities ?? []).join(",")),
      column("SELinux", "Rule for SELinux labels", ({ spec }) => spec.seLinux.rule),
      column("RunAsUser", "Rule for user ids", ({ spec }) => spec.runAsUser.rule),
      column("FsGroup", "Rule for the group of file systems", ({ spec }) => spec.fsGroup.rule ?? ""),
      column("SupGroup", "Rule for further groups", ({ spec }) => spec.supplementalGroups.rule ?? ""),
      column(
        "ReadOnlyRootFs",
        "Root file systems must be read-only",
        ({ spec }) => spec.readOnlyRootFilesystem ?? false,
      ),
      column("Volumes", "Kinds of volumes that may be used", ({ spec }) => (spec.volumes ?? []).join(",")),
    ],
  };
}

/** Columns of leases. */
export function leaseColumns(): Columns<Lease> {
  return {
    columns: [nameColumn, column("Holder", "Who holds the lease", ({ spec }) => spec.holderIdentity ?? ""), ageColumn],
  };
}

/** Columns of storage classes. */
export function storageClassColumns(identity: Identity): Columns<StorageClass> {
  const marks = ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];
  const annotations = marks.map((mark) => identity.spell(mark));
  return {
    columns: [
      {
        ...nameColumn,
        cell: ({ metadata }) => {
          const isDefault = annotations.some((key) => metadata.annotations?.get(key) === "true");
          return `${metadata.name ?? ""}${isDefault ? " (default)" : ""}`;
        },
      },
      column("Provisioner", "Who makes the volumes", ({ provisioner }) => provisioner),
      column("ReclaimPolicy", "What becomes of a volume when its claim goes", ({ reclaimPolicy }) => {
        return reclaimPolicy ?? "Delete";
      }),
      column("VolumeBindingMode", "When volumes are made and bound", ({ volumeBindingMode }) => {
        return volumeBindingMode ?? "Immediate";
      }),
      column("AllowVolumeExpansion", "Volumes may grow", ({ allowVolumeExpansion }) => allowVolumeExpansion ?? false),
      ageColumn,
    ],
  };
}

/** Columns of volume attachments. */
export function volumeAttachmentColumns(): Columns<VolumeAttachment> {
  return {
    columns: [
      nameColumn,
      column("Attacher", "Driver that attaches", ({ spec }) => spec.attacher, { format: "name" }),
      column("PV", "Volume that is attached", ({ spec }) => spec.source.persistentVolumeName ?? ""),
      column("Node", "Node it is attached to", ({ spec }) => spec.nodeName),
      column("Attached", "The volume is attached", ({ status }) => status.attached, boolean),
      ageColumn,
    ],
  };
}

/** Columns of CSI nodes. */
export function csiNodeColumns(): Columns<CSINode> {
  return {
    columns: [
      nameColumn,
      column("Drivers", "Number of drivers on the node", ({ spec }) => spec.drivers?.length ?? 0, integer),
      ageColumn,
    ],
  };
}

/** Columns of CSI drivers. */
export function csiDriverColumns(): Columns<CSIDriver> {
  return {
    columns: [
      nameColumn,
      column("AttachRequired", "Volumes must be attached first", ({ spec }) => spec.attachRequired ?? true, boolean),
      column("PodInfoOnMount", "The driver is told of the pod", ({ spec }) => spec.podInfoOnMount ?? false, boolean),
      column("StorageCapacity", "The driver tells its capacity", ({ spec }) => spec.storageCapacity ?? false, boolean),
      column("TokenRequests", "Audiences of the tokens the driver gets", ({ spec }) =>
        spec.tokenRequests === undefined ? unset : spec.tokenRequests.map(({ audience }) => audience).join(","),
      ),
      column(
        "RequiresRepublish",
        "Volumes are published again from time to time",
        ({ spec }) => spec.requiresRepublish ?? false,
        boolean,
      ),
      column("Modes", "Life cycles of volumes it supports", ({ spec }) =>
        (spec.volumeLifecycleModes ?? []).length === 0 ? none : (spec.volumeLifecycleModes ?? []).join(","),
      ),
      ageColumn,
    ],
  };
}

/** Columns of priority classes. */
export function priorityClassColumns(): Columns<PriorityClass> {
  return {
    columns: [
      nameColumn,
      column("Value", "Priority: the higher, the sooner", ({ value }) => value, integer),
      column("Global-Default", "Used where pods name no class", ({ globalDefault }) => globalDefault ?? false, boolean),
      ageColumn,
    ],
  };
}

/** Columns of runtime classes. */
export function runtimeClassColumns(): Columns<RuntimeClass> {
  return {
    columns: [nameColumn, column("Handler", "Runtime configuration on nodes", ({ handler }) => handler), ageColumn],
  };
}

/** Columns of webhook configurations of both kinds. */
export function webhookColumns(): Columns<ValidatingWebhookConfiguration> {
  return {
    columns: [
      nameColumn,
      column("Webhooks", "Number of webhooks", ({ webhooks }) => webhooks?.length ?? 0, integer),
      ageColumn,
    ],
  };
}

/** Columns of flow schemas. */
export function flowSchemaColumns(): Columns<FlowSchema> {
  return {
    columns: [
      nameColumn,
      column("PriorityLevel", "Level its requests run at", ({ spec }) => spec.priorityLevelConfiguration.name),
      column("MatchingPrecedence", "The lower, the sooner it is tried", ({ spec }) => spec.matchingPrecedence),
      column("DistinguisherMethod", "What tells its flows apart", ({ spec }) => spec.distinguisherMethod?.type ?? none),
      ageColumn,
      column("MissingPL", "Whether its level does not exist", ({ status }) => {
        return status.conditions?.find(({ type }) => type === "Dangling")?.status ?? "?";
      }),
    ],
  };
}

/** Columns of priority levels. */
export function priorityLevelColumns(): Columns<PriorityLevelConfiguration> {
  const queuing = (part: "queues" | "handSize" | "queueLengthLimit") => (level: PriorityLevelConfiguration) =>
    level.spec.limited?.limitResponse.queuing?.[part] ?? none;
  return {
    columns: [
      nameColumn,
      column("Type", "Whether the level is limited", ({ spec }) => spec.type),
      column("AssuredConcurrencyShares", "Its share of requests at a time", ({ spec }) => {
        return spec.limited?.assuredConcurrencyShares ?? none;
      }),
      column("Queues", "Number of queues", queuing("queues")),
      column("HandSize", "Queues one flow is dealt", queuing("handSize")),
      column("QueueLengthLimit", "Requests one queue holds", queuing("queueLengthLimit")),
      ageColumn,
    ],
  };
}

/** Columns of storage versions. */
export function storageVersionColumns(): Columns<StorageVersion> {
  return {
    columns: [
      nameColumn,
      column("CommonEncodingVersion", "Version all servers store in", ({ status }) => {
        return status.commonEncodingVersion ?? unset;
      }),
      column("StorageVersions", "Version each server stores in", ({ status }) =>
        firstThree(
          (status.storageVersions ?? []).map((of) => `${of.apiServerID ?? ""}=${of.encodingVersion ?? ""}`),
          unset,
        ),
      ),
      ageColumn,
    ],
  };
}

/** Columns of API services. */
export function apiServiceColumns(): Columns<APIService> {
  return {
    columns: [
      nameColumn,
      column("Service", "Who serves the group version", ({ spec: { service } }) =>
        service === undefined ? "Local" : `${service.namespace ?? ""}/${service.name ?? ""}`,
      ),
      column("Available", "Whether it can be reached", ({ status }) => {
        const condition = status.conditions?.find(({ type }) => type === "Available");
        if (condition === undefined) return "Unknown";
        if (condition.status === "True" || !condition.reason) return condition.status;
        return `${condition.status} (${condition.reason})`;
      }),
      ageColumn,
    ],
    repeatsHeaders: true,
  };
}
