// Conversions of the kinds that changed a field or two between versions. The objects given are used up.
import type { Event as CoreEvent } from "../../api/gen/core/v1.ts";
import type * as slices from "../../api/gen/discovery/v1.ts";
import type * as oldSlices from "../../api/gen/discovery/v1beta1.ts";
import type { Event } from "../../api/gen/events/v1.ts";
import type { LabelSelector } from "../../api/gen/meta/v1.ts";
import type { RuntimeClass } from "../../api/gen/node/v1.ts";
import type { RuntimeClass as OldRuntimeClass } from "../../api/gen/node/v1alpha1.ts";
import type { PodDisruptionBudget } from "../../api/gen/policy/v1.ts";
import type { Identity } from "../../api/identity.ts";

/** Event of events.k8s.io from the core one. */
export function eventFromCore(event: CoreEvent): Event {
  const { involvedObject, message, source, firstTimestamp, lastTimestamp, count, reportingComponent, series, ...same } =
    event;
  return {
    ...same,
    series: series && { ...series, count: series.count ?? 0 },
    reportingController: reportingComponent,
    regarding: involvedObject,
    note: message,
    deprecatedSource: source,
    deprecatedFirstTimestamp: firstTimestamp,
    deprecatedLastTimestamp: lastTimestamp,
    deprecatedCount: count,
  };
}

/** Core event from that of events.k8s.io. */
export function eventToCore(event: Event): CoreEvent {
  const {
    regarding,
    note,
    deprecatedSource,
    deprecatedFirstTimestamp,
    deprecatedLastTimestamp,
    deprecatedCount,
    reportingController,
    reportingInstance,
    ...same
  } = event;
  return {
    ...same,
    involvedObject: regarding,
    message: note,
    source: deprecatedSource,
    firstTimestamp: deprecatedFirstTimestamp,
    lastTimestamp: deprecatedLastTimestamp,
    count: deprecatedCount,
    reportingComponent: reportingController ?? "",
    reportingInstance: reportingInstance ?? "",
  };
}

/** RuntimeClass v1alpha1 keeps in a spec what later versions have at the top. */
export function runtimeClassFromOld({ metadata, spec }: OldRuntimeClass): RuntimeClass {
  const { runtimeHandler, overhead, scheduling } = spec;
  return { metadata, handler: runtimeHandler, overhead, scheduling };
}

/** The reverse. */
export function runtimeClassToOld({ metadata, handler, overhead, scheduling }: RuntimeClass): OldRuntimeClass {
  return { metadata, spec: { runtimeHandler: handler, overhead, scheduling } };
}

/** Endpoint slices: the topology of the old version is fields (node, zone) and a remainder in the new one. */
export function sliceConversions(identity: Identity): {
  fromOld(slice: oldSlices.EndpointSlice): slices.EndpointSlice;
  toOld(slice: slices.EndpointSlice): oldSlices.EndpointSlice;
} {
  const hostKey = identity.spell("kubernetes.io/hostname");
  const zoneKey = identity.spell("topology.kubernetes.io/zone");
  const fromOld = ({ topology, ...same }: oldSlices.Endpoint): slices.Endpoint => {
    const rest = new Map(topology);
    const zone = rest.get(zoneKey);
    rest.delete(zoneKey);
    if (same.nodeName !== undefined && rest.get(hostKey) === same.nodeName) rest.delete(hostKey);
    return { ...same, deprecatedTopology: rest.size > 0 ? rest : undefined, zone };
  };
  const toOld = ({ deprecatedTopology, zone, ...same }: slices.Endpoint): oldSlices.Endpoint => {
    const topology = new Map(deprecatedTopology);
    if (zone !== undefined) topology.set(zoneKey, zone);
    if (same.nodeName !== undefined && !topology.has(hostKey)) topology.set(hostKey, same.nodeName);
    return { ...same, topology: topology.size > 0 ? topology : undefined };
  };
  return {
    fromOld: (slice) => ({ ...slice, endpoints: slice.endpoints?.map(fromOld) }),
    toOld: (slice) => ({ ...slice, endpoints: slice.endpoints?.map(toOld) }),
  };
}

/**
 * Disruption budgets: an empty selector selects nothing in v1beta1 and everything in v1, so each says the other's in
 * a requirement on a label nobody has.
 */
export function budgetConversions(identity: Identity): {
  fromOld(budget: PodDisruptionBudget): PodDisruptionBudget;
  toOld(budget: PodDisruptionBudget): PodDisruptionBudget;
} {
  const key = identity.spell("pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match");
  const marker = (operator: string): LabelSelector => ({ matchExpressions: [{ key, operator }] });
  const swap = (budget: PodDisruptionBudget, toEmpty: string, fromEmpty: string): PodDisruptionBudget => {
    const selector = budget.spec.selector;
    if (selector === undefined || selector.matchLabels?.size) return budget;
    const [first, ...more] = selector.matchExpressions ?? [];
    if (first === undefined) budget.spec.selector = marker(fromEmpty);
    else if (more.length === 0 && first.key === key && first.operator === toEmpty && !first.values?.length) {
      budget.spec.selector = {};
    }
    return budget;
  };
  return {
    fromOld: (budget) => swap(budget, "DoesNotExist", "Exists"),
    toOld: (budget) => swap(budget, "Exists", "DoesNotExist"),
  };
}
