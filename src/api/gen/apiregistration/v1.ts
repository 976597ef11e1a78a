// Written by scripts/gen from proto/: do not edit.
import type * as meta_v1 from "../meta/v1.ts";

/** apiregistration/v1.APIService. */
export interface APIService {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: APIServiceSpec;
  status: APIServiceStatus;
}

/** apiregistration/v1.APIServiceCondition. */
export interface APIServiceCondition {
  type: string;
  status: string;
  lastTransitionTime?: string | undefined;
  reason?: string | undefined;
  message?: string | undefined;
}

/** apiregistration/v1.APIServiceList. */
export interface APIServiceList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: APIService[] | undefined;
}

/** apiregistration/v1.APIServiceSpec. */
export interface APIServiceSpec {
  service?: ServiceReference | undefined;
  group?: string | undefined;
  version?: string | undefined;
  insecureSkipTLSVerify?: boolean | undefined;
  caBundle?: string | undefined;
  groupPriorityMinimum: number;
  versionPriority: number;
}

/** apiregistration/v1.APIServiceStatus. */
export interface APIServiceStatus {
  conditions?: APIServiceCondition[] | undefined;
}

/** apiregistration/v1.ServiceReference. */
export interface ServiceReference {
  namespace?: string | undefined;
  name?: string | undefined;
  port?: number | undefined;
}
