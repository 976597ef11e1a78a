// What a definition's status says of its names and of approval, worked out from the definition and from the names that
// its group has accepted (upstream: the naming, establishing and API approval controllers, in one step). Pure.
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionCondition,
  CustomResourceDefinitionNames,
} from "../../api/gen/apiextensions/v1.ts";
import { quote } from "../../api/gotext.ts";
import type { Identity } from "../../api/identity.ts";
import { approvalIn, approvalKey } from "../apiextensions/validation/approval.ts";

/** Kept by the server on a definition that is being deleted, until its objects are gone; canonical spelling. */
export const cleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

/** A condition without its time. */
export interface DefinitionCondition {
  readonly type: "NamesAccepted" | "Established" | "Terminating" | "KubernetesAPIApprovalPolicyConformant";
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

/** The names a group's definitions have accepted, those of the definition that is looked at among them. */
export interface UsedNames {
  /** Plural, singular and short names. */
  readonly resources: ReadonlySet<string>;
  /** Kinds and kinds of lists. */
  readonly kinds: ReadonlySet<string>;
}

/** What becomes of the names a definition asks for. */
export interface NameDecision {
  readonly accepted: CustomResourceDefinitionNames;
  readonly condition: DefinitionCondition;
}

/** The names that the definitions of one group have accepted. */
export function usedNames(definitions: Iterable<CustomResourceDefinition>): UsedNames {
  const resources = new Set<string>();
  const kinds = new Set<string>();
  for (const { status } of definitions) {
    const { plural, singular = "", shortNames = [], kind, listKind = "" } = status.acceptedNames;
    for (const name of [plural, singular, ...shortNames]) resources.add(name);
    for (const name of [kind, listKind]) kinds.add(name);
  }
  return { resources, kinds };
}

/**
 * Which of the names asked for are accepted: each that is free or the definition's own already; in place of one that is
 * not, the one that was accepted before. The reason is that of the last conflict (upstream).
 */
export function decideNames({ spec, status }: CustomResourceDefinition, used: UsedNames): NameDecision {
  const wanted = spec.names;
  const accepted: CustomResourceDefinitionNames = { ...status.acceptedNames };
  let conflict: { reason: string; message: string } | undefined;
  const isFree = (name: string, own: string, taken: ReadonlySet<string>): boolean => name === own || !taken.has(name);
  const refuse = (reason: string, names: readonly string[]): void => {
    const texts = names.map((name) => `${quote(name)} is already in use`);
    conflict = { reason, message: texts.length === 1 ? (texts[0] ?? "") : `[${texts.join(", ")}]` };
  };
  if (isFree(wanted.plural, accepted.plural, used.resources)) accepted.plural = wanted.plural;
  else refuse("PluralConflict", [wanted.plural]);
  const singular = wanted.singular ?? "";
  if (isFree(singular, accepted.singular ?? "", used.resources)) put(accepted, "singular", wanted.singular);
  else refuse("SingularConflict", [singular]);
  const own = new Set(accepted.shortNames);
  // A name that comes twice is told once: upstream's list of errors is a set.
  const taken = new Set(wanted.shortNames?.filter((name) => !own.has(name) && used.resources.has(name)));
  if (taken.size === 0) put(accepted, "shortNames", wanted.shortNames);
  else refuse("ShortNamesConflict", [...taken]);
  if (isFree(wanted.kind, accepted.kind, used.kinds)) accepted.kind = wanted.kind;
  else refuse("KindConflict", [wanted.kind]);
  const listKind = wanted.listKind ?? "";
  if (isFree(listKind, accepted.listKind ?? "", used.kinds)) put(accepted, "listKind", wanted.listKind);
  else refuse("ListKindConflict", [listKind]);
  put(accepted, "categories", wanted.categories);
  if (conflict !== undefined) {
    return { accepted, condition: { type: "NamesAccepted", status: "False", ...conflict } };
  }
  const message = "no conflicts found";
  return { accepted, condition: { type: "NamesAccepted", status: "True", reason: "NoConflicts", message } };
}

/** The definition is served once its names are accepted and its log is there. */
export const established: DefinitionCondition = {
  type: "Established",
  status: "True",
  reason: "InitialNamesAccepted",
  message: "the initial names have been accepted",
};

/** The definition is not served. */
export const notAccepted: DefinitionCondition = {
  type: "Established",
  status: "False",
  reason: "NotAccepted",
  message: "not all names are accepted",
};

/** The names are accepted, and there is no room for another kind; ours, upstream has no bound. */
export function tooManyKinds(count: number): DefinitionCondition {
  const message = `the server keeps at most ${count} kinds; this one is served when another one is gone`;
  return { type: "Established", status: "False", reason: "TooManyKinds", message };
}

/** What is said of approval; undefined where none is needed. */
export function approvalCondition(
  { metadata, spec }: CustomResourceDefinition,
  identity: Identity,
): DefinitionCondition | undefined {
  const approval = approvalIn(spec.group, metadata.annotations?.get(identity.spell(approvalKey)) ?? "", identity);
  if (approval === undefined) return undefined;
  const { state, message } = approval;
  const status = state === "Approved" ? "True" : "False";
  return { type: "KubernetesAPIApprovalPolicyConformant", status, reason: `${state}Annotation`, message };
}

/** Conditions with one put in, in place of that of its type; the time is of the last change of its status. */
export function withCondition(
  conditions: readonly CustomResourceDefinitionCondition[],
  { type, status, reason, message }: DefinitionCondition,
  now: string,
): CustomResourceDefinitionCondition[] {
  const index = conditions.findIndex((condition) => condition.type === type);
  const old = conditions[index];
  const lastTransitionTime = old?.status === status ? (old.lastTransitionTime ?? now) : now;
  const next = { type, status, lastTransitionTime, reason, message };
  return old === undefined ? [...conditions, next] : conditions.with(index, next);
}

/** Whether a condition says what it would be set to. */
export function says(
  conditions: readonly CustomResourceDefinitionCondition[] | undefined,
  { type, status, reason, message }: DefinitionCondition,
): boolean {
  const found = conditions?.find((condition) => condition.type === type);
  return found?.status === status && found.reason === reason && found.message === message;
}

/** Whether two definitions' names are the same, nothing and an empty list being so. */
export function sameNames(a: CustomResourceDefinitionNames, b: CustomResourceDefinitionNames): boolean {
  return (
    a.plural === b.plural &&
    a.kind === b.kind &&
    (a.singular ?? "") === (b.singular ?? "") &&
    (a.listKind ?? "") === (b.listKind ?? "") &&
    sameList(a.shortNames, b.shortNames) &&
    sameList(a.categories, b.categories)
  );
}

function sameList(a: readonly string[] = [], b: readonly string[] = []): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}

function put<K extends "singular" | "shortNames" | "listKind" | "categories">(
  names: CustomResourceDefinitionNames,
  key: K,
  value: CustomResourceDefinitionNames[K],
): void {
  if (value === undefined) delete names[key];
  else names[key] = value;
}
