// Whether a write fits the quotas of its namespace: which of them it concerns, what it would use of them, and the
// refusals of upstream. Pure; plugin.ts does the charging.
import type { Pod, ResourceQuota } from "../../api/gen/core/v1.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Status } from "../../api/status.ts";
import {
  type AmountMap,
  type Amounts,
  addAll,
  amountsText,
  exceededNames,
  negativeNames,
  only,
  readAmounts,
  subtractDownToZero,
  withoutZeros,
} from "../../kinds/quota/amounts.ts";
import type { Evaluator } from "../../kinds/quota/evaluator.ts";
import { isInScope, isInScopes, type Scope, scopesOf } from "../../kinds/quota/scopes.ts";
import { type Attributes, forbid } from "../plugin.ts";

/** A quota with what of it is used, counted on while several writes are judged together. */
export interface Account {
  readonly quota: ApiObject & ResourceQuota;
  readonly quotaName: string;
  readonly hard: Amounts;
  readonly scopes: readonly Scope[];
  used: AmountMap;
}

/** What a plugin's configuration limits by default: such writes need a quota that allows them. */
export interface LimitedResource {
  /** Spelled in the identity. */
  readonly group: string;
  readonly resource: string;
  readonly contains: readonly string[];
  readonly scopes: readonly Scope[];
}

/** What a write uses more than before, by name of the quota that is to be charged. Empty: nothing to charge. */
export type Charges = ReadonlyMap<string, Amounts>;

/** The account of a quota. Limits count once the quota controller has acknowledged them in the status (upstream). */
export function accountOf(quota: ApiObject & ResourceQuota): Account {
  return {
    quota,
    quotaName: quota.metadata.name ?? "",
    hard: readAmounts(quota.status.hard),
    scopes: scopesOf(quota.spec),
    used: readAmounts(quota.status.used),
  };
}

/**
 * What a write is to charge to the accounts, without doing so; a 403 Status when it does not fit. Accounts named in
 * `paid` are charged for this write already.
 */
export function judge(
  attributes: Attributes,
  evaluator: Evaluator,
  accounts: readonly Account[],
  limited: readonly LimitedResource[],
  nowMs: number,
  paid?: Charges,
): Charges | Status {
  const { object } = attributes;
  if (object === undefined) return noCharges;
  const concerned = accounts.filter((account) => concerns(account, evaluator, object));
  const bounded = new Set<string>();
  for (const { quotaName, quota, hard } of concerned) {
    const names = evaluator.matching(hard.keys());
    const missing = evaluator.missing?.(names, object) ?? [];
    if (missing.length > 0) return forbid(attributes, `failed quota: ${quotaName}: must specify ${missing.join(",")}`);
    const uncounted = names.filter((name) => quota.status.used?.has(name) !== true);
    if (uncounted.length > 0) {
      const resources = names.toSorted().join(",");
      return forbid(attributes, `status unknown for quota: ${quotaName}, resources: ${resources}`);
    }
    for (const name of names) bounded.add(name);
  }
  const uncovered = checkLimited(attributes, evaluator, accounts, limited, bounded, nowMs);
  if (uncovered !== undefined) return uncovered;
  if (concerned.length === 0) return noCharges;
  const delta = deltaOf(attributes, object, evaluator, nowMs);
  const negative = negativeNames(delta).toSorted();
  if (negative.length > 0) {
    return forbid(attributes, `quota usage is negative for resource(s): ${negative.join(",")}`);
  }
  return charge(attributes, concerned, withoutZeros(delta), paid);
}

const noCharges: Charges = new Map();

/** Whether a quota bounds something an object uses, and is about such objects. */
function concerns({ hard, scopes }: Account, evaluator: Evaluator, object: ApiObject): boolean {
  if (evaluator.matching(hard.keys()).length === 0) return false;
  return isInScopes(scopes, evaluator, object);
}

/** An update is charged for what it uses more than before. */
function deltaOf({ old }: Attributes, object: ApiObject, evaluator: Evaluator, nowMs: number): Amounts {
  const used = evaluator.usage(object, nowMs);
  return old === undefined ? used : subtractDownToZero(used, evaluator.usage(old, nowMs));
}

function charge(
  attributes: Attributes,
  accounts: readonly Account[],
  delta: Amounts,
  paid: Charges | undefined,
): Charges | Status {
  const charges = new Map<string, Amounts>();
  for (const { quotaName, hard, used } of accounts) {
    const requested = only(delta, (name) => hard.has(name));
    if (requested.size === 0 || paid?.has(quotaName) === true) continue;
    const sums = only(used, (name) => requested.has(name));
    addAll(sums, requested);
    const over = exceededNames(sums, hard);
    if (over.length > 0) {
      const shown = (amounts: Amounts): string => amountsText(only(amounts, (name) => over.includes(name)));
      const figures = `requested: ${shown(requested)}, used: ${shown(used)}, limited: ${shown(hard)}`;
      return forbid(attributes, `exceeded quota: ${quotaName}, ${figures}`);
    }
    charges.set(quotaName, requested);
  }
  return charges;
}

/** Refuses what is limited by default and bounded by no quota. */
function checkLimited(
  attributes: Attributes,
  evaluator: Evaluator,
  accounts: readonly Account[],
  limited: readonly LimitedResource[],
  bounded: ReadonlySet<string>,
  nowMs: number,
): Status | undefined {
  const { resource, object } = attributes;
  const mine = limited.filter((one) => one.group === resource.group && one.resource === resource.resource);
  if (mine.length === 0 || object === undefined) return undefined;
  const used = [...withoutZeros(evaluator.usage(object, nowMs)).keys()];
  const wanted = used.filter((name) => mine.some(({ contains }) => contains.some((part) => name.includes(part))));
  const uncovered = wanted.filter((name) => !bounded.has(name)).toSorted();
  if (uncovered.length > 0) return forbid(attributes, `insufficient quota to consume: ${uncovered.join(",")}`);
  const pod = object as ApiObject & Pod;
  const asked = mine.flatMap(({ scopes }) => scopes).filter((scope) => isInScope(scope, pod));
  const offered = accounts.flatMap(({ scopes }) => scopes).filter((scope) => isInScope(scope, pod));
  const open = asked.filter((scope) => !offered.some((other) => sameScope(scope, other)));
  if (evaluator.missing === undefined || open.length === 0) return undefined;
  const shown = open.map(({ scopeName, operator, values = [] }) => `{${scopeName} ${operator} [${values.join(" ")}]}`);
  return forbid(attributes, `insufficient quota to match these scopes: [${shown.join(" ")}]`);
}

function sameScope(a: Scope, b: Scope): boolean {
  if (a.scopeName !== b.scopeName) return false;
  const [mine, theirs] = [a.values ?? [], b.values ?? []];
  return a.operator === b.operator && mine.length === theirs.length && mine.every((value) => theirs.includes(value));
}
