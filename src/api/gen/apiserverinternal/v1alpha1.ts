// Written by scripts/gen from proto/: do not edit.
import type * as meta_v1 from "../meta/v1.ts";

/** apiserverinternal/v1alpha1.ServerStorageVersion. */
export interface ServerStorageVersion {
  apiServerID?: string | undefined;
  encodingVersion?: string | undefined;
  decodableVersions?: string[] | undefined;
}

/** apiserverinternal/v1alpha1.StorageVersion. */
export interface StorageVersion {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: StorageVersionSpec;
  status: StorageVersionStatus;
}

/** apiserverinternal/v1alpha1.StorageVersionCondition. */
export interface StorageVersionCondition {
  type: string;
  status: string;
  observedGeneration?: number | bigint | undefined;
  lastTransitionTime?: string | undefined;
  reason: string;
  message?: string | undefined;
}

/** apiserverinternal/v1alpha1.StorageVersionList. */
export interface StorageVersionList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: StorageVersion[] | undefined;
}

/** apiserverinternal/v1alpha1.StorageVersionSpec. */
export interface StorageVersionSpec {
}

/** apiserverinternal/v1alpha1.StorageVersionStatus. */
export interface StorageVersionStatus {
  storageVersions?: ServerStorageVersion[] | undefined;
  commonEncodingVersion?: string | undefined;
  conditions?: StorageVersionCondition[] | undefined;
}
