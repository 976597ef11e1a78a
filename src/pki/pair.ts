// What a certificate and its key are good for. Pure, and by Node alone: a start looks at its pairs and rarely makes one.
import { createPrivateKey, X509Certificate } from "node:crypto";
import { isIP } from "node:net";

/** A certificate and its private key, PEM. */
export interface Credential {
  readonly certificate: string;
  readonly key: string;
}

/** Whether `serving` was issued by `authority`, matches its key, holds for every name and is valid until `until`. */
export function servingHolds(authority: string, serving: Credential, names: readonly string[], until: Date): boolean {
  const certificate = new X509Certificate(serving.certificate);
  const issuer = new X509Certificate(authority);
  if (!certificate.checkIssued(issuer) || !certificate.verify(issuer.publicKey)) return false;
  if (!keyMatches(serving)) return false;
  if (Date.parse(certificate.validTo) < until.getTime()) return false;
  return names.every(
    (name) => (isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name)) !== undefined,
  );
}

/** Whether an authority is usable until `until`. */
export function authorityHolds(authority: Credential, until: Date): boolean {
  const certificate = new X509Certificate(authority.certificate);
  return certificate.ca && keyMatches(authority) && Date.parse(certificate.validTo) >= until.getTime();
}

/** The fault of a pair: half of it is unreadable, or the halves do not belong together. */
export function faultOfPair({ certificate, key }: Credential): "certificate" | "key" | "match" | undefined {
  let parsed: X509Certificate;
  try {
    parsed = new X509Certificate(certificate);
  } catch {
    return "certificate";
  }
  try {
    return parsed.checkPrivateKey(createPrivateKey(key)) ? undefined : "match";
  } catch {
    return "key";
  }
}

function keyMatches(credential: Credential): boolean {
  return new X509Certificate(credential.certificate).checkPrivateKey(createPrivateKey(credential.key));
}
