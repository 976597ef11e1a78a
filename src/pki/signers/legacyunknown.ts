// legacy-unknown: whatever was approved, with no promise of who trusts it. No request for it comes through v1; those of a
// store that a later version of the API wrote are signed.
import type { Signer } from "./signer.ts";

/** Signs anything; never a CA, as no signer does. */
export const legacyUnknown: Signer = {
  name: "kubernetes.io/legacy-unknown",
  faultOf: () => undefined,
};
