// Groups of the community's own domains: a definition in one needs an annotation that says who agreed to it.
import { quote } from "../../../api/gotext.ts";
import type { Identity } from "../../../api/identity.ts";

/** The annotation; canonical spelling. */
export const approvalKey = "api-approved.kubernetes.io";

/** What the annotation says. */
export interface Approval {
  readonly state: "Missing" | "Invalid" | "Unapproved" | "Approved";
  /** Upstream's words. */
  readonly message: string;
}

/** Reads the annotation of a definition (empty: there is none); undefined for groups that need none. */
export function approvalIn(group: string, annotation: string, { spell }: Identity): Approval | undefined {
  const domains = ["k8s.io", "kubernetes.io"].map((domain) => spell(domain));
  if (!domains.some((domain) => group === domain || group.endsWith(`.${domain}`))) return undefined;
  const wanted = `protected groups must have approval annotation ${quote(spell(approvalKey))}`;
  const see = "see https://github.com/kubernetes/enhancements/pull/1111";
  if (annotation === "") return { state: "Missing", message: `${wanted}, ${see}` };
  if (annotation.startsWith("unapproved"))
    return { state: "Unapproved", message: `not approved: ${quote(annotation)}` };
  if (/^[a-z][a-z0-9+.-]*:\/\/[^\s/?#]+/i.test(annotation))
    return { state: "Approved", message: `approved in ${annotation}` };
  const why = `${wanted} with either a URL or a reason starting with "unapproved", ${see}`;
  return { state: "Invalid", message: why };
}
