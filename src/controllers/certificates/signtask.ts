// The task that signs: from a signing request to a certificate, or to what its signer refuses it with. The authority's
// key comes along as an object that threads of this process share; nothing of it is in what goes back.
import { assert } from "../../base/assert.ts";
import { limits } from "../../config/limits.ts";
import type { Authority } from "../../pki/authority.ts";
import { faultOfSignature, readSigningRequest, type SigningRequest } from "../../pki/csr.ts";
import { issueCertificate, validityOf } from "../../pki/issue.ts";
import { signers } from "../../pki/signers/table.ts";
import type { Task } from "../../pool/task.ts";

/** A request as it is to be signed. */
export interface SignInput {
  /** Name of the signer, in canonical spelling. */
  readonly signer: string;
  /** PEM. */
  readonly request: Uint8Array;
  readonly usages: readonly string[];
  /** How long the certificate is to live, in milliseconds. */
  readonly lifeMs: number;
  /** The wall clock, in milliseconds. */
  readonly nowMs: number;
  readonly serial: Uint8Array;
  readonly authority: Authority;
}

/** What came of it. */
export type SignOutput =
  | { readonly refused: string }
  | {
      readonly refused?: undefined;
      /** PEM. */
      readonly certificate: string;
    };

/** Signs a request, or says why its signer does not. */
export const signTask: Task<SignInput, SignOutput> = {
  name: "sign",
  work: (input) => signRequest(input),
};

function signRequest({ signer: name, request: pem, usages, lifeMs, nowMs, serial, authority }: SignInput): SignOutput {
  const signer = signers.find((each) => each.name === name);
  assert(signer !== undefined, `Controller and pool differ about the signer ${name}`);
  if (pem.length > limits.signedRequestBytesMax) {
    return { refused: `the request is longer than ${limits.signedRequestBytesMax} bytes` };
  }
  const request = readSigningRequest(pem);
  if (typeof request === "string") return { refused: request };
  const fault = signer.faultOf({ request, usages }) ?? faultOfNames(request) ?? faultOfSignature(request);
  if (fault !== undefined) return { refused: fault };
  const der = issueCertificate(authority, request, {
    usages,
    serial,
    ...validityOf(nowMs, lifeMs, authority.notAfter),
  });
  const lines = der.toString("base64").replace(/.{64}(?!$)/g, "$&\n");
  return { certificate: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n` };
}

/** A name that ends early for one reader and not for another is for no certificate. Upstream signs it. */
function faultOfNames({ subject, names: { dns, email } }: SigningRequest): string | undefined {
  const isBad = (text: string): boolean => /[\0-\x1f\x7f]/.test(text);
  const texts = [...subject.values(), dns, email].flat();
  return texts.some(isBad) ? "subject and alternative names may not contain control characters" : undefined;
}
