// Certificate signing requests (PKCS #10, RFC 2986): read into what a certificate is made of, and verified by the key they
// ask for. Reading rejects what upstream's library rejects; its work is bounded by limits.requestNamesMax, whatever was sent.
//
//   SEQUENCE { info: SEQUENCE { version, subject, publicKey, [0] attributes }, algorithm: SEQUENCE { OID … }, BIT STRING }
import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { limits } from "../config/limits.ts";
import { childrenOf, type Element, readElement } from "./der.ts";
import { nextPemBlock } from "./pem.ts";

/** Alternative names of a request, by kind, in the order they were sent. */
export interface AlternativeNames {
  readonly dns: readonly string[];
  readonly email: readonly string[];
  /** Four or sixteen bytes each. */
  readonly ip: readonly Buffer[];
  readonly uri: readonly string[];
}

/** What a request says. */
export interface SigningRequest {
  /** Values by attribute: object identifiers in hexadecimal, those of `attributes`. */
  readonly subject: ReadonlyMap<string, readonly string[]>;
  readonly names: AlternativeNames;
  readonly publicKey: KeyObject;
  /** Object identifier of the signature algorithm, in hexadecimal. */
  readonly algorithm: string;
  /** The bytes that are signed. */
  readonly signed: Buffer;
  readonly signature: Buffer;
}

/** Attributes of a subject (RFC 5280 A.1), by object identifier in hexadecimal, in the order upstream writes them. */
export const attributes = {
  country: "550406",
  organization: "55040a",
  organizationalUnit: "55040b",
  locality: "550407",
  province: "550408",
  street: "550409",
  postalCode: "550411",
  commonName: "550403",
  serialNumber: "550405",
} as const;

const requestType = "CERTIFICATE REQUEST";
const structureError = "asn1: structure error";
const unimplemented = "x509: cannot verify signature: algorithm unimplemented";
const malformedKey = "x509: malformed public key";
const knownAttributes: ReadonlySet<string> = new Set(Object.values(attributes));
/** Object identifier 1.2.840.113549.1.9.14: the attribute that holds extensions. */
const extensionRequest = "2a864886f70d01090e";
const alternativeNames = "551d11";

type KeyFamily = "rsa" | "ec" | "ed25519";

/** Algorithms of keys by object identifier. */
const keyFamilies: ReadonlyMap<string, KeyFamily> = new Map([
  ["2a864886f70d010101", "rsa"],
  ["2a8648ce3d0201", "ec"],
  ["2b6570", "ed25519"],
]);

/** P-224, P-256, P-384 and P-521. */
const curves: ReadonlySet<string> = new Set(["2b81040021", "2a8648ce3d030107", "2b81040022", "2b81040023"]);

/** Signature algorithms by object identifier: the family of the key, and the digest; null: the key says it. */
const signatures: ReadonlyMap<string, readonly [family: KeyFamily, digest: string | null]> = new Map([
  ["2a864886f70d010105", ["rsa", "sha1"]],
  ["2a864886f70d01010b", ["rsa", "sha256"]],
  ["2a864886f70d01010c", ["rsa", "sha384"]],
  ["2a864886f70d01010d", ["rsa", "sha512"]],
  ["2a8648ce3d0401", ["ec", "sha1"]],
  ["2a8648ce3d040302", ["ec", "sha256"]],
  ["2a8648ce3d040303", ["ec", "sha384"]],
  ["2a8648ce3d040304", ["ec", "sha512"]],
  ["2b6570", ["ed25519", null]],
]);

/** Returns an error message for a request in PEM; undefined when it is well-formed and its signature is valid. */
export function faultOfSigningRequest(pem: Uint8Array): string | undefined {
  const request = readSigningRequest(pem);
  return typeof request === "string" ? request : faultOfSignature(request);
}

/** Reads a request in PEM; returns an error message for one that is malformed. Does not verify its signature. */
export function readSigningRequest(pem: Uint8Array): SigningRequest | string {
  const found = nextPemBlock(Buffer.from(pem.buffer, pem.byteOffset, pem.length).toString("latin1"));
  if (found === undefined || found.block.type !== requestType) return `PEM block type must be ${requestType}`;
  try {
    return new Reader(found.block.bytes).read();
  } catch (error) {
    if (error instanceof Malformed) return error.message;
    throw error;
  }
}

