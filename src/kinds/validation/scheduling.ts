// Priority classes.
import { type FieldError, forbiddenField, invalid, notSupported } from "../../api/fielderror.ts";
import type { PriorityClass } from "../../api/gen/scheduling/v1.ts";
import { immutableMessage } from "../formats.ts";
import type { Errors } from "./check.ts";

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
