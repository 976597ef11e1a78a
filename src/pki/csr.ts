// Certificate signing requests (PKCS #10, RFC 2986): well-formed and signed by the key they ask for.
//
//   SEQUENCE { info: SEQUENCE { version, subject, publicKey, [0] attributes }, algorithm: SEQUENCE { OID … }, BIT STRING }
import { createPublicKey, verify } from "node:crypto";
import { type Element, readElement } from "./der.ts";
import { nextPemBlock } from "./pem.ts";

const requestType = "CERTIFICATE REQUEST";

/** Signature algorithms by object identifier, as bytes in hexadecimal; null: the key says the digest (Ed25519). */
const digests: ReadonlyMap<string, string | null> = new Map([
  ["2a864886f70d010105", "sha1"],
  ["2a864886f70d01010b", "sha256"],
  ["2a864886f70d01010c", "sha384"],
  ["2a864886f70d01010d", "sha512"],
  ["2a8648ce3d0401", "sha1"],
  ["2a8648ce3d040302", "sha256"],
  ["2a8648ce3d040303", "sha384"],
  ["2a8648ce3d040304", "sha512"],
  ["2b6570", null],
]);

/** Returns an error message for a request in PEM; undefined when it is well-formed and its signature is valid. */
export function faultOfSigningRequest(pem: Uint8Array): string | undefined {
  const found = nextPemBlock(Buffer.from(pem).toString("latin1"));
  if (found === undefined || found.block.type !== requestType) return `PEM block type must be ${requestType}`;
  return faultOfRequest(found.block.bytes);
}

function faultOfRequest(der: Buffer): string | undefined {
  const whole = readElement(der, 0);
  if (whole === undefined || whole.tag !== 0x30) return "asn1: structure error: tags don't match";
  if (whole.end !== der.length) return "asn1: syntax error: trailing data";
  const info = readElement(der, whole.start);
  const algorithm = info && readElement(der, info.end);
  const signature = algorithm && readElement(der, algorithm.end);
  if (info?.tag !== 0x30 || algorithm?.tag !== 0x30 || signature?.tag !== 0x03) return "asn1: structure error";
  const version = readElement(der, info.start);
  const subject = version && readElement(der, version.end);
  const key = subject && readElement(der, subject.end);
  const oid = readElement(der, algorithm.start);
  if (version?.tag !== 0x02 || subject?.tag !== 0x30 || key?.tag !== 0x30 || oid?.tag !== 0x06) {
    return "asn1: structure error";
  }
  // The first byte of a bit string counts unused bits; signatures have none.
  if (der[signature.start] !== 0) return "asn1: structure error";
  const digest = digests.get(der.toString("hex", oid.start, oid.end));
  if (digest === undefined) return "x509: cannot verify signature: algorithm unimplemented";
  try {
    const publicKey = createPublicKey({ key: der.subarray(key.at, key.end), format: "der", type: "spki" });
    const sound = verify(
      digest,
      der.subarray(info.at, info.end),
      publicKey,
      der.subarray(signature.start + 1, signature.end),
    );
    return sound ? undefined : "x509: signature verification failed";
  } catch {
    return "x509: malformed public key";
  }
}

/** Object identifier 2.5.4.10, in hexadecimal. */
const organization = "55040a";

/** The organizations in the subject of a request in PEM; undefined when it cannot be read. */
export function organizationsOf(pem: Uint8Array): string[] | undefined {
  const der = nextPemBlock(Buffer.from(pem).toString("latin1"))?.block.bytes;
  if (der === undefined) return undefined;
  const whole = readElement(der, 0);
  const info = whole && readElement(der, whole.start);
  const version = info && readElement(der, info.start);
  const subject = version && readElement(der, version.end);
  if (subject?.tag !== 0x30) return undefined;
  const found: string[] = [];
  for (const set of elementsIn(der, subject)) {
    for (const attribute of elementsIn(der, set)) {
      const [oid, value] = elementsIn(der, attribute);
      if (oid === undefined || value === undefined || der.toString("hex", oid.start, oid.end) !== organization)
        continue;
      found.push(textOf(der.subarray(value.start, value.end), value.tag));
    }
  }
  return found;
}

/** Text of a string type: BMPString has two bytes a character, UniversalString four, the others are read as UTF-8. */
function textOf(bytes: Buffer, tag: number): string {
  if (tag === 0x1e)
    return Buffer.from(bytes.subarray(0, bytes.length & ~1))
      .swap16()
      .toString("utf16le");
  if (tag !== 0x1c) return bytes.toString("utf8");
  let text = "";
  for (let at = 0; at + 4 <= bytes.length; at += 4)
    text += String.fromCodePoint(Math.min(bytes.readUInt32BE(at), 0x10ffff));
  return text;
}

/** The elements in the content of one, as far as they fit. */
function elementsIn(der: Buffer, { start, end }: Element): Element[] {
  const found: Element[] = [];
  for (let at = start; at < end; ) {
    const element = readElement(der, at);
    if (element === undefined || element.end > end) break;
    found.push(element);
    at = element.end;
  }
  return found;
}
