// Written by scripts/gen from proto/: do not edit.
import type * as core_v1 from "../core/v1.ts";
import type * as meta_v1 from "../meta/v1.ts";

/** storage/v1alpha1.CSIStorageCapacity. */
export interface CSIStorageCapacity {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  nodeTopology?: meta_v1.LabelSelector | undefined;
  storageClassName: string;
  capacity?: string | undefined;
  maximumVolumeSize?: string | undefined;
}

/** storage/v1alpha1.CSIStorageCapacityList. */
export interface CSIStorageCapacityList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: CSIStorageCapacity[] | undefined;
}

/** storage/v1alpha1.VolumeAttachment. */
export interface VolumeAttachment {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: VolumeAttachmentSpec;
  status: VolumeAttachmentStatus;
}

/** storage/v1alpha1.VolumeAttachmentList. */
export interface VolumeAttachmentList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: VolumeAttachment[] | undefined;
}

/** storage/v1alpha1.VolumeAttachmentSource. */
export interface VolumeAttachmentSource {
  persistentVolumeName?: string | undefined;
  inlineVolumeSpec?: core_v1.PersistentVolumeSpec | undefined;
}

/** storage/v1alpha1.VolumeAttachmentSpec. */
export interface VolumeAttachmentSpec {
  attacher: string;
  source: VolumeAttachmentSource;
  nodeName: string;
}

/** storage/v1alpha1.VolumeAttachmentStatus. */
export interface VolumeAttachmentStatus {
  attached: boolean;
  attachmentMetadata?: Map<string, string> | undefined;
  attachError?: VolumeError | undefined;
  detachError?: VolumeError | undefined;
}

/** storage/v1alpha1.VolumeError. */
export interface VolumeError {
  time?: string | undefined;
  message?: string | undefined;
}
