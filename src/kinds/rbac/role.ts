// Role: what may be done in its namespace.
import type { FieldError } from "../../api/fielderror.ts";
import type { Role } from "../../api/gen/rbac/v1.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { strategyFor } from "../generic.ts";
import type { Strategy } from "../strategy.ts";
import { type Errors, eachItem } from "../validation/check.ts";
import { checkRule, named, twice } from "./rules.ts";

/** Behaviour of roles. */
export function roleBehaviour(resource: Resource): OwnBehaviour {
  return {
    strategy: roleStrategy(resource),
    metaRules: { update: [2, 1] },
  };
}

function roleStrategy(resource: Resource): Strategy<Role> {
  return strategyFor<Role>(resource, named({ validate: validateRole, validateUpdate: twice(validateRole) }));
}

/** Rules of a role, new or changed. */
export function validateRole(object: Role): FieldError[] {
  const out: Errors = [];
  eachItem(out, object.rules, "rules", (rule, place) => checkRule(out, place, rule, true));
  return out;
}
