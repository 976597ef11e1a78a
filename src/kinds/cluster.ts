// Namespaces, nodes, quotas, limits and events.
import { randomUUID } from "node:crypto";
import type { Event, LimitRange, Namespace, Node, ResourceQuota } from "../api/gen/core/v1.ts";
import type { Identity } from "../api/identity.ts";
import type { Resource } from "../api/scheme.ts";
import { strategyFor } from "./generic.ts";
import type { Strategy, StrategyContext, UpdateStrategy } from "./strategy.ts";
import { type AnyEvent, validateEvent, validateEventUpdate } from "./validation/event.ts";
import {
  validateNamespace,
  validateNamespaceFinalizeUpdate,
  validateNamespaceStatusUpdate,
  validateNamespaceUpdate,
} from "./validation/namespace.ts";
import { validateNode, validateNodeStatusUpdate, validateNodeUpdate } from "./validation/node.ts";
import {
  validateLimitRange,
  validateLimitRangeUpdate,
  validateResourceQuota,
  validateResourceQuotaStatusUpdate,
  validateResourceQuotaUpdate,
} from "./validation/quota.ts";

/** Namespaces: held by a finalizer in their spec until their contents are gone. */
export function namespaceStrategy(resource: Resource, identity: Identity): Strategy<Namespace> {
  const finalizer = identity.spell("kubernetes");
  const nameLabel = identity.spell("kubernetes.io/metadata.name");
  return strategyFor<Namespace>(resource, {
    nameFormat: "dns1123-label",
    returnsDeletedObject: true,
    prepareForCreate(_context, namespace) {
      namespace.status = { phase: "Active" };
      // Defaults set it for a name that was given; a generated one is known only now.
      namespace.metadata.labels = (namespace.metadata.labels ?? new Map()).set(
        nameLabel,
        namespace.metadata.name ?? "",
      );
      const finalizers = namespace.spec.finalizers ?? [];
      namespace.spec.finalizers = finalizers.includes(finalizer) ? finalizers : [...finalizers, finalizer];
    },
    prepareForUpdate(_context, namespace, old) {
      namespace.spec = { ...namespace.spec, finalizers: old.spec.finalizers };
    },
    validate: validateNamespace,
    validateUpdate: validateNamespaceUpdate,
    validateStatus: validateNamespaceStatusUpdate,
    subresources: new Map([["finalize", finalize]]),
    selectableFields: ({ status }) => [["status.phase", status.phase ?? ""]],
    fieldLabels: ["status.phase"],
    termination: {
      begin(namespace) {
        namespace.status = { ...namespace.status, phase: "Terminating" };
      },
      isHeld: ({ spec }) => (spec.finalizers ?? []).length > 0,
    },
  });
}

/** Takes spec.finalizers; the caller removes the namespace when none is left and it is being deleted. */
const finalize: UpdateStrategy<Namespace> = {
  prepare(_context, namespace, old) {
    namespace.status = old.status;
  },
  validate: (context, namespace, old) => validateNamespaceFinalizeUpdate(namespace, old, context),
};

/** Nodes: registered with their status, by the agent that runs on them. */
export function nodeStrategy(resource: Resource): Strategy<Node> {
  return strategyFor<Node>(resource, {
    keepsStatusOnCreate: true,
    canonicalize({ spec }) {
      // Beside a list, which of the two is newer shows only against what is stored.
      if ((spec.podCIDR ?? "") !== "" && (spec.podCIDRs ?? []).length === 0) spec.podCIDRs = [spec.podCIDR ?? ""];
    },
    prepareForCreate(context, node) {
      syncPodCidrs(node, undefined);
      dropDynamicConfig(context, node, undefined);
    },
    prepareForUpdate(context, node, old) {
      syncPodCidrs(node, old);
      dropDynamicConfig(context, node, old);
    },
    prepareForStatus: (context, node, old) => dropDynamicConfig(context, node, old),
    validate: validateNode,
    validateUpdate: validateNodeUpdate,
    validateStatus: validateNodeStatusUpdate,
    selectableFields: ({ spec }) => [["spec.unschedulable", String(spec.unschedulable ?? false)]],
    fieldLabels: ["spec.unschedulable"],
  });
}

/** The single range and the first of the list are the same thing: an old client's single one wins. */
function syncPodCidrs({ spec }: Node, old: Node | undefined): void {
  const first = spec.podCIDRs?.[0] ?? "";
  const single = spec.podCIDR ?? "";
  if (single === first) return;
  if (single === "" || (old !== undefined && single === old.spec.podCIDR))
    spec.podCIDR = first === "" ? undefined : first;
  else spec.podCIDRs = [single];
}

/** Configurations that nodes fetch are behind a gate. */
function dropDynamicConfig({ gates }: StrategyContext, { spec, status }: Node, old: Node | undefined): void {
  if (gates.has("DynamicKubeletConfig")) return;
  if (old?.spec.configSource === undefined) spec.configSource = undefined;
  if (old?.status.config === undefined && status.config !== undefined) status.config = undefined;
}

/** Resource quotas. */
export function resourceQuotaStrategy(resource: Resource): Strategy<ResourceQuota> {
  return strategyFor<ResourceQuota>(resource, {
    returnsDeletedObject: true,
    validate: validateResourceQuota,
    validateUpdate: validateResourceQuotaUpdate,
    validateStatus: validateResourceQuotaStatusUpdate,
  });
}

/** Limit ranges: the only kind that may be created without a name. */
export function limitRangeStrategy(resource: Resource): Strategy<LimitRange> {
  return strategyFor<LimitRange>(resource, {
    allowCreateOnUpdate: true,
    prepareForCreate(_context, { metadata }) {
      if (!metadata.name && !metadata.generateName) metadata.name = randomUUID();
    },
    namesItself: true,
    validate: validateLimitRange,
    validateUpdate: validateLimitRangeUpdate,
  });
}

/** Fields of the object an event is about. */
const objectFields = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"] as const;

/** Events of both groups; selectable fields are those of the stored version, core. */
export function eventStrategy(resource: Resource): Strategy<AnyEvent> {
  const core = resource.group === "";
  return strategyFor<AnyEvent>(resource, {
    allowCreateOnUpdate: true,
    validate: validateEvent,
    validateUpdate: validateEventUpdate,
    selectableFields: (event) => eventFields(event as Event),
    fieldLabels: core
      ? [...objectFields.map((f) => `involvedObject.${f}`), "reason", "reportingComponent", "source", "type"]
      : [
          ...objectFields.map((f) => [`regarding.${f}`, `involvedObject.${f}`] as const),
          ["reportingController", "reportingComponent"],
          "reason",
          "type",
        ],
  });
}

function eventFields({ involvedObject, reason, type, source, reportingComponent }: Event): [string, string][] {
  return [
    ...objectFields.map((f): [string, string] => [`involvedObject.${f}`, involvedObject[f] ?? ""]),
    ["reason", reason ?? ""],
    ["reportingComponent", reportingComponent],
    ["source", source.component || reportingComponent],
    ["type", type ?? ""],
  ];
}
