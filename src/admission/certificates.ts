// Signing requests: who approves one, or signs it, must be allowed to speak for its signer, and no user gets a client
// certificate of the group that may do everything. Three plugins of upstream, one question each.
import type { CertificateSigningRequest } from "../api/gen/certificates/v1.ts";
import { quote } from "../api/gotext.ts";
import type { Identity } from "../api/identity.ts";
import type { ApiObject } from "../api/object.ts";
import type { Status } from "../api/status.ts";
import { organizationsOf } from "../pki/csr.ts";
import { type AdmissionPlugin, type Attributes, type Environment, forbid, isAbout } from "./plugin.ts";

type Request = ApiObject & CertificateSigningRequest;

/** CertificateApproval. */
export function certificateApproval(environment: Environment): AdmissionPlugin {
  return {
    validate(attributes) {
      if (!isUpdate(attributes, environment.identity, "approval")) return undefined;
      // The new one: whoever changes the signer in the same write needs the right to the new signer.
      return maySpeak(environment, attributes, "approve", (attributes.object as Request).spec.signerName);
    },
  };
}

/** CertificateSigning. */
export function certificateSigning(environment: Environment): AdmissionPlugin {
  return {
    validate(attributes) {
      if (!isUpdate(attributes, environment.identity, "status")) return undefined;
      const [object, old] = [attributes.object as Request, attributes.old as Request];
      if (said(object) === said(old)) return undefined;
      return maySpeak(environment, attributes, "sign", old.spec.signerName);
    },
  };
}

/** CertificateSubjectRestriction. */
export function certificateSubject({ identity }: Environment): AdmissionPlugin {
  const group = identity.spell("certificates.k8s.io");
  const signer = identity.spell("kubernetes.io/kube-apiserver-client");
  return {
    validate(attributes) {
      const { operation, subresource } = attributes;
      if (operation !== "create" || subresource !== "") return undefined;
      if (!isAbout(attributes, group, "certificatesigningrequests")) return undefined;
      const { spec } = attributes.object as Request;
      if (spec.signerName !== signer) return undefined;
      const organizations = organizationsOf(Buffer.from(spec.request ?? "", "base64"));
      if (organizations === undefined) return forbid(attributes, "failed to parse CSR: asn1: structure error");
      if (!organizations.includes("system:masters")) return undefined;
      return forbid(attributes, `use of ${signer} signer with system:masters group is not allowed`);
    },
  };
}

function isUpdate(attributes: Attributes, identity: Identity, subresource: string): boolean {
  if (attributes.operation !== "update" || attributes.subresource !== subresource) return false;
  return isAbout(attributes, identity.spell("certificates.k8s.io"), "certificatesigningrequests");
}

/** What a signer says about a request, to compare. */
function said({ status }: Request): string {
  const conditions = (status.conditions ?? []).map(
    ({ type, status: holds, reason, message, lastUpdateTime, lastTransitionTime }) =>
      [type, holds, reason, message, lastUpdateTime, lastTransitionTime].map((word) => quote(word ?? "")).join(),
  );
  return [quote(status.certificate ?? ""), ...conditions].join(";");
}

/** 403 unless the user has `verb` on the signer, or on all of its domain. */
async function maySpeak(
  { authorizer, identity }: Environment,
  attributes: Attributes,
  verb: "approve" | "sign",
  signer: string,
): Promise<Status | undefined> {
  const question = {
    user: attributes.user,
    verb,
    isResource: true,
    group: identity.spell("certificates.k8s.io"),
    version: "*",
    resource: "signers",
    subresource: "",
    namespace: "",
    path: "",
  };
  for (const name of [signer, `${signer.split("/")[0] ?? ""}/*`]) {
    const { verdict } = await authorizer.authorize({ ...question, name });
    if (verdict === "allow") return undefined;
  }
  return forbid(attributes, `user not permitted to ${verb} requests with signerName ${quote(signer)}`);
}
