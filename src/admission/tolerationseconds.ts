// DefaultTolerationSeconds: a pod stays this long on a node that is not ready or cannot be reached, unless it says
// itself what it makes of that.
import type { Pod, Toleration } from "../api/gen/core/v1.ts";
import type { ApiObject } from "../api/object.ts";
import { type AdmissionPlugin, type Environment, isAbout } from "./plugin.ts";

/** Builds the plugin. */
export function tolerationSeconds({ identity, config }: Environment): AdmissionPlugin {
  const effect = "NoExecute";
  const wanted: readonly Toleration[] = [
    ["node.kubernetes.io/not-ready", config.notReadyTolerationSeconds] as const,
    ["node.kubernetes.io/unreachable", config.unreachableTolerationSeconds] as const,
  ].map(([key, seconds]) => ({ key: identity.spell(key), operator: "Exists", effect, tolerationSeconds: seconds }));
  return {
    mutate(attributes) {
      const { operation, subresource } = attributes;
      if (subresource !== "" || !isAbout(attributes, "", "pods")) return undefined;
      if (operation !== "create" && operation !== "update") return undefined;
      const { spec } = attributes.object as ApiObject & Pod;
      const present = spec.tolerations ?? [];
      const missing = wanted.filter(({ key }) => !present.some((one) => speaksOf(one, key ?? "", effect)));
      if (missing.length > 0) spec.tolerations = [...present, ...missing.map((toleration) => ({ ...toleration }))];
      return undefined;
    },
  };
}

/** An empty key or effect stands for all of them. */
function speaksOf(toleration: Toleration, key: string, effect: string): boolean {
  return (toleration.key || key) === key && (toleration.effect || effect) === effect;
}
