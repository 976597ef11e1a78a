// ExtendedResourceToleration: nodes with special hardware keep others off by a taint of its name; a pod that asks for
// the hardware tolerates it.
import type { Pod, Toleration } from "../api/gen/core/v1.ts";
import { compareBytes } from "../api/gotext.ts";
import type { ApiObject } from "../api/object.ts";
import { isExtended } from "../kinds/core/validation/pod/resources.ts";
import { namesOf } from "../kinds/validation/names.ts";
import { type AdmissionPlugin, type Environment, isAbout } from "./plugin.ts";

/** Builds the plugin. */
export function extendedResources({ identity }: Environment): AdmissionPlugin {
  const names = namesOf(identity);
  return {
    mutate(attributes) {
      const { operation, subresource, object } = attributes;
      if (subresource !== "" || !isAbout(attributes, "", "pods")) return undefined;
      if (operation !== "create" && operation !== "update") return undefined;
      const { spec } = object as ApiObject & Pod;
      const wanted = new Set<string>();
      for (const { resources } of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
        for (const name of resources.requests?.keys() ?? []) if (isExtended(name, names)) wanted.add(name);
      }
      for (const key of [...wanted].sort(compareBytes)) {
        const toleration: Toleration = { key, operator: "Exists", effect: "NoSchedule" };
        const present = spec.tolerations ?? [];
        const known = present.some(
          (one) => one.key === key && one.operator === "Exists" && one.effect === "NoSchedule" && !one.value,
        );
        if (!known) spec.tolerations = [...present, toleration];
      }
      return undefined;
    },
  };
}
