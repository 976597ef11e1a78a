// StorageObjectInUseProtection: claims and volumes get the finalizer that keeps them while they are in use. Whoever
// watches their use takes it away.
import type { AdmissionPlugin, Environment } from "./plugin.ts";

/** Builds the plugin. */
export function storageProtection({ identity }: Environment): AdmissionPlugin {
  const finalizers = new Map([
    ["persistentvolumeclaims", identity.spell("kubernetes.io/pvc-protection")],
    ["persistentvolumes", identity.spell("kubernetes.io/pv-protection")],
  ]);
  return {
    mutate({ operation, resource, subresource, object }) {
      const finalizer = resource.group === "" ? finalizers.get(resource.resource) : undefined;
      if (operation !== "create" || subresource !== "" || finalizer === undefined || object === undefined)
        return undefined;
      const { metadata } = object;
      const present = metadata.finalizers ?? [];
      if (!present.includes(finalizer)) metadata.finalizers = [...present, finalizer];
      return undefined;
    },
  };
}
