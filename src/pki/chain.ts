// Whether a certificate that a client presented comes from a bundle of authorities (RFC 5280 6.1). The TLS library could
// say that only for all bundles of a server together, and its failed check of a forged signature would end the
// connection, which may yet bring a token; so the whole check is here. It is stricter than it must be where that costs
// no access: name constraints and unknown critical extensions are rejected, not evaluated.
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
/** Least bits of an accepted RSA key. */
const rsaBitsMin = 2_048;

/** Beyond these a check of one signature takes milliseconds (upstream's library has the same bounds). */
const rsaBitsMax = 8_192;
const rsaExponentMax = 2n ** 31n - 1n;

const unknownAuthority = "x509: certificate signed by unknown authority";
const tooManyChecks = "x509: signature check attempts limit reached while verifying certificate chain";

/** When a chain begins and stops to hold, in milliseconds since 1970. */
export interface ChainTimes {
  readonly from: number;
  readonly until: number;
}

/** Certificates as a client sent them. */
export interface Presented {
  readonly leaf: X509Certificate;
  /** The sent intermediates; read only when the leaf's issuer is no root. */
  others(): readonly X509Certificate[];
}

/**
 * Looks for a way from the leaf over the others to one of `roots`, every one of them for use by clients. Answers when that
 * way holds, one that holds at `now` (milliseconds since 1970) before others; a text says why there is none. Costs at
 * most limits.chainSignaturesMax signature checks, whatever was sent.
 */
export function findChain(presented: Presented, roots: readonly X509Certificate[], now: number): ChainTimes | string {
  const { fault } = factsOf(presented.leaf);
  if (fault !== undefined) return fault;
  const search = new Search(presented, roots);
  const holds = ({ from, until }: ChainTimes): boolean => from <= now && now <= until;
  return search.run(holds) ?? search.run(() => true) ?? search.failure;
}

/** One way up from the leaf, as far as it was found. */
interface Way {
  readonly top: X509Certificate;
  readonly times: ChainTimes;
}

/** The search for one chain: level by level from the leaf, each certificate visited once, each signature checked once. */
class Search {
  readonly #leaf: X509Certificate;
  readonly #presented: Presented;
  readonly #roots: readonly X509Certificate[];
  #others: readonly X509Certificate[] | undefined;
  /** By certificate and issuer. */
  readonly #checked = new Map<X509Certificate, Map<X509Certificate, boolean>>();
  #checksLeft: number = limits.chainSignaturesMax;

  constructor(presented: Presented, roots: readonly X509Certificate[]) {
    this.#leaf = presented.leaf;
    this.#presented = presented;
    this.#roots = roots;
  }

  /** Why there is no chain. */
  get failure(): string {
    return this.#checksLeft > 0 ? unknownAuthority : tooManyChecks;
  }

  /** A chain of issuers whose times pass `usable`. The first level that reaches a root has the fewest authorities. */
  run(usable: (times: ChainTimes) => boolean): ChainTimes | undefined {
    const seen = new Set([this.#leaf]);
    let level: Way[] = [{ top: this.#leaf, times: timesOf(this.#leaf) }];
    for (let below = 0; level.length > 0; below++) {
      for (const way of level) {
        const found = this.#rootOf(way, below, usable);
        if (found !== undefined) return found;
      }
      const next: Way[] = [];
      for (const { top, times } of level) {
        for (const issuer of this.#sent()) {
          if (seen.has(issuer) || !usable(timesOf(issuer)) || !this.#issued(top, issuer, below)) continue;
          seen.add(issuer);
          next.push({ top: issuer, times: narrow(times, timesOf(issuer)) });
        }
      }
      level = next;
    }
    return undefined;
  }

  #rootOf({ top, times }: Way, below: number, usable: (times: ChainTimes) => boolean): ChainTimes | undefined {
    const { raw } = factsOf(top);
    for (const root of this.#roots) {
      if (factsOf(root).raw.equals(raw)) return times;
      if (usable(timesOf(root)) && this.#issued(top, root, below)) return narrow(times, timesOf(root));
    }
    return undefined;
  }

  /** The sent intermediates, each once; none when there are too many. */
  #sent(): readonly X509Certificate[] {
    if (this.#others === undefined) {
      const sent = this.#presented.others();
      const distinct = new Map(sent.map((one) => [factsOf(one).raw.toString("latin1"), one]));
      distinct.delete(factsOf(this.#leaf).raw.toString("latin1"));
      this.#others = sent.length > limits.chainCertificatesMax ? [] : [...distinct.values()];
    }
    return this.#others;
  }

  /** `below`: authorities between the leaf and the issuer. Names, key identifiers and constraints are looked at first. */
  #issued(certificate: X509Certificate, issuer: X509Certificate, below: number): boolean {
    if (!mayIssue(issuer, below)) return false;
    let known = this.#checked.get(certificate);
    if (known === undefined) this.#checked.set(certificate, (known = new Map()));
    let issued = known.get(issuer);
    if (issued === undefined) known.set(issuer, (issued = this.#verify(certificate, issuer)));
    return issued;
  }

  #verify(certificate: X509Certificate, issuer: X509Certificate): boolean {
    try {
      if (!certificate.checkIssued(issuer) || this.#checksLeft === 0) return false;
      this.#checksLeft -= 1;
      return certificate.verify(issuer.publicKey);
    } catch {
      // A key of a kind this build does not know signs nothing.
      return false;
    }
  }
}

/** Parsed parts of a certificate: Node creates a new buffer and a new key at every access. */
interface Facts {
  readonly raw: Buffer;
  readonly ca: boolean;
  /** Why it is unfit for any place in a chain. */
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
    const { modulusLength: bits = rsaBitsMin, publicExponent = 3n } =
      (publicKey.asymmetricKeyType?.startsWith("rsa") && publicKey.asymmetricKeyDetails) || {};
    if (bits < rsaBitsMin) return `x509: RSA key of ${bits} bits is too small`;
    if (bits > rsaBitsMax || publicExponent > rsaExponentMax) return `x509: RSA key of ${bits} bits is too large`;
  } catch {
    return "x509: unknown public key algorithm";
  }
  return faultOfUsage(certificate);
}

/** A certificate with extended key usages must include client authentication. */
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
