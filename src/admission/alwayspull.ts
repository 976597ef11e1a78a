// AlwaysPullImages: every image is pulled with the pod's own credentials, so that no pod starts a private image only
// because another pod left it on the node. Ephemeral containers are pods' containers, too.
import type { Pod, PodSpec } from "../api/gen/core/v1.ts";
import type { ApiObject } from "../api/object.ts";
import { containersOf } from "../kinds/core/podrefs.ts";
import { type AdmissionPlugin, type Attributes, forbid, isAbout } from "./plugin.ts";

const always = "Always";

/** Builds the plugin. */
export function alwaysPull(): AdmissionPlugin {
  return {
    mutate(attributes) {
      const spec = newImages(attributes);
      for (const container of spec === undefined ? [] : containersOf(spec)) container.imagePullPolicy = always;
      return undefined;
    },
    validate(attributes) {
      const spec = newImages(attributes);
      if (spec === undefined) return undefined;
      for (const list of ["initContainers", "containers", "ephemeralContainers"] as const) {
        for (const [index, { imagePullPolicy = "" }] of (spec[list] ?? []).entries()) {
          if (imagePullPolicy === always) continue;
          const why = `spec.${list}[${index}].imagePullPolicy: Unsupported value: "${imagePullPolicy}": supported values: "${always}"`;
          return forbid(attributes, why);
        }
      }
      return undefined;
    },
  };
}

/** The pod of a write that brings images it did not have; undefined for all others. */
function newImages(attributes: Attributes): PodSpec | undefined {
  const { operation, subresource, object, old } = attributes;
  if ((subresource !== "" && subresource !== "ephemeralcontainers") || !isAbout(attributes, "", "pods"))
    return undefined;
  if (operation !== "create" && operation !== "update") return undefined;
  const { spec } = object as ApiObject & Pod;
  if (operation === "create") return spec;
  const known = new Set(containersOf((old as ApiObject & Pod).spec).map(({ image }) => image));
  return containersOf(spec).some(({ image }) => !known.has(image)) ? spec : undefined;
}
