// In which versions objects of each kind may be stored, and how they get from there to the version they are stored in now.
import type { Identity } from "../../api/identity.ts";
import { messageOf } from "../../api/messages.ts";
import type { ApiObject } from "../../api/object.ts";
import type { Message } from "../../api/schema.ts";
import { apiVersionOf, type Resource } from "../../api/scheme.ts";
import { assert } from "../../base/assert.ts";
import { convert } from "../convert.ts";
import { applyDefaults } from "../defaults.ts";
import type { ClusterFacts } from "../strategy.ts";
import { strategyOf } from "../table.ts";
import { olderDefinitions } from "./definition.ts";
import { olderNetworking } from "./networking.ts";
import { olderOthers } from "./others.ts";
import { olderRbac } from "./rbac.ts";
import type { OlderVersion } from "./version.ts";
import { olderWorkloads } from "./workloads.ts";

/** Every version that is not served and can be read. */
export const olderVersions: readonly OlderVersion[] = [
  ...olderDefinitions,
  ...olderNetworking,
  ...olderOthers,
  ...olderRbac,
  ...olderWorkloads,
];

/** A version objects may be stored in. */
export interface StorableVersion {
  /** The kind in the version it is stored in now. */
  readonly stored: Resource;
  readonly message: Message;
  /** Upstream stores the kind in it, and this server does not. */
  readonly isKept: boolean;
  /**
   * An object of this version as a read from the store gives it: with the defaults of its version, at the version the kind
   * is stored in now, every field in its present form. Uses the object up.
   */
  present(object: ApiObject, cluster: ClusterFacts): ApiObject;
}

/** Versions by their apiVersion and kind, as objects name them. */
export type StorableVersions = ReadonlyMap<string, StorableVersion>;

/** The key of StorableVersions. */
export function storableKey(apiVersion: string, kind: string): string {
  return `${apiVersion} ${kind}`;
}

/** Every version of the kinds of `resources`, which are all of an identity, served or not, and the older ones. */
export function storableVersions(resources: readonly Resource[], identity: Identity): StorableVersions {
  const versions = new Map<string, StorableVersion>();
  for (const resource of resources) {
    const { stored, message, apiVersion, kind } = resource;
    if (stored === undefined) continue;
    const present: StorableVersion["present"] = (object, cluster) => {
      applyDefaults(resource, object, identity);
      return presentOf(resource, stored, object, identity, cluster);
    };
    versions.set(storableKey(apiVersion, kind), { stored, message, isKept: false, present });
  }
  for (const older of olderVersions) {
    const apiVersion = apiVersionOf(identity.spell(older.group), older.version);
    for (const kind of older.kinds) {
      const successor = successorOf(older, kind, resources, identity);
      const { stored } = successor;
      assert(stored !== undefined, `Nothing of ${kind} is stored`);
      const present: StorableVersion["present"] = (object, cluster) => {
        const made = (older.succeed?.(object as never, identity) ?? object) as ApiObject;
        made.kind = successor.kind;
        made.apiVersion = successor.apiVersion;
        if (older.undefaulted !== true) applyDefaults(successor, made, identity);
        return presentOf(successor, stored, made, identity, cluster);
      };
      const message = older.message === undefined ? successor.message : messageOf(older.message);
      versions.set(storableKey(apiVersion, kind), { stored, message, isKept: older.kept === true, present });
    }
  }
  return versions;
}

function successorOf(older: OlderVersion, kind: string, resources: readonly Resource[], identity: Identity): Resource {
  const [group, version] = older.successor;
  const found = resources.find(
    (each) => each.kind === kind && each.version === version && each.group === identity.spell(group),
  );
  assert(found !== undefined, `${kind} of ${older.group}/${older.version} has no successor`);
  return found;
}

/** The object at the version it is stored in, as upstream's own types would write it. */
function presentOf(
  from: Resource,
  stored: Resource,
  object: ApiObject,
  identity: Identity,
  cluster: ClusterFacts,
): ApiObject {
  const kept = convert(object, from, stored, identity);
  const strategy = strategyOf(stored, identity);
  strategy.canonicalize?.(kept);
  strategy.restore?.(kept, cluster);
  return kept;
}
