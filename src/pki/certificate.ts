// Properties that Node's certificates lack: subject attributes one by one, how the certificate was signed, and its
// extensions (RFC 5280 4.1). Reads only what is well-formed; whether a signature holds is for the library.
import { childrenOf, type Element, readElement } from "./der.ts";

/** One extension. */
export interface Extension {
  readonly critical: boolean;
  readonly value: Buffer;
}

/** Parts of a certificate. */
export interface CertificateParts {
  /** The last one where there are several (upstream); empty for none. */
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** Signed with SHA-2 or an Edwards curve. */
  readonly soundlySigned: boolean;
  /** By object identifier, its DER content in hexadecimal. */
  readonly extensions: ReadonlyMap<string, Extension>;
}

const sequence = 0x30;
const commonName = "550403";
const organization = "55040a";

/** RSA and ECDSA with SHA-256, -384 and -512; Ed25519 and Ed448. */
const soundAlgorithms: ReadonlySet<string> = new Set([
  "2a864886f70d01010b",
  "2a864886f70d01010c",
  "2a864886f70d01010d",
  "2a8648ce3d040302",
  "2a8648ce3d040303",
  "2a8648ce3d040304",
  "2b6570",
  "2b6571",
]);
/** RSASSA-PSS names its hash in its parameters: SHA-2 there, and no SHA-1. */
const pss = "2a864886f70d01010a";
const sha2 = /60864801650304020[1-3]/;
const sha1 = "2b0e03021a";

/** Reads a certificate; undefined for one that is malformed, or whose names hold control characters. */
export function readCertificate(der: Buffer): CertificateParts | undefined {
  const whole = readElement(der, 0);
  if (whole?.tag !== sequence || whole.end !== der.length) return undefined;
  const [body, algorithm] = childrenOf(der, whole) ?? [];
  const fields = body && childrenOf(der, body);
  if (fields === undefined || algorithm === undefined) return undefined;
  // The version is there in every certificate with extensions.
  const from = fields[0]?.tag === 0xa0 ? 1 : 0;
  const subject = fields[from + 4];
  const names = subject && readSubject(der, subject);
  const extensions = readExtensions(
    der,
    fields.find(({ tag }) => tag === 0xa3),
  );
  if (names === undefined || extensions === undefined) return undefined;
  return { ...names, soundlySigned: isSound(der, algorithm), extensions };
}

function hexOf(der: Buffer, { start, end }: Element): string {
  return der.toString("hex", start, end);
}

function isSound(der: Buffer, algorithm: Element): boolean {
  const [identifier] = childrenOf(der, algorithm) ?? [];
  if (identifier?.tag !== 0x06) return false;
  const name = hexOf(der, identifier);
  if (name !== pss) return soundAlgorithms.has(name);
  const parameters = hexOf(der, algorithm);
  return sha2.test(parameters) && !parameters.includes(sha1);
}

function readSubject(der: Buffer, subject: Element): { commonName: string; organizations: string[] } | undefined {
  let last = "";
  const organizations: string[] = [];
  for (const set of childrenOf(der, subject) ?? []) {
    for (const attribute of childrenOf(der, set) ?? []) {
      const [type, value] = childrenOf(der, attribute) ?? [];
      if (type === undefined || value === undefined) return undefined;
      const name = hexOf(der, type);
      if (name !== commonName && name !== organization) continue;
      const text = textOf(der, value);
      // A name that ends early for one reader and not for another is rejected.
      if (text === undefined || /[\0-\x1f\x7f]/.test(text)) return undefined;
      if (name === commonName) last = text;
      else organizations.push(text);
    }
  }
  return { commonName: last, organizations };
}

// A byte order mark at the beginning is a character of the name, as it was for whoever checked it before it was signed.
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function textOf(der: Buffer, { tag, start, end }: Element): string | undefined {
  const bytes = der.subarray(start, end);
  try {
    switch (tag) {
      case 0x0c:
        return utf8.decode(bytes);
      case 0x13:
      case 0x16:
        // Printable and IA5 strings are ASCII.
        return bytes.some((byte) => byte > 0x7f) ? undefined : bytes.toString("latin1");
      case 0x14:
        return bytes.toString("latin1");
      case 0x1e:
        return bytes.length % 2 === 0 ? Buffer.from(bytes).swap16().toString("utf16le") : undefined;
      default:
        return undefined;
    }
  } catch {
    return undefined;
  }
}

function readExtensions(der: Buffer, wrapped: Element | undefined): Map<string, Extension> | undefined {
  const found = new Map<string, Extension>();
  if (wrapped === undefined) return found;
  const list = readElement(der, wrapped.start);
  const items = list && childrenOf(der, list);
  if (items === undefined) return undefined;
  for (const item of items) {
    const parts = childrenOf(der, item) ?? [];
    const [identifier] = parts;
    const value = parts.at(-1);
    if (identifier?.tag !== 0x06 || value?.tag !== 0x04) return undefined;
    const flag = parts.length === 3 ? parts[1] : undefined;
    const name = hexOf(der, identifier);
    // RFC 5280 4.2: no extension twice.
    if (found.has(name)) return undefined;
    found.set(name, {
      critical: flag !== undefined && der[flag.start] !== 0,
      value: der.subarray(value.start, value.end),
    });
  }
  return found;
}

/** Path length of a basic constraints extension (RFC 5280 4.2.1.9); undefined: no limit. */
export function pathLengthOf({ value }: Extension): number | undefined {
  const list = readElement(value, 0);
  const length = list && childrenOf(value, list)?.find(({ tag }) => tag === 0x02);
  return length === undefined ? undefined : value.readUIntBE(length.start, Math.min(length.end - length.start, 6));
}

/** Whether a key usage extension (RFC 5280 4.2.1.3) lets the key sign certificates. */
export function signsCertificates({ value }: Extension): boolean {
  const bits = readElement(value, 0);
  return bits?.tag === 0x03 && ((value[bits.start + 1] ?? 0) & 0x04) !== 0;
}
