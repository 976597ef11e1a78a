// Written by scripts/gen from proto/: do not edit.
import type * as meta_v1 from "../meta/v1.ts";

/** coordination/v1.Lease. */
export interface Lease {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ObjectMeta;
  spec: LeaseSpec;
}

/** coordination/v1.LeaseList. */
export interface LeaseList {
  kind?: string | undefined;
  apiVersion?: string | undefined;
  metadata: meta_v1.ListMeta;
  items?: Lease[] | undefined;
}

/** coordination/v1.LeaseSpec. */
export interface LeaseSpec {
  holderIdentity?: string | undefined;
  leaseDurationSeconds?: number | undefined;
  acquireTime?: string | undefined;
  renewTime?: string | undefined;
  leaseTransitions?: number | undefined;
}
