// Written by scripts/gen from proto/: do not edit.
import type * as meta_v1 from "../meta/v1.ts";

/** authorization/v1.LocalSubjectAccessReview. */
export interface LocalSubjectAccessReview {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: SubjectAccessReviewSpec;
  status: SubjectAccessReviewStatus;
}

/** authorization/v1.NonResourceAttributes. */
export interface NonResourceAttributes {
  path?: string | undefined;
  verb?: string | undefined;
}

/** authorization/v1.NonResourceRule. */
export interface NonResourceRule {
  verbs?: string[] | undefined;
  nonResourceURLs?: string[] | undefined;
}

/** authorization/v1.ResourceAttributes. */
export interface ResourceAttributes {
  namespace?: string | undefined;
  verb?: string | undefined;
  group?: string | undefined;
  version?: string | undefined;
  resource?: string | undefined;
  subresource?: string | undefined;
  name?: string | undefined;
}

/** authorization/v1.ResourceRule. */
export interface ResourceRule {
  verbs?: string[] | undefined;
  apiGroups?: string[] | undefined;
  resources?: string[] | undefined;
  resourceNames?: string[] | undefined;
}

/** authorization/v1.SelfSubjectAccessReview. */
export interface SelfSubjectAccessReview {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: SelfSubjectAccessReviewSpec;
  status: SubjectAccessReviewStatus;
}

/** authorization/v1.SelfSubjectAccessReviewSpec. */
export interface SelfSubjectAccessReviewSpec {
  resourceAttributes?: ResourceAttributes | undefined;
  nonResourceAttributes?: NonResourceAttributes | undefined;
}

/** authorization/v1.SelfSubjectRulesReview. */
export interface SelfSubjectRulesReview {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: SelfSubjectRulesReviewSpec;
  status: SubjectRulesReviewStatus;
}

/** authorization/v1.SelfSubjectRulesReviewSpec. */
export interface SelfSubjectRulesReviewSpec {
  namespace?: string | undefined;
}

/** authorization/v1.SubjectAccessReview. */
export interface SubjectAccessReview {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: SubjectAccessReviewSpec;
  status: SubjectAccessReviewStatus;
}

/** authorization/v1.SubjectAccessReviewSpec. */
export interface SubjectAccessReviewSpec {
  resourceAttributes?: ResourceAttributes | undefined;
  nonResourceAttributes?: NonResourceAttributes | undefined;
  user?: string | undefined;
  groups?: string[] | undefined;
  extra?: Map<string, string[]> | undefined;
  uid?: string | undefined;
}

/** authorization/v1.SubjectAccessReviewStatus. */
export interface SubjectAccessReviewStatus {
  allowed: boolean;
  denied?: boolean | undefined;
  reason?: string | undefined;
  evaluationError?: string | undefined;
}

/** authorization/v1.SubjectRulesReviewStatus. */
export interface SubjectRulesReviewStatus {
  resourceRules?: ResourceRule[] | undefined;
  nonResourceRules?: NonResourceRule[] | undefined;
  incomplete: boolean;
  evaluationError?: string | undefined;
}
