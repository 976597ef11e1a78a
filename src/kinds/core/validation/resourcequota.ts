// Rules of quotas: names, amounts and scopes.
import { type FieldError, invalid, quoteBad, required } from "../../../api/fielderror.ts";
import type { ResourceQuota, ResourceQuotaSpec } from "../../../api/gen/core/v1.ts";
import { GoText } from "../../../api/gotext.ts";
import { immutableMessage } from "../../formats.ts";
import type { StrategyContext } from "../../strategy.ts";
import { type Errors, isFull } from "../../validation/check.ts";
import { goStringList } from "../../validation/gostruct.ts";
import { type Names, namesOf } from "../../validation/names.ts";
import { checkQuotaResourceName, checkResourceAmount, isQuotaResource, type ResourceList } from "./pod/resources.ts";

const exclusiveScopes = [
  ["BestEffort", "NotBestEffort"],
  ["Terminating", "NotTerminating"],
] as const;
const scopesWithoutValues = new Set([
  "BestEffort",
  "NotBestEffort",
  "Terminating",
  "NotTerminating",
  "CrossNamespacePodAffinity",
]);
const scopes = new Set([...scopesWithoutValues, "PriorityClass"]);
/** What quotas of pods can be narrowed by scopes for; best-effort pods only by their count. */
const scopedResources = new Set([
  "pods",
  "cpu",
  "memory",
  "requests.cpu",
  "requests.memory",
  "limits.cpu",
  "limits.memory",
]);

/** Rules of a new quota. */
export function validateResourceQuota(object: ResourceQuota, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  const names = namesOf(context.identity);
  checkQuotaSpec(out, object.spec, names);
  checkQuotaStatus(out, object, names);
  return out;
}

/** Rules of a changed quota: its scopes stay. */
export function validateResourceQuotaUpdate(
  object: ResourceQuota,
  old: ResourceQuota,
  context: StrategyContext,
): FieldError[] {
  const out: Errors = [];
  checkQuotaSpec(out, object.spec, namesOf(context.identity));
  const [now, before] = [new Set(object.spec.scopes), new Set(old.spec.scopes)];
  if (now.size !== before.size || [...now].some((scope) => !before.has(scope))) {
    out.push(invalid("spec.scopes", goScopes(object.spec.scopes), immutableMessage));
  }
  return out;
}

/** Rules of a changed status of a quota. */
export function validateResourceQuotaStatusUpdate(
  object: ResourceQuota,
  _old: ResourceQuota,
  context: StrategyContext,
): FieldError[] {
  const out: Errors = [];
  checkQuotaStatus(out, object, namesOf(context.identity));
  return out;
}

function checkQuotaStatus(out: Errors, object: ResourceQuota, names: Names): void {
  checkQuotaAmounts(out, "status.hard", object.status.hard, names);
  checkQuotaAmounts(out, "status.used", object.status.used, names);
}

function checkQuotaAmounts(out: Errors, path: string, amounts: ResourceList | undefined, names: Names): void {
  for (const [name, amount] of amounts ?? []) {
    if (isFull(out)) return;
    const at = `${path}[${name}]`;
    checkQuotaResourceName(out, at, name);
    checkResourceAmount(out, at, name, amount, names);
  }
}

function checkQuotaSpec(out: Errors, spec: ResourceQuotaSpec, names: Names): void {
  checkQuotaAmounts(out, "spec.hard", spec.hard, names);
  checkScopes(out, spec);
  checkScopeSelector(out, spec);
}

function goScopes(list: readonly string[] | undefined): GoText {
  return goStringList(list, "[]core.ResourceQuotaScope");
}

/** How many limited resources a scope does not fit; asked per scope, answered once for each there is. */
function unfitCounts(spec: ResourceQuotaSpec): (scope: string) => number {
  const counts = new Map<string, number>();
  return (scope) => {
    if (!scopes.has(scope)) return 0;
    const known = counts.get(scope);
    if (known !== undefined) return known;
    let count = 0;
    for (const name of spec.hard?.keys() ?? []) {
      if (isQuotaResource(name) && (scope === "BestEffort" ? name !== "pods" : !scopedResources.has(name))) count += 1;
    }
    counts.set(scope, count);
    return count;
  };
}

const unfit = "unsupported scope applied to resource";

function checkScopes(out: Errors, spec: ResourceQuotaSpec): void {
  const shown = goScopes(spec.scopes);
  const unfitOf = unfitCounts(spec);
  for (const scope of spec.scopes ?? []) {
    if (isFull(out)) return;
    if (!scopes.has(scope)) out.push(invalid("spec.scopes", shown, "unsupported scope"));
    for (let i = unfitOf(scope); i > 0; i--) out.push(invalid("spec.scopes", shown, unfit));
  }
  checkExclusive(out, "spec.scopes", spec.scopes ?? [], shown);
}

function checkExclusive(out: Errors, path: string, found: readonly string[], shown: GoText): void {
  for (const pair of exclusiveScopes) {
    if (pair.every((scope) => found.includes(scope))) out.push(invalid(path, shown, "conflicting scopes"));
  }
}

function checkScopeSelector(out: Errors, spec: ResourceQuotaSpec): void {
  const requirements = spec.scopeSelector?.matchExpressions;
  if (requirements === undefined) return;
  const path = "spec.scopeSelector.matchExpressions";
  const shown = new GoText(quoteBad(spec.scopeSelector));
  const unfitOf = unfitCounts(spec);
  for (const { scopeName, operator, values = [] } of requirements) {
    if (isFull(out)) return;
    if (!scopes.has(scopeName)) out.push(invalid(`${path}.scopeName`, scopeName, "unsupported scope"));
    for (let i = unfitOf(scopeName); i > 0; i--) out.push(invalid(path, shown, unfit));
    if (scopesWithoutValues.has(scopeName) && operator !== "Exists") {
      out.push(invalid(`${path}.operator`, operator, existsOnly));
    }
    checkScopeOperator(out, path, operator, values);
  }
  checkExclusive(
    out,
    path,
    requirements.map((requirement) => requirement.scopeName),
    goScopes(spec.scopes),
  );
}

const existsOnly =
  "must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, " +
  "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";

function checkScopeOperator(out: Errors, path: string, operator: string, values: readonly string[]): void {
  switch (operator) {
    case "In":
    case "NotIn":
      if (values.length === 0) {
        out.push(
          required(
            `${path}.values`,
            "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
          ),
        );
      }
      break;
    case "Exists":
    case "DoesNotExist":
      if (values.length > 0) {
        const why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
        out.push(invalid(`${path}.values`, goStringList(values), why));
      }
      break;
    default:
      out.push(invalid(`${path}.operator`, operator, "not a valid selector operator"));
  }
}
