// Label selectors inside objects: their rules, and matching them against the labels of a template.
import { forbiddenField, invalid, required } from "../../api/fielderror.ts";
import type * as meta from "../../api/gen/meta/v1.ts";
import { isLabelValue, isQualifiedName } from "../formats.ts";
import { checkLabels, checkQualifiedName, type Errors, eachItem } from "./check.ts";

/** Rules of a label selector; an absent one is fine here. */
export function checkLabelSelector(out: Errors, path: string, selector: meta.LabelSelector | undefined): void {
  if (selector === undefined) return;
  checkLabels(out, `${path}.matchLabels`, selector.matchLabels);
  eachItem(out, selector.matchExpressions, `${path}.matchExpressions`, (requirement, at) => {
    checkRequirement(out, at, requirement);
  });
}

function checkRequirement(out: Errors, path: string, requirement: meta.LabelSelectorRequirement): void {
  const count = requirement.values?.length ?? 0;
  switch (requirement.operator) {
    case "In":
    case "NotIn":
      if (count === 0) out.push(required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
      break;
    case "Exists":
    case "DoesNotExist":
      if (count > 0) {
        out.push(
          forbiddenField(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
        );
      }
      break;
    default:
      out.push(invalid(`${path}.operator`, requirement.operator, "not a valid selector operator"));
  }
  checkQualifiedName(out, `${path}.key`, requirement.key);
}

/** True when a selector is there and selects everything. */
export function isEmptySelector(selector: meta.LabelSelector): boolean {
  return (selector.matchLabels?.size ?? 0) + (selector.matchExpressions?.length ?? 0) === 0;
}

/**
 * Whether a selector selects these labels: an absent one selects nothing, an empty one everything. Undefined when the
 * selector is malformed, which its own rules report.
 */
export function selects(
  selector: meta.LabelSelector | undefined,
  labels: ReadonlyMap<string, string> | undefined,
): boolean | undefined {
  if (selector === undefined) return false;
  if (!isUsable(selector)) return undefined;
  if (selector.matchLabels !== undefined) {
    for (const [key, value] of selector.matchLabels) if (labels?.get(key) !== value) return false;
  }
  return selector.matchExpressions?.every((requirement) => meets(requirement, labels?.get(requirement.key))) ?? true;
}

function meets(requirement: meta.LabelSelectorRequirement, value: string | undefined): boolean {
  switch (requirement.operator) {
    case "In":
      return value !== undefined && requirement.values?.includes(value) === true;
    case "NotIn":
      return value === undefined || requirement.values?.includes(value) !== true;
    case "Exists":
      return value !== undefined;
    default:
      return value === undefined;
  }
}

function isUsable(selector: meta.LabelSelector): boolean {
  for (const [key, value] of selector.matchLabels ?? []) {
    if (isQualifiedName(key).length > 0 || isLabelValue(value).length > 0) return false;
  }
  return (selector.matchExpressions ?? []).every((requirement) => {
    const values = requirement.values ?? [];
    const wantsValues = requirement.operator === "In" || requirement.operator === "NotIn";
    if (!wantsValues && requirement.operator !== "Exists" && requirement.operator !== "DoesNotExist") return false;
    if (wantsValues !== values.length > 0) return false;
    return isQualifiedName(requirement.key).length === 0 && values.every((value) => isLabelValue(value).length === 0);
  });
}