/** Returns an error message unless a request is signed by the key it asks for. */
export function faultOfSignature({ publicKey, algorithm, signed, signature }: SigningRequest): string | undefined {
  const [family, digest] = signatures.get(algorithm) ?? [];
  if (family !== publicKey.asymmetricKeyType || digest === undefined) return unimplemented;
  try {
    return verify(digest, signed, publicKey, signature) ? undefined : "x509: signature verification failed";
  } catch {
    return malformedKey;
  }
}

/** The organizations in the subject of a request in PEM; undefined when it cannot be read. */
export function organizationsOf(pem: Uint8Array): readonly string[] | undefined {
  const request = readSigningRequest(pem);
  return typeof request === "string" ? undefined : (request.subject.get(attributes.organization) ?? []);
}

/** What a request is rejected for; the message is the client's. */
class Malformed extends Error {
  override name = "Malformed";
}

/** Reads one request. Its methods throw Malformed. */
class Reader {
  readonly #der: Buffer;
  #namesLeft: number = limits.requestNamesMax;

  constructor(der: Buffer) {
    this.#der = der;
  }

  read(): SigningRequest {
    const der = this.#der;
    const whole = readElement(der, 0);
    if (whole?.tag !== 0x30) throw new Malformed(`${structureError}: tags don't match`);
    if (whole.end !== der.length) throw new Malformed("asn1: syntax error: trailing data");
    const info = this.#at(whole.start, 0x30);
    const algorithm = this.#at(info.end, 0x30);
    const signature = this.#at(algorithm.end, 0x03);
    const version = this.#at(info.start, 0x02);
    const subject = this.#at(version.end, 0x30);
    const key = this.#at(subject.end, 0x30);
    if (signature.end !== whole.end || key.end > info.end) throw new Malformed(structureError);
    // The first byte of a bit string counts unused bits; signatures have none.
    if (der[signature.start] !== 0) throw new Malformed(structureError);
    return {
      algorithm: this.#identifier(this.#at(algorithm.start, 0x06)),
      signed: der.subarray(info.at, info.end),
      signature: der.subarray(signature.start + 1, signature.end),
      publicKey: this.#readKey(key),
      subject: this.#readSubject(subject),
      names: this.#readNames(key.end < info.end ? readElement(der, key.end) : undefined),
    };
  }

  /** The element at an offset, which has to have this tag. */
  #at(at: number, tag: number): Element {
    const found = readElement(this.#der, at);
    if (found?.tag !== tag) throw new Malformed(structureError);
    return found;
  }

