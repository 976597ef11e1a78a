// LimitPodHardAntiAffinityTopology: a pod may keep others off its node, not off a whole zone.
import type { Pod } from "../api/gen/core/v1.ts";
import type { ApiObject } from "../api/object.ts";
import { type AdmissionPlugin, type Environment, forbid, isAbout } from "./plugin.ts";

/** Builds the plugin. */
export function antiAffinity({ identity }: Environment): AdmissionPlugin {
  const hostname = identity.spell("kubernetes.io/hostname");
  return {
    validate(attributes) {
      const { operation, subresource, object } = attributes;
      if (subresource !== "" || !isAbout(attributes, "", "pods")) return undefined;
      if (operation !== "create" && operation !== "update") return undefined;
      const required = (object as ApiObject & Pod).spec.affinity?.podAntiAffinity;
      const terms = required?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
      const other = terms.find(({ topologyKey }) => topologyKey !== hostname);
      if (other === undefined) return undefined;
      const why = `affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ${other.topologyKey} but only key ${hostname} is allowed`;
      return forbid(attributes, why);
    },
  };
}
