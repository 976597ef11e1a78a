// What the conditions of a terminating namespace say, in the reasons and words of upstream's namespace controller.
import type { NamespaceCondition } from "../api/gen/core/v1.ts";
import { compareBytes } from "../api/gotext.ts";
import { limits } from "../config/limits.ts";

/** What one pass over a terminating namespace found, and what it could not do. */
export interface Remains {
  /** Objects that are left, by `resource.group`. */
  readonly counts: Map<string, number>;
  /** Objects by finalizer that keeps them. */
  readonly finalizers: Map<string, number>;
  /** Why objects could not be deleted, or are still there. */
  readonly refusals: string[];
  /** Why an extension server did not say what it serves, by `group/version`. */
  readonly undiscovered: Map<string, string>;
  /** Lists of extension servers that cannot be of their group version. */
  readonly unread: string[];
  /** When to look again, in seconds: the longest that what is left may take, as far as can be known. */
  estimateSeconds: number;
}

/** Seconds that finalizers are given for what they wait for (upstream's finalizerEstimateSeconds). */
export const finalizerEstimateSeconds = 15;

/** Of a pass that has not begun. */
export function emptyRemains(): Remains {
  return {
    counts: new Map(),
    finalizers: new Map(),
    refusals: [],
    undiscovered: new Map(),
    unread: [],
    estimateSeconds: 0,
  };
}

/** Why the namespace cannot go whatever is left in it; undefined: nothing failed. */
export function faultOf({ refusals, undiscovered, unread }: Remains): string | undefined {
  const faults = [...(undiscovered.size > 0 ? [undiscoveredText(undiscovered)] : []), ...unread, ...refusals];
  return faults.length === 0 ? undefined : bounded(faults.join(", "));
}

/** The five conditions in upstream's order; `now` is the time of those whose status is another than before. */
export function conditionsOf(
  remains: Remains,
  before: readonly NamespaceCondition[],
  now: string,
): readonly NamespaceCondition[] {
  const said = conditionTexts(remains).map(([type, wellReason, wellMessage, fault]): NamespaceCondition => {
    const [status, reason, message] =
      fault === undefined ? ["False", wellReason, wellMessage] : ["True", fault[0], bounded(fault[1])];
    const old = before.find((condition) => condition.type === type);
    if (old?.status === status && old.reason === reason && old.message === message) return old;
    const lastTransitionTime = old?.status === status ? (old.lastTransitionTime ?? now) : now;
    return { type, status, lastTransitionTime, reason, message };
  });
  const of = new Map(said.map((condition) => [condition.type, condition]));
  const present = new Set(before.map(({ type }) => type));
  return [...before.map((old) => of.get(old.type) ?? old), ...said.filter(({ type }) => !present.has(type))];
}

type Texts = readonly [type: string, wellReason: string, wellMessage: string, fault: Fault | undefined];
type Fault = readonly [reason: string, message: string];

function conditionTexts({ counts, finalizers, refusals, undiscovered, unread }: Remains): readonly Texts[] {
  const failed = `Discovery failed for some groups, ${undiscovered.size} failing: ${undiscoveredText(undiscovered)}`;
  const kept = `Failed to delete all resource types, ${refusals.length} remaining: ${sorted(refusals)}`;
  const resources = sorted([...counts].map(([key, count]) => `${key} has ${count} resource instances`));
  const keepers = sorted([...finalizers].map(([key, count]) => `${key} in ${count} resource instances`));
  return [
    [
      "NamespaceDeletionDiscoveryFailure",
      "ResourcesDiscovered",
      "All resources successfully discovered",
      undiscovered.size > 0 ? ["DiscoveryFailed", failed] : undefined,
    ],
    [
      "NamespaceDeletionGroupVersionParsingFailure",
      "ParsedGroupVersions",
      "All legacy kube types successfully parsed",
      unread.length > 0 ? ["GroupVersionParsingFailed", sorted(unread)] : undefined,
    ],
    [
      "NamespaceDeletionContentFailure",
      "ContentDeleted",
      "All content successfully deleted, may be waiting on finalization",
      refusals.length > 0 ? ["ContentDeletionFailed", kept] : undefined,
    ],
    [
      "NamespaceContentRemaining",
      "ContentRemoved",
      "All content successfully removed",
      counts.size > 0 ? ["SomeResourcesRemain", `Some resources are remaining: ${resources}`] : undefined,
    ],
    [
      "NamespaceFinalizersRemaining",
      "ContentHasNoFinalizers",
      "All content-preserving finalizers finished",
      finalizers.size > 0
        ? ["SomeFinalizersRemain", `Some content in the namespace has finalizers remaining: ${keepers}`]
        : undefined,
    ],
  ];
}

function undiscoveredText(undiscovered: ReadonlyMap<string, string>): string {
  const each = [...undiscovered].map(([groupVersion, why]) => `${groupVersion}: ${why}`);
  return `unable to retrieve the complete list of server APIs: ${sorted(each)}`;
}

function sorted(texts: readonly string[]): string {
  return texts.toSorted(compareBytes).join(", ");
}

/** Finalizers are names of the users': of many, the first are told. */
function bounded(message: string): string {
  return message.slice(0, limits.conditionMessageCharsMax);
}
