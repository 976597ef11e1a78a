// Matching of policy rules: upstream's (rbac evaluation helpers), and whether the rules a user holds cover
// rules that are to be given away (component helpers' rule coverage).
import type { PolicyRule, RoleRef } from "../api/gen/rbac/v1.ts";
import type { User } from "../api/user.ts";
import { limits } from "../config/limits.ts";
import type { Attributes } from "./authorizer.ts";

/** The rules that apply to a user in a namespace, as far as they are known. */
export interface HeldRules {
  readonly rules: readonly PolicyRule[];
  /** Errors of the evaluation, one text each. */
  readonly errors: readonly string[];
  /** There may be more that cannot be listed. */
  readonly incomplete?: boolean;
}

/** Knows the rules of users. */
export interface RuleResolver {
  /** `namespace` empty: cluster-wide rules only. */
  rulesFor(user: User, namespace: string): HeldRules;
}

/** Access to roles and bindings, independent of the modes. */
export interface Roles extends RuleResolver {
  /** The rules of the role a binding in `namespace` (empty: a cluster-wide one) refers to; undefined: there is none. */
  rulesOf(role: RoleRef, namespace: string): readonly PolicyRule[] | undefined;
}

/** Whether a rule allows the request. */
export function ruleAllows(rule: PolicyRule, asked: Attributes): boolean {
  if (!hasOrAll(rule.verbs, asked.verb)) return false;
  if (!asked.isResource) return coversPath(rule.nonResourceURLs, asked.path);
  return (
    hasOrAll(rule.apiGroups, asked.group) &&
    coversResource(rule.resources, asked.resource, asked.subresource) &&
    coversName(rule.resourceNames, asked.name)
  );
}

function hasOrAll(list: readonly string[] | undefined, wanted: string): boolean {
  if (list === undefined) return false;
  for (const item of list) if (item === wanted || item === "*") return true;
  return false;
}

// Of a list: an asterisk, `pods`, `pods/log`, or an asterisk and `/scale` for that subresource of anything.
function coversResource(list: readonly string[] | undefined, resource: string, subresource: string): boolean {
  if (list === undefined) return false;
  for (const item of list) {
    if (item === "*") return true;
    if (subresource === "") {
      if (item === resource) return true;
    } else if (item.length === resource.length + 1 + subresource.length) {
      if (item.startsWith(resource) && item.charCodeAt(resource.length) === 0x2f && item.endsWith(subresource))
        return true;
    }
    if (
      subresource !== "" &&
      item.length === subresource.length + 2 &&
      item.startsWith("*/") &&
      item.endsWith(subresource)
    )
      return true;
  }
  return false;
}

/** No names: every object. A list or create has no name and needs that. */
function coversName(list: readonly string[] | undefined, name: string): boolean {
  return list === undefined || list.length === 0 || list.includes(name);
}

/** `*`, the very path, or a prefix before a `*` at the end. */
function coversPath(list: readonly string[] | undefined, path: string): boolean {
  if (list === undefined) return false;
  for (const item of list) {
    if (item === "*" || item === path) return true;
    if (item.endsWith("*") && path.startsWith(withoutStars(item))) return true;
  }
  return false;
}

function withoutStars(text: string): string {
  let end = text.length;
  while (end > 0 && text.charCodeAt(end - 1) === 0x2a) end--;
  return text.slice(0, end);
}

/** A comparison of rules that would not end in good time. */
export class TooManyRules {
  /** Index of the wanted rule it stopped at. */
  readonly index: number;
  constructor(index: number) {
    this.index = index;
  }
}

/**
 * The parts of `wanted` that `held` does not grant, each a rule for one verb on one resource, name or path; none when
 * everything is covered. A rule that one rule of `held` covers whole is not taken apart. TooManyRules where the others
 * have more than limits.ruleCombinationsMax parts, or take more than limits.ruleComparisonsMax comparisons.
 */
export function uncovered(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] | TooManyRules {
  const order = new HeldOrder(held);
  const missing: PolicyRule[] = [];
  let combinations = 0;
  for (const [index, rule] of wanted.entries()) {
    if (order.coversWhole(rule)) continue;
    combinations += combinationsOf(rule);
    if (combinations > limits.ruleCombinationsMax) return new TooManyRules(index);
    for (const part of partsOf(rule)) if (!order.covers(part)) missing.push(part);
    if (order.isSpent) return new TooManyRules(index);
  }
  return missing;
}

/** The rules of a user, ordered by subject, and the comparisons left. */
class HeldOrder {
  readonly #byResource = new Map<string, PolicyRule[]>();
  readonly #paths: PolicyRule[] = [];
  #left: number = limits.ruleComparisonsMax;

