// Makes certificates from signing requests (RFC 5280 4.1): everything but subject, alternative names and key is decided
// here. Names of the authority are copied byte by byte, because verifiers compare bytes. Signing itself is Node's.
//
//   SEQUENCE { SEQUENCE { [0] version, serial, algorithm, issuer, validity, subject, publicKey, [3] extensions }, algorithm,
//     BIT STRING signature }
import { randomBytes, sign } from "node:crypto";
import type { Authority } from "./authority.ts";
import { type AlternativeNames, attributes, type SigningRequest } from "./csr.ts";
import { bitString, element, objectIdentifier, sequence, setOf } from "./der.ts";

/** What a certificate is to say beside what its request says. */
export interface Terms {
  /** Of `spec.usages`. */
  readonly usages: readonly string[];
  /** Milliseconds since 1970, as all times here. */
  readonly notBefore: number;
  readonly notAfter: number;
  readonly serial: Uint8Array;
}

const minuteMs = 60_000;
/** Clocks of verifiers may be a little behind (upstream). */
const backdateMs = 5 * minuteMs;
/** Shorter lives than this are not shortened by that (upstream). */
const shortMs = 8 * 60 * minuteMs;

/** When a certificate that lives `lifeMs` from `now` holds: upstream's backdating, and never longer than its authority. */
export function validityOf(
  now: number,
  lifeMs: number,
  authorityUntil: number,
): { readonly notBefore: number; readonly notAfter: number } {
  const until = lifeMs < shortMs ? now + lifeMs : now + lifeMs - backdateMs;
  return { notBefore: now - backdateMs, notAfter: Math.min(until, authorityUntil) };
}

/** 127 random bits: positive, and never two alike (RFC 5280 4.1.2.2). */
export function serialNumber(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] as number) & 0x3f) | 0x40;
  return bytes;
}

/** Signs a certificate, DER. The request is to be verified before. Throws what signing throws. */
export function issueCertificate(authority: Authority, request: SigningRequest, terms: Terms): Buffer {
  const algorithm = sequence(...authority.algorithm);
  const subject = subjectOf(request.subject);
  const body = sequence(
    element(0xa0, element(0x02, Buffer.of(2))),
    element(0x02, terms.serial),
    algorithm,
    authority.subject,
    sequence(time(terms.notBefore), time(terms.notAfter)),
    subject,
    // Written anew: what a request holds may be encoded in ways that no certificate may be.
    request.publicKey.export({ type: "spki", format: "der" }),
    element(0xa3, sequence(...extensionsOf(authority, request, terms, subject))),
  );
  return sequence(body, algorithm, bitString(sign(authority.digest, body, authority.key)));
}

/** Identifiers of key usages by name: their bit (RFC 5280 4.2.1.3). */
const keyUsageBits: ReadonlyMap<string, number> = new Map([
  ["signing", 0],
  ["digital signature", 0],
  ["content commitment", 1],
  ["key encipherment", 2],
  ["data encipherment", 3],
  ["key agreement", 4],
  ["cert sign", 5],
  ["crl sign", 6],
  ["encipher only", 7],
  ["decipher only", 8],
]);

/** Extended key usages by name, in the order upstream writes them. */
const extendedUsages: readonly (readonly [usage: string, identifier: string])[] = [
  ["any", "551d2500"],
  ["server auth", "2b06010505070301"],
  ["client auth", "2b06010505070302"],
  ["code signing", "2b06010505070303"],
  ["email protection", "2b06010505070304"],
  ["s/mime", "2b06010505070304"],
  ["ipsec end system", "2b06010505070305"],
  ["ipsec tunnel", "2b06010505070306"],
  ["ipsec user", "2b06010505070307"],
  ["timestamping", "2b06010505070308"],
  ["ocsp signing", "2b06010505070309"],
  ["microsoft sgc", "2b0601040182370a0303"],
  ["netscape sgc", "6086480186f8420401"],
];

const isCritical = element(0x01, Buffer.of(0xff));

function extension(identifier: string, critical: boolean, value: Buffer): Buffer {
  return sequence(objectIdentifier(identifier), ...(critical ? [isCritical] : []), element(0x04, value));
}

/** Upstream's, in its order; the request's own are not looked at, but for its names. */
function extensionsOf(
  { subject: issuer, keyId }: Authority,
  { names }: SigningRequest,
  { usages }: Terms,
  subject: Buffer,
): Buffer[] {
  const found: Buffer[] = [];
  const bits = keyUsageOf(usages);
  if (bits !== undefined) found.push(extension("551d0f", true, bits));
  const extended = new Set(
    extendedUsages.flatMap(([usage, identifier]) => (usages.includes(usage) ? [identifier] : [])),
  );
  if (extended.size > 0) found.push(extension("551d25", false, sequence(...[...extended].map(objectIdentifier))));
  // No CA, whatever the request asks for: an empty sequence says so.
  found.push(extension("551d13", true, sequence()));
  if (keyId !== undefined && !subject.equals(issuer)) {
    found.push(extension("551d23", false, sequence(element(0x80, keyId))));
  }
  const general = generalNames(names);
  // RFC 5280 4.2.1.6: critical where there is no subject.
  if (general.length > 0) found.push(extension("551d11", subject.equals(sequence()), sequence(...general)));
  return found;
}

/** A bit string, bit 0 first, without zeros at its end (X.690 11.2.2); undefined: no usage has a bit. */
function keyUsageOf(usages: readonly string[]): Buffer | undefined {
  const bytes = [0, 0];
  let last = -1;
  for (const usage of usages) {
    const bit = keyUsageBits.get(usage);
    if (bit === undefined) continue;
    const at = bit >> 3;
    bytes[at] = (bytes[at] ?? 0) | (0x80 >> (bit & 7));
    last = Math.max(last, bit);
  }
  if (last < 0) return undefined;
  return element(0x03, Buffer.from([7 - (last & 7), ...bytes.slice(0, (last >> 3) + 1)]));
}

function generalNames({ dns, email, ip, uri }: AlternativeNames): Buffer[] {
  return [
    ...dns.map((name) => element(0x82, Buffer.from(name, "latin1"))),
    ...email.map((name) => element(0x81, Buffer.from(name, "latin1"))),
    ...ip.map((address) => element(0x87, address)),
    ...uri.map((name) => element(0x86, Buffer.from(name, "latin1"))),
  ];
}

/** The subject as upstream rebuilds it: one part for each attribute, with all of its values. */
function subjectOf(subject: SigningRequest["subject"]): Buffer {
  const parts: Buffer[] = [];
  for (const identifier of Object.values(attributes)) {
    const isSingle = identifier === attributes.commonName || identifier === attributes.serialNumber;
    const all = subject.get(identifier) ?? [];
    const values = isSingle ? all.slice(-1).filter((value) => value !== "") : all;
    if (values.length === 0) continue;
    parts.push(setOf(values.map((value) => sequence(objectIdentifier(identifier), string(value)))));
  }
  return sequence(...parts);
}

/** A PrintableString where its characters suffice, else UTF-8. */
function string(text: string): Buffer {
  const isPrintable = /^[A-Za-z0-9'()+,\-./:=? ]*$/.test(text);
  return element(isPrintable ? 0x13 : 0x0c, Buffer.from(text));
}

/** Two digits of the year until 2049, four after it (RFC 5280 4.1.2.5); whole seconds. */
function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/\.\d+|[-:T]/g, "");
  const isShort = digits < "2050" && digits >= "1950";
  return element(isShort ? 0x17 : 0x18, Buffer.from(isShort ? digits.slice(2) : digits));
}
