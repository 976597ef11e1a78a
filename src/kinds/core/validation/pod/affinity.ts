// Where a pod may run: affinity to nodes and to other pods, tolerations of taints, and spreading over topology.
import { duplicate, forbiddenField, invalid, notSupported, required } from "../../../../api/fielderror.ts";
import type {
  Affinity,
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodAffinity,
  PodAffinityTerm,
  Toleration,
  TopologySpreadConstraint,
} from "../../../../api/gen/core/v1.ts";
import { isDns1123Label, isDns1123Subdomain, isLabelValue } from "../../../formats.ts";
import { checkQualifiedName, type Errors, eachItem, empty, faults, isFull } from "../../../validation/check.ts";
import { goToleration } from "../../../validation/gostruct.ts";
import { checkLabelSelector } from "../../../validation/selector.ts";
import { checkTaintEffect } from "../node.ts";

const badOperator = "not a valid selector operator";

/** Rules of the affinity of a pod. */
export function checkAffinity(out: Errors, path: string, affinity: Affinity | undefined): void {
  if (affinity === undefined) return;
  const node = affinity.nodeAffinity;
  if (node !== undefined) {
    const at = `${path}.nodeAffinity`;
    const wanted = node.requiredDuringSchedulingIgnoredDuringExecution;
    if (wanted !== undefined) checkNodeSelector(out, `${at}.requiredDuringSchedulingIgnoredDuringExecution`, wanted);
    const preferred = `${at}.preferredDuringSchedulingIgnoredDuringExecution`;
    eachItem(out, node.preferredDuringSchedulingIgnoredDuringExecution, preferred, (term, termAt) => {
      checkWeight(out, termAt, term.weight);
      checkNodeTerm(out, `${termAt}.preference`, term.preference);
    });
  }
  if (affinity.podAffinity !== undefined) checkPodAffinity(out, `${path}.podAffinity`, affinity.podAffinity);
  if (affinity.podAntiAffinity !== undefined) {
    checkPodAffinity(out, `${path}.podAntiAffinity`, affinity.podAntiAffinity);
  }
}

function checkWeight(out: Errors, path: string, weight: number): void {
  if (weight <= 0 || weight > 100) out.push(invalid(`${path}.weight`, weight, "must be in the range 1-100"));
}

/** Terms a node must meet one of; none at all is a mistake. */
export function checkNodeSelector(out: Errors, path: string, selector: NodeSelector): void {
  const terms = selector.nodeSelectorTerms ?? [];
  if (terms.length === 0) {
    out.push(required(`${path}.nodeSelectorTerms`, "must have at least one node selector term"));
    return;
  }
  eachItem(out, terms, `${path}.nodeSelectorTerms`, (term, at) => checkNodeTerm(out, at, term));
}

function checkNodeTerm(out: Errors, path: string, term: NodeSelectorTerm): void {
  eachItem(out, term.matchExpressions, `${path}.matchExpressions`, (item, at) => checkNodeExpression(out, at, item));
  eachItem(out, term.matchFields, `${path}.matchFields`, (item, at) => checkNodeField(out, at, item));
}

