// RuntimeClass, in every version; its rules are those of the shape without a spec.
import { at, duplicate, type FieldError, invalid } from "../../api/fielderror.ts";
import type { RuntimeClass } from "../../api/gen/node/v1.ts";
import type { RuntimeClass as OldRuntimeClass } from "../../api/gen/node/v1alpha1.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, type Columns, column, nameColumn } from "../columns.ts";
import { immutableMessage, isDns1123Label, isQualifiedName } from "../formats.ts";
import { strategyFor } from "../generic.ts";
import type { Strategy } from "../strategy.ts";
import { isNegativeAmount } from "../validation/amounts.ts";
import { checkLabels, type Errors, eachItem, faults } from "../validation/check.ts";

/** Behaviour of runtime classes. */
export function runtimeClassBehaviour(resource: Resource): OwnBehaviour {
  return {
    strategy: runtimeClassStrategy(resource),
    columns: runtimeClassColumns(),
    conversion:
      resource.version === "v1alpha1" ? { toHub: runtimeClassFromOld, fromHub: runtimeClassToOld } : undefined,
    metaRules: { update: [1, 1], anyFinalizer: true },
  };
}

/** Runtime classes, in every version; rules are those of the shape without a spec. */
function runtimeClassStrategy(resource: Resource): Strategy<ApiObject> {
  const flat = (object: ApiObject): RuntimeClass =>
    "spec" in object ? runtimeClassFromOld(object as OldRuntimeClass) : (object as RuntimeClass);
  return strategyFor<ApiObject>(resource, {
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: false,
    validate: (object) => validateRuntimeClass(flat(object)),
    validateUpdate: (object, old) => validateRuntimeClassUpdate(flat(object), flat(old)),
  });
}

/** Columns of runtime classes. */
function runtimeClassColumns(): Columns<RuntimeClass> {
  return {
    columns: [nameColumn, column("Handler", "Runtime configuration on nodes", ({ handler }) => handler), ageColumn],
  };
}

/** Rules of a new runtime class; those of the handler are the same in every version. */
export function validateRuntimeClass({ handler, overhead, scheduling }: RuntimeClass): FieldError[] {
  const out: Errors = [];
  faults(out, "handler", handler, isDns1123Label(handler));
  for (const [name, amount] of overhead?.podFixed ?? []) {
    const path = at("overhead.limits", name);
    faults(out, path, name, isQualifiedName(name));
    if (isNegativeAmount(amount)) out.push(invalid(path, amount, "must be greater than or equal to 0"));
  }
  checkLabels(out, "scheduling.nodeSelector", scheduling?.nodeSelector);
  const seen = new Set<string>();
  eachItem(out, scheduling?.tolerations, "scheduling.tolerations", (toleration, path) => {
    const key = [toleration.key, toleration.operator, toleration.value, toleration.effect].join("\n");
    if (seen.has(key)) out.push(duplicate(path, toleration));
    seen.add(key);
  });
  return out;
}

/** Rules of a changed runtime class. */
export function validateRuntimeClassUpdate(object: RuntimeClass, old: RuntimeClass): FieldError[] {
  return object.handler === old.handler ? [] : [invalid("handler", object.handler, immutableMessage)];
}

/** RuntimeClass v1alpha1 keeps in a spec what later versions have at the top. */
export function runtimeClassFromOld({ metadata, spec }: OldRuntimeClass): RuntimeClass {
  const { runtimeHandler, overhead, scheduling } = spec;
  return { metadata, handler: runtimeHandler, overhead, scheduling };
}

/** The reverse. */
export function runtimeClassToOld({ metadata, handler, overhead, scheduling }: RuntimeClass): OldRuntimeClass {
  return { metadata, spec: { runtimeHandler: handler, overhead, scheduling } };
}
