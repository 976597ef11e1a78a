// OwnerReferencesPermissionEnforcement: who changes the owners of an object must be allowed to delete the object, and
// who makes an owner's end wait for it must be allowed to change that owner's finalizers.
import type { ApiObject, OwnerReference } from "../api/object.ts";
import type { Scheme } from "../api/scheme.ts";
import type { Status } from "../api/status.ts";
import { laneOf } from "../authz/owner.ts";
import { longWork } from "../config/longwork.ts";
import { type AdmissionPlugin, type Attributes, type Environment, forbid, isAbout } from "./plugin.ts";

/** Builds the plugin. */
export function ownerReferences(environment: Environment): AdmissionPlugin {
  return {
    async validate(attributes) {
      const { operation, subresource, object, old } = attributes;
      if (operation !== "create" && operation !== "update") return undefined;
      if (subresource === "status" && isAbout(attributes, "", "pods")) return undefined;
      if (!isChanged(ownersOf(object), ownersOf(old))) return undefined;
      const refused = operation === "update" ? await checkDelete(environment, attributes) : undefined;
      return refused ?? checkBlocking(environment, attributes);
    },
  };
}

function ownersOf(object: ApiObject | undefined): readonly OwnerReference[] {
  return object?.metadata.ownerReferences ?? [];
}

function isChanged(now: readonly OwnerReference[], before: readonly OwnerReference[]): boolean {
  return now.length !== before.length || now.some((owner, index) => textOf(owner) !== textOf(before[index]));
}

function textOf(owner: OwnerReference | undefined): string {
  const { apiVersion, kind, name, uid, controller, blockOwnerDeletion } = owner ?? {};
  return JSON.stringify([apiVersion, kind, name, uid, controller, blockOwnerDeletion]);
}

async function checkDelete({ authorizer }: Environment, attributes: Attributes): Promise<Status | undefined> {
  const { user, resource, subresource, namespace, name } = attributes;
  const { group, version, resource: plural } = resource;
  const about = { user, verb: "delete", isResource: true, group, version, resource: plural, subresource };
  const { verdict, reason } = await authorizer.authorize({ ...about, namespace, name, path: "" });
  if (verdict === "allow") return undefined;
  return forbid(attributes, `cannot set an ownerRef on a resource you can't delete: ${reason}, <nil>`);
}

async function checkBlocking(environment: Environment, attributes: Attributes): Promise<Status | undefined> {
  const { authorizer, scheme } = environment;
  const { user, object, old, namespace } = attributes;
  const lane = laneOf(scheme.identity, user);
  const before = new Map(ownersOf(old).map((owner) => [owner.uid, owner]));
  // An object may name thousands of owners, and each is asked about.
  for (const owner of ownersOf(object)) {
    await longWork.giveWay(lane);
    if (owner.blockOwnerDeletion !== true || before.get(owner.uid)?.blockOwnerDeletion === true) continue;
    const resource = resourceOf(scheme, owner);
    if (resource === undefined) {
      const unknown = `no matches for kind "${owner.kind}" in version "${owner.apiVersion}"`;
      const why = `cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion ${owner.apiVersion} Kind ${owner.kind}: ${unknown}`;
      return forbid(attributes, why);
    }
    const { verdict, reason } = await authorizer.authorize({
      user,
      verb: "update",
      isResource: true,
      group: resource.group,
      version: resource.version,
      resource: resource.resource,
      subresource: "finalizers",
      namespace: resource.namespaced ? namespace : "",
      name: owner.name,
      path: "",
    });
    if (verdict === "allow") continue;
    const why = `cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: ${reason}, <nil>`;
    return forbid(attributes, why);
  }
  return undefined;
}

function resourceOf(scheme: Scheme, { apiVersion, kind }: OwnerReference): ReturnType<Scheme["findKind"]> {
  const slash = apiVersion.indexOf("/");
  return scheme.findKind(slash === -1 ? "" : apiVersion.slice(0, slash), apiVersion.slice(slash + 1), kind);
}
