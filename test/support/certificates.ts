// Certificates of every kind for tests, good and bad: authorities, intermediates and leaves with any extensions.
import "reflect-metadata";
import { webcrypto } from "node:crypto";
import * as x509 from "@peculiar/x509";

x509.cryptoProvider.set(webcrypto);

const dayMs = 24 * 60 * 60 * 1000;

/** A certificate with its key. */
export interface Issued {
  readonly certificate: x509.X509Certificate;
  /** PEM. */
  readonly cert: string;
  readonly key: string;
  readonly keys: webcrypto.CryptoKeyPair;
}

/** What a certificate is to be. */
export interface Wish {
  /** Distinguished name; one attribute per entry, in order. */
  readonly subject?: x509.JsonName;
  readonly issuer?: Issued;
  /** Days from now. */
  readonly from?: number;
  readonly until?: number;
  readonly algorithm?: object;
  readonly hash?: string;
  readonly extensions?: readonly x509.Extension[];
}

export const clientAuth = "1.3.6.1.5.5.7.3.2";
export const serverAuth = "1.3.6.1.5.5.7.3.1";
const ecdsa = { name: "ECDSA", namedCurve: "P-256" };

/** Issues a certificate; without an issuer it signs itself. */
export async function issue(wish: Wish): Promise<Issued> {
  const algorithm = wish.algorithm ?? ecdsa;
  const keys = (await webcrypto.subtle.generateKey(algorithm as never, true, [
    "sign",
    "verify",
  ])) as webcrypto.CryptoKeyPair;
  const signer = wish.issuer ?? { keys };
  const { name } = signer.keys.privateKey.algorithm;
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: Buffer.from(webcrypto.getRandomValues(new Uint8Array(8)).map((byte) => byte & 0x7f)).toString("hex"),
    subject: wish.subject ?? [{ CN: ["somebody"] }],
    issuer: wish.issuer?.certificate.subjectName ?? wish.subject ?? [{ CN: ["somebody"] }],
    notBefore: new Date(Date.now() + (wish.from ?? -1) * dayMs),
    notAfter: new Date(Date.now() + (wish.until ?? 1) * dayMs),
    signingAlgorithm: { name, hash: wish.hash ?? "SHA-256" } as never,
    publicKey: keys.publicKey,
    signingKey: signer.keys.privateKey,
    extensions: [...(wish.extensions ?? [])],
  });
  const key = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  return { certificate, cert: certificate.toString("pem"), key: x509.PemConverter.encode(key, "PRIVATE KEY"), keys };
}

/** Extensions of an authority. */
export function authorityExtensions(pathLength?: number): x509.Extension[] {
  return [
    new x509.BasicConstraintsExtension(true, pathLength, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.digitalSignature, true),
  ];
}

/** An authority of this name. */
export function authority(name: string, issuer?: Issued, pathLength?: number): Promise<Issued> {
  const extensions = authorityExtensions(pathLength);
  return issue({ subject: [{ CN: [name] }], extensions, until: 30, ...(issuer === undefined ? {} : { issuer }) });
}

/** A client's certificate. */
export function client(issuer: Issued, subject: x509.JsonName, more: Partial<Wish> = {}): Promise<Issued> {
  return issue({ issuer, subject, extensions: [new x509.ExtendedKeyUsageExtension([clientAuth])], ...more });
}
