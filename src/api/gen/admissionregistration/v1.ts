// Written by scripts/gen from proto/: do not edit.
import type * as meta_v1 from "../meta/v1.ts";

/** admissionregistration/v1.MutatingWebhook. */
export interface MutatingWebhook {
  name: string;
  clientConfig: WebhookClientConfig;
  rules?: RuleWithOperations[] | undefined;
  failurePolicy?: string | undefined;
  matchPolicy?: string | undefined;
  namespaceSelector?: meta_v1.LabelSelector | undefined;
  objectSelector?: meta_v1.LabelSelector | undefined;
  sideEffects?: string | undefined;
  timeoutSeconds?: number | undefined;
  admissionReviewVersions?: string[] | undefined;
  reinvocationPolicy?: string | undefined;
}

/** admissionregistration/v1.MutatingWebhookConfiguration. */
export interface MutatingWebhookConfiguration {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  webhooks?: MutatingWebhook[] | undefined;
}

/** admissionregistration/v1.MutatingWebhookConfigurationList. */
export interface MutatingWebhookConfigurationList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: MutatingWebhookConfiguration[] | undefined;
}

/** admissionregistration/v1.Rule. */
export interface Rule {
  apiGroups?: string[] | undefined;
  apiVersions?: string[] | undefined;
  resources?: string[] | undefined;
  scope?: string | undefined;
}

/** admissionregistration/v1.RuleWithOperations. */
export interface RuleWithOperations extends Rule {
  operations?: string[] | undefined;
}

/** admissionregistration/v1.ServiceReference. */
export interface ServiceReference {
  namespace: string;
  name: string;
  path?: string | undefined;
  port?: number | undefined;
}

/** admissionregistration/v1.ValidatingWebhook. */
export interface ValidatingWebhook {
  name: string;
  clientConfig: WebhookClientConfig;
  rules?: RuleWithOperations[] | undefined;
  failurePolicy?: string | undefined;
  matchPolicy?: string | undefined;
  namespaceSelector?: meta_v1.LabelSelector | undefined;
  objectSelector?: meta_v1.LabelSelector | undefined;
  sideEffects?: string | undefined;
  timeoutSeconds?: number | undefined;
  admissionReviewVersions?: string[] | undefined;
}

/** admissionregistration/v1.ValidatingWebhookConfiguration. */
export interface ValidatingWebhookConfiguration {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  webhooks?: ValidatingWebhook[] | undefined;
}

/** admissionregistration/v1.ValidatingWebhookConfigurationList. */
export interface ValidatingWebhookConfigurationList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: ValidatingWebhookConfiguration[] | undefined;
}

/** admissionregistration/v1.WebhookClientConfig. */
export interface WebhookClientConfig {
  url?: string | undefined;
  service?: ServiceReference | undefined;
  caBundle?: string | undefined;
}
