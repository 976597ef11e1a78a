// DefaultStorageClass: a claim that names no class gets the one that is marked as the default. Two of them are a
// mistake the claim is refused for.
import type { PersistentVolumeClaim } from "../api/gen/core/v1.ts";
import type { StorageClass } from "../api/gen/storage/v1.ts";
import type { ApiObject } from "../api/object.ts";
import { derived } from "../cache/view/objects.ts";
import { type AdmissionPlugin, type Environment, forbid, isAbout } from "./plugin.ts";

/** Builds the plugin. */
export function defaultStorageClass({ objects, identity }: Environment): AdmissionPlugin {
  const marks = ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"].map(
    identity.spell,
  );
  const legacy = identity.spell("volume.beta.kubernetes.io/storage-class");
  const classes = objects.table<ApiObject & StorageClass>("storage.k8s.io", "v1", "storageclasses");
  const defaults = derived(classes, (all) =>
    all.filter(({ metadata }) => marks.some((mark) => metadata.annotations?.get(mark) === "true")),
  );
  return {
    mutate(attributes) {
      const { operation, subresource } = attributes;
      if (operation !== "create" || subresource !== "") return undefined;
      if (!isAbout(attributes, "", "persistentvolumeclaims")) return undefined;
      const { metadata, spec } = attributes.object as ApiObject & PersistentVolumeClaim;
      if (spec.storageClassName !== undefined || metadata.annotations?.has(legacy) === true) return undefined;
      const found = defaults();
      if (found.length > 1) {
        return forbid(attributes, `Internal error occurred: ${found.length} default StorageClasses were found`);
      }
      const name = found[0]?.metadata.name;
      if (name !== undefined) spec.storageClassName = name;
      return undefined;
    },
  };
}