  constructor(held: readonly PolicyRule[]) {
    for (const rule of held) {
      if ((rule.nonResourceURLs ?? []).length > 0) this.#paths.push(rule);
      for (const resource of new Set(rule.resources)) {
        const others = this.#byResource.get(resource);
        if (others === undefined) this.#byResource.set(resource, [rule]);
        else others.push(rule);
      }
    }
  }

  get isSpent(): boolean {
    return this.#left <= 0;
  }

  /** Whether one held rule alone covers a part; false, too, when nothing is left to find out. */
  covers(part: PolicyRule): boolean {
    return this.#about(part.resources?.[0], 1, (own) => covers(own, part));
  }

  /** Whether one held rule alone covers all parts of a rule about resources. */
  coversWhole(rule: PolicyRule): boolean {
    if ((rule.nonResourceURLs ?? []).length > 0) return false;
    return this.#about(rule.resources?.[0], sizeOf(rule), (own) => includesRule(own, rule));
  }

  /** Whether `test`, which looks at `size` texts besides those of a held rule, finds one about a resource. */
  #about(resource: string | undefined, size: number, test: (own: PolicyRule) => boolean): boolean {
    const some = (rules: readonly PolicyRule[] | undefined): boolean => {
      for (const own of rules ?? []) {
        this.#left -= sizeOf(own) + size;
        if (this.#left <= 0) return false;
        if (test(own)) return true;
      }
      return false;
    };
    if (resource === undefined) return some(this.#paths);
    if (some(this.#byResource.get("*")) || some(this.#byResource.get(resource))) return true;
    const slash = resource.indexOf("/");
    return slash >= 0 && some(this.#byResource.get(`*${resource.slice(slash)}`));
  }
}

/** Texts in a rule. */
function sizeOf({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): number {
  let size = 1;
  for (const list of [verbs, apiGroups, resources, resourceNames, nonResourceURLs]) size += list?.length ?? 0;
  return size;
}

/** Whether each value of a rule is in `own`: then it covers every combination of them. */
function includesRule(own: PolicyRule, rule: PolicyRule): boolean {
  const has = (all: readonly string[] | undefined, some: readonly string[] | undefined): boolean => {
    const known = new Set(all);
    return known.has("*") || (some ?? []).every((item) => known.has(item));
  };
  if (!has(own.verbs, rule.verbs) || !has(own.apiGroups, rule.apiGroups)) return false;
  if (!has(own.resources, rule.resources)) return false;
  if ((own.resourceNames ?? []).length === 0) return true;
  const names = new Set(own.resourceNames);
  return (rule.resourceNames ?? []).length > 0 && (rule.resourceNames ?? []).every((name) => names.has(name));
}

/** How many parts a rule has. */
function combinationsOf({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): number {
  const count = (list: readonly string[] | undefined): number => list?.length ?? 0;
  const names = Math.max(1, count(resourceNames));
  return count(verbs) * (count(apiGroups) * count(resources) * names + count(nonResourceURLs));
}

/** A rule taken apart: one verb, one group, one resource and at most one name each, or one verb and one path. */
function* partsOf(rule: PolicyRule): Generator<PolicyRule> {
  const { verbs = [], apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  for (const group of apiGroups) {
    for (const resource of resources) {
      for (const verb of verbs) {
        const part = { verbs: [verb], apiGroups: [group], resources: [resource] };
        if (resourceNames.length === 0) yield part;
        else for (const name of resourceNames) yield { ...part, resourceNames: [name] };
      }
    }
  }
  for (const path of nonResourceURLs) {
    for (const verb of verbs) yield { verbs: [verb], nonResourceURLs: [path] };
  }
}

/** Whether one rule holds all of a part. A `*` is covered by a `*` only. */
function covers(own: PolicyRule, part: PolicyRule): boolean {
  const verb = part.verbs?.[0] ?? "";
  if (!hasOrAll(own.verbs, verb)) return false;
  const path = part.nonResourceURLs?.[0];
  if (path !== undefined) return coversPath(own.nonResourceURLs, path);
  const [resource = "", subresource = ""] = splitOnce(part.resources?.[0] ?? "");
  if (!hasOrAll(own.apiGroups, part.apiGroups?.[0] ?? "")) return false;
  if (!coversResource(own.resources, resource, subresource)) return false;
  const names = own.resourceNames ?? [];
  return names.length === 0 || (part.resourceNames !== undefined && names.includes(part.resourceNames[0] ?? ""));
}

function splitOnce(text: string): [string, string] {
  const slash = text.indexOf("/");
  return slash < 0 ? [text, ""] : [text.slice(0, slash), text.slice(slash + 1)];
}
