// The audit policy: a list of rules, the first that matches a request says how much of it is written. Read once, when
// the server starts; an invalid file gives an error message of one line (upstream: audit policy checker and
// validation).
import type { User } from "../api/user.ts";
import { plainOf } from "../api/value.ts";
import { Fault } from "../codec/engine/json.ts";
import { parseYaml } from "../codec/yaml/yaml.ts";
import type { FileCheck } from "../config/filecheck.ts";
import type { AuditPolicy, AuditRule } from "../config/files/auditpolicy.ts";
import type { Asked, Coverage } from "./event.ts";

/** Resources of one group. */
interface Resources {
  readonly group: string;
  /** Empty: all. */
  readonly resources: readonly string[];
  /** Empty: any. */
  readonly names: ReadonlySet<string>;
}

/** One rule; an empty set or list matches everything. */
interface Rule {
  readonly coverage: Coverage | undefined;
  readonly users: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
  readonly verbs: ReadonlySet<string>;
  readonly resources: readonly Resources[];
  readonly namespaces: ReadonlySet<string>;
  readonly paths: readonly string[];
}

/** A policy that was read. */
export class Policy {
  readonly #rules: readonly Rule[];

  constructor(rules: readonly Rule[]) {
    this.#rules = rules;
  }

  /** How much is written of a request; undefined: nothing. Without a user its credentials were wrong. */
  coverage(asked: Asked, user: User | undefined): Coverage | undefined {
    for (const rule of this.#rules) if (matches(rule, asked, user)) return rule.coverage;
    return undefined;
  }
}

function matches(rule: Rule, asked: Asked, user: User | undefined): boolean {
  if (rule.users.size > 0 && (user === undefined || !rule.users.has(user.name))) return false;
  if (rule.groups.size > 0 && !(user?.groups.some((group) => rule.groups.has(group)) ?? false)) return false;
  if (rule.verbs.size > 0 && !rule.verbs.has(asked.verb)) return false;
  if (rule.namespaces.size > 0 || rule.resources.length > 0) {
    if (!asked.isResource) return false;
    // Cluster-scoped requests have the namespace "".
    if (rule.namespaces.size > 0 && !rule.namespaces.has(asked.namespace)) return false;
    return rule.resources.length === 0 || rule.resources.some((resources) => names(resources, asked));
  }
  return rule.paths.length === 0 || (!asked.isResource && rule.paths.some((path) => leadsTo(path, asked.path)));
}

function names({ group, resources, names }: Resources, asked: Asked): boolean {
  if (group !== asked.group) return false;
  if (resources.length === 0) return true;
  if (names.size > 0 && !names.has(asked.name)) return false;
  const { resource, subresource } = asked;
  const whole = subresource === "" ? resource : `${resource}/${subresource}`;
  return resources.some(
    (wanted) =>
      wanted === "*" ||
      wanted === whole ||
      wanted === `${resource}/*` ||
      (subresource !== "" && wanted === `*/${subresource}`),
  );
}

function leadsTo(pattern: string, path: string): boolean {
  return pattern === path || (pattern.endsWith("*") && path.startsWith(pattern.slice(0, -1)));
}

/**
 * Reads a policy, YAML or JSON, and checks it by its schema. Returns an error message of one line for a
 * policy upstream rejects, also for unknown and duplicate fields.
 */
export function parsePolicy(bytes: Uint8Array, check: FileCheck): Policy | string {
  const duplicates: string[] = [];
  const document = parseYaml(bytes, duplicates);
  if (document instanceof Fault) return document.message;
  const [twice] = duplicates;
  if (twice !== undefined) return twice;
  const plain = plainOf(document);
  const wrong = check("audit-policy", plain);
  if (wrong !== undefined) return wrong;
  const policy = plain as AuditPolicy;
  const faults = policy.rules.flatMap(contradictions);
  return faults.length > 0 ? faults.join("; ") : new Policy(policy.rules.map((rule) => ruleOf(rule, policy)));
}

function ruleOf(rule: AuditRule, policy: AuditPolicy): Rule {
  const { level } = rule;
  const omitStages = new Set([...(policy.omitStages ?? []), ...(rule.omitStages ?? [])]);
  const omitManagedFields = rule.omitManagedFields ?? policy.omitManagedFields ?? false;
  return {
    coverage: level === "None" ? undefined : { level, omitStages, omitManagedFields },
    users: new Set(rule.users),
    groups: new Set(rule.userGroups),
    verbs: new Set(rule.verbs),
    resources: (rule.resources ?? []).map(({ group = "", resources = [], resourceNames }) => {
      return { group, resources, names: new Set(resourceNames) };
    }),
    namespaces: new Set(rule.namespaces),
    paths: rule.nonResourceURLs ?? [],
  };
}

/** Fields of a rule that do not go together, which no schema says. */
function contradictions({ resources = [], namespaces = [], nonResourceURLs = [] }: AuditRule, index: number): string[] {
  const at = `rules[${index}]`;
  const faults = resources.flatMap(({ resources = [], resourceNames = [] }, item) =>
    resourceNames.length > 0 && resources.length === 0
      ? [`${at}.resources[${item}].resourceNames: needs resources: at least one whose objects have these names`]
      : [],
  );
  if (nonResourceURLs.length > 0 && (resources.length > 0 || namespaces.length > 0)) {
    const others = resources.length > 0 ? "resources" : "namespaces";
    faults.push(`${at}.nonResourceURLs: cannot be combined with ${others}; write two rules`);
  }
  return faults;
}
