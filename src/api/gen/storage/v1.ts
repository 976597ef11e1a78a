// Written by scripts/gen from proto/: do not edit.
import type * as core_v1 from "../core/v1.ts";
import type * as meta_v1 from "../meta/v1.ts";

/** storage/v1.CSIDriver. */
export interface CSIDriver {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: CSIDriverSpec;
}

/** storage/v1.CSIDriverList. */
export interface CSIDriverList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: CSIDriver[] | undefined;
}

/** storage/v1.CSIDriverSpec. */
export interface CSIDriverSpec {
  attachRequired?: boolean | undefined;
  podInfoOnMount?: boolean | undefined;
  volumeLifecycleModes?: string[] | undefined;
  storageCapacity?: boolean | undefined;
  fsGroupPolicy?: string | undefined;
  tokenRequests?: TokenRequest[] | undefined;
  requiresRepublish?: boolean | undefined;
}

/** storage/v1.CSINode. */
export interface CSINode {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: CSINodeSpec;
}

/** storage/v1.CSINodeDriver. */
export interface CSINodeDriver {
  name: string;
  nodeID: string;
  topologyKeys?: string[] | undefined;
  allocatable?: VolumeNodeResources | undefined;
}

/** storage/v1.CSINodeList. */
export interface CSINodeList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: CSINode[] | undefined;
}

/** storage/v1.CSINodeSpec. */
export interface CSINodeSpec {
  drivers?: CSINodeDriver[] | undefined;
}

/** storage/v1.StorageClass. */
export interface StorageClass {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  provisioner: string;
  parameters?: Map<string, string> | undefined;
  reclaimPolicy?: string | undefined;
  mountOptions?: string[] | undefined;
  allowVolumeExpansion?: boolean | undefined;
  volumeBindingMode?: string | undefined;
  allowedTopologies?: core_v1.TopologySelectorTerm[] | undefined;
}

/** storage/v1.StorageClassList. */
export interface StorageClassList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: StorageClass[] | undefined;
}

/** storage/v1.TokenRequest. */
export interface TokenRequest {
  audience: string;
  expirationSeconds?: number | bigint | undefined;
}

/** storage/v1.VolumeAttachment. */
export interface VolumeAttachment {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: VolumeAttachmentSpec;
  status: VolumeAttachmentStatus;
}

/** storage/v1.VolumeAttachmentList. */
export interface VolumeAttachmentList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: VolumeAttachment[] | undefined;
}

/** storage/v1.VolumeAttachmentSource. */
export interface VolumeAttachmentSource {
  persistentVolumeName?: string | undefined;
  inlineVolumeSpec?: core_v1.PersistentVolumeSpec | undefined;
}

/** storage/v1.VolumeAttachmentSpec. */
export interface VolumeAttachmentSpec {
  attacher: string;
  source: VolumeAttachmentSource;
  nodeName: string;
}

/** storage/v1.VolumeAttachmentStatus. */
export interface VolumeAttachmentStatus {
  attached: boolean;
  attachmentMetadata?: Map<string, string> | undefined;
  attachError?: VolumeError | undefined;
  detachError?: VolumeError | undefined;
}

/** storage/v1.VolumeError. */
export interface VolumeError {
  time?: string | undefined;
  message?: string | undefined;
}

/** storage/v1.VolumeNodeResources. */
export interface VolumeNodeResources {
  count?: number | undefined;
}
