// ComponentStatus: whether a component is well. It is computed, never stored.
import type { ComponentStatus } from "../../api/gen/core/v1.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { type Columns, column, nameColumn } from "../columns.ts";

/** Behaviour of component statuses. */
export function componentStatusBehaviour(): OwnBehaviour {
  return {
    columns: componentStatusColumns(),
  };
}

/** Columns of component statuses. */
function componentStatusColumns(): Columns<ComponentStatus> {
  const healthy = ({ conditions }: ComponentStatus) => conditions?.find(({ type }) => type === "Healthy");
  return {
    columns: [
      nameColumn,
      column("Status", "Whether the component is well", (component) => {
        const condition = healthy(component);
        if (condition === undefined) return "Unknown";
        return condition.status === "True" ? "Healthy" : "Unhealthy";
      }),
      column("Message", "What the component said", (component) => healthy(component)?.message ?? ""),
      column("Error", "What went wrong asking it", (component) => healthy(component)?.error ?? ""),
    ],
  };
}
