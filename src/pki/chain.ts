// Whether a certificate that a client presented comes from a bundle of authorities (RFC 5280 6.1). The TLS library could
// say that only for all bundles of a server together, and its failed check of a forged signature would end the
// connection, which may yet bring a token; so the whole check is here. It is stricter than it must be where that costs
// nobody anything: name constraints and unknown critical extensions are refused, not evaluated.
import type { X509Certificate } from "node:crypto";
import { limits } from "../config/limits.ts";
import { pathLengthOf, readCertificate, signsCertificates } from "./certificate.ts";

const clientAuth = "1.3.6.1.5.5.7.3.2";
const anyUsage = "2.5.29.37.0";
/** Object identifiers 2.5.29.19, .15 and .30, as certificate.ts has them. */
const basicConstraints = "551d13";
const keyUsages = "551d0f";
const nameConstraints = "551d1e";
/** The critical extensions this check evaluates: these, alternative names, and extended key usage. */
const evaluated: ReadonlySet<string> = new Set([keyUsages, "551d11", basicConstraints, "551d25"]);
/** Bits of an RSA key below which nobody is believed. */
const rsaBitsMin = 2_048;

const unknownAuthority = "x509: certificate signed by unknown authority";

/** When a chain begins and stops to hold, in milliseconds since 1970. */
export interface ChainTimes {
  readonly from: number;
  readonly until: number;
}

/**
 * Looks for a way from the first certificate over the others to one of `roots`, every one of them for use by clients.
 * Answers when that way holds, whether or not it does now; a text says why there is none.
 */
export function findChain(
  presented: readonly X509Certificate[],
  roots: readonly X509Certificate[],
): ChainTimes | string {
  const [leaf, ...others] = presented;
  if (leaf === undefined) return "x509: no certificate";
  if (others.length > limits.chainCertificatesMax) return "x509: too many certificates";
  const unfit = faultOf(leaf);
  if (unfit !== undefined) return unfit;
  return climb(leaf, others, roots, timesOf(leaf), 0) ?? unknownAuthority;
}

/** `below`: authorities between the leaf and this certificate's issuer. */
function climb(
  certificate: X509Certificate,
  others: readonly X509Certificate[],
  roots: readonly X509Certificate[],
  times: ChainTimes,
  below: number,
): ChainTimes | undefined {
  for (const root of roots) {
    if (root.raw.equals(certificate.raw)) return times;
    if (mayIssue(root, below) && isIssuedBy(certificate, root)) return narrow(times, timesOf(root));
  }
  for (const issuer of others) {
    if (!mayIssue(issuer, below) || !isIssuedBy(certificate, issuer)) continue;
    const rest = others.filter((other) => other !== issuer);
    const found = climb(issuer, rest, roots, narrow(times, timesOf(issuer)), below + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  try {
    return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
  } catch {
    // A key of a kind this build does not know signs nothing.
    return false;
  }
}

/** Whether a certificate is an authority's, with so many authorities below it. */
function mayIssue(issuer: X509Certificate, below: number): boolean {
  if (!issuer.ca || faultOf(issuer) !== undefined) return false;
  const extensions = readCertificate(issuer.raw)?.extensions;
  const basic = extensions?.get(basicConstraints);
  if (basic === undefined || (pathLengthOf(basic) ?? below) < below) return false;
  const usages = extensions?.get(keyUsages);
  return usages === undefined || signsCertificates(usages);
}

/** What makes a certificate unfit for any place in a chain; undefined for nothing. */
function faultOf(certificate: X509Certificate): string | undefined {
  try {
    const { asymmetricKeyType, asymmetricKeyDetails } = certificate.publicKey;
    const bits = asymmetricKeyDetails?.modulusLength ?? rsaBitsMin;
    if (asymmetricKeyType === "rsa" && bits < rsaBitsMin) return `x509: RSA key of ${bits} bits is too small`;
  } catch {
    return "x509: unknown public key algorithm";
  }
  const parts = readCertificate(certificate.raw);
  if (parts === undefined) return "x509: malformed certificate";
  if (!parts.soundlySigned) return "x509: cannot verify signature: insecure algorithm";
  if (parts.extensions.has(nameConstraints)) return "x509: name constraints are not supported";
  for (const [type, { critical }] of parts.extensions) {
    if (critical && !evaluated.has(type)) return "x509: unhandled critical extension";
  }
  return faultOfUsage(certificate);
}

/** A certificate that says what it is for must be for clients. */
function faultOfUsage({ keyUsage }: X509Certificate): string | undefined {
  // The extended ones, whatever the name of the property.
  const usages = keyUsage as readonly string[] | undefined;
  if (usages === undefined || usages.includes(clientAuth) || usages.includes(anyUsage)) return undefined;
  return "x509: certificate specifies an incompatible key usage";
}

function timesOf({ validFrom, validTo }: X509Certificate): ChainTimes {
  return { from: Date.parse(validFrom), until: Date.parse(validTo) };
}

function narrow(a: ChainTimes, b: ChainTimes): ChainTimes {
  return { from: Math.max(a.from, b.from), until: Math.min(a.until, b.until) };
}
