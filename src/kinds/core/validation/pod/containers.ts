// Walking the containers of a pod in upstream's order.
import type { EphemeralContainerCommon, PodSpec } from "../../../../api/gen/core/v1.ts";

/** Calls `visit` with every container, init containers first, ephemeral ones last, and its path. */
export function eachContainer(
  spec: PodSpec,
  path: string,
  visit: (container: EphemeralContainerCommon, path: string) => unknown,
): void {
  for (const field of ["initContainers", "containers", "ephemeralContainers"] as const) {
    for (const [i, container] of (spec[field] ?? []).entries()) visit(container, `${path}.${field}[${i}]`);
  }
}
