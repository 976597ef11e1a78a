// Written by scripts/gen from proto/: do not edit.
import type * as meta_v1 from "../meta/v1.ts";

/** flowcontrol/v1beta1.FlowDistinguisherMethod. */
export interface FlowDistinguisherMethod {
  type: string;
}

/** flowcontrol/v1beta1.FlowSchema. */
export interface FlowSchema {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: FlowSchemaSpec;
  status: FlowSchemaStatus;
}

/** flowcontrol/v1beta1.FlowSchemaCondition. */
export interface FlowSchemaCondition {
  type?: string | undefined;
  status?: string | undefined;
  lastTransitionTime?: string | undefined;
  reason?: string | undefined;
  message?: string | undefined;
}

/** flowcontrol/v1beta1.FlowSchemaList. */
export interface FlowSchemaList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: FlowSchema[] | undefined;
}

/** flowcontrol/v1beta1.FlowSchemaSpec. */
export interface FlowSchemaSpec {
  priorityLevelConfiguration: PriorityLevelConfigurationReference;
  matchingPrecedence: number;
  distinguisherMethod?: FlowDistinguisherMethod | undefined;
  rules?: PolicyRulesWithSubjects[] | undefined;
}

/** flowcontrol/v1beta1.FlowSchemaStatus. */
export interface FlowSchemaStatus {
  conditions?: FlowSchemaCondition[] | undefined;
}

/** flowcontrol/v1beta1.GroupSubject. */
export interface GroupSubject {
  name: string;
}

/** flowcontrol/v1beta1.LimitResponse. */
export interface LimitResponse {
  type: string;
  queuing?: QueuingConfiguration | undefined;
}

/** flowcontrol/v1beta1.LimitedPriorityLevelConfiguration. */
export interface LimitedPriorityLevelConfiguration {
  assuredConcurrencyShares: number;
  limitResponse: LimitResponse;
}

/** flowcontrol/v1beta1.NonResourcePolicyRule. */
export interface NonResourcePolicyRule {
  verbs?: string[] | undefined;
  nonResourceURLs?: string[] | undefined;
}

/** flowcontrol/v1beta1.PolicyRulesWithSubjects. */
export interface PolicyRulesWithSubjects {
  subjects?: Subject[] | undefined;
  resourceRules?: ResourcePolicyRule[] | undefined;
  nonResourceRules?: NonResourcePolicyRule[] | undefined;
}

/** flowcontrol/v1beta1.PriorityLevelConfiguration. */
export interface PriorityLevelConfiguration {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: PriorityLevelConfigurationSpec;
  status: PriorityLevelConfigurationStatus;
}

/** flowcontrol/v1beta1.PriorityLevelConfigurationCondition. */
export interface PriorityLevelConfigurationCondition {
  type?: string | undefined;
  status?: string | undefined;
  lastTransitionTime?: string | undefined;
  reason?: string | undefined;
  message?: string | undefined;
}

/** flowcontrol/v1beta1.PriorityLevelConfigurationList. */
export interface PriorityLevelConfigurationList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: PriorityLevelConfiguration[] | undefined;
}

/** flowcontrol/v1beta1.PriorityLevelConfigurationReference. */
export interface PriorityLevelConfigurationReference {
  name: string;
}

/** flowcontrol/v1beta1.PriorityLevelConfigurationSpec. */
export interface PriorityLevelConfigurationSpec {
  type: string;
  limited?: LimitedPriorityLevelConfiguration | undefined;
}

/** flowcontrol/v1beta1.PriorityLevelConfigurationStatus. */
export interface PriorityLevelConfigurationStatus {
  conditions?: PriorityLevelConfigurationCondition[] | undefined;
}

/** flowcontrol/v1beta1.QueuingConfiguration. */
export interface QueuingConfiguration {
  queues: number;
  handSize: number;
  queueLengthLimit: number;
}

/** flowcontrol/v1beta1.ResourcePolicyRule. */
export interface ResourcePolicyRule {
  verbs?: string[] | undefined;
  apiGroups?: string[] | undefined;
  resources?: string[] | undefined;
  clusterScope?: boolean | undefined;
  namespaces?: string[] | undefined;
}

/** flowcontrol/v1beta1.ServiceAccountSubject. */
export interface ServiceAccountSubject {
  namespace: string;
  name: string;
}

/** flowcontrol/v1beta1.Subject. */
export interface Subject {
  kind: string;
  user?: UserSubject | undefined;
  group?: GroupSubject | undefined;
  serviceAccount?: ServiceAccountSubject | undefined;
}

/** flowcontrol/v1beta1.UserSubject. */
export interface UserSubject {
  name: string;
}