function checkNodeExpression(out: Errors, path: string, requirement: NodeSelectorRequirement): void {
  const count = requirement.values?.length ?? 0;
  const at = `${path}.values`;
  switch (requirement.operator) {
    case "In":
    case "NotIn":
      if (count === 0) out.push(required(at, "must be specified when `operator` is 'In' or 'NotIn'"));
      break;
    case "Exists":
    case "DoesNotExist":
      if (count > 0) out.push(forbiddenField(at, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
      break;
    case "Gt":
    case "Lt":
      if (count !== 1) out.push(required(at, "must be specified single value when `operator` is 'Lt' or 'Gt'"));
      break;
    default:
      out.push(invalid(`${path}.operator`, requirement.operator, badOperator));
  }
  checkQualifiedName(out, `${path}.key`, requirement.key);
}

/** The only field of a node to select by is its name. */
function checkNodeField(out: Errors, path: string, requirement: NodeSelectorRequirement): void {
  const values = requirement.values ?? [];
  if (requirement.operator !== "In" && requirement.operator !== "NotIn") {
    out.push(invalid(`${path}.operator`, requirement.operator, badOperator));
  } else if (values.length !== 1) {
    const why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
    out.push(required(`${path}.values`, why));
  }
  if (requirement.key !== "metadata.name") {
    out.push(invalid(`${path}.key`, requirement.key, "not a valid field selector key"));
    return;
  }
  eachItem(out, values, `${path}.values`, (value, at) => faults(out, at, value, isDns1123Subdomain(value)));
}

/** The same for affinity and for anti-affinity. */
function checkPodAffinity(out: Errors, path: string, affinity: PodAffinity): void {
  const wanted = `${path}.requiredDuringSchedulingIgnoredDuringExecution`;
  eachItem(out, affinity.requiredDuringSchedulingIgnoredDuringExecution, wanted, (term, at) =>
    checkPodTerm(out, at, term),
  );
  const preferred = `${path}.preferredDuringSchedulingIgnoredDuringExecution`;
  eachItem(out, affinity.preferredDuringSchedulingIgnoredDuringExecution, preferred, (term, at) => {
    checkWeight(out, at, term.weight);
    checkPodTerm(out, `${at}.podAffinityTerm`, term.podAffinityTerm);
  });
}

function checkPodTerm(out: Errors, path: string, term: PodAffinityTerm): void {
  checkLabelSelector(out, `${path}.labelSelector`, term.labelSelector);
  checkLabelSelector(out, `${path}.namespaceSelector`, term.namespaceSelector);
  for (const name of term.namespaces ?? [])
    if (!isFull(out)) faults(out, `${path}.namespace`, name, isDns1123Label(name));
  if (term.topologyKey === "") out.push(required(`${path}.topologyKey`, "can not be empty"));
  checkQualifiedName(out, `${path}.topologyKey`, term.topologyKey);
}

/** Rules of tolerations. */
export function checkTolerations(out: Errors, path: string, tolerations: readonly Toleration[] | undefined): void {
  eachItem(out, tolerations, path, (toleration, at) => {
    const { key, operator = "", value = "", effect = "" } = toleration;
    if (!empty(key)) checkQualifiedName(out, `${at}.key`, key);
    else if (operator !== "Exists") {
      const why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
      out.push(invalid(`${at}.operator`, operator, why));
    }
    if (toleration.tolerationSeconds !== undefined && effect !== "NoExecute") {
      out.push(invalid(`${at}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"));
    }
    if (operator === "Equal" || operator === "") {
      const wrong = isLabelValue(value);
      if (wrong.length > 0) out.push(invalid(`${at}.operator`, value, wrong.join(";")));
    } else if (operator === "Exists") {
      const why = "value must be empty when `operator` is 'Exists'";
      if (value !== "") out.push(invalid(`${at}.operator`, goToleration(toleration), why));
    } else out.push(notSupported(`${at}.operator`, operator, ["Equal", "Exists"]));
    if (effect !== "") checkTaintEffect(out, `${at}.effect`, effect);
  });
}

/** Rules of spreading: each pair of key and action at most once (the earlier ones of a repeated pair are reported). */
export function checkSpread(
  out: Errors,
  path: string,
  constraints: readonly TopologySpreadConstraint[] | undefined,
): void {
  if (constraints === undefined) return;
  const pairOf = (constraint: TopologySpreadConstraint): string =>
    `{${constraint.topologyKey}, ${constraint.whenUnsatisfiable}}`;
  const last = new Map(constraints.map((constraint, index) => [pairOf(constraint), index]));
  eachItem(out, constraints, path, (constraint, at, index) => {
    const { maxSkew, topologyKey: key, whenUnsatisfiable: action } = constraint;
    if (maxSkew <= 0) out.push(invalid(`${at}.maxSkew`, maxSkew, "must be greater than zero"));
    if (key === "") out.push(required(`${at}.topologyKey`, "can not be empty"));
    if (action !== "DoNotSchedule" && action !== "ScheduleAnyway") {
      out.push(notSupported(`${at}.whenUnsatisfiable`, action, ["DoNotSchedule", "ScheduleAnyway"]));
    }
    const pair = pairOf(constraint);
    if (last.get(pair) !== index) out.push(duplicate(`${at}.{topologyKey, whenUnsatisfiable}`, pair));
  });
}
