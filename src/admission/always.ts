// AlwaysAdmit and AlwaysDeny, of upstream's early days, and PersistentVolumeLabel, which asks a cloud for labels:
// there is none here.
import { type AdmissionPlugin, forbid } from "./plugin.ts";

/** AlwaysAdmit, and PersistentVolumeLabel without a cloud. */
export function alwaysAdmit(): AdmissionPlugin {
  return {};
}

/** AlwaysDeny. */
export function alwaysDeny(): AdmissionPlugin {
  return { mutate: (attributes) => forbid(attributes, "admission control is denying all modifications") };
}
