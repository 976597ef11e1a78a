// RuntimeClass: a pod of a class carries what the class costs, and goes where its nodes are. What it says itself about
// either must agree.
import type { Pod, PodSpec, Toleration } from "../api/gen/core/v1.ts";
import type { RuntimeClass } from "../api/gen/node/v1.ts";
import type { ApiObject } from "../api/object.ts";
import { compareQuantities, parseQuantity } from "../api/quantity.ts";
import type { Status } from "../api/status.ts";
import { limits } from "../config/limits.ts";
import { mergeTolerations } from "../kinds/core/tolerations.ts";
import { type AdmissionPlugin, type Attributes, type Environment, forbid, isAbout } from "./plugin.ts";

type Class = ApiObject & RuntimeClass;

const mismatch = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
const unfounded = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";

/** Builds the plugin. */
export function runtimeClass({ objects }: Environment): AdmissionPlugin {
  const classes = objects.table<Class>("node.k8s.io", "v1", "runtimeclasses");
  return {
    mutate(attributes) {
      const spec = newPod(attributes);
      const { runtimeClassName } = spec ?? {};
      if (spec === undefined || runtimeClassName === undefined) return undefined;
      const found = classes.get("", runtimeClassName);
      if (found === undefined) return missing(attributes, runtimeClassName);
      return setOverhead(attributes, spec, found) ?? setScheduling(attributes, spec, found);
    },
    validate(attributes) {
      const spec = newPod(attributes);
      if (spec === undefined) return undefined;
      const { runtimeClassName, overhead } = spec;
      const found = runtimeClassName === undefined ? undefined : classes.get("", runtimeClassName);
      if (runtimeClassName !== undefined && found === undefined) return missing(attributes, runtimeClassName);
      if (found?.overhead !== undefined) {
        return isSame(found.overhead.podFixed, overhead) ? undefined : forbid(attributes, mismatch);
      }
      return overhead === undefined ? undefined : forbid(attributes, unfounded);
    },
  };
}

function newPod(attributes: Attributes): PodSpec | undefined {
  const { operation, subresource } = attributes;
  if (operation !== "create" || subresource !== "" || !isAbout(attributes, "", "pods")) return undefined;
  return (attributes.object as ApiObject & Pod).spec;
}

function missing(attributes: Attributes, name: string): Status {
  return forbid(attributes, `pod rejected: RuntimeClass "${name}" not found`);
}

function setOverhead(attributes: Attributes, spec: PodSpec, { overhead }: Class): Status | undefined {
  if (overhead === undefined) return undefined;
  const { podFixed } = overhead;
  if ((spec.overhead?.size ?? 0) > 0 && !isSame(podFixed, spec.overhead)) return forbid(attributes, mismatch);
  spec.overhead = podFixed === undefined ? undefined : new Map(podFixed);
  return undefined;
}

function setScheduling(attributes: Attributes, spec: PodSpec, { scheduling }: Class): Status | undefined {
  if (scheduling === undefined) return undefined;
  const wanted = spec.nodeSelector ?? new Map<string, string>();
  for (const [key, value] of scheduling.nodeSelector ?? []) {
    const own = wanted.get(key);
    if (own !== undefined && own !== value) {
      const why = `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${own}`;
      return forbid(attributes, why);
    }
    wanted.set(key, value);
  }
  if (wanted.size > 0) spec.nodeSelector = wanted;
  const added: readonly Toleration[] = (scheduling.tolerations ?? []).map((toleration) => ({ ...toleration }));
  const own = spec.tolerations ?? [];
  if (own.length + added.length > limits.tolerationsMergedMax) {
    return forbid(attributes, `pod rejected: more than ${limits.tolerationsMergedMax} tolerations`);
  }
  spec.tolerations = mergeTolerations(own, added);
  return undefined;
}

/** Equal by value; none at all and an empty list are the same. */
function isSame(a: ReadonlyMap<string, string> | undefined, b: ReadonlyMap<string, string> | undefined): boolean {
  if ((a?.size ?? 0) !== (b?.size ?? 0)) return false;
  for (const [key, text] of a ?? []) {
    const [left, right] = [parseQuantity(text), parseQuantity(b?.get(key) ?? "")];
    if (left === undefined || right === undefined || compareQuantities(left, right) !== 0) return false;
  }
  return true;
}
