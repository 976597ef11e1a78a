// Addresses of services, by upstream's names: how many of each range are given out, and what became of requests for one.
import type { Registry } from "./metrics.ts";

/** Counts what services ask of address ranges; each by the text of its range. */
export interface AllocationMeter {
  /** An address was given out. */
  allocated(range: string): void;
  /** The address asked for is taken or in no range, or none was found. */
  failed(range: string): void;
}

/** What a range holds. */
export interface RangeFigures {
  readonly range: string;
  readonly allocated: number;
  readonly available: number;
}

const name = (rest: string): string => `kube_apiserver_clusterip_allocator_${rest}`;

/** Counts into `registry`, once per registry, from nothing for each of `ranges`. */
export function allocationMeter(registry: Registry, ranges: readonly string[]): AllocationMeter {
  const total = registry.counter(name("allocation_total"), "Service addresses given out, by range.", "cidr");
  const errors = registry.counter(name("allocation_errors_total"), "Service addresses that were refused.", "cidr");
  for (const range of ranges) total.add(range, 0);
  return { allocated: (range) => total.add(range), failed: (range) => errors.add(range) };
}

/** Shows, on one thread of the server, what ranges hold: `read` is called at each scrape. */
export function showRanges(registry: Registry, read: () => readonly RangeFigures[]): void {
  const allocated = registry.fact(name("allocated_ips"), "Service addresses that are given out, by range.", "cidr");
  const available = registry.fact(name("available_ips"), "Service addresses that are free, by range.", "cidr");
  registry.onCollect(() => {
    for (const figures of read()) {
      allocated.set(figures.range, figures.allocated);
      available.set(figures.range, figures.available);
    }
  });
}
