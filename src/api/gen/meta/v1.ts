// Written by scripts/gen from proto/: do not edit.
import type { RawJson } from "../../schema.ts";

/** meta/v1.APIGroup. */
export interface APIGroup {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  name: string;
  versions?: GroupVersionForDiscovery[] | undefined;
  preferredVersion: GroupVersionForDiscovery;
  serverAddressByClientCIDRs?: ServerAddressByClientCIDR[] | undefined;
}

/** meta/v1.APIGroupList. */
export interface APIGroupList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  groups?: APIGroup[] | undefined;
}

/** meta/v1.APIResource. */
export interface APIResource {
  name: string;
  singularName: string;
  namespaced: boolean;
  group?: string | undefined;
  version?: string | undefined;
  kind: string;
  verbs?: string[] | undefined;
  shortNames?: string[] | undefined;
  categories?: string[] | undefined;
  storageVersionHash?: string | undefined;
}

/** meta/v1.APIResourceList. */
export interface APIResourceList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  groupVersion: string;
  resources?: APIResource[] | undefined;
}

/** meta/v1.APIVersions. */
export interface APIVersions {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  versions?: string[] | undefined;
  serverAddressByClientCIDRs?: ServerAddressByClientCIDR[] | undefined;
}

/** meta/v1.ApplyOptions. */
export interface ApplyOptions {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  dryRun?: string[] | undefined;
  force: boolean;
  fieldManager: string;
}

/** meta/v1.Condition. */
export interface Condition {
  type: string;
  status: string;
  observedGeneration?: number | bigint | undefined;
  lastTransitionTime?: string | undefined;
  reason: string;
  message: string;
}

/** meta/v1.CreateOptions. */
export interface CreateOptions {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  dryRun?: string[] | undefined;
  fieldManager?: string | undefined;
  fieldValidation?: string | undefined;
}

/** meta/v1.DeleteOptions. */
export interface DeleteOptions {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  gracePeriodSeconds?: number | bigint | undefined;
  preconditions?: Preconditions | undefined;
  orphanDependents?: boolean | undefined;
  propagationPolicy?: string | undefined;
  dryRun?: string[] | undefined;
}

/** meta/v1.GetOptions. */
export interface GetOptions {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  resourceVersion?: string | undefined;
}

/** meta/v1.GroupKind. */
export interface GroupKind {
  group: string;
  kind: string;
}

/** meta/v1.GroupResource. */
export interface GroupResource {
  group: string;
  resource: string;
}

/** meta/v1.GroupVersion. */
export interface GroupVersion {
  group: string;
  version: string;
}

/** meta/v1.GroupVersionForDiscovery. */
export interface GroupVersionForDiscovery {
  groupVersion: string;
  version: string;
}

/** meta/v1.GroupVersionKind. */
export interface GroupVersionKind {
  group: string;
  version: string;
  kind: string;
}

/** meta/v1.GroupVersionResource. */
export interface GroupVersionResource {
  group: string;
  version: string;
  resource: string;
}

/** meta/v1.LabelSelector. */
export interface LabelSelector {
  matchLabels?: Map<string, string> | undefined;
  matchExpressions?: LabelSelectorRequirement[] | undefined;
}

/** meta/v1.LabelSelectorRequirement. */
export interface LabelSelectorRequirement {
  key: string;
  operator: string;
  values?: string[] | undefined;
}

/** meta/v1.List. */
export interface List {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: ListMeta;
  items?: RawJson[] | undefined;
}

/** meta/v1.ListMeta. */
export interface ListMeta {
  selfLink?: string | undefined;
  resourceVersion?: string | undefined;
  continue?: string | undefined;
  remainingItemCount?: number | bigint | undefined;
}

/** meta/v1.ListOptions. */
export interface ListOptions {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
  watch?: boolean | undefined;
  allowWatchBookmarks?: boolean | undefined;
  resourceVersion?: string | undefined;
  resourceVersionMatch?: string | undefined;
  timeoutSeconds?: number | bigint | undefined;
  limit?: number | bigint | undefined;
  continue?: string | undefined;
}

