// What follows from the conditions of a node: its taints and labels, and its conditions when it is silent. Keys and texts
// are upstream's, keys in the spelling of the identity.
import type { Node, Taint } from "../../api/gen/core/v1.ts";
import type { Identity } from "../../api/identity.ts";
import type { ApiObject } from "../../api/object.ts";

/** A node as it is stored, or its parts that count here. */
export type NodeObject = ApiObject & Node;

/** What may be done about NoExecute taints of nodes that are not ready. */
export interface TaintLeave {
  /** Whether such taints are ours at all (`--enable-taint-manager`). */
  readonly evicts: boolean;
  /** No node is ready in the whole cluster: it is more likely that the network failed than that all nodes did. */
  readonly isDisrupted: boolean;
  /** Whether a node without such a taint may get one: it is its zone's turn. */
  readonly mayTaint: boolean;
}

/** Conditions that lead to a taint: type, status, and the last part of the taint's key. */
const tainting = [
  ["Ready", "False", "not-ready"],
  ["Ready", "Unknown", "unreachable"],
  ["MemoryPressure", "True", "memory-pressure"],
  ["DiskPressure", "True", "disk-pressure"],
  ["NetworkUnavailable", "True", "network-unavailable"],
  ["PIDPressure", "True", "pid-pressure"],
] as const;

/** Conditions that become Unknown with an agent's silence. */
const reported = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

const neverReported = "NodeStatusNeverUpdated";

/** A node or a pod, as far as its conditions go. */
interface Conditioned<T> {
  readonly status: { readonly conditions?: readonly T[] | undefined };
}

/** The condition Ready of a node or a pod; undefined: its agent has not reported a status yet. */
export function readyOf<T extends { readonly type: string }>({ status }: Conditioned<T>): T | undefined {
  return status.conditions?.find(({ type }) => type === "Ready");
}

/** When an agent reported its node's status last, as it wrote it; undefined: it has not yet. */
export function heartbeatOf(node: Node): string | undefined {
  const ready = readyOf(node);
  return ready?.reason === neverReported ? undefined : ready?.lastHeartbeatTime;
}

/** The rules in one identity's spelling. */
export class NodeRules {
  /** Labels of machines: the stable one, and the one before it. */
  readonly #labels: readonly (readonly [stable: string, beta: string])[];
  readonly #zones: readonly (readonly [beta: string, stable: string])[];
  readonly #excluded: string;
  readonly #keys: ReadonlyMap<string, string>;
  /** Keys whose NoSchedule taints are ours. */
  readonly #ownKeys: ReadonlySet<string>;
  readonly #unschedulable: string;
  readonly #notReady: string;
  readonly #unreachable: string;

