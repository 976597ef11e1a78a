// Disruption budgets and pod security policies.
import { type FieldError, invalid, notSupported, required } from "../../api/fielderror.ts";
import type { PodDisruptionBudget } from "../../api/gen/policy/v1.ts";
import type * as psp from "../../api/gen/policy/v1beta1.ts";
import { isPercent, nonNegativeMessage } from "../formats.ts";
import { checkNonNegative, type Errors, eachItem, faults } from "./check.ts";
import { checkLabelSelector } from "./selector.ts";

/** Rules of a disruption budget, new or changed. */
export function validateDisruptionBudget({ spec }: PodDisruptionBudget): FieldError[] {
  const out: Errors = [];
  if (spec.minAvailable !== undefined && spec.maxUnavailable !== undefined) {
    out.push(invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set"));
  }
  for (const member of ["minAvailable", "maxUnavailable"] as const) {
    const value = spec[member];
    const path = `spec.${member}`;
    if (typeof value === "number" && value < 0) out.push(invalid(path, value, nonNegativeMessage));
    if (typeof value !== "string") continue;
    const messages = isPercent(value);
    faults(out, path, value, messages);
    if (messages.length === 0 && Number(value.slice(0, -1)) > 100) {
      out.push(invalid(path, value, "must not be greater than 100%"));
    }
  }
  checkLabelSelector(out, "spec.selector", spec.selector);
  return out;
}

/** Rules of a changed status. */
export function validateDisruptionBudgetStatus({ status }: PodDisruptionBudget): FieldError[] {
  const out: Errors = [];
  for (const member of ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"] as const) {
    checkNonNegative(out, `status.${member}`, status[member]);
  }
  return out;
}

/** Rules of a pod security policy, new or changed: who pods may run as. */
export function validatePodSecurityPolicy({ spec }: psp.PodSecurityPolicy): FieldError[] {
  const out: Errors = [];
  checkRule(out, "spec.runAsUser", spec.runAsUser, ["MustRunAs", "MustRunAsNonRoot", "RunAsAny"]);
  if (spec.runAsGroup) checkRule(out, "spec.runAsGroup", spec.runAsGroup, ["MayRunAs", "MustRunAs", "RunAsAny"]);
  const linux = ["MustRunAs", "RunAsAny"];
  if (!linux.includes(spec.seLinux.rule)) out.push(notSupported("spec.seLinux.rule", spec.seLinux.rule, linux));
  const groups = ["MayRunAs", "MustRunAs", "RunAsAny"];
  checkRule(out, "spec.supplementalGroups", spec.supplementalGroups, groups);
  checkRule(out, "spec.fsGroup", spec.fsGroup, groups);
  if (spec.defaultAllowPrivilegeEscalation && spec.allowPrivilegeEscalation === false) {
    const why =
      "Cannot set DefaultAllowPrivilegeEscalation to true without also setting AllowPrivilegeEscalation to true";
    out.push(invalid("spec.defaultAllowPrivilegeEscalation", true, why));
  }
  eachItem(out, spec.allowedHostPaths, "spec.allowedHostPaths", ({ pathPrefix }, place) => {
    const path = `${place}.pathPrefix`;
    if (!pathPrefix) out.push(required(path, "is required"));
    else if (pathPrefix.split("/").includes("..")) out.push(invalid(path, pathPrefix, "must not contain '..'"));
  });
  return out;
}

interface RangeRule {
  readonly rule?: string | undefined;
  readonly ranges?: psp.IDRange[] | undefined;
}

function checkRule(out: Errors, path: string, { rule = "", ranges }: RangeRule, rules: readonly string[]): void {
  if (!rules.includes(rule)) out.push(notSupported(`${path}.rule`, rule, rules));
  eachItem(out, ranges, `${path}.ranges`, ({ min, max }, place) => {
    if (min < 0) out.push(invalid(`${place}.min`, min, "min cannot be negative"));
    if (max < 0) out.push(invalid(`${place}.max`, max, "max cannot be negative"));
    if (min > max) out.push(invalid(`${place}.min`, min, "min cannot be greater than max"));
  });
}
