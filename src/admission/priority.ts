// Priority: a pod's class becomes its number, the class that is the default where the pod names none. The numbers are
// the server's: a pod that brings another one is refused. At most one class is the default.
import type { Pod } from "../api/gen/core/v1.ts";
import type { PriorityClass } from "../api/gen/scheduling/v1.ts";
import type { ApiObject } from "../api/object.ts";
import type { Status } from "../api/status.ts";
import { derived, type ObjectTable } from "../cache/view/objects.ts";
import { type AdmissionPlugin, type Attributes, type Environment, forbid, isAbout } from "./plugin.ts";

type Class = ApiObject & PriorityClass;

/** What a pod gets: a class, or no class at all. */
interface Resolved {
  readonly name: string | undefined;
  readonly value: number;
  readonly policy: string | undefined;
}

const unclassified: Resolved = { name: undefined, value: 0, policy: "PreemptLowerPriority" };

/** Builds the plugin. */
export function priority({ objects, identity }: Environment): AdmissionPlugin {
  const classes = objects.table<Class>("scheduling.k8s.io", "v1", "priorityclasses");
  const defaultClass = derived(classes, lowestDefault);
  const group = identity.spell("scheduling.k8s.io");
  return {
    mutate(attributes) {
      if (attributes.subresource !== "" || !isAbout(attributes, "", "pods")) return undefined;
      if (attributes.operation === "update") keep(attributes);
      return attributes.operation === "create" ? resolve(attributes, classes, defaultClass) : undefined;
    },
    validate(attributes) {
      const { operation, subresource } = attributes;
      if (subresource !== "" || !isAbout(attributes, group, "priorityclasses")) return undefined;
      if (operation !== "create" && operation !== "update") return undefined;
      const { globalDefault, metadata } = attributes.object as Class;
      const present = globalDefault === true ? defaultClass() : undefined;
      if (present === undefined) return undefined;
      const name = present.metadata.name ?? "";
      if (operation === "update" && name === metadata.name) return undefined;
      return forbid(attributes, `PriorityClass ${name} is already marked as default. Only one default can exist`);
    },
  };
}

/** Two defaults can be there after a race: the lower one counts (upstream). */
function lowestDefault(classes: readonly Class[]): Class | undefined {
  const defaults = classes.filter(({ globalDefault }) => globalDefault === true);
  return defaults.toSorted((a, b) => a.value - b.value)[0];
}

/** What the server set at the creation stays where an update leaves it out. */
function keep({ object, old }: Attributes): void {
  const { spec } = object as ApiObject & Pod;
  const before = (old as ApiObject & Pod).spec;
  spec.priority ??= before.priority;
  spec.preemptionPolicy ??= before.preemptionPolicy;
}

function resolve(
  attributes: Attributes,
  classes: ObjectTable<Class>,
  defaultClass: () => Class | undefined,
): Status | undefined {
  const { spec } = attributes.object as ApiObject & Pod;
  const wanted = spec.priorityClassName ?? "";
  const found = wanted === "" ? defaultClass() : classes.get("", wanted);
  if (wanted !== "" && found === undefined) return forbid(attributes, `no PriorityClass with name ${wanted} was found`);
  const { name, value, policy } = found === undefined ? unclassified : resolved(found);
  if (spec.priority !== undefined && spec.priority !== value) {
    const why = `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${value} from the given PriorityClass name`;
    return forbid(attributes, why);
  }
  if (policy !== undefined && spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== policy) {
    const why = `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${policy} from the given PriorityClass name`;
    return forbid(attributes, why);
  }
  if (name !== undefined) spec.priorityClassName = name;
  spec.priority = value;
  if (policy !== undefined) spec.preemptionPolicy = policy;
  return undefined;
}

function resolved({ metadata, value, preemptionPolicy }: Class): Resolved {
  return { name: metadata.name, value, policy: preemptionPolicy };
}