  #identifier({ start, end }: Element): string {
    return this.#der.toString("hex", start, end);
  }

  /** The elements of a structure of few. */
  #children(within: Element): Element[] {
    const found = childrenOf(this.#der, within, 3);
    if (found === undefined) throw new Malformed(structureError);
    return found;
  }

  /** Calls `take` with each element of a list; each counts as a name. */
  #eachName({ start, end }: Element, take: (item: Element) => void): void {
    for (let at = start; at < end; ) {
      const item = readElement(this.#der, at);
      if (item === undefined || item.end > end) throw new Malformed(structureError);
      if (--this.#namesLeft < 0) throw new Malformed(`more than ${limits.requestNamesMax} names`);
      take(item);
      at = item.end;
    }
  }

  /** A key of a kind that certificates are issued for. */
  #readKey(key: Element): KeyObject {
    const algorithm = this.#at(key.start, 0x30);
    const identifier = this.#at(algorithm.start, 0x06);
    const bits = this.#at(algorithm.end, 0x03);
    const family = keyFamilies.get(this.#identifier(identifier));
    if (family === undefined) throw new Malformed(unimplemented);
    if (family === "ec") {
      const curve = this.#at(identifier.end, 0x06);
      if (!curves.has(this.#identifier(curve))) throw new Malformed("x509: unsupported elliptic curve");
      // A point has both of its coordinates: other libraries read no compressed ones.
      if (this.#der[bits.start + 1] !== 0x04) throw new Malformed("x509: failed to unmarshal elliptic curve point");
    }
    try {
      return createPublicKey({ key: this.#der.subarray(key.at, key.end), format: "der", type: "spki" });
    } catch {
      throw new Malformed(malformedKey);
    }
  }

  #readSubject(subject: Element): Map<string, string[]> {
    const found = new Map<string, string[]>();
    this.#eachName(subject, (set) => {
      if (set.tag !== 0x31) throw new Malformed(structureError);
      this.#eachName(set, (attribute) => {
        const [type, value, ...more] = attribute.tag === 0x30 ? this.#children(attribute) : [];
        if (type?.tag !== 0x06 || value === undefined || more.length > 0) throw new Malformed(structureError);
        const text = textOf(this.#der.subarray(value.start, value.end), value.tag);
        const name = this.#identifier(type);
        if (text === undefined || !knownAttributes.has(name)) return;
        const texts = found.get(name);
        if (texts === undefined) found.set(name, [text]);
        else texts.push(text);
      });
    });
    return found;
  }

  /** The alternative names among the attributes; attributes that do not parse are ignored (upstream). */
  #readNames(list: Element | undefined): AlternativeNames {
    let names: AlternativeNames = { dns: [], email: [], ip: [], uri: [] };
    if (list?.tag !== 0xa0) return names;
    this.#eachName(list, (attribute) => {
      const [type, values] = (attribute.tag === 0x30 && childrenOf(this.#der, attribute, 2)) || [];
      if (type?.tag !== 0x06 || values?.tag !== 0x31 || this.#identifier(type) !== extensionRequest) return;
      this.#eachName(this.#at(values.start, 0x30), (extension) => {
        const parts = extension.tag === 0x30 ? this.#children(extension) : [];
        const [identifier] = parts;
        const value = parts.at(-1);
        if (identifier?.tag !== 0x06 || value?.tag !== 0x04) throw new Malformed(structureError);
        if (this.#identifier(identifier) === alternativeNames) names = this.#readGeneralNames(value);
      });
    });
    return names;
  }

  #readGeneralNames(value: Element): AlternativeNames {
    const list = this.#at(value.start, 0x30);
    if (list.end !== value.end) throw new Malformed("x509: trailing data after X.509 extension");
    const names = { dns: [] as string[], email: [] as string[], ip: [] as Buffer[], uri: [] as string[] };
    this.#eachName(list, ({ tag, start, end }) => {
      const bytes = this.#der.subarray(start, end);
      if (tag === 0x87) {
        if (bytes.length !== 4 && bytes.length !== 16) {
          throw new Malformed(`x509: cannot parse IP address of length ${bytes.length}`);
        }
        names.ip.push(bytes);
      } else if (tag === 0x82) names.dns.push(asciiOf(bytes));
      else if (tag === 0x81) names.email.push(asciiOf(bytes));
      else if (tag === 0x86) names.uri.push(uriOf(asciiOf(bytes)));
    });
    return names;
  }
}

function asciiOf(bytes: Buffer): string {
  if (bytes.some((byte) => byte > 0x7f)) throw new Malformed("x509: SAN is malformed: a name is not ASCII");
  return bytes.toString("latin1");
}

function uriOf(text: string): string {
  const isWritten = /^[!-~]*$/.test(text) && !/%(?![0-9A-Fa-f]{2})/.test(text);
  if (!isWritten) throw new Malformed(`x509: cannot parse URI ${JSON.stringify(text.slice(0, limits.shownCharsMax))}`);
  return text;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Text of a string type; undefined: it is of another one. */
function textOf(bytes: Buffer, tag: number): string | undefined {
  switch (tag) {
    case 0x0c:
      try {
        return utf8.decode(bytes);
      } catch {
        throw new Malformed("asn1: structure error: invalid UTF-8 string");
      }
    case 0x12:
    case 0x13:
    case 0x16: {
      const text = bytes.toString("latin1");
      const pattern = tag === 0x12 ? /^[0-9 ]*$/ : tag === 0x13 ? /^[A-Za-z0-9'()*+,\-./:=? &]*$/ : /^[\0-\x7f]*$/;
      if (!pattern.test(text)) throw new Malformed("asn1: syntax error: a string contains an invalid character");
      return text;
    }
    case 0x14:
      return bytes.toString("latin1");
    case 0x1e:
      if (bytes.length % 2 !== 0) throw new Malformed("asn1: syntax error: odd-length BMP string");
      return Buffer.from(bytes).swap16().toString("utf16le");
    case 0x1c:
      return universalText(bytes);
    default:
      return undefined;
  }
}

/** Four bytes a character. */
function universalText(bytes: Buffer): string {
  let text = "";
  for (let at = 0; at + 4 <= bytes.length; at += 4)
    text += String.fromCodePoint(Math.min(bytes.readUInt32BE(at), 0x10ffff));
  return text;
}
