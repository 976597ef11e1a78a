// API services as a source of what extension servers answer for: as definitions are (definitions.ts), they are objects of
// a log that every thread follows which resolves requests.
import { remoteVersionOf } from "../../aggregation/target.ts";
import type { APIService } from "../../api/gen/apiregistration/v1.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Registry } from "../../api/registry.ts";
import type { RemoteVersion } from "../../api/scheme.ts";
import type { Objects } from "../../cache/view/objects.ts";

const group = "apiregistration.k8s.io";

/** Has a registry know the group versions of extension servers. `objects` reads the built-in kinds. */
export function followRemotes(registry: Registry, objects: Objects): void {
  const services = objects.table<ApiObject & APIService>(group, "v1", "apiservices");
  const changed = new Set<string>();
  services.onChange((_namespace, name) => changed.add(name));
  const own = registry.identity.spell(group);
  const none: readonly (readonly [string, RemoteVersion | undefined])[] = [];
  registry.followRemotes(() => {
    services.refresh();
    if (changed.size === 0) return none;
    const names = [...changed];
    changed.clear();
    return names.map((name) => {
      const service = services.peek("", name);
      const remote = service === undefined ? undefined : remoteVersionOf(service);
      return [name, remote === undefined || isKept(remote, own) ? undefined : remote] as const;
    });
  });
}

/**
 * Group versions that stay this server's: API services themselves, without which nothing could be put right again
 * (upstream), and the core group, without whose namespaces, services and secrets neither could be reached.
 */
function isKept({ group: named }: RemoteVersion, own: string): boolean {
  return named === "" || named === own;
}
