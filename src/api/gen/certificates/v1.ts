// Written by scripts/gen from proto/: do not edit.
import type * as meta_v1 from "../meta/v1.ts";

/** certificates/v1.CertificateSigningRequest. */
export interface CertificateSigningRequest {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: CertificateSigningRequestSpec;
  status: CertificateSigningRequestStatus;
}

/** certificates/v1.CertificateSigningRequestCondition. */
export interface CertificateSigningRequestCondition {
  type: string;
  status: string;
  reason?: string | undefined;
  message?: string | undefined;
  lastUpdateTime?: string | undefined;
  lastTransitionTime?: string | undefined;
}

/** certificates/v1.CertificateSigningRequestList. */
export interface CertificateSigningRequestList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: CertificateSigningRequest[] | undefined;
}

/** certificates/v1.CertificateSigningRequestSpec. */
export interface CertificateSigningRequestSpec {
  request?: string | undefined;
  signerName: string;
  expirationSeconds?: number | undefined;
  usages?: string[] | undefined;
  username?: string | undefined;
  uid?: string | undefined;
  groups?: string[] | undefined;
  extra?: Map<string, string[]> | undefined;
}

/** certificates/v1.CertificateSigningRequestStatus. */
export interface CertificateSigningRequestStatus {
  conditions?: CertificateSigningRequestCondition[] | undefined;
  certificate?: string | undefined;
}
