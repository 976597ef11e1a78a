// Written by scripts/gen from proto/: do not edit.
import type * as meta_v1 from "../meta/v1.ts";
import type * as rbac_v1 from "../rbac/v1.ts";

/** rbac/v1alpha1.ClusterRole. */
export interface ClusterRole {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  rules?: PolicyRule[] | undefined;
  aggregationRule?: rbac_v1.AggregationRule | undefined;
}

/** rbac/v1alpha1.ClusterRoleBinding. */
export interface ClusterRoleBinding {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  subjects?: Subject[] | undefined;
  roleRef: rbac_v1.RoleRef;
}

/** rbac/v1alpha1.PolicyRule. */
export interface PolicyRule {
  verbs?: string[] | undefined;
  apiGroups?: string[] | undefined;
  resources?: string[] | undefined;
  resourceNames?: string[] | undefined;
  nonResourceURLs?: string[] | undefined;
}

/** rbac/v1alpha1.Role. */
export interface Role {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  rules?: PolicyRule[] | undefined;
}

/** rbac/v1alpha1.RoleBinding. */
export interface RoleBinding {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  subjects?: Subject[] | undefined;
  roleRef: rbac_v1.RoleRef;
}

/** rbac/v1alpha1.Subject. */
export interface Subject {
  kind: string;
  apiVersion?: string | undefined;
  name: string;
  namespace?: string | undefined;
}
