// NaCl's secretbox: XSalsa20 with Poly1305, 24 bytes nonce │ 16 bytes tag │ ciphertext. Node's own cryptography does not
// have it. The key a value is stored under is not authenticated (upstream).
import { randomBytes } from "node:crypto";
import { xsalsa20poly1305 } from "@noble/ciphers/salsa.js";
import { printOf } from "./aes.ts";
import { type Cipher, sealedMark } from "./cipher.ts";
import type { LocalKey } from "./configuration.ts";

const nonceBytes = 24;
const tagBytes = 16;

/** The cipher of a key of the provider secretbox. */
export function secretboxCipher({ name, secret }: LocalKey): Cipher {
  const prefix = Buffer.from(`${sealedMark}secretbox:v1:${name}:`);
  return {
    prefix,
    label: `${sealedMark}secretbox:v1:`,
    print: printOf(prefix, secret),
    seal: (_stored, plain) => {
      const nonce = randomBytes(nonceBytes);
      return Buffer.concat([prefix, nonce, xsalsa20poly1305(secret, nonce).encrypt(plain)]);
    },
    open: (_stored, rest) => {
      if (rest.length < nonceBytes + tagBytes) throw new Error("it is too short");
      const nonce = rest.subarray(0, nonceBytes);
      return { bytes: xsalsa20poly1305(secret, nonce).decrypt(rest.subarray(nonceBytes)), stale: false };
    },
  };
}
