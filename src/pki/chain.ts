// Whether a certificate that a client presented comes from a bundle of authorities (RFC 5280 6.1). The TLS library could
// say that only for all bundles of a server together, and its failed check of a forged signature would end the
// connection, which may yet bring a token; so the whole check is here. It is stricter than it must be where that costs
// nobody anything: name constraints and unknown critical extensions are refused, not evaluated.
import type { X509Certificate } from "node:crypto";
import { limits } from "../config/limits.ts";
import { type CertificateParts, pathLengthOf, readCertificate, signsCertificates } from "./certificate.ts";

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

/** Certificates as a client sent them. */
export interface Presented {
  readonly leaf: X509Certificate;
  /** What came along; asked for only when the leaf's issuer is no root. */
  others(): readonly X509Certificate[];
}

/**
 * Looks for a way from the leaf over the others to one of `roots`, every one of them for use by clients. Answers when that
 * way holds, whether or not it does now; a text says why there is none.
 */
export function findChain(presented: Presented, roots: readonly X509Certificate[]): ChainTimes | string {
  const { leaf } = presented;
  const { fault } = factsOf(leaf);
  if (fault !== undefined) return fault;
  return climb(leaf, () => presented.others(), roots, timesOf(leaf), 0) ?? unknownAuthority;
}

/** `below`: authorities between the leaf and this certificate's issuer. */
function climb(
  certificate: X509Certificate,
  others: () => readonly X509Certificate[],
  roots: readonly X509Certificate[],
  times: ChainTimes,
  below: number,
): ChainTimes | undefined {
  const { raw } = factsOf(certificate);
  for (const root of roots) {
    if (factsOf(root).raw.equals(raw)) return times;
    if (mayIssue(root, below) && isIssuedBy(certificate, root)) return narrow(times, timesOf(root));
  }
  const rest = others();
  if (rest.length > limits.chainCertificatesMax) return undefined;
  for (const issuer of rest) {
    if (!mayIssue(issuer, below) || !isIssuedBy(certificate, issuer)) continue;
    const remaining = (): X509Certificate[] => rest.filter((other) => other !== issuer);
    const found = climb(issuer, remaining, roots, narrow(times, timesOf(issuer)), below + 1);
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

/** What is read of a certificate once: Node makes a new buffer and a new key at every look. */
interface Facts {
  readonly raw: Buffer;
  readonly ca: boolean;
  /** What makes it unfit for any place in a chain. */
  readonly fault: string | undefined;
  readonly parts: CertificateParts | undefined;
}

const known = new WeakMap<X509Certificate, Facts>();

function factsOf(certificate: X509Certificate): Facts {
  let facts = known.get(certificate);
  if (facts === undefined) {
    const { raw, ca } = certificate;
    const parts = readCertificate(raw);
    facts = { raw, ca, parts, fault: faultOf(certificate, parts) };
    known.set(certificate, facts);
  }
  return facts;
}

/** The parts of a certificate; undefined for one that is malformed. */
export function partsOf(certificate: X509Certificate): CertificateParts | undefined {
  return factsOf(certificate).parts;
}

/** Whether a certificate is an authority's, with so many authorities below it. */
function mayIssue(issuer: X509Certificate, below: number): boolean {
  const { ca, fault, parts } = factsOf(issuer);
  const basic = parts?.extensions.get(basicConstraints);
  if (!ca || fault !== undefined || basic === undefined) return false;
  if ((pathLengthOf(basic) ?? below) < below) return false;
  const usages = parts?.extensions.get(keyUsages);
  return usages === undefined || signsCertificates(usages);
}

function faultOf(certificate: X509Certificate, parts: CertificateParts | undefined): string | undefined {
  if (parts === undefined) return "x509: malformed certificate";
  if (!parts.soundlySigned) return "x509: cannot verify signature: insecure algorithm";
  if (parts.extensions.has(nameConstraints)) return "x509: name constraints are not supported";
  for (const [type, { critical }] of parts.extensions) {
    if (critical && !evaluated.has(type)) return "x509: unhandled critical extension";
  }
  try {
    // Details are dear: the library writes the key down and reads it again.
    const { publicKey } = certificate;
    const bits = publicKey.asymmetricKeyType === "rsa" ? publicKey.asymmetricKeyDetails?.modulusLength : undefined;
    if (bits !== undefined && bits < rsaBitsMin) return `x509: RSA key of ${bits} bits is too small`;
  } catch {
    return "x509: unknown public key algorithm";
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
