// Certificate signing requests for tests, signed by keys of their own.
import "reflect-metadata";
import { generateKeyPairSync, type KeyPairKeyObjectResult, sign, webcrypto } from "node:crypto";
import * as x509 from "@peculiar/x509";
import { bitString, element, objectIdentifier, sequence } from "../../src/pki/der.ts";

/** A request for a subject (`CN=dev,O=team`), in PEM. */
export async function signingRequest(name: string): Promise<string> {
  x509.cryptoProvider.set(webcrypto);
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const made = await x509.Pkcs10CertificateRequestGenerator.create({ name, keys, signingAlgorithm: algorithm });
  return made.toString("pem");
}

/** What a request of any shape is made of; what is left out is as in an ordinary one. */
export interface RequestShape {
  /** Type as Node names it, and curve or bits; left out: P-256. */
  readonly key?: "rsa" | "ed25519" | "P-224" | "P-256" | "P-384" | "P-521" | "secp256k1";
  /** Attributes by object identifier in hexadecimal, text and tag of its type, one part each. */
  readonly subject?: readonly (readonly [identifier: string, text: string | Buffer, tag?: number])[];
  /** Alternative names by tag. */
  readonly names?: readonly (readonly [tag: number, bytes: string | Buffer])[];
  /** Further extensions, DER. */
  readonly extensions?: readonly Buffer[];
  /** Of the signature; left out: SHA-256. */
  readonly digest?: string;
}

const keysMade = new Map<string, KeyPairKeyObjectResult>();

/** A pair of keys of a type: the same one each time. */
export function keysOf(type: NonNullable<RequestShape["key"]>): KeyPairKeyObjectResult {
  const known = keysMade.get(type);
  if (known !== undefined) return known;
  const made =
    type === "rsa"
      ? generateKeyPairSync("rsa", { modulusLength: 2_048 })
      : type === "ed25519"
        ? generateKeyPairSync("ed25519")
        : generateKeyPairSync("ec", { namedCurve: type === "P-224" ? "secp224r1" : type });
  keysMade.set(type, made);
  return made;
}

const signatureIdentifiers = { rsa: "2a864886f70d01010b", ec: "2a8648ce3d040302", ed25519: "2b6570" } as const;
const digestIdentifiers: Readonly<Record<string, string>> = { sha384: "2a8648ce3d040303", sha512: "2a8648ce3d040304" };

/** A request of any shape, signed, DER. */
export function requestDer({ key = "P-256", subject = [], names = [], extensions = [], digest }: RequestShape): Buffer {
  const { publicKey } = keysOf(key);
  const parts = subject.map(([identifier, text, tag = 0x0c]) =>
    element(0x31, sequence(objectIdentifier(identifier), element(tag, Buffer.from(text)))),
  );
  const general = names.map(([tag, bytes]) => element(tag, Buffer.from(bytes)));
  const all = [
    ...extensions,
    ...(general.length > 0
      ? [sequence(objectIdentifier("551d11"), element(0x04, sequence(Buffer.concat(general))))]
      : []),
  ];
  const asked =
    all.length === 0
      ? []
      : [sequence(objectIdentifier("2a864886f70d01090e"), element(0x31, sequence(Buffer.concat(all))))];
  const info = sequence(
    element(0x02, Buffer.of(0)),
    sequence(Buffer.concat(parts)),
    publicKey.export({ type: "spki", format: "der" }),
    element(0xa0, ...asked),
  );
  return signedAnew(info, key, digest);
}

/** The first part of a request, of any bytes, with a signature that holds. */
export function signedAnew(info: Buffer, key: NonNullable<RequestShape["key"]> = "P-256", digest?: string): Buffer {
  const { privateKey } = keysOf(key);
  const type = privateKey.asymmetricKeyType as keyof typeof signatureIdentifiers;
  const identifier = digestIdentifiers[digest ?? ""] ?? signatureIdentifiers[type];
  const algorithm = sequence(objectIdentifier(identifier), ...(type === "rsa" ? [element(0x05)] : []));
  const signature = sign(type === "ed25519" ? null : (digest ?? "sha256"), info, privateKey);
  return sequence(info, algorithm, bitString(signature));
}

/** DER as a request in PEM. */
export function requestPem(der: Buffer): Buffer {
  const lines = der.toString("base64").replace(/.{64}/g, "$&\n");
  return Buffer.from(`-----BEGIN CERTIFICATE REQUEST-----\n${lines}\n-----END CERTIFICATE REQUEST-----\n`);
}

/** Subjects of tests. */
export const organization = "55040a";
export const commonName = "550403";

/** The subject of a node. */
export const nodeSubject = [
  [organization, "system:nodes"],
  [commonName, "system:node:n1"],
] as const;
