// Written by scripts/gen from proto/: do not edit.
import type * as meta_v1 from "../meta/v1.ts";

/** authentication/v1.BoundObjectReference. */
export interface BoundObjectReference {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  name?: string | undefined;
  uid?: string | undefined;
}

/** authentication/v1.TokenRequest. */
export interface TokenRequest {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: TokenRequestSpec;
  status: TokenRequestStatus;
}

/** authentication/v1.TokenRequestSpec. */
export interface TokenRequestSpec {
  audiences?: string[] | undefined;
  expirationSeconds?: number | bigint | undefined;
  boundObjectRef?: BoundObjectReference | undefined;
}

/** authentication/v1.TokenRequestStatus. */
export interface TokenRequestStatus {
  token: string;
  expirationTimestamp?: string | undefined;
}

/** authentication/v1.TokenReview. */
export interface TokenReview {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: TokenReviewSpec;
  status: TokenReviewStatus;
}

/** authentication/v1.TokenReviewSpec. */
export interface TokenReviewSpec {
  token?: string | undefined;
  audiences?: string[] | undefined;
}

/** authentication/v1.TokenReviewStatus. */
export interface TokenReviewStatus {
  authenticated?: boolean | undefined;
  user: UserInfo;
  audiences?: string[] | undefined;
  error?: string | undefined;
}

/** authentication/v1.UserInfo. */
export interface UserInfo {
  username?: string | undefined;
  uid?: string | undefined;
  groups?: string[] | undefined;
  extra?: Map<string, string[]> | undefined;
}
