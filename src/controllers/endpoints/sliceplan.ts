// What becomes of the slices of a service: which are written, made and removed so that they say what they should, and as
// few as possible change (upstream: reconciler.go of its controllers of endpoint slices). Nothing is moved from slice to
// slice for the sake of order: each write of a slice is sent to every node.
import type { Endpoint, EndpointPort } from "../../api/gen/discovery/v1.ts";
import type { ObjectMeta } from "../../api/object.ts";
import { equalStrings } from "../../kinds/validation/equal.ts";
import { slicePortsText } from "./ports.ts";

/** A slice as it should be. */
export interface WantedSlice {
  readonly addressType: string;
  readonly ports: readonly EndpointPort[];
  readonly endpoints: readonly Endpoint[];
  readonly labels: ReadonlyMap<string, string>;
  /** Left out: they stay as they are. */
  readonly annotations?: ReadonlyMap<string, string>;
}

/** One that is there. */
export interface PresentSlice {
  readonly metadata: ObjectMeta;
  readonly addressType: string;
  readonly endpoints?: readonly Endpoint[] | undefined;
  readonly ports?: readonly EndpointPort[] | undefined;
}

/** What is to be written. */
export interface SlicePlan<S extends PresentSlice = PresentSlice> {
  readonly create: WantedSlice[];
  readonly update: { readonly name: string; readonly wanted: WantedSlice }[];
  readonly remove: S[];
}

/** Endpoints with the same ports and kind of addresses. */
export interface EndpointGroup {
  readonly addressType: string;
  readonly ports: readonly EndpointPort[];
  /** By endpointKey(); a plan takes them out. */
  readonly endpoints: Map<string, Endpoint>;
}

/** Counts endpoints that come to slices and go from them. */
export interface EndpointTally {
  added: number;
  removed: number;
}

/** Slices by kind of addresses and ports (`slicesKey()`), so that each is looked at once, however many groups there are. */
export function byPorts<S extends PresentSlice>(slices: Iterable<S>): Map<string, S[]> {
  const found = new Map<string, S[]>();
  for (const slice of slices) {
    const key = slicesKey(slice.addressType, slice.ports);
    const alike = found.get(key);
    if (alike === undefined) found.set(key, [slice]);
    else alike.push(slice);
  }
  return found;
}

/** Equal for slices of the same kind of addresses and the same ports. */
export function slicesKey(addressType: string, ports: readonly EndpointPort[] | undefined): string {
  return `${addressType} ${slicePortsText(ports)}`;
}

/** What tells endpoints of a slice apart; all else of one may change in its place. */
export function endpointKey({ addresses = [], hostname = "" }: Endpoint): string {
  const [first = ""] = addresses;
  return addresses.length === 1 ? `${hostname}\n${first}` : [hostname, ...[...addresses].sort()].join("\n");
}

/** Whether an endpoint says what it should; versions of pods do not count, or each of their changes would. */
export function isSameEndpoint(present: Endpoint, wanted: Endpoint): boolean {
  const { conditions: a, targetRef: p } = present;
  const { conditions: b, targetRef: w } = wanted;
  return (
    present.nodeName === wanted.nodeName &&
    present.zone === wanted.zone &&
    present.hints === undefined &&
    a?.ready === b.ready &&
    // Slices of before the conditions were switched on are not all written at once.
    isSameWhereBoth(a?.serving, b.serving) &&
    isSameWhereBoth(a?.terminating, b.terminating) &&
    p?.kind === w?.kind &&
    p?.namespace === w?.namespace &&
    p?.name === w?.name &&
    p?.uid === w?.uid
  );
}

function isSameWhereBoth(a: boolean | undefined, b: boolean | undefined): boolean {
  return a === undefined || b === undefined || a === b;
}

/** A slice in the making. */
interface Draft {
  readonly name: string | undefined;
  readonly endpoints: Endpoint[];
  isChanged: boolean;
}

/**
 * Distributes the endpoints of one group, at most `endpointsMax` per slice, over the present slices of it: those that
 * change anyway are filled up first, then the fullest of the others that takes all that is left, then new ones. What comes
 * and goes is added to `tally`.
 */
