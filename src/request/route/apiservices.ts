// APIServices as what discovery is ordered by: every thread that answers requests follows their log, as it follows
// definitions, so that a change counts on every front from the moment it is acknowledged.
import type { APIService } from "../../api/gen/apiregistration/v1.ts";
import type { Registration } from "../../api/groups.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Order, Registry } from "../../api/registry.ts";
import type { Objects } from "../../cache/view/objects.ts";
import { apiServicesKind } from "../../kinds/apiregistration/apiservice.ts";

/** Lists group versions as APIServices say. `objects` reads the built-in kinds. */
export function followApiServices(registry: Registry, objects: Objects): void {
  registry.orderBy(orderedBy(objects));
}

function orderedBy(objects: Objects): Order {
  const table = objects.table<ApiObject & APIService>(...apiServicesKind);
  const changed = new Set<string>();
  table.onChange((_namespace, name) => changed.add(name));
  const none: ReturnType<Order> = [];
  return () => {
    table.refresh();
    if (changed.size === 0) return none;
    const names = [...changed];
    changed.clear();
    return names.map((name) => [name, registrationOf(table.peek("", name))] as const);
  };
}

function registrationOf(registration: APIService | undefined): Registration | undefined {
  if (registration === undefined) return undefined;
  const { group = "", version = "", groupPriorityMinimum: groupPriority, versionPriority } = registration.spec;
  return { group, version, groupPriority, versionPriority };
}
