// DenyServiceExternalIPs: services get no further external addresses, through which traffic of others could be drawn
// to them (CVE-2020-8554). What a service has it keeps, and may let go.
import type { Service } from "../api/gen/core/v1.ts";
import type { ApiObject } from "../api/object.ts";
import { type AdmissionPlugin, forbid, isAbout } from "./plugin.ts";

/** Builds the plugin. */
export function externalIps(): AdmissionPlugin {
  return {
    validate(attributes) {
      const { operation, subresource, object, old } = attributes;
      if (subresource !== "" || !isAbout(attributes, "", "services")) return undefined;
      if (operation !== "create" && operation !== "update") return undefined;
      const addresses = (object as ApiObject & Service).spec.externalIPs ?? [];
      const kept = new Set((old as (ApiObject & Service) | undefined)?.spec.externalIPs);
      if (addresses.every((address) => kept.has(address))) return undefined;
      return forbid(attributes, "Use of external IPs is denied by admission control.");
    },
  };
}
