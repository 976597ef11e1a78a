// How long a pod stays on a node with taints of the effect NoExecute.
import type { Taint, Toleration } from "../../api/gen/core/v1.ts";

/**
 * Milliseconds that a pod with these tolerations stays: infinite when each taint is tolerated for ever, 0 when one is not
 * tolerated. Of several tolerations of one taint the first counts (upstream: GetMatchingTolerations).
 */
export function stayMs(taints: readonly Taint[], tolerations: readonly Toleration[] = []): number {
  let ms = Number.POSITIVE_INFINITY;
  for (const taint of taints) {
    const toleration = tolerations.find((one) => tolerates(one, taint));
    if (toleration === undefined) return 0;
    if (toleration.tolerationSeconds === undefined) continue;
    ms = Math.min(ms, Math.max(0, Number(toleration.tolerationSeconds) * 1000));
  }
  return ms;
}

/** Whether a toleration is about a taint (upstream: ToleratesTaint). */
function tolerates({ key, operator, value, effect }: Toleration, taint: Taint): boolean {
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  if (operator === "Exists") return true;
  return (!operator || operator === "Equal") && (value ?? "") === (taint.value ?? "");
}
