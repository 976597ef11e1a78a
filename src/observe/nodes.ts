// How many nodes of each zone are ready, and how many were tainted for eviction, by upstream's names. A zone's series lives
// as long as it has nodes.
import type { Registry } from "./metrics.ts";

/** Counts nodes by zone. */
export interface NodeMeter {
  /** Nodes of all zones as they are now. */
  counted(zones: ReadonlyMap<string, { readonly ready: number; readonly lost: number }>): void;
  /** A node got a NoExecute taint because it is lost. */
  evicted(zone: string): void;
}

/** Counts into `registry`; once per registry. */
export function nodeMeter(registry: Registry): NodeMeter {
  const health = registry.gauge("node_collector_zone_health", "Percentage of ready nodes of a zone.", "zone");
  const size = registry.gauge("node_collector_zone_size", "Nodes of a zone.", "zone");
  const unhealthy = registry.gauge(
    "node_collector_unhealthy_nodes_in_zone",
    "Nodes of a zone that are not ready.",
    "zone",
  );
  const evictions = registry.counter(
    "node_collector_evictions_number",
    "Nodes of a zone that were tainted so that their pods are evicted, since the controller started.",
    "zone",
  );
  return {
    counted(zones) {
      for (const gauge of [health, size, unhealthy]) gauge.clear();
      for (const [zone, { ready, lost }] of zones) {
        const total = ready + lost;
        health.set(zone, total === 0 ? 100 : (100 * ready) / total);
        size.set(zone, total);
        unhealthy.set(zone, lost);
        evictions.add(zone, 0);
      }
      evictions.prune(([zone = ""]) => !zones.has(zone));
    },
    evicted: (zone) => evictions.add(zone),
  };
}
