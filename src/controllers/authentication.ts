// The config map that tells other servers of the cluster how this one recognizes users: authorities of users and of
// proxies, and the headers of the latter. Extension servers read it at their start and follow it.
import type { ConfigMap } from "../api/gen/core/v1.ts";
import type { ApiObject } from "../api/object.ts";
import { isStatus, type Status } from "../api/status.ts";
import type { Value } from "../api/value.ts";
import type { WriteServices } from "../request/commit/writerequest.ts";
import { Actor } from "./actor.ts";
import { storedKind } from "./storedkind.ts";

/** Name of the config map. */
export const authenticationMap = "extension-apiserver-authentication";

/** Writes the config map where it is not as it should be; one that would be empty is not made. A Status: refused. */
export async function publishAuthentication(
  writers: WriteServices,
  data: ReadonlyMap<string, string>,
): Promise<Status | undefined> {
  const { resource } = storedKind(writers, "", "v1", "configmaps");
  const namespace = writers.scheme.identity.spell("kube-system");
  const actor = new Actor(writers, "kube-apiserver");
  const updated = await actor.update<ApiObject & ConfigMap>(
    { resource, namespace, name: authenticationMap },
    (object) => {
      object.data = new Map(data);
      return undefined;
    },
  );
  if (!isStatus(updated)) return undefined;
  if (updated.reason !== "NotFound") return updated;
  if (data.size === 0) return undefined;
  const content = new Map<string, Value>([
    ["metadata", new Map([["name", authenticationMap]])],
    ["data", new Map(data)],
  ]);
  const created = await actor.create({ resource, namespace }, content);
  return isStatus(created) && created.reason !== "AlreadyExists" ? created : undefined;
}
