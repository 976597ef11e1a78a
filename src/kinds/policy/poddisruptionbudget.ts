// PodDisruptionBudget: how many pods must stay when others are evicted.
import { type FieldError, invalid } from "../../api/fielderror.ts";
import type { LabelSelector } from "../../api/gen/meta/v1.ts";
import type { PodDisruptionBudget } from "../../api/gen/policy/v1.ts";
import type { PodDisruptionBudget as StoredBudget } from "../../api/gen/policy/v1beta1.ts";
import type { Identity } from "../../api/identity.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, type Columns, column, integer, nameColumn } from "../columns.ts";
import { isPercent, nonNegativeMessage } from "../formats.ts";
import { strategyFor } from "../generic.ts";
import type { Strategy } from "../strategy.ts";
import { checkNonNegative, type Errors, faults } from "../validation/check.ts";
import { checkLabelSelector } from "../validation/selector.ts";

/** Behaviour of disruption budgets. */
export function podDisruptionBudgetBehaviour(resource: Resource, identity: Identity): OwnBehaviour {
  const { fromOld, toOld } = budgetConversions(identity);
  return {
    strategy: disruptionBudgetStrategy(resource),
    columns: disruptionBudgetColumns(),
    metaRules: { update: [0, 0], parts: { status: [0, 0] }, last: true },
    conversion: resource.version === "v1beta1" ? { toHub: fromOld, fromHub: toOld } : undefined,
  };
}

function disruptionBudgetStrategy(resource: Resource): Strategy<PodDisruptionBudget> {
  return strategyFor<PodDisruptionBudget>(resource, {
    counts: ["spec"],
    allowUnconditionalUpdate: false,
    validate: validateDisruptionBudget,
    validateUpdate: validateDisruptionBudget,
    validateStatus: validateDisruptionBudgetStatus,
  });
}

/** Columns of disruption budgets. */
function disruptionBudgetColumns(): Columns<StoredBudget> {
  const shown = (value: number | string | undefined): string => (value === undefined ? "N/A" : String(value));
  return {
    columns: [
      nameColumn,
      column("Min Available", "Pods that must stay available", ({ spec }) => shown(spec.minAvailable)),
      column("Max Unavailable", "Pods that may be unavailable", ({ spec }) => shown(spec.maxUnavailable)),
      column("Allowed Disruptions", "Pods that may be evicted now", ({ status }) => status.disruptionsAllowed, integer),
      ageColumn,
    ],
  };
}

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

/**
 * Disruption budgets: an empty selector selects nothing in v1beta1 and everything in v1, so each says the other's in
 * a requirement on a label that no object has.
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
