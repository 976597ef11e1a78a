// What a policy rule grants: the reference's matching (rbac evaluation helpers), and whether rules somebody holds cover
// rules that are to be given away (component helpers' rule coverage).
import type { PolicyRule, RoleRef } from "../api/gen/rbac_v1.ts";
import type { User } from "../api/user.ts";
import type { Attributes } from "./authorizer.ts";

/** The rules that apply to a user in a namespace, as far as they are known. */
export interface HeldRules {
  readonly rules: readonly PolicyRule[];
  /** What could not be found out, one text each. */
  readonly errors: readonly string[];
  /** There may be more that cannot be listed. */
  readonly incomplete?: boolean;
}

/** Knows the rules of users. */
export interface RuleResolver {
  /** `namespace` empty: cluster-wide rules only. */
  rulesFor(user: User, namespace: string): HeldRules;
}

/** What there is in roles and bindings, whatever modes decide. */
export interface Roles extends RuleResolver {
  /** The rules of the role a binding in `namespace` (empty: a cluster-wide one) refers to; undefined: there is none. */
  rulesOf(role: RoleRef, namespace: string): readonly PolicyRule[] | undefined;
}

/** Whether a rule allows what is asked. */
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

/**
 * The parts of `wanted` that `held` does not grant, each a rule for one verb on one resource, name or path; none when
 * everything is covered.
 */
export function uncovered(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  const missing: PolicyRule[] = [];
  for (const rule of wanted) {
    for (const part of partsOf(rule)) if (!held.some((own) => covers(own, part))) missing.push(part);
  }
  return missing;
}

/** A rule taken apart: one verb, one group, one resource and at most one name each, or one verb and one path. */
function partsOf(rule: PolicyRule): PolicyRule[] {
  const parts: PolicyRule[] = [];
  for (const group of rule.apiGroups ?? []) {
    for (const resource of rule.resources ?? []) {
      for (const verb of rule.verbs ?? []) {
        const part = { verbs: [verb], apiGroups: [group], resources: [resource] };
        if ((rule.resourceNames ?? []).length === 0) parts.push(part);
        else for (const name of rule.resourceNames ?? []) parts.push({ ...part, resourceNames: [name] });
      }
    }
  }
  for (const path of rule.nonResourceURLs ?? []) {
    for (const verb of rule.verbs ?? []) parts.push({ verbs: [verb], nonResourceURLs: [path] });
  }
  return parts;
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
