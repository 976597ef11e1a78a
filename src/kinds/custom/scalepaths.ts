// The paths of the scale subresource: names behind dots, which lead through objects only.
import { type FieldError, invalid } from "../../api/fielderror.ts";
import type { CustomResourceSubresourceScale } from "../../api/gen/apiextensions/v1.ts";
import type { Value, ValueMap } from "../../api/value.ts";
import { goText, goType } from "../../merge/govalue.ts";
import { integerOf, isNumber } from "./numbers.ts";

/** Names from an object to a value in it. */
export type NamePath = readonly string[];

/** Where a definition keeps what Scale shows. */
export interface ScalePaths {
  readonly specReplicas: NamePath;
  readonly statusReplicas: NamePath;
  readonly labelSelector: NamePath | undefined;
}

/** The paths of a definition's scale subresource. */
export function scalePaths(scale: CustomResourceSubresourceScale): ScalePaths {
  const { specReplicasPath, statusReplicasPath, labelSelectorPath = "" } = scale;
  return {
    specReplicas: namesOf(specReplicasPath),
    statusReplicas: namesOf(statusReplicasPath),
    labelSelector: labelSelectorPath === "" ? undefined : namesOf(labelSelectorPath),
  };
}

function namesOf(path: string): NamePath {
  return path.replace(/^\./, "").split(".");
}

/** What cannot be read at a path: upstream's message. */
export class Unreadable {
  readonly message: string;
  constructor(message: string) {
    this.message = message;
  }
}

/** The value at a path; undefined: it is not there. */
export function valueAt(object: ValueMap, path: NamePath): Value | undefined | Unreadable {
  let value: Value = object;
  for (const [index, name] of path.entries()) {
    if (value === null) return undefined;
    if (!(value instanceof Map)) return misfit(path.slice(0, index + 1), value, "map[string]interface{}");
    const next = value.get(name);
    if (next === undefined) return undefined;
    value = next;
  }
  return value;
}

function misfit(path: NamePath, value: Value, wanted: string): Unreadable {
  const type = value === null ? "<nil>" : goType(value);
  return new Unreadable(
    `.${path.join(".")} accessor error: ${goText(value)} is of the type ${type}, expected ${wanted}`,
  );
}

/** The integer at a path; undefined: it is not there. */
export function integerAt(object: ValueMap, path: NamePath): number | bigint | undefined | Unreadable {
  const value = valueAt(object, path);
  if (value === undefined || value instanceof Unreadable) return value;
  const integer = isNumber(value) ? integerOf(value) : undefined;
  return integer ?? misfit(path, value, "int64");
}

/** The text at a path; undefined: it is not there. */
export function textAtPath(object: ValueMap, path: NamePath): string | undefined | Unreadable {
  const value = valueAt(object, path);
  if (value === undefined || value instanceof Unreadable || typeof value === "string") return value;
  return misfit(path, value, "string");
}

/** Sets the value at a path, and makes the objects on the way; false: something else stands there. */
export function setAt(object: ValueMap, path: NamePath, value: Value): boolean {
  let holder = object;
  for (const name of path.slice(0, -1)) {
    const next = holder.get(name) ?? new Map<string, Value>();
    if (!(next instanceof Map)) return false;
    holder.set(name, next);
    holder = next;
  }
  holder.set(path[path.length - 1] ?? "", value);
  return true;
}

const replicasMax = 2_147_483_647;

/** Faults of what an object has at the paths of its scale subresource. `statusOnly`: its status alone is written. */
export function validateScalePaths(object: ValueMap, paths: ScalePaths, statusOnly = false): FieldError[] {
  const out: FieldError[] = [];
  if (!statusOnly) checkReplicas(out, object, paths.specReplicas);
  checkReplicas(out, object, paths.statusReplicas);
  if (paths.labelSelector === undefined) return out;
  const selector = textAtPath(object, paths.labelSelector);
  if (selector instanceof Unreadable) out.push(invalid(`.${paths.labelSelector.join(".")}`, "", selector.message));
  return out;
}

function checkReplicas(out: FieldError[], object: ValueMap, path: NamePath): void {
  const field = `.${path.join(".")}`;
  const replicas = integerAt(object, path);
  if (replicas instanceof Unreadable) out.push(invalid(field, 0, replicas.message));
  else if (replicas === undefined) return;
  else if (replicas < 0) out.push(invalid(field, replicas, "should be a non-negative integer"));
  else if (replicas > replicasMax) {
    out.push(invalid(field, replicas, `should be less than or equal to ${replicasMax}`));
  }
}
