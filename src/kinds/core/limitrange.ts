// LimitRange: bounds and defaults of what pods and claims of a namespace ask for.
import { randomUUID } from "node:crypto";
import { duplicate, type FieldError, forbiddenField, invalid, required } from "../../api/fielderror.ts";
import type { LimitRange, LimitRangeItem } from "../../api/gen/core/v1.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { isQualifiedName } from "../formats.ts";
import { strategyFor } from "../generic.ts";
import type { Strategy, StrategyContext } from "../strategy.ts";
import { compareAmounts, goQuantity, thousandths } from "../validation/amounts.ts";
import { type Errors, eachItem, faults, isFull } from "../validation/check.ts";
import { type Names, namesOf } from "../validation/names.ts";
import { checkContainerResourceName, checkResourceName, mayOvercommit } from "./validation/pod/resources.ts";

/** Behaviour of limit ranges. */
export function limitRangeBehaviour(resource: Resource): OwnBehaviour {
  return {
    strategy: limitRangeStrategy(resource),
    metaRules: { update: [1, 0] },
  };
}

/** Limit ranges: the only kind that may be created without a name. */
function limitRangeStrategy(resource: Resource): Strategy<LimitRange> {
  return strategyFor<LimitRange>(resource, {
    allowCreateOnUpdate: true,
    prepareForCreate(_context, { metadata }) {
      if (!metadata.name && !metadata.generateName) metadata.name = randomUUID();
    },
    namesItself: true,
    validate: validateLimitRange,
    validateUpdate: validateLimitRangeUpdate,
  });
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

/** How the bounds of one resource relate. The values two of the errors show are not those at fault: so upstream. */
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
