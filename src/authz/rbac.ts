// The mode RBAC: roles list permissions, bindings their subjects. Decisions, reasons and their texts are upstream's
// (the RBAC authorizer and its rule resolver).

import type { PolicyRule, RoleRef } from "../api/gen/rbac/v1.ts";
import { quote } from "../api/gotext.ts";
import type { Identity } from "../api/identity.ts";
import type { User } from "../api/user.ts";
import type { Objects } from "../cache/view/objects.ts";
import type { Attributes, Authorizer, Decision } from "./authorizer.ts";
import type { Grant } from "./grants.ts";
import { RbacIndex } from "./rbacindex.ts";
import type { HeldRules, Roles } from "./rules.ts";

/** Decides by the roles and bindings there are. Never denies: without a matching rule the next authorizer decides. */
export class Rbac implements Authorizer, Roles {
  readonly #index: RbacIndex;
  readonly #group: string;

  constructor(identity: Identity, objects: Objects) {
    this.#group = identity.spell("rbac.authorization.k8s.io");
    this.#index = new RbacIndex(objects);
  }

  authorize(attributes: Attributes): Decision {
    this.#index.refresh();
    let found: Grant | undefined;
    let missing: string[] | undefined;
    this.#index.visit(attributes.user, attributes.namespace, (grants) => {
      found = grants.find(attributes);
      if (found !== undefined) return false;
      for (const { binding } of grants.missing) (missing ??= []).push(this.#noSuchRole(binding.roleRef));
      return true;
    });
    if (found !== undefined) return new Granted(found);
    return missing === undefined ? nothing : { verdict: "none", reason: `RBAC: ${aggregate(missing)}` };
  }

  rulesFor(user: User, namespace: string): HeldRules {
    this.#index.refresh();
    const rules: PolicyRule[] = [];
    const errors: string[] = [];
    const seen = new Set<unknown>();
    this.#index.visit(user, namespace, (grants) => {
      for (const { binding, namespace: home } of grants.all) {
        // A binding may name a user more than once.
        if (seen.has(binding)) continue;
        seen.add(binding);
        const granted = this.#index.rulesOf(binding.roleRef, home);
        if (granted === undefined) errors.push(this.#noSuchRole(binding.roleRef));
        else for (const rule of granted) rules.push(rule);
      }
      return true;
    });
    return { rules, errors: [...new Set(errors)] };
  }

  rulesOf(role: RoleRef, namespace: string): readonly PolicyRule[] | undefined {
    this.#index.refresh();
    return this.#index.rulesOf(role, namespace);
  }

  #noSuchRole({ kind, name }: RoleRef): string {
    return `${kind.toLowerCase()}.${this.#group} ${quote(name)} not found`;
  }
}

const nothing: Decision = { verdict: "none", reason: "" };

/** An allowance whose reason is formatted on demand: most are never read. */
class Granted implements Decision {
  readonly verdict = "allow";
  readonly #grant: Grant;

  constructor(grant: Grant) {
    this.#grant = grant;
  }

  get reason(): string {
    const { binding, subject, namespace } = this.#grant;
    const kind = namespace === "" ? "ClusterRoleBinding" : "RoleBinding";
    const name = quote(
      namespace === "" ? (binding.metadata.name ?? "") : `${binding.metadata.name ?? ""}/${namespace}`,
    );
    const account = subject.kind === "ServiceAccount" ? `/${(subject.namespace ?? "") || namespace}` : "";
    const to = `${subject.kind} ${quote(`${subject.name}${account}`)}`;
    return `RBAC: allowed by ${kind} ${name} of ${binding.roleRef.kind} ${quote(binding.roleRef.name)} to ${to}`;
  }
}

/** Several errors as upstream prints them: each once, in brackets when there are more than one. */
function aggregate(errors: readonly string[]): string {
  const once = [...new Set(errors)];
  return once.length === 1 ? (once[0] as string) : `[${once.join(", ")}]`;
}