export function planGroup<S extends PresentSlice>(
  group: EndpointGroup,
  present: readonly S[],
  labels: ReadonlyMap<string, string>,
  endpointsMax: number,
  tally: EndpointTally = { added: 0, removed: 0 },
): SlicePlan<S> {
  const left = group.endpoints;
  const remove: S[] = [];
  const drafts: Draft[] = [];
  for (const slice of present) {
    const draft = draftOf(slice, left, labels);
    tally.removed += (slice.endpoints?.length ?? 0) - draft.endpoints.length;
    if (draft.isChanged && draft.endpoints.length === 0) remove.push(slice);
    else drafts.push(draft);
  }
  tally.added += left.size;
  const changed = drafts.filter(({ isChanged }) => isChanged);
  for (const draft of changed.sort((a, b) => b.endpoints.length - a.endpoints.length)) fill(draft, left, endpointsMax);
  while (left.size > 0) {
    let draft = left.size < endpointsMax ? fitting(drafts, left.size, endpointsMax) : undefined;
    if (draft === undefined) {
      draft = { name: undefined, endpoints: [], isChanged: true };
      drafts.push(draft);
    }
    draft.isChanged = true;
    fill(draft, left, endpointsMax);
  }
  const { addressType, ports } = group;
  const plan: SlicePlan<S> = { create: [], update: [], remove };
  for (const { name, endpoints, isChanged } of drafts) {
    if (!isChanged) continue;
    const wanted = { addressType, ports, endpoints, labels };
    if (name === undefined) plan.create.push(wanted);
    else plan.update.push({ name, wanted });
  }
  return plan;
}

/** Writes what is new over slices that would go, where the kind of addresses, which cannot change, is the same. */
export function reuse<S extends PresentSlice>(plan: SlicePlan<S>): SlicePlan<S> {
  const create = [...plan.create];
  const update = [...plan.update];
  const remove: S[] = [];
  for (const slice of plan.remove) {
    const at = create.findLastIndex(({ addressType }) => addressType === slice.addressType);
    const [wanted] = at < 0 ? [] : create.splice(at, 1);
    if (wanted === undefined) remove.push(slice);
    else update.push({ name: slice.metadata.name ?? "", wanted });
  }
  return { create, update, remove };
}

/** Annotations with the time of what led to a write, or without one. */
export function withTrigger(
  annotations: ReadonlyMap<string, string> | undefined,
  name: string,
  trigger: string | undefined,
): Map<string, string> | undefined {
  const after = new Map(annotations);
  after.delete(name);
  if (trigger !== undefined) after.set(name, trigger);
  return after.size === 0 ? undefined : after;
}

/** What of a slice stays, at its place; it is taken from what is left to be placed. */
function draftOf(slice: PresentSlice, left: Map<string, Endpoint>, labels: ReadonlyMap<string, string>): Draft {
  const endpoints: Endpoint[] = [];
  const before = slice.endpoints ?? [];
  let isChanged = !equalStrings(slice.metadata.labels, labels);
  for (const endpoint of before) {
    const key = endpointKey(endpoint);
    const wanted = left.get(key);
    if (wanted === undefined) continue;
    left.delete(key);
    endpoints.push(wanted);
    if (!isSameEndpoint(endpoint, wanted)) isChanged = true;
  }
  return { name: slice.metadata.name, endpoints, isChanged: isChanged || endpoints.length < before.length };
}

function fill({ endpoints }: Draft, left: Map<string, Endpoint>, endpointsMax: number): void {
  for (const [key, endpoint] of left) {
    if (endpoints.length >= endpointsMax) return;
    left.delete(key);
    endpoints.push(endpoint);
  }
}

/** The fullest slice that stays as it is and takes so many more. */
function fitting(drafts: readonly Draft[], count: number, endpointsMax: number): Draft | undefined {
  let best: Draft | undefined;
  for (const draft of drafts) {
    if (draft.isChanged || draft.endpoints.length + count > endpointsMax) continue;
    if (best === undefined || draft.endpoints.length > best.endpoints.length) best = draft;
  }
  return best;
}
