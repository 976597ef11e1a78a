// SecurityContextDeny: pods choose no user, no groups and no SELinux options.
import type { Pod } from "../api/gen/core/v1.ts";
import type { ApiObject } from "../api/object.ts";
import { type AdmissionPlugin, forbid, isAbout } from "./plugin.ts";

/** Builds the plugin. */
export function securityContextDeny(): AdmissionPlugin {
  return {
    validate(attributes) {
      const { operation, subresource, object } = attributes;
      if (subresource !== "" || !isAbout(attributes, "", "pods")) return undefined;
      if (operation !== "create" && operation !== "update") return undefined;
      const { spec } = object as ApiObject & Pod;
      const { supplementalGroups, seLinuxOptions, runAsUser, fsGroup } = spec.securityContext ?? {};
      const ofPod = [
        ["SupplementalGroups", supplementalGroups],
        ["SELinuxOptions", seLinuxOptions],
        ["RunAsUser", runAsUser],
        ["FSGroup", fsGroup],
      ] as const;
      for (const [field, value] of ofPod) {
        if (value !== undefined) return forbid(attributes, `pod.Spec.SecurityContext.${field} is forbidden`);
      }
      for (const { securityContext } of [...(spec.initContainers ?? []), ...(spec.containers ?? [])]) {
        if (securityContext?.seLinuxOptions !== undefined) {
          return forbid(attributes, "SecurityContext.SELinuxOptions is forbidden");
        }
        if (securityContext?.runAsUser !== undefined)
          return forbid(attributes, "SecurityContext.RunAsUser is forbidden");
      }
      return undefined;
    },
  };
}
