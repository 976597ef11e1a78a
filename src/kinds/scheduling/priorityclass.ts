// PriorityClass: which pods go first.
import { type FieldError, forbiddenField, invalid, notSupported } from "../../api/fielderror.ts";
import type { PriorityClass } from "../../api/gen/scheduling/v1.ts";
import type { Resource } from "../../api/scheme.ts";
import { forbidden } from "../../api/status.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, boolean, type Columns, column, integer, nameColumn } from "../columns.ts";
import { immutableMessage } from "../formats.ts";
import { strategyFor } from "../generic.ts";
import type { Strategy } from "../strategy.ts";
import type { Errors } from "../validation/check.ts";

/** Behaviour of priority classes. */
export function priorityClassBehaviour(resource: Resource): OwnBehaviour {
  return {
    strategy: priorityClassStrategy(resource),
    columns: priorityClassColumns(),
  };
}

function priorityClassStrategy(resource: Resource): Strategy<PriorityClass> {
  const strategy = strategyFor<PriorityClass>(resource, {
    counts: [],
    validate: validatePriorityClass,
    validateUpdate: validatePriorityClassUpdate,
  });
  return {
    ...strategy,
    checkDelete(_context, { metadata }) {
      const name = metadata.name ?? "";
      return isSystemClass(name)
        ? forbidden(resource, name, "this is a system priority class and cannot be deleted")
        : undefined;
    },
  };
}

/** Columns of priority classes. */
function priorityClassColumns(): Columns<PriorityClass> {
  return {
    columns: [
      nameColumn,
      column("Value", "Priority: the higher, the sooner", ({ value }) => value, integer),
      column("Global-Default", "Used where pods name no class", ({ globalDefault }) => globalDefault ?? false, boolean),
      ageColumn,
    ],
  };
}

/** Highest priority of a class of the user. */
const userPriorityMax = 1_000_000_000;

/** The classes of the system itself, above all others. */
const systemClasses: ReadonlyMap<string, number> = new Map([
  ["system-node-critical", 2_000_001_000],
  ["system-cluster-critical", 2_000_000_000],
]);

/** Whether a class is one of the system's own, which are always there. */
export function isSystemClass(name: string): boolean {
  return systemClasses.has(name);
}

/** Rules of a new priority class. */
export function validatePriorityClass(object: PriorityClass): FieldError[] {
  const out: Errors = [];
  const name = object.metadata.name ?? "";
  if (name.startsWith("system-")) {
    if (systemClasses.get(name) !== object.value) {
      const known = systemClasses.has(name)
        ? `value of ${name} PriorityClass must be ${systemClasses.get(name)}`
        : `${name} is not a known system priority class`;
      const why = `priority class names with 'system-' prefix are reserved for system use only. error: ${known}`;
      out.push(forbiddenField("metadata.name", why));
    }
  } else if (object.value > userPriorityMax) {
    const why = `maximum allowed value of a user defined priority is ${userPriorityMax}`;
    out.push(forbiddenField("value", why));
  }
  const policies = ["PreemptLowerPriority", "Never"];
  if (object.preemptionPolicy !== undefined && !policies.includes(object.preemptionPolicy)) {
    out.push(notSupported("preemptionPolicy", object.preemptionPolicy, policies));
  }
  return out;
}

/** Rules of a changed priority class: what pods were given cannot change under them. */
export function validatePriorityClassUpdate(object: PriorityClass, old: PriorityClass): FieldError[] {
  const out: Errors = [];
  if (object.value !== old.value) out.push(forbiddenField("Value", "may not be changed in an update."));
  if (object.preemptionPolicy !== old.preemptionPolicy) {
    out.push(invalid("preemptionPolicy", object.preemptionPolicy, immutableMessage));
  }
  return out;
}
