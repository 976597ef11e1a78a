// What a signer of the server signs, and which texts it refuses others with: upstream's, which clients read in the
// condition Failed of their request. Signers are pure; pki/issue.ts makes the certificate.
import { attributes, type SigningRequest } from "../csr.ts";

/** What a signer decides by. */
export interface Asked {
  readonly request: SigningRequest;
  /** Of `spec.usages`, as they are spelled there. */
  readonly usages: readonly string[];
}

/** One signer: a file, and a row in table.ts. */
export interface Signer {
  /** In canonical spelling. */
  readonly name: string;
  /** Returns why it does not sign; undefined: it does. */
  readonly faultOf: (asked: Asked) => string | undefined;
}

/** Subjects of nodes: one organization, and a common name that says which node. */
export function isNodesOrganization({ subject }: SigningRequest): boolean {
  const organizations = subject.get(attributes.organization) ?? [];
  return organizations.length === 1 && organizations[0] === "system:nodes";
}

/** The common name of a request; where there are several, the last one (upstream); empty for none. */
export function commonNameOf({ subject }: SigningRequest): string {
  return subject.get(attributes.commonName)?.at(-1) ?? "";
}

/** The beginning of a node's user name. */
export const nodePrefix = "system:node:";

/** The texts both signers of nodes refuse with. */
export const nodeFaults = {
  organization: "subject organization is not system:nodes",
  commonName: `subject common name does not begin with ${nodePrefix}`,
} as const;

/** Refuses unless exactly these usages are asked for, in any order; `wanted` is sorted. */
export function usagesFault(usages: readonly string[], wanted: readonly string[]): string | undefined {
  const asked = new Set(usages);
  if (asked.size === wanted.length && wanted.every((usage) => asked.has(usage))) return undefined;
  return `usages did not match [${wanted.join(" ")}]`;
}