/** meta/v1.ManagedFieldsEntry. */
export interface ManagedFieldsEntry {
  manager?: string | undefined;
  operation?: string | undefined;
  apiVersion?: string | undefined;
  time?: string | undefined;
  fieldsType?: string | undefined;
  fieldsV1?: RawJson | undefined;
  subresource?: string | undefined;
}

/** meta/v1.ObjectMeta. */
export interface ObjectMeta {
  name?: string | undefined;
  generateName?: string | undefined;
  namespace?: string | undefined;
  selfLink?: string | undefined;
  uid?: string | undefined;
  resourceVersion?: string | undefined;
  generation?: number | bigint | undefined;
  creationTimestamp?: string | undefined;
  deletionTimestamp?: string | undefined;
  deletionGracePeriodSeconds?: number | bigint | undefined;
  labels?: Map<string, string> | undefined;
  annotations?: Map<string, string> | undefined;
  ownerReferences?: OwnerReference[] | undefined;
  finalizers?: string[] | undefined;
  clusterName?: string | undefined;
  managedFields?: ManagedFieldsEntry[] | undefined;
}

/** meta/v1.OwnerReference. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean | undefined;
  blockOwnerDeletion?: boolean | undefined;
}

/** meta/v1.PartialObjectMetadata. */
export interface PartialObjectMetadata {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: ObjectMeta;
}

/** meta/v1.PartialObjectMetadataList. */
export interface PartialObjectMetadataList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: ListMeta;
  items?: PartialObjectMetadata[] | undefined;
}

/** meta/v1.Patch. */
export interface Patch {
}

/** meta/v1.PatchOptions. */
export interface PatchOptions {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  dryRun?: string[] | undefined;
  force?: boolean | undefined;
  fieldManager?: string | undefined;
  fieldValidation?: string | undefined;
}

/** meta/v1.Preconditions. */
export interface Preconditions {
  uid?: string | undefined;
  resourceVersion?: string | undefined;
}

/** meta/v1.RootPaths. */
export interface RootPaths {
  paths?: string[] | undefined;
}

/** meta/v1.ServerAddressByClientCIDR. */
export interface ServerAddressByClientCIDR {
  clientCIDR: string;
  serverAddress: string;
}

/** meta/v1.Status. */
export interface Status {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: ListMeta;
  status?: string | undefined;
  message?: string | undefined;
  reason?: string | undefined;
  details?: StatusDetails | undefined;
  code?: number | undefined;
}

/** meta/v1.StatusCause. */
export interface StatusCause {
  reason?: string | undefined;
  message?: string | undefined;
  field?: string | undefined;
}

/** meta/v1.StatusDetails. */
export interface StatusDetails {
  name?: string | undefined;
  group?: string | undefined;
  kind?: string | undefined;
  uid?: string | undefined;
  causes?: StatusCause[] | undefined;
  retryAfterSeconds?: number | undefined;
}

/** meta/v1.TableOptions. */
export interface TableOptions {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  includeObject?: string | undefined;
}

/** meta/v1.Timestamp. */
export interface Timestamp {
  seconds: number | bigint;
  nanos: number;
}

/** meta/v1.TypeMeta. */
export interface TypeMeta {
  kind?: string | undefined;
  apiVersion?: string | undefined;
}

/** meta/v1.UpdateOptions. */
export interface UpdateOptions {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  dryRun?: string[] | undefined;
  fieldManager?: string | undefined;
  fieldValidation?: string | undefined;
}

/** meta/v1.WatchEvent. */
export interface WatchEvent {
  type: string;
  object?: RawJson | undefined;
}

/** meta/v1.Table. */
export interface Table {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: ListMeta;
  columnDefinitions?: TableColumnDefinition[] | undefined;
  rows?: TableRow[] | undefined;
}

/** meta/v1.TableColumnDefinition. */
export interface TableColumnDefinition {
  name: string;
  type: string;
  format: string;
  description: string;
  priority: number;
}

/** meta/v1.TableRow. */
export interface TableRow {
  cells?: RawJson[] | undefined;
  conditions?: TableRowCondition[] | undefined;
  object?: RawJson | undefined;
}

/** meta/v1.TableRowCondition. */
export interface TableRowCondition {
  type: string;
  status: string;
  reason?: string | undefined;
  message?: string | undefined;
}
