// PersistentVolumeClaimResize: a claim may ask for more only once it is bound, and only where its class allows that.
import type { PersistentVolumeClaim } from "../api/gen/core/v1.ts";
import type { StorageClass } from "../api/gen/storage/v1.ts";
import type { ApiObject } from "../api/object.ts";
import { compareQuantities, parseQuantity, type Quantity } from "../api/quantity.ts";
import { type AdmissionPlugin, type Environment, forbid, isAbout } from "./plugin.ts";

type Claim = ApiObject & PersistentVolumeClaim;

const zero: Quantity = { unscaled: 0n, scale: 0, format: "DecimalSI" };

/** Builds the plugin. */
export function claimResize({ objects, identity }: Environment): AdmissionPlugin {
  const legacy = identity.spell("volume.beta.kubernetes.io/storage-class");
  const classes = objects.table<ApiObject & StorageClass>("storage.k8s.io", "v1", "storageclasses");
  const classOf = ({ metadata, spec }: Claim): string =>
    metadata.annotations?.get(legacy) ?? spec.storageClassName ?? "";
  const mayGrow = (claim: Claim, old: Claim): boolean => {
    const name = classOf(claim);
    return name !== "" && name === classOf(old) && classes.get("", name)?.allowVolumeExpansion === true;
  };
  return {
    validate(attributes) {
      const { operation, subresource } = attributes;
      if (operation !== "update" || subresource !== "") return undefined;
      if (!isAbout(attributes, "", "persistentvolumeclaims")) return undefined;
      const [claim, old] = [attributes.object as Claim, attributes.old as Claim];
      if (compareQuantities(sizeOf(claim), sizeOf(old)) <= 0) return undefined;
      if (old.status.phase !== "Bound")
        return forbid(attributes, "Only bound persistent volume claims can be expanded");
      if (mayGrow(claim, old)) return undefined;
      const why =
        "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize";
      return forbid(attributes, why);
    },
  };
}

function sizeOf({ spec }: Claim): Quantity {
  return parseQuantity(spec.resources.requests?.get("storage") ?? "0") ?? zero;
}
