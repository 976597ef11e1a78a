// APIServices as what discovery is ordered by, and as what extension servers answer for: every thread that resolves
// requests follows their log, as it follows definitions, so that a change counts on every front from the moment it is
// acknowledged.
import { remoteVersionOf } from "../../aggregation/target.ts";
import type { APIService } from "../../api/gen/apiregistration/v1.ts";
import type { Registration } from "../../api/groups.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Registry } from "../../api/registry.ts";
import type { RemoteVersion } from "../../api/scheme.ts";
import type { Objects } from "../../cache/view/objects.ts";
import { apiServicesKind, managedLabel } from "../../kinds/apiregistration/apiservice.ts";

/** What changed since it was taken last, by the name of the APIService. */
class News<T> {
  readonly #none: readonly (readonly [string, T | undefined])[] = [];
  #all: (readonly [name: string, news: T | undefined])[] = [];

  add(name: string, news: T | undefined): void {
    this.#all.push([name, news]);
  }

  take(): readonly (readonly [name: string, news: T | undefined])[] {
    if (this.#all.length === 0) return this.#none;
    const all = this.#all;
    this.#all = [];
    return all;
  }
}

/** Has a registry follow APIServices. `objects` reads the built-in kinds. */
export function followApiServices(registry: Registry, objects: Objects): void {
  const table = objects.table<ApiObject & APIService>(...apiServicesKind);
  const changed = new Set<string>();
  table.onChange((_namespace, name) => changed.add(name));
  const own = registry.identity.spell(apiServicesKind[0]);
  const label = registry.identity.spell(managedLabel);
  const registrations = new News<Registration>();
  const remotes = new News<RemoteVersion>();
  const look = (): void => {
    table.refresh();
    // Also to clear a set of nothing makes a new table.
    if (changed.size === 0) return;
    for (const name of changed) {
      // Nothing is kept of what is decoded.
      const found = table.peek("", name);
      const remote = found && remoteVersionOf(found);
      registrations.add(name, found && registrationOf(found, label));
      remotes.add(name, remote === undefined || isKept(remote, own) ? undefined : remote);
    }
    changed.clear();
  };
  registry.orderBy(() => {
    look();
    return registrations.take();
  });
  registry.followRemotes(() => remotes.take());
}

function registrationOf({ metadata, spec }: ApiObject & APIService, label: string): Registration {
  const { group = "", version = "", groupPriorityMinimum: groupPriority, versionPriority } = spec;
  const isAutomatic = spec.service === undefined && metadata.labels?.get(label) === "true";
  return { group, version, groupPriority, versionPriority, ...(isAutomatic ? { isAutomatic } : {}) };
}

/**
 * Group versions that stay this server's: API services themselves, without which nothing could be put right again
 * (upstream), and the core group, without whose namespaces, services and secrets neither could be reached.
 */
function isKept({ group: named }: RemoteVersion, own: string): boolean {
  return named === "" || named === own;
}
