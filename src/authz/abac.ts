// The mode ABAC: a file of policies, one JSON object per line, each allowing one kind of question to one sort of user.
// Format, versions and what an absent field means are the reference's (the abac package); a mistake names its line.
import type { PolicyRule } from "../api/gen/rbac/v1.ts";
import type { Identity } from "../api/identity.ts";
import type { User } from "../api/user.ts";
import type { Value, ValueMap } from "../api/value.ts";
import { Fault, parseText } from "../codec/engine/json.ts";
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

/** The group that `*` as user or group stands for: anonymous users are not meant. */
const authenticated = "system:authenticated";

/** Reads a policy file's text; a text says in one line what is wrong, and where. */
export function parsePolicies(text: string, path: string, identity: Identity): AbacPolicy[] | string {
  const policies: AbacPolicy[] = [];
  for (const [index, raw] of text.split("\n").entries()) {
    const line = raw.trim();
    if (line === "" || line.startsWith("#")) continue;
    const policy = parsePolicy(line, identity);
    if (typeof policy === "string") return `${path}, line ${index + 1}: ${policy}`;
    policies.push(policy);
  }
  return policies;
}

function parsePolicy(line: string, { spell }: Identity): AbacPolicy | string {
  const value = parseText(line);
  if (value instanceof Fault) return value.message;
  if (!(value instanceof Map)) return "a policy is a JSON object";
  const version = spell("abac.authorization.kubernetes.io/v1beta1");
  const apiVersion = value.get("apiVersion") ?? "";
  const kind = value.get("kind") ?? "";
  if (apiVersion === "" || kind === "") return oldPolicy(value);
  if (kind !== "Policy" || apiVersion !== version) {
    return `there is no kind ${JSON.stringify(kind)} in version ${JSON.stringify(apiVersion)}; there is Policy in ${version}`;
  }
  const spec = value.get("spec") ?? new Map();
  if (!(spec instanceof Map)) return "spec must be an object";
  const fields = readFields(spec, ["user", "group", "apiGroup", "resource", "namespace", "nonResourcePath"]);
  if (typeof fields === "string") return `spec.${fields}`;
  const { text, readonly } = fields;
  return {
    ...subject(text("user"), text("group")),
    readonly,
    apiGroup: text("apiGroup"),
    resource: text("resource"),
    namespace: text("namespace"),
    nonResourcePath: text("nonResourcePath"),
  };
}

/** A line without a version: what is left out matches everything. */
function oldPolicy(value: ValueMap): AbacPolicy | string {
  const fields = readFields(value, ["user", "group", "resource", "namespace"]);
  if (typeof fields === "string") return fields;
  const { text, readonly } = fields;
  const [user, group, resource, namespace] = [text("user"), text("group"), text("resource"), text("namespace")];
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

interface Fields {
  readonly text: (name: string) => string;
  readonly readonly: boolean;
}

function readFields(value: ValueMap, names: readonly string[]): Fields | string {
  const of = (name: string): Value => value.get(name) ?? null;
  const wrong = names.find((name) => of(name) !== null && typeof of(name) !== "string");
  if (wrong !== undefined) return `${wrong} must be a text`;
  const readonly = of("readonly") ?? false;
  if (typeof readonly !== "boolean") return "readonly must be true or false";
  return { text: (name) => (of(name) ?? "") as string, readonly };
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

/** Both must match where both are given; a policy without either is for nobody. */
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
