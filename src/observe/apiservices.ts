// Which APIServices are available, by upstream's names: its alerts read them. A series lives as long as its APIService.
import type { Registry } from "./metrics.ts";

/** Counts the availability of APIServices. */
export interface AvailabilityMeter {
  /** An APIService was found available, or not. */
  found(name: string, isAvailable: boolean): void;
  /** An APIService that was available is not any more. */
  lost(name: string, reason: string): void;
  /** An APIService is gone. */
  gone(name: string): void;
  /** APIServices that are counted. */
  names(): Iterable<string>;
}

/** Counts into `registry`; once per registry. */
export function availabilityMeter(registry: Registry): AvailabilityMeter {
  const unavailable = registry.gauge(
    "aggregator_unavailable_apiservice",
    "1 while an APIService is not available.",
    "name",
  );
  const losses = registry.counter(
    "aggregator_unavailable_apiservice_total",
    "How often an APIService became unavailable, by the reason of its condition.",
    "name",
    "reason",
  );
  const found = new Map<string, boolean>();
  registry.onCollect(() => {
    unavailable.clear();
    for (const [name, isAvailable] of found) unavailable.set(name, isAvailable ? 0 : 1);
    losses.prune(([name = ""]) => !found.has(name));
  });
  return {
    found: (name, isAvailable) => void found.set(name, isAvailable),
    lost: (name, reason) => losses.add(`${name}\0${reason}`),
    gone: (name) => void found.delete(name),
    names: () => [...found.keys()],
  };
}
