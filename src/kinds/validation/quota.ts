// ResourceQuota and LimitRange: which resources they name, which scopes fit them, and how bounds relate.
import { duplicate, type FieldError, forbiddenField, invalid, quoteBad, required } from "../../api/fielderror.ts";
import type { LimitRange, LimitRangeItem, ResourceQuota, ResourceQuotaSpec } from "../../api/gen/core/v1.ts";
import { GoText } from "../../api/gotext.ts";
import { immutableMessage, isQualifiedName } from "../formats.ts";
import type { StrategyContext } from "../strategy.ts";
import { compareAmounts, goQuantity, thousandths } from "./amounts.ts";
import { type Errors, eachItem, faults, isFull } from "./check.ts";
import { goStringList } from "./gostruct.ts";
import { type Names, namesOf } from "./names.ts";
import {
  checkContainerResourceName,
  checkQuotaResourceName,
  checkResourceAmount,
  checkResourceName,
  isQuotaResource,
  mayOvercommit,
  type ResourceList,
} from "./pod/resources.ts";

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

/** Rules of a new limit range. */
export function validateLimitRange(object: LimitRange, context: StrategyContext): FieldError[] {
  const out: Errors = [];
  const names = namesOf(context.identity);
  const types = new Set<string>();
  eachItem(out, object.spec.limits, "spec.limits", (limit, path) => {
    checkLimitType(out, `${path}.type`, limit.type);
    if (types.has(limit.type)) out.push(duplicate(`${path}.type`, limit.type));
    types.add(limit.type);
    checkLimit(out, path, limit, names);
  });
  return out;
}

/** Rules of a changed limit range. */
export function validateLimitRangeUpdate(object: LimitRange, _old: LimitRange, context: StrategyContext): FieldError[] {
  return validateLimitRange(object, context);
}

function checkLimitType(out: Errors, path: string, type: string): void {
  const wrong = isQualifiedName(type);
  faults(out, path, type, wrong);
  if (wrong.length > 0 || type.includes("/")) return;
  if (type !== "Pod" && type !== "Container" && type !== "PersistentVolumeClaim") {
    out.push(invalid(path, type, "must be a standard limit type or fully qualified"));
  }
}

function checkLimit(out: Errors, path: string, limit: LimitRangeItem, names: Names): void {
  const resources = new Set<string>();
  const collect = (field: "max" | "min" | "default" | "defaultRequest" | "maxLimitRequestRatio"): void => {
    for (const name of limit[field]?.keys() ?? []) {
      if (isFull(out)) return;
      checkLimitResource(out, `${path}.${field}[${name}]`, limit.type, name, names);
      resources.add(name);
    }
  };
  collect("max");
  collect("min");
  const ofPod = limit.type === "Pod";
  if (ofPod) {
    const why = "may not be specified when `type` is 'Pod'";
    if ((limit.default?.size ?? 0) > 0) out.push(forbiddenField(`${path}.default`, why));
    if ((limit.defaultRequest?.size ?? 0) > 0) out.push(forbiddenField(`${path}.defaultRequest`, why));
  } else {
    collect("default");
    collect("defaultRequest");
  }
  if (
    limit.type === "PersistentVolumeClaim" &&
    limit.min?.has("storage") !== true &&
    limit.max?.has("storage") !== true
  ) {
    out.push(
      required(`${path}.limits`, "either minimum or maximum storage value is required, but neither was provided"),
    );
  }
  collect("maxLimitRequestRatio");
  for (const name of resources) if (!isFull(out)) checkBounds(out, path, limit, name, ofPod, names);
}

function checkLimitResource(out: Errors, path: string, type: string, name: string, names: Names): void {
  if (type === "Pod" || type === "Container") checkContainerResourceName(out, path, name, names);
  else checkResourceName(out, path, name);
}

/** How the bounds of one resource relate. The values two of the errors show are not those at fault: so the reference. */
function checkBounds(
  out: Errors,
  path: string,
  limit: LimitRangeItem,
  name: string,
  ofPod: boolean,
  names: Names,
): void {
  const min = limit.min?.get(name);
  const max = limit.max?.get(name);
  const usual = ofPod ? undefined : limit.default?.get(name);
  const usualRequest = ofPod ? undefined : limit.defaultRequest?.get(name);
  const wrong = (field: string, shown: string, why: string): void => {
    out.push(invalid(`${path}.${field}[${name}]`, goQuantity(shown), why));
  };
  const above = (a: string | undefined, b: string | undefined): a is string =>
    a !== undefined && b !== undefined && compareAmounts(a, b) > 0;
  if (above(min, max)) wrong("min", min, `min value ${min} is greater than max value ${max}`);
  if (usualRequest !== undefined) {
    if (above(min, usualRequest)) {
      wrong("defaultRequest", usualRequest, `min value ${min} is greater than default request value ${usualRequest}`);
    }
    if (above(usualRequest, max)) {
      wrong("defaultRequest", usualRequest, `default request value ${usualRequest} is greater than max value ${max}`);
    }
    if (above(usualRequest, usual)) {
      const why = `default request value ${usualRequest} is greater than default limit value ${usual}`;
      wrong("defaultRequest", usualRequest, why);
    }
  }
  if (above(min, usual)) wrong("default", min, `min value ${min} is greater than default value ${usual}`);
  if (max !== undefined && above(usual, max)) {
    wrong("default", max, `default value ${usual} is greater than max value ${max}`);
  }
  const ratio = limit.maxLimitRequestRatio?.get(name);
  if (ratio !== undefined) {
    const fault = ratioFault(ratio, min, max);
    if (compareAmounts(ratio, "1") < 0) wrong("maxLimitRequestRatio", ratio, `ratio ${ratio} is less than 1`);
    if (fault !== undefined) wrong("maxLimitRequestRatio", ratio, fault);
  }
  if (usual !== undefined && usualRequest !== undefined && !mayOvercommit(name, names)) {
    if (compareAmounts(usual, usualRequest) !== 0) {
      const why = `default value ${usual} must equal to defaultRequest value ${usualRequest} in ${name}`;
      wrong("defaultRequest", usualRequest, why);
    }
  }
}

function ratioFault(ratio: string, min: string | undefined, max: string | undefined): string | undefined {
  if (min === undefined || max === undefined) return undefined;
  const bound = Number(thousandths(max)) / Number(thousandths(min));
  if (!(Number(thousandths(ratio)) / 1000 > bound)) return undefined;
  return `ratio ${ratio} is greater than max/min = ${bound.toFixed(6)}`;
}
