// Written by scripts/gen from proto/: do not edit.
import type * as core_v1 from "../core/v1.ts";
import type * as meta_v1 from "../meta/v1.ts";

/** networking/v1.HTTPIngressPath. */
export interface HTTPIngressPath {
  path?: string | undefined;
  pathType?: string | undefined;
  backend: IngressBackend;
}

/** networking/v1.HTTPIngressRuleValue. */
export interface HTTPIngressRuleValue {
  paths?: HTTPIngressPath[] | undefined;
}

/** networking/v1.IPBlock. */
export interface IPBlock {
  cidr: string;
  except?: string[] | undefined;
}

/** networking/v1.Ingress. */
export interface Ingress {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: IngressSpec;
  status: IngressStatus;
}

/** networking/v1.IngressBackend. */
export interface IngressBackend {
  service?: IngressServiceBackend | undefined;
  resource?: core_v1.TypedLocalObjectReference | undefined;
}

/** networking/v1.IngressClass. */
export interface IngressClass {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: IngressClassSpec;
}

/** networking/v1.IngressClassList. */
export interface IngressClassList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: IngressClass[] | undefined;
}

/** networking/v1.IngressClassParametersReference. */
export interface IngressClassParametersReference {
  apiGroup?: string | undefined;
  kind: string;
  name: string;
  scope?: string | undefined;
  namespace?: string | undefined;
}

/** networking/v1.IngressClassSpec. */
export interface IngressClassSpec {
  controller?: string | undefined;
  parameters?: IngressClassParametersReference | undefined;
}

/** networking/v1.IngressList. */
export interface IngressList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: Ingress[] | undefined;
}

/** networking/v1.IngressRule. */
export interface IngressRule extends IngressRuleValue {
  host?: string | undefined;
}

/** networking/v1.IngressRuleValue. */
export interface IngressRuleValue {
  http?: HTTPIngressRuleValue | undefined;
}

/** networking/v1.IngressServiceBackend. */
export interface IngressServiceBackend {
  name: string;
  port: ServiceBackendPort;
}

/** networking/v1.IngressSpec. */
export interface IngressSpec {
  ingressClassName?: string | undefined;
  defaultBackend?: IngressBackend | undefined;
  tls?: IngressTLS[] | undefined;
  rules?: IngressRule[] | undefined;
}

/** networking/v1.IngressStatus. */
export interface IngressStatus {
  loadBalancer: core_v1.LoadBalancerStatus;
}

/** networking/v1.IngressTLS. */
export interface IngressTLS {
  hosts?: string[] | undefined;
  secretName?: string | undefined;
}

/** networking/v1.NetworkPolicy. */
export interface NetworkPolicy {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: NetworkPolicySpec;
}

/** networking/v1.NetworkPolicyEgressRule. */
export interface NetworkPolicyEgressRule {
  ports?: NetworkPolicyPort[] | undefined;
  to?: NetworkPolicyPeer[] | undefined;
}

/** networking/v1.NetworkPolicyIngressRule. */
export interface NetworkPolicyIngressRule {
  ports?: NetworkPolicyPort[] | undefined;
  from?: NetworkPolicyPeer[] | undefined;
}

/** networking/v1.NetworkPolicyList. */
export interface NetworkPolicyList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: NetworkPolicy[] | undefined;
}

/** networking/v1.NetworkPolicyPeer. */
export interface NetworkPolicyPeer {
  podSelector?: meta_v1.LabelSelector | undefined;
  namespaceSelector?: meta_v1.LabelSelector | undefined;
  ipBlock?: IPBlock | undefined;
}

/** networking/v1.NetworkPolicyPort. */
export interface NetworkPolicyPort {
  protocol?: string | undefined;
  port?: number | string | undefined;
  endPort?: number | undefined;
}

/** networking/v1.NetworkPolicySpec. */
export interface NetworkPolicySpec {
  podSelector: meta_v1.LabelSelector;
  ingress?: NetworkPolicyIngressRule[] | undefined;
  egress?: NetworkPolicyEgressRule[] | undefined;
  policyTypes?: string[] | undefined;
}

/** networking/v1.ServiceBackendPort. */
export interface ServiceBackendPort {
  name?: string | undefined;
  number?: number | undefined;
}
