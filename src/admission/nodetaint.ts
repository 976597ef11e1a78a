// TaintNodesByCondition: a new node takes no pods before it was found ready.
import type { Node } from "../api/gen/core/v1.ts";
import type { AdmissionPlugin, Environment } from "./plugin.ts";

/** Builds the plugin. */
export function nodeTaint({ identity }: Environment): AdmissionPlugin {
  const key = identity.spell("node.kubernetes.io/not-ready");
  const effect = "NoSchedule";
  return {
    mutate({ operation, resource, subresource, object }) {
      if (operation !== "create" || subresource !== "") return undefined;
      if (resource.group !== "" || resource.resource !== "nodes") return undefined;
      const { spec } = object as Node;
      const taints = spec.taints ?? [];
      if (!taints.some((taint) => taint.key === key && taint.effect === effect))
        spec.taints = [...taints, { key, effect }];
      return undefined;
    },
  };
}
