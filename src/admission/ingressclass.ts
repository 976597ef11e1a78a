// DefaultIngressClass: an ingress that names no class gets the one that is marked as the default. Two of them are a
// mistake the ingress is refused for.
import type { Ingress, IngressClass } from "../api/gen/networking/v1.ts";
import type { ApiObject } from "../api/object.ts";
import { derived } from "../cache/view/objects.ts";
import { type AdmissionPlugin, type Environment, forbid, isAbout } from "./plugin.ts";

/** Builds the plugin. */
export function defaultIngressClass({ objects, identity }: Environment): AdmissionPlugin {
  const group = identity.spell("networking.k8s.io");
  const mark = identity.spell("ingressclass.kubernetes.io/is-default-class");
  const legacy = identity.spell("kubernetes.io/ingress.class");
  const classes = objects.table<ApiObject & IngressClass>("networking.k8s.io", "v1", "ingressclasses");
  const defaults = derived(classes, (all) => all.filter(({ metadata }) => metadata.annotations?.get(mark) === "true"));
  return {
    mutate(attributes) {
      const { operation, subresource } = attributes;
      if (operation !== "create" || subresource !== "" || !isAbout(attributes, group, "ingresses")) return undefined;
      const { metadata, spec } = attributes.object as ApiObject & Ingress;
      if (spec.ingressClassName !== undefined || metadata.annotations?.has(legacy) === true) return undefined;
      const found = defaults();
      if (found.length > 1) {
        const why = `Internal error occurred: ${found.length} default IngressClasses were found, only 1 allowed`;
        return forbid(attributes, why);
      }
      const name = found[0]?.metadata.name;
      if (name !== undefined) spec.ingressClassName = name;
      return undefined;
    },
  };
}
