// Which address families a service has, and how many: what the client said, completed by what the cluster offers
// (upstream: the allocator's defaulting of ipFamilies and ipFamilyPolicy).
import { type FieldError, invalid } from "../../api/fielderror.ts";
import type { Service } from "../../api/gen/core/v1.ts";
import { isIpv4, parseAddress } from "../address.ts";

const unset = "must be RequireDualStack or PreferDualStack when multiple";

/** Fills ipFamilies and ipFamilyPolicy of a service in place; all fields at fault. `cluster`: its families, its own first. */
export function settleFamilies(service: Service, cluster: readonly string[]): FieldError[] {
  const { spec } = service;
  if (spec.type === "ExternalName") return [];
  const path = "spec.ipFamilyPolicy";
  const errors: FieldError[] = [];
  const ips = spec.clusterIPs ?? [];
  if (spec.ipFamilyPolicy === "SingleStack") {
    if (ips.length === 2) errors.push(invalid(path, spec.ipFamilyPolicy, `${unset} clusterIPs are specified`));
    if (spec.ipFamilies?.length === 2)
      errors.push(invalid(path, spec.ipFamilyPolicy, `${unset} ipFamilies are specified`));
    if (errors.length > 0) return errors;
  }
  const families = [...(spec.ipFamilies ?? [])];
  for (const ip of ips.slice(families.length)) {
    const address = parseAddress(ip);
    if (address !== undefined) families.push(isIpv4(address) ? "IPv4" : "IPv6");
  }
  const [own = "IPv4"] = cluster;
  if (ips[0] === "None" && (spec.selector?.size ?? 0) === 0) {
    // The client writes the endpoints itself: they may be of any family, whatever the cluster offers.
    spec.ipFamilyPolicy ??= families.length === 1 ? "SingleStack" : "RequireDualStack";
    if (families.length === 0) families.push(own);
    if (spec.ipFamilyPolicy !== "SingleStack") addOther(families);
    spec.ipFamilies = families;
    return [];
  }
  spec.ipFamilyPolicy ??= families.length === 2 ? "RequireDualStack" : "SingleStack";
  if (spec.ipFamilyPolicy === "RequireDualStack" && cluster.length < 2) {
    const why = "this cluster is not configured for dual-stack services";
    errors.push(invalid(path, spec.ipFamilyPolicy, why));
  }
  for (const [index, family] of families.entries()) {
    if (cluster.includes(family)) continue;
    errors.push(invalid(`spec.ipFamilies[${index}]`, family, "not configured on this cluster"));
  }
  if (errors.length > 0) return errors;
  if (families.length === 0) families.push(own);
  if (spec.ipFamilyPolicy !== "SingleStack" && cluster.length === 2) addOther(families);
  spec.ipFamilies = families;
  return [];
}

/** Families of a service that was stored before there were any, in place (upstream: defaultOnReadIPFamilies). */
export function restoreFamilies({ spec }: Service, own: "IPv4" | "IPv6"): void {
  if (spec.type === "ExternalName" || spec.ipFamilies?.length) return;
  const isHeadless = spec.clusterIP === "None";
  const families = isHeadless ? [own] : (spec.clusterIPs ?? []).map((ip) => (ip.includes(":") ? "IPv6" : "IPv4"));
  if (isHeadless && !spec.selector?.size) addOther(families);
  spec.ipFamilies = families;
  if (families.length > 0) spec.ipFamilyPolicy = families.length === 1 ? "SingleStack" : "RequireDualStack";
}

function addOther(families: string[]): void {
  if (families.length === 1) families.push(families[0] === "IPv4" ? "IPv6" : "IPv4");
}
