// The flags of the controller nodelifecycle: names and defaults are those of upstream's controller manager.
import { parseDuration } from "./duration.ts";
import type { Flag, FlagValues } from "./flag.ts";

const group = "Nodes";

const hourMs = 3_600_000;

/** Flags that say when a node is lost, and what becomes of its pods. */
export const nodeFlags = [
  {
    name: "node-monitor-grace-period",
    group,
    type: "duration",
    default: "40s",
    min: 1_000,
    max: hourMs,
    brief: "silence after which a node is lost",
    help: "Time without a heartbeat after which a node's conditions become Unknown. Agents renew their lease every 10 s; allow several tries.",
  },
  {
    name: "node-startup-grace-period",
    group,
    type: "duration",
    default: "1m0s",
    min: 1_000,
    max: hourMs,
    help: "The same for a node whose agent has not reported a status yet.",
  },
  {
    name: "node-monitor-period",
    group,
    type: "duration",
    default: "5s",
    min: 100,
    max: 60_000,
    help: "How often heartbeats of nodes are checked; less than --node-monitor-grace-period.",
  },
  {
    name: "enable-taint-manager",
    group,
    type: "bool",
    default: "true",
    brief: "evict pods from lost nodes",
    help: "Taint lost nodes with the effect NoExecute, and delete pods that do not tolerate such a taint, or not any longer. Without it no pod is deleted.",
  },
  {
    name: "node-eviction-rate",
    group,
    type: "float",
    default: "0.1",
    min: 0,
    max: 1000,
    help: "Nodes of a zone that are tainted with the effect NoExecute, per second. 0: none.",
  },
  {
    name: "secondary-node-eviction-rate",
    group,
    type: "float",
    default: "0.01",
    min: 0,
    max: 1000,
    help: "The same in a zone of which many nodes are lost (--unhealthy-zone-threshold); 0 in small zones (--large-cluster-size-threshold).",
  },
  {
    name: "large-cluster-size-threshold",
    group,
    type: "int",
    default: "50",
    min: 0,
    max: 1_000_000,
    help: "Nodes up to which a zone is small: pods are not evicted from it while many of its nodes are lost.",
  },
  {
    name: "unhealthy-zone-threshold",
    group,
    type: "float",
    default: "0.55",
    min: 0,
    max: 1,
    help: "Fraction of a zone's nodes, and at least three, that are lost when --secondary-node-eviction-rate applies.",
  },
] as const satisfies readonly Flag[];

/** When nodes are lost, and how fast their pods are evicted. */
export interface NodesConfig {
  readonly graceMs: number;
  readonly startupGraceMs: number;
  readonly periodMs: number;
  /** Whether NoExecute taints are set and obeyed. */
  readonly evicts: boolean;
  /** Nodes per second. */
  readonly evictionRate: number;
  readonly secondaryEvictionRate: number;
  readonly smallZoneNodesMax: number;
  /** Between 0 and 1. */
  readonly unhealthyFraction: number;
}

/** Reads the flags of nodes. Returns the one line to print when they contradict each other. */
export function readNodes(values: FlagValues): NodesConfig | string {
  const text = (name: (typeof nodeFlags)[number]["name"]): string => values.get(name) ?? "";
  const graceMs = parseDuration(text("node-monitor-grace-period")) ?? 0;
  const periodMs = parseDuration(text("node-monitor-period")) ?? 0;
  if (periodMs >= graceMs) return "--node-monitor-period must be less than --node-monitor-grace-period";
  return {
    graceMs,
    startupGraceMs: parseDuration(text("node-startup-grace-period")) ?? 0,
    periodMs,
    evicts: /^(?:1|t|true)$/i.test(text("enable-taint-manager")),
    evictionRate: Number(text("node-eviction-rate")),
    secondaryEvictionRate: Number(text("secondary-node-eviction-rate")),
    smallZoneNodesMax: Number(text("large-cluster-size-threshold")),
    unhealthyFraction: Number(text("unhealthy-zone-threshold")),
  };
}
