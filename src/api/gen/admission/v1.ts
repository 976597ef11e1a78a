// Written by scripts/gen from proto/: do not edit.
import type { RawJson } from "../../schema.ts";
import type * as authentication_v1 from "../authentication/v1.ts";
import type * as meta_v1 from "../meta/v1.ts";

/** admission/v1.AdmissionRequest. */
export interface AdmissionRequest {
  uid: string;
  kind: meta_v1.GroupVersionKind;
  resource: meta_v1.GroupVersionResource;
  subResource?: string | undefined;
  requestKind?: meta_v1.GroupVersionKind | undefined;
  requestResource?: meta_v1.GroupVersionResource | undefined;
  requestSubResource?: string | undefined;
  name?: string | undefined;
  namespace?: string | undefined;
  operation: string;
  userInfo: authentication_v1.UserInfo;
  object?: RawJson | undefined;
  oldObject?: RawJson | undefined;
  dryRun?: boolean | undefined;
  options?: RawJson | undefined;
}

/** admission/v1.AdmissionResponse. */
export interface AdmissionResponse {
  uid: string;
  allowed: boolean;
  status?: meta_v1.Status | undefined;
  patch?: string | undefined;
  patchType?: string | undefined;
  auditAnnotations?: Map<string, string> | undefined;
  warnings?: string[] | undefined;
}

/** admission/v1.AdmissionReview. */
export interface AdmissionReview {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  request?: AdmissionRequest | undefined;
  response?: AdmissionResponse | undefined;
}
