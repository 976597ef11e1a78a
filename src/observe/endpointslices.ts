// What the controller of endpoint slices does, by upstream's names: dashboards of its controller manager read them.
import type { Registry } from "./metrics.ts";

/** Upper bounds of endpoints in one pass, upstream's. */
const endpointBuckets = Array.from({ length: 15 }, (_, at) => 2 ** (at + 1));
/** Upstream leaves those of slices in one pass to its library, whose are meant for seconds. */
const sliceBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** What one pass over a service found and did. */
export interface SlicePass {
  /** Endpoints that its slices did not have before, and those they have no more. */
  readonly added: number;
  readonly removed: number;
  /** Endpoints it should have, slices it has afterwards, and the fewest that would do. */
  readonly endpoints: number;
  readonly slices: number;
  readonly slicesMin: number;
  /** Slices that were written or deleted. */
  readonly changes: number;
}

/** Counts the work of one controller. */
export interface SliceMeter {
  /** A slice was created, updated or deleted. */
  changed(operation: "create" | "update" | "delete"): void;
  /** A service was worked on: `stale` when changes of slices were still on their way. */
  ended(result: "success" | "stale" | "error"): void;
  /** What a pass over a service did. */
  passed(key: string, pass: SlicePass): void;
  /** A service is gone, or has no slices of the controller's any more. */
  gone(key: string): void;
}

/** Counts into `registry`; once per registry. */
export function sliceMeter(registry: Registry): SliceMeter {
  const named = (name: string): string => `endpoint_slice_controller_${name}`;
  const counts = (name: string, help: string) => registry.histogram(named(name), help, endpointBuckets);
  const added = counts("endpoints_added_per_sync", "Endpoints added to slices in a pass over a service.");
  const removed = counts("endpoints_removed_per_sync", "Endpoints removed from slices in a pass over a service.");
  const desired = registry.gauge(named("endpoints_desired"), "Endpoints that slices should have.");
  const present = registry.gauge(named("num_endpoint_slices"), "Endpoint slices of services that select pods.");
  const fewest = registry.gauge(named("desired_endpoint_slices"), "The fewest slices that would hold all endpoints.");
  const changes = registry.counter(named("changes"), "Slices created, updated and deleted.", "operation");
  const perPass = registry.histogram(
    named("endpointslices_changed_per_sync"),
    "Slices changed in a pass over a service.",
    sliceBuckets,
    "topology",
  );
  const passes = registry.counter(named("syncs"), "Passes over services, by what came of them.", "result");
  const services = new Map<string, Pick<SlicePass, "endpoints" | "slices" | "slicesMin">>();
  const sums = { endpoints: 0, slices: 0, slicesMin: 0 };
  const count = (key: string, sign: 1 | -1): void => {
    const known = services.get(key);
    if (known === undefined) return;
    sums.endpoints += sign * known.endpoints;
    sums.slices += sign * known.slices;
    sums.slicesMin += sign * known.slicesMin;
  };
  const gone = (key: string): void => {
    count(key, -1);
    services.delete(key);
  };
  registry.onCollect(() => {
    desired.set("", sums.endpoints);
    present.set("", sums.slices);
    fewest.set("", sums.slicesMin);
  });
  return {
    changed: (operation) => changes.add(operation),
    ended: (result) => passes.add(result),
    passed(key, pass) {
      gone(key);
      services.set(key, { endpoints: pass.endpoints, slices: pass.slices, slicesMin: pass.slicesMin });
      count(key, 1);
      added.observe("", pass.added);
      removed.observe("", pass.removed);
      // Hints of zones are not made.
      perPass.observe("Disabled", pass.changes);
    },
    gone,
  };
}
