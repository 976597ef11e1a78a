// The grants of one subject by its bindings, ordered by resource: a decision looks at the rules about the
// resource asked for and at nothing else, however many bindings there are. @hot
import type { ClusterRoleBinding, PolicyRule, RoleBinding, Subject } from "../api/gen/rbac/v1.ts";
import type { Attributes } from "./authorizer.ts";
import { ruleAllows } from "./rules.ts";

/** One subject of one binding. */
export interface Grant {
  readonly binding: ClusterRoleBinding | RoleBinding;
  readonly subject: Subject;
  /** Empty: the binding is cluster-wide. */
  readonly namespace: string;
}

/** Finds the rules of a grant's role; undefined: there is no such role. */
export type RulesOf = (grant: Grant) => readonly PolicyRule[] | undefined;

interface GrantRule {
  readonly grant: Grant;
  readonly rule: PolicyRule;
}

/** All grants of one subject in one namespace (or cluster-wide). */
export class Grants {
  #grants: Grant[] = [];
  /** Of the roles the order below was made of. */
  #stamp = -1;
  /** Rules by each resource they name (`pods`, `pods/log`, an asterisk and `/scale`). */
  readonly #byResource = new Map<string, GrantRule[]>();
  readonly #anyResource: GrantRule[] = [];
  readonly #paths: GrantRule[] = [];
  readonly #missing: Grant[] = [];

  get all(): readonly Grant[] {
    return this.#grants;
  }

  add(grant: Grant): void {
    this.#grants.push(grant);
    this.#stamp = -1;
  }

  /** Removes the grants for which `goes` holds; true when none is left. */
  remove(goes: (grant: Grant) => boolean): boolean {
    this.#grants = this.#grants.filter((grant) => !goes(grant));
    this.#stamp = -1;
    return this.#grants.length === 0;
  }

  /** Brings the order up to the roles of `stamp`, which grows with every change of a role. */
  update(stamp: number, rulesOf: RulesOf): void {
    if (this.#stamp === stamp) return;
    this.#stamp = stamp;
    this.#byResource.clear();
    this.#anyResource.length = 0;
    this.#paths.length = 0;
    this.#missing.length = 0;
    for (const grant of this.#grants) {
      const rules = rulesOf(grant);
      if (rules === undefined) this.#missing.push(grant);
      else for (const rule of rules) this.#place({ grant, rule });
    }
  }

  /** Those whose role does not exist. */
  get missing(): readonly Grant[] {
    return this.#missing;
  }

  /** A grant that allows the request; undefined: none does. */
  find(asked: Attributes): Grant | undefined {
    if (!asked.isResource) return findIn(this.#paths, asked);
    const { resource, subresource } = asked;
    if (subresource === "") return findIn(this.#byResource.get(resource), asked) ?? findIn(this.#anyResource, asked);
    return (
      findIn(this.#byResource.get(`${resource}/${subresource}`), asked) ??
      findIn(this.#byResource.get(`*/${subresource}`), asked) ??
      findIn(this.#anyResource, asked)
    );
  }

  #place(entry: GrantRule): void {
    if ((entry.rule.nonResourceURLs ?? []).length > 0) this.#paths.push(entry);
    for (const resource of new Set(entry.rule.resources)) {
      const others = resource === "*" ? this.#anyResource : this.#byResource.get(resource);
      if (others === undefined) this.#byResource.set(resource, [entry]);
      else others.push(entry);
    }
  }
}

function findIn(entries: readonly GrantRule[] | undefined, asked: Attributes): Grant | undefined {
  if (entries === undefined) return undefined;
  for (const { grant, rule } of entries) if (ruleAllows(rule, asked)) return grant;
  return undefined;
}
