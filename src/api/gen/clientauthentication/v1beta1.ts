// Written by scripts/gen from proto/: do not edit.
import type { RawJson } from "../../schema.ts";

/** clientauthentication/v1beta1.ExecCredential. */
export interface ExecCredential {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  spec: ExecCredentialSpec;
  status?: ExecCredentialStatus | undefined;
}

/** clientauthentication/v1beta1.ExecCredentialSpec. */
export interface ExecCredentialSpec {
  cluster?: Cluster | undefined;
  interactive: boolean;
}

/** clientauthentication/v1beta1.ExecCredentialStatus. */
export interface ExecCredentialStatus {
  expirationTimestamp?: string | undefined;
  token?: string | undefined;
  clientCertificateData?: string | undefined;
  clientKeyData?: string | undefined;
}

/** clientauthentication/v1beta1.Cluster. */
export interface Cluster {
  server: string;
  "tls-server-name"?: string | undefined;
  "insecure-skip-tls-verify"?: boolean | undefined;
  "certificate-authority-data"?: string | undefined;
  "proxy-url"?: string | undefined;
  config?: RawJson | undefined;
}