  constructor({ spell }: Identity) {
    const taintKey = (name: string): string => spell(`node.kubernetes.io/${name}`);
    this.#labels = ["os", "arch"].map((name) => [spell(`kubernetes.io/${name}`), spell(`beta.kubernetes.io/${name}`)]);
    this.#zones = ["region", "zone"].map((name) => [
      spell(`failure-domain.beta.kubernetes.io/${name}`),
      spell(`topology.kubernetes.io/${name}`),
    ]);
    this.#excluded = taintKey("exclude-disruption");
    this.#keys = new Map(tainting.map(([type, status, name]) => [`${type}=${status}`, taintKey(name)]));
    this.#unschedulable = taintKey("unschedulable");
    this.#ownKeys = new Set([...this.#keys.values(), this.#unschedulable]);
    this.#notReady = taintKey("not-ready");
    this.#unreachable = taintKey("unreachable");
  }

  /** The zone of a node as `region::zone`; empty: it is in none. */
  zoneOf({ metadata }: NodeObject): string {
    const [region = "", zone = ""] = this.#zones.map(
      ([beta, stable]) => metadata.labels?.get(beta) ?? metadata.labels?.get(stable) ?? "",
    );
    return region === "" && zone === "" ? "" : `${region}::${zone}`;
  }

  /** Whether a node does not count for the health of its zone. */
  isExcluded({ metadata }: NodeObject): boolean {
    return metadata.labels?.has(this.#excluded) === true;
  }

  /** The NoExecute taint a node should have, by its key; undefined: none. */
  ownTaintOf(node: NodeObject): string | undefined {
    const ready = readyOf(node);
    return ready && this.#keys.get(`Ready=${ready.status}`);
  }

  /** Whether a node waits for a NoExecute taint. */
  lacksTaint(node: NodeObject): boolean {
    return this.ownTaintOf(node) !== undefined && !(node.spec.taints ?? []).some((taint) => this.#isOwn(taint));
  }

  /** The taints pods have to tolerate: not those of ours that are about to go. */
  executing(node: NodeObject, isDisrupted: boolean): Taint[] {
    const isStale = isDisrupted || readyOf(node)?.status === "True";
    return (node.spec.taints ?? []).filter((taint) => taint.effect === "NoExecute" && !(isStale && this.#isOwn(taint)));
  }

  /** Makes taints and labels of a node as they should be; whether that changed something. `now`: RFC 3339. */
  settle(node: NodeObject, leave: TaintLeave, now: string): boolean {
    const isLabelled = this.#label(node);
    const before = node.spec.taints ?? [];
    const after = this.#execute(node, leave, this.#schedule(node, before, now), now);
    const isTainted = after.length !== before.length || after.some((taint, index) => taint !== before[index]);
    if (isTainted) node.spec.taints = after.length === 0 ? undefined : after;
    return isLabelled || isTainted;
  }

  /** What settle() made of a node, as a text to compare. */
  describe({ metadata, spec }: NodeObject): string {
    const labels = this.#labels.map(([, beta]) => metadata.labels?.get(beta));
    return JSON.stringify([labels, (spec.taints ?? []).map(({ key, value, effect }) => [key, value, effect])]);
  }

  /** Makes the conditions Unknown that an agent reports. `now`: RFC 3339. */
  silence({ metadata, status }: NodeObject, now: string): void {
    const conditions = status.conditions ?? [];
    for (const type of reported) {
      const known = conditions.find((condition) => condition.type === type);
      if (known?.status === "Unknown") continue;
      if (known === undefined) {
        conditions.push({
          type,
          status: "Unknown",
          reason: neverReported,
          message: "Kubelet never posted node status.",
          lastHeartbeatTime: metadata.creationTimestamp,
          lastTransitionTime: now,
        });
      } else {
        known.status = "Unknown";
        known.reason = "NodeStatusUnknown";
        known.message = "Kubelet stopped posting node status.";
        known.lastTransitionTime = now;
      }
    }
    status.conditions = conditions;
  }

  /** The older labels follow the stable ones. */
  #label({ metadata }: NodeObject): boolean {
    let isChanged = false;
    for (const [stable, beta] of this.#labels) {
      const value = metadata.labels?.get(stable);
      if (value === undefined || metadata.labels?.get(beta) === value) continue;
      metadata.labels?.set(beta, value);
      isChanged = true;
    }
    return isChanged;
  }

  #schedule({ spec, status }: NodeObject, before: readonly Taint[], now: string): Taint[] {
    const wanted = new Set(
      (status.conditions ?? []).flatMap((condition) => this.#keys.get(`${condition.type}=${condition.status}`) ?? []),
    );
    if (spec.unschedulable === true) wanted.add(this.#unschedulable);
    const kept = before.filter(
      ({ key, effect }) => effect !== "NoSchedule" || !this.#ownKeys.has(key) || wanted.has(key),
    );
    for (const { key, effect } of kept) if (effect === "NoSchedule") wanted.delete(key);
    return [...kept, ...[...wanted].map((key) => ({ key, effect: "NoSchedule", timeAdded: now }))];
  }

  #execute(node: NodeObject, { evicts, isDisrupted, mayTaint }: TaintLeave, taints: Taint[], now: string): Taint[] {
    const ready = readyOf(node);
    if (!evicts || (ready === undefined && !isDisrupted)) return taints;
    const others = taints.filter((taint) => !this.#isOwn(taint));
    if (isDisrupted || ready?.status === "True") return others;
    const key = this.ownTaintOf(node);
    const own = taints.filter((taint) => this.#isOwn(taint));
    // It may change its reason at once: only the first one takes its zone's turn.
    if (key === undefined || (own.length === 0 && !mayTaint)) return taints;
    if (own.length === 1 && own[0]?.key === key) return taints;
    const known = own.find((taint) => taint.key === key);
    return [...others, known ?? { key, effect: "NoExecute", timeAdded: now }];
  }

  #isOwn({ key, effect }: Taint): boolean {
    return effect === "NoExecute" && (key === this.#notReady || key === this.#unreachable);
  }
}
