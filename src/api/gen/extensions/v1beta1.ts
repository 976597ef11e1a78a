// Written by scripts/gen from proto/: do not edit.
import type * as apps_v1 from "../apps/v1.ts";
import type * as core_v1 from "../core/v1.ts";
import type * as meta_v1 from "../meta/v1.ts";
import type * as networking_v1 from "../networking/v1.ts";

/** extensions/v1beta1.DaemonSet. */
export interface DaemonSet {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: DaemonSetSpec;
  status: apps_v1.DaemonSetStatus;
}

/** extensions/v1beta1.DaemonSetSpec. */
export interface DaemonSetSpec {
  selector?: meta_v1.LabelSelector | undefined;
  template: core_v1.PodTemplateSpec;
  updateStrategy: apps_v1.DaemonSetUpdateStrategy;
  minReadySeconds?: number | undefined;
  templateGeneration?: number | bigint | undefined;
  revisionHistoryLimit?: number | undefined;
}

/** extensions/v1beta1.Deployment. */
export interface Deployment {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: DeploymentSpec;
  status: apps_v1.DeploymentStatus;
}

/** extensions/v1beta1.DeploymentSpec. */
export interface DeploymentSpec {
  replicas?: number | undefined;
  selector?: meta_v1.LabelSelector | undefined;
  template: core_v1.PodTemplateSpec;
  strategy: apps_v1.DeploymentStrategy;
  minReadySeconds?: number | undefined;
  revisionHistoryLimit?: number | undefined;
  paused?: boolean | undefined;
  rollbackTo?: RollbackConfig | undefined;
  progressDeadlineSeconds?: number | undefined;
}

/** extensions/v1beta1.HTTPIngressPath. */
export interface HTTPIngressPath {
  path?: string | undefined;
  pathType?: string | undefined;
  backend: IngressBackend;
}

/** extensions/v1beta1.HTTPIngressRuleValue. */
export interface HTTPIngressRuleValue {
  paths?: HTTPIngressPath[] | undefined;
}

/** extensions/v1beta1.Ingress. */
export interface Ingress {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: IngressSpec;
  status: networking_v1.IngressStatus;
}

/** extensions/v1beta1.IngressBackend. */
export interface IngressBackend {
  serviceName?: string | undefined;
  servicePort: number | string;
  resource?: core_v1.TypedLocalObjectReference | undefined;
}

/** extensions/v1beta1.IngressRule. */
export interface IngressRule extends IngressRuleValue {
  host?: string | undefined;
}

/** extensions/v1beta1.IngressRuleValue. */
export interface IngressRuleValue {
  http?: HTTPIngressRuleValue | undefined;
}

/** extensions/v1beta1.IngressSpec. */
export interface IngressSpec {
  ingressClassName?: string | undefined;
  backend?: IngressBackend | undefined;
  tls?: networking_v1.IngressTLS[] | undefined;
  rules?: IngressRule[] | undefined;
}

/** extensions/v1beta1.RollbackConfig. */
export interface RollbackConfig {
  revision?: number | bigint | undefined;
}
