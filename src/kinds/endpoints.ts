// Endpoints beyond what one object may hold: clients read all of it at every change, so the list is cut to 1,000
// addresses and says so in an annotation (reference: the endpoints controller, since v1.22). Ready addresses go before
// others, and each subset keeps its share.
import type { EndpointAddress, Endpoints } from "../api/gen/core/v1.ts";
import type { Identity } from "../api/identity.ts";
import { limits } from "../config/limits.ts";

/** What cuts endpoints, in place. The annotation of a list that was cut before, and fits, stays: whoever made it knows. */
export function cutEndpoints(identity: Identity): (endpoints: Endpoints) => void {
  const annotation = identity.spell("endpoints.kubernetes.io/over-capacity");
  return (endpoints) => {
    const ready = countOf(endpoints, "addresses");
    const max = limits.endpointsMax;
    if (ready + countOf(endpoints, "notReadyAddresses") <= max) return;
    if (ready > max) {
      cut(endpoints, "addresses", ready, max);
      for (const subset of endpoints.subsets ?? []) delete subset.notReadyAddresses;
    } else cut(endpoints, "notReadyAddresses", countOf(endpoints, "notReadyAddresses"), max - ready);
    endpoints.subsets = endpoints.subsets?.filter(
      ({ addresses = [], notReadyAddresses = [] }) => addresses.length + notReadyAddresses.length > 0,
    );
    endpoints.metadata.annotations ??= new Map();
    endpoints.metadata.annotations.set(annotation, "truncated");
  };
}

type List = "addresses" | "notReadyAddresses";

function countOf({ subsets }: Endpoints, list: List): number {
  return (subsets ?? []).reduce((count, subset) => count + (subset[list]?.length ?? 0), 0);
}

/** Leaves `max` of `total` addresses, of each subset its share, rounded up until none are left. */
function cut({ subsets }: Endpoints, list: List, total: number, max: number): void {
  let left = max;
  for (const subset of subsets ?? []) {
    const addresses: readonly EndpointAddress[] = subset[list] ?? [];
    const share = Math.min(left, Math.ceil((addresses.length / total) * max));
    subset[list] = addresses.slice(0, share);
    left -= share;
  }
}
