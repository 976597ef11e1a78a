// Node: registered with its status, by the agent that runs on it.
import type { Node } from "../../api/gen/core/v1.ts";
import type { Identity } from "../../api/identity.ts";
import type { Resource } from "../../api/scheme.ts";
import { compareBytes } from "../../codec/json/write.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, type Columns, column, nameColumn, none, reads, unknown, wide } from "../columns.ts";
import { strategyFor } from "../generic.ts";
import type { Strategy, StrategyContext } from "../strategy.ts";
import { validateNode, validateNodeStatusUpdate, validateNodeUpdate } from "./validation/node.ts";

/** Behaviour of nodes. */
export function nodeBehaviour(resource: Resource, identity: Identity): OwnBehaviour {
  return {
    strategy: nodeStrategy(resource),
    columns: nodeColumns(identity),
    metaRules: { update: [1, 1] },
  };
}

/** Nodes: registered with their status, by the agent that runs on them. */
function nodeStrategy(resource: Resource): Strategy<Node> {
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

/** Columns of nodes. */
function nodeColumns(identity: Identity): Columns<Node> {
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
    reads: reads(
      ...["metadata.labels", "spec.unschedulable"],
      ...["conditions.type", "conditions.status", "addresses", "nodeInfo"].map((field) => `status.${field}`),
    ),
  };
}

function nodeStatus({ spec, status }: Node): string {
  const ready = status.conditions?.find(({ type }) => type === "Ready");
  const text = ready === undefined ? "Unknown" : ready.status === "True" ? "Ready" : "NotReady";
  return spec.unschedulable === true ? `${text},SchedulingDisabled` : text;
}
