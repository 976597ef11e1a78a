// The audit policy: a list of rules, the first that matches a request says how much of it is written. Read once, when
// the server starts; what is wrong with a file is told in one line (reference: audit policy checker and validation).
import { type FieldError, forbiddenField, invalid, notSupported, required } from "../api/fielderror.ts";
import type { Identity } from "../api/identity.ts";
import type { User } from "../api/user.ts";
import type { Value } from "../api/value.ts";
import { Fault } from "../codec/engine/json.ts";
import { parseYaml } from "../codec/yaml/yaml.ts";
import { isDns1123Subdomain } from "../kinds/formats.ts";
import { type Asked, auditVersion, type Coverage, type Level, levels, type Stage, stages } from "./event.ts";

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

/** Reads a policy, YAML or JSON, names in the identity's spelling. A text says in one line what is wrong with it. */
export function parsePolicy(bytes: Uint8Array, identity: Identity): Policy | string {
  const duplicates: string[] = [];
  const document = parseYaml(bytes, duplicates);
  if (document instanceof Fault) return document.message;
  const [twice] = duplicates;
  if (twice !== undefined) return twice;
  const apiVersion = identity.spell(auditVersion);
  if (!(document instanceof Map)) return `it is no Policy of ${apiVersion}`;
  if (document.get("apiVersion") !== apiVersion || document.get("kind") !== "Policy") {
    return `it must have apiVersion: ${apiVersion} and kind: Policy`;
  }
  const reader = new Reader();
  const rules = reader.policy(document);
  if (reader.faults.length > 0) return reader.faults.map(({ field, text }) => `${field}: ${text}`).join("; ");
  return rules.length === 0 ? "it has no rules" : new Policy(rules);
}

type Fields = ReadonlyMap<string, Value>;

const policyFields = new Set(["apiVersion", "kind", "metadata", "rules", "omitStages", "omitManagedFields"]);
const ruleFields = new Set([
  "level",
  "users",
  "userGroups",
  "verbs",
  "resources",
  "namespaces",
  "nonResourceURLs",
  "omitStages",
  "omitManagedFields",
]);
const resourceFields = new Set(["group", "resources", "resourceNames"]);

/** Takes a document apart and gathers what is wrong with it. */
class Reader {
  readonly faults: FieldError[] = [];

  policy(document: Fields): Rule[] {
    this.#known(document, policyFields, "");
    const omitted = this.#stages(document, "");
    const omitManagedFields = this.#flag(document, "omitManagedFields", "") ?? false;
    return this.#items(document, "rules", "").map(({ item, at }) => this.#rule(item, at, omitted, omitManagedFields));
  }

  #rule(rule: Fields, at: string, omitted: readonly Stage[], omitManagedFields: boolean): Rule {
    this.#known(rule, ruleFields, at);
    const level = this.#level(rule, at);
    const omitStages = new Set([...omitted, ...this.#stages(rule, at)]);
    const omit = this.#flag(rule, "omitManagedFields", at) ?? omitManagedFields;
    const resources = this.#items(rule, "resources", at).map(({ item, at }) => this.#resources(item, at));
    const namespaces = new Set(this.#texts(rule, "namespaces", at));
    const paths = this.#paths(rule, at);
    if (paths.length > 0 && (resources.length > 0 || namespaces.size > 0)) {
      const why = "rules cannot apply to both regular resources and non-resource URLs";
      this.faults.push(invalid(`${at}.nonResourceURLs`, paths, why));
    }
    return {
      coverage: level === "None" ? undefined : { level, omitStages, omitManagedFields: omit },
      users: new Set(this.#texts(rule, "users", at)),
      groups: new Set(this.#texts(rule, "userGroups", at)),
      verbs: new Set(this.#texts(rule, "verbs", at)),
      resources,
      namespaces,
      paths,
    };
  }

  #level(rule: Fields, at: string): Level {
    const level = this.#text(rule, "level", at);
    const known = levels.find((each) => each === level);
    if (known !== undefined) return known;
    const field = `${at}.level`;
    this.faults.push(level === "" ? required(field, "") : notSupported(field, level, levels));
    return "None";
  }

  #resources(item: Fields, at: string): Resources {
    this.#known(item, resourceFields, at);
    const group = this.#text(item, "group", at);
    const resources = this.#texts(item, "resources", at);
    const names = this.#texts(item, "resourceNames", at);
    const [odd] = group === "" ? [] : isDns1123Subdomain(group);
    if (odd !== undefined) this.faults.push(invalid(`${at}.group`, group, odd));
    if (names.length > 0 && resources.length === 0) {
      this.faults.push(invalid(`${at}.resourceNames`, names, "using resourceNames requires at least one resource"));
    }
    return { group, resources, names: new Set(names) };
  }

  #paths(rule: Fields, at: string): readonly string[] {
    const paths = this.#texts(rule, "nonResourceURLs", at);
    for (const [index, path] of paths.entries()) {
      const field = `${at}.nonResourceURLs[${index}]`;
      if (path === "*") continue;
      if (!path.startsWith("/")) {
        this.faults.push(invalid(field, path, "non-resource URL rules must begin with a '/' character"));
      }
      if (path.slice(0, -1).includes("*")) {
        const why = "non-resource URL wildcards '*' must be the final character of the rule";
        this.faults.push(invalid(field, path, why));
      }
    }
    return paths;
  }

  #stages(from: Fields, at: string): Stage[] {
    return this.#texts(from, "omitStages", at).flatMap((text, index) => {
      const stage = stages.find((each) => each === text);
      if (stage !== undefined) return [stage];
      const field = `${join(at, "omitStages")}[${index}]`;
      this.faults.push(invalid(field, text, `allowed stages are ${stages.join(",")}`));
      return [];
    });
  }

  #items(from: Fields, key: string, at: string): { readonly item: Fields; readonly at: string }[] {
    return this.#list(from, key, at).flatMap((item, index) => {
      const path = `${join(at, key)}[${index}]`;
      if (item instanceof Map) return [{ item, at: path }];
      this.faults.push(forbiddenField(path, "must be an object"));
      return [];
    });
  }

  #texts(from: Fields, key: string, at: string): readonly string[] {
    const list = this.#list(from, key, at);
    const texts = list.filter((item) => typeof item === "string");
    if (texts.length < list.length) this.faults.push(forbiddenField(join(at, key), "must be a list of texts"));
    return texts;
  }

  #list(from: Fields, key: string, at: string): readonly Value[] {
    const value = from.get(key) ?? [];
    if (Array.isArray(value)) return value;
    this.faults.push(forbiddenField(join(at, key), "must be a list"));
    return [];
  }

  #text(from: Fields, key: string, at: string): string {
    const value = from.get(key) ?? "";
    if (typeof value === "string") return value;
    this.faults.push(forbiddenField(join(at, key), "must be a text"));
    return "";
  }

  #flag(from: Fields, key: string, at: string): boolean | undefined {
    const value = from.get(key) ?? undefined;
    if (value === undefined || typeof value === "boolean") return value;
    this.faults.push(forbiddenField(join(at, key), "must be true or false"));
    return undefined;
  }

  /** A field that is misspelled would silently mean something else: it is a fault. */
  #known(from: Fields, known: ReadonlySet<string>, at: string): void {
    for (const key of from.keys()) {
      if (!known.has(key)) this.faults.push(forbiddenField(join(at, key), "there is no such field"));
    }
  }
}

function join(at: string, key: string): string {
  return at === "" ? key : `${at}.${key}`;
}
