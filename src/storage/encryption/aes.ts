// AES in the two modes upstream stores values in, with keys of 16, 24 or 32 bytes.
//
//   CBC   16 bytes IV │ ciphertext, padded by PKCS#7            not authenticated
//   GCM   12 bytes nonce │ ciphertext │ 16 bytes tag            authenticates the key it is stored under, too
import { isUtf8 } from "node:buffer";
import {
  type CipherGCMTypes,
  createCipheriv,
  createDecipheriv,
  createHash,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from "node:crypto";
import { type Cipher, sealedMark } from "./cipher.ts";
import type { LocalKey } from "./configuration.ts";

const ivBytes = 16;
const nonceBytes = 12;
const tagBytes = 16;

/** How a stored object begins: as protobuf, or as JSON. */
const protobufMark = Buffer.from("k8s\0");
const openingBrace = 0x7b;

/** Encrypts in CBC; `head` stands before the result. */
export function sealCbc(key: KeyObject, head: Uint8Array, plain: Uint8Array): Buffer {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv(`aes-${bitsOf(key)}-cbc`, key, iv);
  return Buffer.concat([head, iv, cipher.update(plain), cipher.final()]);
}

/**
 * Decrypts what sealCbc() made. One of 256 values of another key has a valid padding by chance; so what comes out must
 * begin as a stored object does, and another key of the same name gets its turn. Throws when it does not fit.
 */
export function openCbc(key: KeyObject, sealed: Uint8Array): Buffer {
  if (sealed.length < 2 * ivBytes) throw new Error("it is too short");
  const decipher = createDecipheriv(`aes-${bitsOf(key)}-cbc`, key, sealed.subarray(0, ivBytes));
  const plain = Buffer.concat([decipher.update(sealed.subarray(ivBytes)), decipher.final()]);
  if (!isObject(plain)) throw new Error("it is no object");
  return plain;
}

/** By its first byte alone, one of 65,536 values of another key would be taken for JSON. */
function isObject(plain: Buffer): boolean {
  if (plain[0] === openingBrace) return isUtf8(plain);
  return plain.subarray(0, protobufMark.length).equals(protobufMark);
}

/** Encrypts in GCM; `head` stands before the result. `stored`: the key it is stored under. */
export function sealGcm(key: KeyObject, stored: string, head: Uint8Array, plain: Uint8Array): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(gcmOf(key), key, nonce);
  cipher.setAAD(Buffer.from(stored));
  return Buffer.concat([head, nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** Decrypts what sealGcm() made. Throws when anything of it, the key, or the key it is stored under differs. */
export function openGcm(key: KeyObject, stored: string, sealed: Uint8Array): Buffer {
  if (sealed.length < nonceBytes + tagBytes) throw new Error("it is too short");
  const tagAt = sealed.length - tagBytes;
  const decipher = createDecipheriv(gcmOf(key), key, sealed.subarray(0, nonceBytes), { authTagLength: tagBytes });
  decipher.setAAD(Buffer.from(stored));
  decipher.setAuthTag(sealed.subarray(tagAt));
  return Buffer.concat([decipher.update(sealed.subarray(nonceBytes, tagAt)), decipher.final()]);
}

/** The cipher of a key of the provider aescbc. */
export function cbcCipher({ name, secret }: LocalKey): Cipher {
  const key = createSecretKey(secret);
  const prefix = Buffer.from(`${sealedMark}aescbc:v1:${name}:`);
  return {
    prefix,
    label: `${sealedMark}aescbc:v1:`,
    print: printOf(prefix, secret),
    seal: (_stored, plain) => sealCbc(key, prefix, plain),
    open: (_stored, rest) => ({ bytes: openCbc(key, rest), stale: false }),
  };
}

/** The cipher of a key of the provider aesgcm. */
export function gcmCipher({ name, secret }: LocalKey): Cipher {
  const key = createSecretKey(secret);
  const prefix = Buffer.from(`${sealedMark}aesgcm:v1:${name}:`);
  return {
    prefix,
    label: `${sealedMark}aesgcm:v1:`,
    print: printOf(prefix, secret),
    seal: (stored, plain) => sealGcm(key, stored, prefix, plain),
    open: (stored, rest) => ({ bytes: openGcm(key, stored, rest), stale: false }),
  };
}

/** Tells ciphers apart: see Cipher.print. */
export function printOf(prefix: Uint8Array, secret: Uint8Array): string {
  return createHash("sha256").update(prefix).update(secret).digest("hex");
}

function bitsOf(key: KeyObject): number {
  return 8 * (key.symmetricKeySize ?? 0);
}

function gcmOf(key: KeyObject): CipherGCMTypes {
  return `aes-${bitsOf(key)}-gcm` as CipherGCMTypes;
}
