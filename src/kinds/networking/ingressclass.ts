// IngressClass: which controller serves an ingress.
import { type FieldError, forbiddenField, invalid, notSupported, required, tooLong } from "../../api/fielderror.ts";
import type { IngressClass } from "../../api/gen/networking/v1.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, type Columns, column, nameColumn, none } from "../columns.ts";
import { bytesOf, immutableMessage } from "../formats.ts";
import { strategyFor } from "../generic.ts";
import type { Strategy } from "../strategy.ts";
import { checkLabel1123, type Errors } from "../validation/check.ts";
import { checkDomainPath } from "../validation/domains.ts";
import { checkReference } from "./ingress.ts";

/** Behaviour of ingress classes. */
export function ingressClassBehaviour(resource: Resource): OwnBehaviour {
  return {
    strategy: ingressClassStrategy(resource),
    columns: ingressClassColumns(),
    metaRules: { update: [1, 1] },
  };
}

function ingressClassStrategy(resource: Resource): Strategy<IngressClass> {
  return strategyFor<IngressClass>(resource, {
    counts: ["spec"],
    validate: validateIngressClass,
    validateUpdate: validateIngressClassUpdate,
  });
}

/** Columns of ingress classes. */
function ingressClassColumns(): Columns<IngressClass> {
  return {
    columns: [
      nameColumn,
      column("Controller", "Controller that serves the class", ({ spec }) => spec.controller ?? ""),
      column("Parameters", "Object with the controller's settings", ({ spec: { parameters } }) => {
        if (parameters === undefined) return none;
        const group = parameters.apiGroup ? `.${parameters.apiGroup}` : "";
        return `${parameters.kind}${group}/${parameters.name}`;
      }),
      ageColumn,
    ],
  };
}

const controllerBytesMax = 250;

/** Rules of a new IngressClass. */
export function validateIngressClass({ spec }: IngressClass): FieldError[] {
  const out: Errors = [];
  const controller = spec.controller ?? "";
  if (bytesOf(controller) > controllerBytesMax) out.push(tooLong("spec.controller", controllerBytesMax));
  checkDomainPath(out, "spec.controller", controller);
  const path = "spec.parameters";
  if (spec.parameters === undefined) return out;
  checkReference(out, path, spec.parameters);
  const { scope, namespace } = spec.parameters;
  if (scope === undefined) out.push(required(`${path}.scope`));
  else if (scope === "Namespace") {
    if (namespace === undefined) {
      out.push(required(`${path}.namespace`, "`parameters.scope` is set to 'Namespace'"));
    } else checkLabel1123(out, `${path}.namespace`, namespace);
  } else if (scope === "Cluster") {
    if (namespace !== undefined) {
      out.push(forbiddenField(`${path}.namespace`, "`parameters.scope` is set to 'Cluster'"));
    }
  } else out.push(notSupported(`${path}.scope`, scope, ["Cluster", "Namespace"]));
  return out;
}

/** Rules of a changed IngressClass. */
export function validateIngressClassUpdate(object: IngressClass, old: IngressClass): FieldError[] {
  const controller = object.spec.controller ?? "";
  const changed = controller !== (old.spec.controller ?? "");
  const out: Errors = changed ? [invalid("spec.controller", controller, immutableMessage)] : [];
  return [...out, ...validateIngressClass(object)];
}
