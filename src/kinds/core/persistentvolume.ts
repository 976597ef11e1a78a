// PersistentVolume: storage that pods can use by way of a claim.
import type { PersistentVolume } from "../../api/gen/core/v1.ts";
import type { Identity } from "../../api/identity.ts";
import type { Resource } from "../../api/scheme.ts";
import type { OwnBehaviour } from "../behaviour.ts";
import { ageColumn, type Columns, column, nameColumn, unset, wide } from "../columns.ts";
import { strategyFor } from "../generic.ts";
import type { Strategy } from "../strategy.ts";
import {
  validatePersistentVolume,
  validatePersistentVolumeStatusUpdate,
  validatePersistentVolumeUpdate,
} from "./validation/persistentvolume.ts";
import { accessModes, phase, storageClassOf } from "./volumecells.ts";

/** Behaviour of volumes. */
export function persistentVolumeBehaviour(resource: Resource, identity: Identity): OwnBehaviour {
  return {
    strategy: persistentVolumeStrategy(resource),
    columns: persistentVolumeColumns(identity),
    metaRules: { update: [2, 0] },
  };
}

function persistentVolumeStrategy(resource: Resource): Strategy<PersistentVolume> {
  return strategyFor<PersistentVolume>(resource, {
    returnsDeletedObject: true,
    prepareForCreate(_context, volume) {
      volume.status = { phase: "Pending" };
    },
    validate: validatePersistentVolume,
    validateUpdate: validatePersistentVolumeUpdate,
    validateStatus: validatePersistentVolumeStatusUpdate,
  });
}

/** Columns of volumes. */
function persistentVolumeColumns(identity: Identity): Columns<PersistentVolume> {
  const classOf = storageClassOf(identity);
  return {
    columns: [
      nameColumn,
      column("Capacity", "Size of the volume", ({ spec }) => spec.capacity?.get("storage") ?? "0"),
      column("Access Modes", "Ways the volume can be mounted", ({ spec }) => accessModes(spec.accessModes)),
      column("Reclaim Policy", "What becomes of the volume when its claim goes", ({ spec }) => {
        return spec.persistentVolumeReclaimPolicy ?? "";
      }),
      column("Status", "Phase of the volume", (volume) => phase(volume, volume.status.phase)),
      column("Claim", "Claim the volume is bound to", ({ spec: { claimRef } }) =>
        claimRef === undefined ? "" : `${claimRef.namespace ?? ""}/${claimRef.name ?? ""}`,
      ),
      column("StorageClass", "Storage class of the volume", (volume) => classOf(volume, volume.spec.storageClassName)),
      column("Reason", "Why the volume failed", ({ status }) => status.reason ?? ""),
      ageColumn,
      column("VolumeMode", "File system or raw block device", ({ spec }) => spec.volumeMode ?? unset, wide),
    ],
  };
}
