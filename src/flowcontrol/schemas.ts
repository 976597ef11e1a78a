// Which flow schema a request belongs to: by precedence, then name, the first with a rule that matches. Schemas are compiled
// once per change of their objects, and found by subject, so that a request looks at no schema that cannot be its own.
import type { FlowSchema, NonResourcePolicyRule, ResourcePolicyRule } from "../api/gen/flowcontrol/v1beta2.ts";
import { compareBytes } from "../api/gotext.ts";
import type { User } from "../api/user.ts";
import type { Question } from "../authz/authorizer.ts";

/** What tells the flows of a schema apart. */
export type Distinguisher = "ByUser" | "ByNamespace" | "";

/** A flow schema as requests are matched against it. */
export interface CompiledSchema {
  readonly name: string;
  /** Empty: it is not stored. */
  readonly uid: string;
  readonly level: string;
  readonly precedence: number;
  readonly distinguisher: Distinguisher;
  readonly rules: readonly CompiledRule[];
}

/** One of its rules: subjects, and what they ask. */
interface CompiledRule {
  readonly users: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
  /** `namespace:name` of service accounts, and `namespace:*`. */
  readonly accounts: ReadonlySet<string>;
  readonly resources: readonly ResourceMatch[];
  readonly paths: readonly PathMatch[];
}

interface ResourceMatch {
  readonly verbs: NameSet;
  readonly groups: NameSet;
  readonly resources: NameSet;
  readonly clusterScope: boolean;
  readonly namespaces: NameSet;
}

interface PathMatch {
  readonly verbs: NameSet;
  readonly isAny: boolean;
  readonly exact: ReadonlySet<string>;
  /** Each ends with a slash. */
  readonly prefixes: ReadonlySet<string>;
  readonly prefixCharsMax: number;
}

/** Names, or all there are. */
class NameSet {
  readonly #isAny: boolean;
  readonly #names: ReadonlySet<string>;

  constructor(names: readonly string[] = []) {
    this.#isAny = names.includes("*");
    this.#names = new Set(this.#isAny ? [] : names);
  }

  has(name: string): boolean {
    return this.#isAny || this.#names.has(name);
  }
}

/** Compiles one schema. */
export function compileSchema(name: string, uid: string, spec: FlowSchema["spec"]): CompiledSchema {
  const method = spec.distinguisherMethod?.type;
  return {
    name,
    uid,
    level: spec.priorityLevelConfiguration.name,
    precedence: spec.matchingPrecedence,
    distinguisher: method === "ByUser" || method === "ByNamespace" ? method : "",
    rules: (spec.rules ?? []).map(({ subjects = [], resourceRules = [], nonResourceRules = [] }) => {
      const users = new Set<string>();
      const groups = new Set<string>();
      const accounts = new Set<string>();
      for (const { kind, user, group, serviceAccount } of subjects) {
        if (kind === "User" && user !== undefined) users.add(user.name);
        else if (kind === "Group" && group !== undefined) groups.add(group.name);
        else if (serviceAccount !== undefined) accounts.add(`${serviceAccount.namespace}:${serviceAccount.name}`);
      }
      const resources = resourceRules.map(compileResources);
      return { users, groups, accounts, resources, paths: nonResourceRules.map(compilePaths) };
    }),
  };
}

function compileResources(rule: ResourcePolicyRule): ResourceMatch {
  return {
    verbs: new NameSet(rule.verbs),
    groups: new NameSet(rule.apiGroups),
    resources: new NameSet(rule.resources),
    clusterScope: rule.clusterScope === true,
    namespaces: new NameSet(rule.namespaces),
  };
}

function compilePaths({ verbs, nonResourceURLs = [] }: NonResourcePolicyRule): PathMatch {
  const prefixes = nonResourceURLs.map((url) => {
    const prefix = url.endsWith("*") ? url.slice(0, -1) : url;
    return prefix.endsWith("/") ? prefix : `${prefix}/`;
  });
  return {
    verbs: new NameSet(verbs),
    isAny: nonResourceURLs.includes("*"),
    exact: new Set(nonResourceURLs),
    prefixes: new Set(prefixes),
    prefixCharsMax: prefixes.reduce((longest, { length }) => Math.max(longest, length), 0),
  };
}

/** The order in which schemas are tried. */
export function bySequence(a: CompiledSchema, b: CompiledSchema): number {
  return a.precedence - b.precedence || compareBytes(a.name, b.name);
}

