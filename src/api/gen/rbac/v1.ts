// Written by scripts/gen from proto/: do not edit.
import type * as meta_v1 from "../meta/v1.ts";

/** rbac/v1.AggregationRule. */
export interface AggregationRule {
  clusterRoleSelectors?: meta_v1.LabelSelector[] | undefined;
}

/** rbac/v1.ClusterRole. */
export interface ClusterRole {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  rules?: PolicyRule[] | undefined;
  aggregationRule?: AggregationRule | undefined;
}

/** rbac/v1.ClusterRoleBinding. */
export interface ClusterRoleBinding {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  subjects?: Subject[] | undefined;
  roleRef: RoleRef;
}

/** rbac/v1.ClusterRoleBindingList. */
export interface ClusterRoleBindingList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: ClusterRoleBinding[] | undefined;
}

/** rbac/v1.ClusterRoleList. */
export interface ClusterRoleList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: ClusterRole[] | undefined;
}

/** rbac/v1.PolicyRule. */
export interface PolicyRule {
  verbs?: string[] | undefined;
  apiGroups?: string[] | undefined;
  resources?: string[] | undefined;
  resourceNames?: string[] | undefined;
  nonResourceURLs?: string[] | undefined;
}

/** rbac/v1.Role. */
export interface Role {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  rules?: PolicyRule[] | undefined;
}

/** rbac/v1.RoleBinding. */
export interface RoleBinding {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  subjects?: Subject[] | undefined;
  roleRef: RoleRef;
}

/** rbac/v1.RoleBindingList. */
export interface RoleBindingList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: RoleBinding[] | undefined;
}

/** rbac/v1.RoleList. */
export interface RoleList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: Role[] | undefined;
}

/** rbac/v1.RoleRef. */
export interface RoleRef {
  apiGroup: string;
  kind: string;
  name: string;
}

/** rbac/v1.Subject. */
export interface Subject {
  kind: string;
  apiGroup?: string | undefined;
  name: string;
  namespace?: string | undefined;
}
