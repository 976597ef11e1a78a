// The mode ABAC: a file of policies, one JSON object per line, each allowing one kind of question to one sort of user.
// Format, versions and the meaning of absent fields are upstream's (the abac package); an error message names its line.
import type { PolicyRule } from "../api/gen/rbac/v1.ts";
import type { User } from "../api/user.ts";
import { plainOf, textAt } from "../api/value.ts";
import { Fault, parseText } from "../codec/engine/json.ts";
import type { FileCheck } from "../config/filecheck.ts";
import type { AbacLine, OldAbacLine } from "../config/files/abac.ts";
import type { Attributes, Authorizer, Decision } from "./authorizer.ts";
import type { HeldRules, RuleResolver } from "./rules.ts";

/** One policy. An empty field matches nothing but the empty value; `*` matches all but for users and groups. */
export interface AbacPolicy {
  readonly user: string;
  readonly group: string;
  readonly readonly: boolean;
  readonly apiGroup: string;
  readonly resource: string;
  readonly namespace: string;
  readonly nonResourcePath: string;
}

/** The group that `*` as user or group means: it excludes anonymous users. */
const authenticated = "system:authenticated";

/** Reads a policy file's text; returns an error message of one line with its place. */
export function parsePolicies(text: string, path: string, check: FileCheck): AbacPolicy[] | string {
  const policies: AbacPolicy[] = [];
  for (const [index, raw] of text.split("\n").entries()) {
    const line = raw.trim();
    if (line === "" || line.startsWith("#")) continue;
    const policy = parsePolicy(line, check);
    if (typeof policy === "string") return `${path}, line ${index + 1}: ${policy}`;
    policies.push(policy);
  }
  return policies;
}

function parsePolicy(line: string, check: FileCheck): AbacPolicy | string {
  const value = parseText(line);
  if (value instanceof Fault) return value.message;
  const hasVersion = textAt(value, "apiVersion") !== "" && textAt(value, "kind") !== "";
  const plain = plainOf(value);
  const wrong = check(hasVersion ? "abac-policy" : "abac-policy-unversioned", plain);
  if (wrong !== undefined) return wrong;
  if (!hasVersion) return oldPolicy(plain as OldAbacLine);
  const { spec = {} } = plain as AbacLine;
  const { user = "", group = "", readonly = false } = spec;
  const { apiGroup = "", resource = "", namespace = "", nonResourcePath = "" } = spec;
  return { ...subject(user, group), readonly, apiGroup, resource, namespace, nonResourcePath };
}

/** A line without a version: absent fields match everything. */
function oldPolicy({
  user = "",
  group = "",
  readonly = false,
  resource = "",
  namespace = "",
}: OldAbacLine): AbacPolicy {
  return {
    ...(user === "" && group === "" ? { user, group: authenticated } : subject(user, group)),
    readonly,
    apiGroup: "*",
    resource: resource === "" ? "*" : resource,
    namespace: namespace === "" ? "*" : namespace,
    nonResourcePath: resource === "" && namespace === "" ? "*" : "",
  };
}

function subject(user: string, group: string): { user: string; group: string } {
  return user === "*" || group === "*" ? { user: "", group: authenticated } : { user, group };
}

const allowed: Decision = { verdict: "allow", reason: "" };
const unmatched: Decision = { verdict: "none", reason: "No policy matched." };
const reading = ["get", "list", "watch"];

/** Decides by the policies of a file. */
export class Abac implements Authorizer, RuleResolver {
  readonly #policies: readonly AbacPolicy[];

  constructor(policies: readonly AbacPolicy[]) {
    this.#policies = policies;
  }

  authorize(asked: Attributes): Decision {
    const reads = reading.includes(asked.verb);
    for (const policy of this.#policies) {
      if (policy.readonly && !reads) continue;
      if (isFor(policy, asked.user) && isAbout(policy, asked)) return allowed;
    }
    return unmatched;
  }

  rulesFor(user: User, namespace: string): HeldRules {
    const rules: PolicyRule[] = [];
    for (const policy of this.#policies) {
      if (!isFor(policy, user) || (policy.namespace !== "*" && policy.namespace !== namespace)) continue;
      const verbs = policy.readonly ? [...reading] : ["*"];
      const { apiGroup, resource, nonResourcePath } = policy;
      if (resource !== "") rules.push({ verbs, apiGroups: [apiGroup], resources: [resource] });
      if (nonResourcePath !== "") rules.push({ verbs, nonResourceURLs: [nonResourcePath] });
    }
    return { rules, errors: [] };
  }
}

/** Both must match where both are given; a policy without either matches no user. */
function isFor({ user, group }: AbacPolicy, { name, groups }: User): boolean {
  if (user !== "" && user !== name) return false;
  if (group !== "" && !groups.includes(group)) return false;
  return user !== "" || group !== "";
}

function isAbout(policy: AbacPolicy, asked: Attributes): boolean {
  if (!asked.isResource) return isPath(policy.nonResourcePath, asked.path);
  return (
    (policy.namespace === "*" || policy.namespace === asked.namespace) &&
    (policy.resource === "*" || policy.resource === asked.resource) &&
    (policy.apiGroup === "*" || policy.apiGroup === asked.group)
  );
}

function isPath(pattern: string, path: string): boolean {
  let end = pattern.length;
  while (pattern.charAt(end - 1) === "*") end -= 1;
  return pattern === path || (end < pattern.length && path.startsWith(pattern.slice(0, end)));
}