const accountPrefix = "system:serviceaccount:";
const nothing: readonly number[] = [];

/** Schemas in their order, found by who asks. */
export class SchemaIndex {
  readonly schemas: readonly CompiledSchema[];
  readonly #users = new Map<string, number[]>();
  readonly #groups = new Map<string, number[]>();
  readonly #accounts = new Map<string, number[]>();
  /** Of users asked about before; authentication gives the same object for the same credentials, as long as it can. */
  readonly #candidates = new WeakMap<User, readonly number[]>();

  /** `schemas` in any order. */
  constructor(schemas: readonly CompiledSchema[]) {
    this.schemas = schemas.toSorted(bySequence);
    for (const [at, { rules }] of this.schemas.entries()) {
      for (const { users, groups, accounts } of rules) {
        note(this.#users, users, at);
        note(this.#groups, groups, at);
        note(this.#accounts, accounts, at);
      }
    }
  }

  /** The first schema that matches; undefined: none does. */
  match(user: User, asked: Question): CompiledSchema | undefined {
    let candidates = this.#candidates.get(user);
    if (candidates === undefined) {
      candidates = this.#candidatesOf(user);
      this.#candidates.set(user, candidates);
    }
    for (const at of candidates) {
      const schema = this.schemas[at] as CompiledSchema;
      if (matches(schema, user, asked)) return schema;
    }
    return undefined;
  }

  /** Schemas with a subject that is this user, in order. */
  #candidatesOf({ name, groups }: User): readonly number[] {
    const found = new Set<number>();
    const add = (places: readonly number[] = nothing): void => {
      for (const at of places) found.add(at);
    };
    add(this.#users.get(name));
    add(this.#users.get("*"));
    add(this.#groups.get("*"));
    for (const group of groups) add(this.#groups.get(group));
    for (const account of accountsOf(name)) add(this.#accounts.get(account));
    return [...found].sort((a, b) => a - b);
  }
}

function note(index: Map<string, number[]>, names: ReadonlySet<string>, at: number): void {
  for (const name of names) {
    const places = index.get(name);
    if (places === undefined) index.set(name, [at]);
    else if (places.at(-1) !== at) places.push(at);
  }
}

/** By what a service account may be named in a subject. */
function accountsOf(user: string): readonly string[] {
  if (!user.startsWith(accountPrefix)) return [];
  const account = user.slice(accountPrefix.length);
  return [account, `${account.slice(0, account.indexOf(":"))}:*`];
}

function matches({ rules }: CompiledSchema, user: User, asked: Question): boolean {
  for (const rule of rules) {
    const isAsked = asked.isResource
      ? rule.resources.some((match) => matchesResource(match, asked))
      : rule.paths.some((match) => matchesPath(match, asked));
    if (isAsked && isSubject(rule, user)) return true;
  }
  return false;
}

function isSubject({ users, groups, accounts }: CompiledRule, { name, groups: of }: User): boolean {
  if (users.size > 0 && (users.has(name) || users.has("*"))) return true;
  if (groups.size > 0 && (groups.has("*") || of.some((group) => groups.has(group)))) return true;
  return accounts.size > 0 && accountsOf(name).some((account) => accounts.has(account));
}

function matchesResource(match: ResourceMatch, { verb, group, resource, subresource, namespace }: Question): boolean {
  const isHere = namespace === "" ? match.clusterScope : match.namespaces.has(namespace);
  if (!isHere || !match.verbs.has(verb) || !match.groups.has(group)) return false;
  return match.resources.has(subresource === "" ? resource : `${resource}/${subresource}`);
}

/** Both `/a` and `/a/*` match what is below `/a`; only the first matches `/a` itself. */
function matchesPath({ verbs, isAny, exact, prefixes, prefixCharsMax }: PathMatch, { verb, path }: Question): boolean {
  if (!verbs.has(verb)) return false;
  if (isAny || exact.has(path)) return true;
  // As far as the longest prefix only: a path may have thousands of slashes.
  const end = Math.min(path.length, prefixCharsMax);
  for (let slash = path.indexOf("/"); slash >= 0 && slash < end; slash = path.indexOf("/", slash + 1)) {
    if (prefixes.has(path.slice(0, slash + 1))) return true;
  }
  return false;
}
