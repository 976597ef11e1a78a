// Persistent volumes and claims, and the storage group.
import type { PersistentVolume, PersistentVolumeClaim, TypedLocalObjectReference } from "../api/gen/core/v1.ts";
import type { CSIDriver, CSINode, StorageClass, VolumeAttachment } from "../api/gen/storage/v1.ts";
import type { CSIStorageCapacity } from "../api/gen/storage/v1beta1.ts";
import type { Identity } from "../api/identity.ts";
import type { Resource } from "../api/scheme.ts";
import { countUp, strategyFor } from "./generic.ts";
import type { Strategy, StrategyContext } from "./strategy.ts";
import { equal } from "./validation/equal.ts";
import {
  validatePersistentVolume,
  validatePersistentVolumeClaim,
  validatePersistentVolumeClaimStatusUpdate,
  validatePersistentVolumeClaimUpdate,
  validatePersistentVolumeStatusUpdate,
  validatePersistentVolumeUpdate,
} from "./validation/persistent.ts";
import {
  validateCsiDriver,
  validateCsiDriverUpdate,
  validateCsiNode,
  validateCsiNodeUpdate,
  validateCsiStorageCapacity,
  validateCsiStorageCapacityUpdate,
  validateStorageClass,
  validateStorageClassUpdate,
  validateVolumeAttachment,
  validateVolumeAttachmentUpdate,
} from "./validation/storage.ts";

/** Persistent volumes. */
export function persistentVolumeStrategy(resource: Resource): Strategy<PersistentVolume> {
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

/** Claims. */
export function persistentVolumeClaimStrategy(resource: Resource, identity: Identity): Strategy<PersistentVolumeClaim> {
  const snapshots = identity.spell("snapshot.storage.k8s.io");
  const clones = (source: TypedLocalObjectReference | undefined) => {
    if (source?.kind === "PersistentVolumeClaim") return !source.apiGroup;
    return source?.kind === "VolumeSnapshot" && source.apiGroup === snapshots;
  };
  // Without the gate volumes are filled from claims and snapshots only.
  const drop = (
    { gates }: StrategyContext,
    { spec }: PersistentVolumeClaim,
    old: PersistentVolumeClaim | undefined,
  ) => {
    if (gates.has("AnyVolumeDataSource")) return;
    if (old?.spec.dataSourceRef === undefined) spec.dataSourceRef = undefined;
    if (old?.spec.dataSource === undefined && !clones(spec.dataSource)) spec.dataSource = undefined;
  };
  return strategyFor<PersistentVolumeClaim>(resource, {
    returnsDeletedObject: true,
    prepareForCreate(context, claim) {
      claim.status = { phase: "Pending" };
      drop(context, claim, undefined);
    },
    prepareForUpdate: (context, claim, old) => drop(context, claim, old),
    prepareForStatus({ gates }, { status }, old) {
      if (gates.has("RecoverVolumeExpansionFailure")) return;
      if (old.status.allocatedResources === undefined) status.allocatedResources = undefined;
      if (old.status.resizeStatus === undefined) status.resizeStatus = undefined;
    },
    settlesLate: true,
    validate: validatePersistentVolumeClaim,
    validateUpdate: validatePersistentVolumeClaimUpdate,
    validateStatus: validatePersistentVolumeClaimStatusUpdate,
  });
}

/** Storage classes. */
export function storageClassStrategy(resource: Resource): Strategy<StorageClass> {
  return strategyFor<StorageClass>(resource, {
    returnsDeletedObject: true,
    validate: validateStorageClass,
    validateUpdate: validateStorageClassUpdate,
  });
}

/** Volume attachments. */
export function volumeAttachmentStrategy(resource: Resource): Strategy<VolumeAttachment> {
  return strategyFor<VolumeAttachment>(resource, {
    allowUnconditionalUpdate: false,
    returnsDeletedObject: true,
    keepsMetaOnStatus: true,
    validate: validateVolumeAttachment,
    validateUpdate: validateVolumeAttachmentUpdate,
  });
}

/** CSI drivers: only what may change after creation is counted. */
export function csiDriverStrategy(resource: Resource): Strategy<CSIDriver> {
  return strategyFor<CSIDriver>(resource, {
    allowUnconditionalUpdate: false,
    returnsDeletedObject: true,
    prepareForUpdate(_context, driver, old) {
      const { tokenRequests, requiresRepublish } = old.spec;
      const before = { ...driver.spec, tokenRequests, requiresRepublish };
      if (!equal("storage/v1.CSIDriverSpec", driver.spec, before)) countUp(driver, old);
    },
    validate: validateCsiDriver,
    validateUpdate: validateCsiDriverUpdate,
  });
}

/** CSI nodes. */
export function csiNodeStrategy(resource: Resource): Strategy<CSINode> {
  return strategyFor<CSINode>(resource, {
    allowUnconditionalUpdate: false,
    returnsDeletedObject: true,
    validate: validateCsiNode,
    validateUpdate: validateCsiNodeUpdate,
  });
}

/** CSI storage capacities. */
export function csiStorageCapacityStrategy(resource: Resource): Strategy<CSIStorageCapacity> {
  return strategyFor<CSIStorageCapacity>(resource, {
    allowUnconditionalUpdate: false,
    validate: validateCsiStorageCapacity,
    validateUpdate: validateCsiStorageCapacityUpdate,
  });
}
