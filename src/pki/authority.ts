// Authorities that sign requests: a certificate and its key in two files, which may be exchanged while the server runs.
// The key is kept as an object of the TLS library, which no log can print, and leaves this process for nowhere.
import { createPrivateKey, type KeyObject, type X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseCertificates } from "./bundle.ts";
import { readCertificate, signsCertificates } from "./certificate.ts";
import { childrenOf, element, objectIdentifier, readElement } from "./der.ts";

/** Where the two halves of an authority are. */
export interface AuthorityFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** Where the server's own authority is. */
export function ownAuthorityIn(directory: string): AuthorityFiles {
  return { certFile: join(directory, "ca.crt"), keyFile: join(directory, "ca.key") };
}

/** An authority that can sign. Threads pass it on to each other: plain data, and a key that is shared and not copied. */
export interface Authority {
  readonly key: KeyObject;
  /** The name in its certificate, DER. */
  readonly subject: Uint8Array;
  /** Its subject key identifier; undefined: it has none. */
  readonly keyId: Uint8Array | undefined;
  /** When it ends, milliseconds since 1970. */
  readonly notAfter: number;
  /** What signatures are made of: the digest (null: the key says it) and the parts of the algorithm's identifier, DER. */
  readonly digest: string | null;
  readonly algorithm: readonly Uint8Array[];
}

/** Signature algorithms as upstream chooses them, by type of the key or by its curve. */
const algorithms: ReadonlyMap<string, readonly [digest: string | null, identifier: string]> = new Map([
  ["rsa", ["sha256", "2a864886f70d01010b"]],
  ["secp224r1", ["sha256", "2a8648ce3d040302"]],
  ["prime256v1", ["sha256", "2a8648ce3d040302"]],
  ["secp384r1", ["sha384", "2a8648ce3d040303"]],
  ["secp521r1", ["sha512", "2a8648ce3d040304"]],
  ["ed25519", [null, "2b6570"]],
]);

const keyUsages = "551d0f";
const subjectKeyId = "551d0e";

/** Makes an authority of two halves in PEM; returns an error message for what cannot be one. */
export function parseAuthority(certificatePem: string, keyPem: string): Authority | string {
  const found = parseCertificates(certificatePem);
  if (typeof found === "string") return `of its certificate: ${found}`;
  const [certificate] = found;
  if (certificate === undefined || found.length > 1) return `it must hold one certificate, and holds ${found.length}`;
  let key: KeyObject;
  try {
    key = createPrivateKey(keyPem);
  } catch {
    return "its key cannot be read";
  }
  if (!certificate.checkPrivateKey(key)) return "its key does not belong to its certificate";
  const parts = readCertificate(certificate.raw);
  if (parts === undefined) return "its certificate is malformed";
  const usages = parts.extensions.get(keyUsages);
  if (!certificate.ca || (usages !== undefined && !signsCertificates(usages))) {
    return "its certificate is not one of an authority: CA and, where there are key usages, certificate signing";
  }
  const { asymmetricKeyType = "", asymmetricKeyDetails } = key;
  const [digest, identifier] = algorithms.get(asymmetricKeyDetails?.namedCurve ?? asymmetricKeyType) ?? [];
  if (digest === undefined || identifier === undefined) {
    return "its key is of no supported type: RSA, ECDSA on a NIST curve, or Ed25519";
  }
  const keyId = parts.extensions.get(subjectKeyId)?.value;
  return {
    key,
    subject: subjectOf(certificate),
    keyId: keyId && contentOf(keyId),
    notAfter: Date.parse(certificate.validTo),
    digest,
    algorithm: [objectIdentifier(identifier), ...(asymmetricKeyType === "rsa" ? [element(0x05)] : [])],
  };
}

/** Reads both files; returns an error message when they hold no authority. */
export function readAuthority({ certFile, keyFile }: AuthorityFiles): Authority | string {
  const texts: string[] = [];
  for (const path of [certFile, keyFile]) {
    try {
      texts.push(readFileSync(path, "utf8"));
    } catch (error) {
      return `${path} cannot be read: ${(error as NodeJS.ErrnoException).code ?? "unknown"}`;
    }
  }
  return parseAuthority(texts[0] as string, texts[1] as string);
}

/** An authority as its files were when they were read last with success. */
export class AuthorityBundle {
  readonly files: AuthorityFiles;
  #authority: Authority | undefined;

  constructor(files: AuthorityFiles) {
    this.files = files;
  }

  /** Undefined: its files were never readable. */
  get authority(): Authority | undefined {
    return this.#authority;
  }

  /** Reads the files again; returns an error message when the known authority is kept. */
  reload(): string | undefined {
    const read = readAuthority(this.files);
    if (typeof read === "string") return `${this.files.certFile}: ${read}`;
    this.#authority = read;
    return undefined;
  }
}

/** The content of the one element of a value. */
function contentOf(value: Buffer): Buffer | undefined {
  const found = readElement(value, 0);
  return found?.tag === 0x04 ? value.subarray(found.start, found.end) : undefined;
}

/** The subject of a certificate that was read before, DER. */
function subjectOf({ raw }: X509Certificate): Buffer {
  const whole = readElement(raw, 0);
  const body = whole && readElement(raw, whole.start);
  const fields = (body && childrenOf(raw, body)) ?? [];
  const at = fields[0]?.tag === 0xa0 ? 5 : 4;
  const subject = fields[at];
  return subject === undefined ? Buffer.alloc(0) : raw.subarray(subject.at, subject.end);
}
