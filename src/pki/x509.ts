// Certificates of our own making: a self-signed authority and serving certificates under it, ECDSA P-256 (an RSA key
// adds 0.7 ms to every handshake). Pure: pki/serving.ts stores the results, and loads this when one has to be made.
import "reflect-metadata";
import { createPrivateKey, webcrypto } from "node:crypto";
import { isIP } from "node:net";
import * as x509 from "@peculiar/x509";
import { serialNumber } from "./issue.ts";
import type { Credential } from "./pair.ts";

/** When a certificate begins and ends. */
export interface Validity {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

const keyAlgorithm = { name: "ECDSA", namedCurve: "P-256" } as const;
const signingAlgorithm = { name: "ECDSA", hash: "SHA-256" } as const;
const serverAuth = "1.3.6.1.5.5.7.3.1";

x509.cryptoProvider.set(webcrypto);

/** Makes a self-signed certificate authority named `commonName`. */
export async function createAuthority(commonName: string, validity: Validity): Promise<Credential> {
  const keys = await webcrypto.subtle.generateKey(keyAlgorithm, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber().toString("hex"),
    name: [{ CN: [commonName] }],
    ...validity,
    signingAlgorithm,
    keys: keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign | x509.KeyUsageFlags.digitalSignature,
        true,
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate: pem(certificate), key: await exportKey(keys.privateKey) };
}

/** Issues a serving certificate for `names` (host names and addresses; the first is its common name). */
export async function issueServing(
  authority: Credential,
  names: readonly string[],
  validity: Validity,
): Promise<Credential> {
  const issuer = new x509.X509Certificate(authority.certificate);
  const signingKey = await importKey(authority.key);
  const keys = await webcrypto.subtle.generateKey(keyAlgorithm, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber().toString("hex"),
    subject: [{ CN: [names[0] ?? "localhost"] }],
    issuer: issuer.subjectName,
    ...validity,
    signingAlgorithm,
    publicKey: keys.publicKey,
    signingKey: signingKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([serverAuth]),
      new x509.SubjectAlternativeNameExtension(
        names.map((name) => ({ type: isIP(name) === 0 ? "dns" : "ip", value: name })),
      ),
      await x509.AuthorityKeyIdentifierExtension.create(await issuer.publicKey.export()),
    ],
  });
  return { certificate: pem(certificate), key: await exportKey(keys.privateKey) };
}

function pem(certificate: x509.X509Certificate): string {
  return `${certificate.toString("pem").trim()}\n`;
}

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  const der = await webcrypto.subtle.exportKey("pkcs8", key);
  return `${x509.PemConverter.encode(der, "PRIVATE KEY").trim()}\n`;
}

function importKey(key: string): Promise<webcrypto.CryptoKey> {
  const der = createPrivateKey(key).export({ type: "pkcs8", format: "der" });
  return webcrypto.subtle.importKey("pkcs8", der, keyAlgorithm, false, ["sign"]);
}
