// The keys of service account tokens: one that signs, several that may have signed, and the two documents that publish
// others about them (OpenID Connect Discovery 1.0 section 4; RFC 7517).
import { createPrivateKey, type KeyObject } from "node:crypto";
import { SignJWT } from "jose/jwt/sign";
import type { Identity } from "../api/identity.ts";
import { assert } from "../base/assert.ts";
import { type LegacyClaims, legacyClaims } from "./accountclaims.ts";
import { algorithmOf, type Claims, keyIdOf, type VerificationKey } from "./jwt.ts";

/** Signs tokens of this server; the cryptography happens off the thread. */
export interface TokenSigner {
  readonly algorithm: string;
  readonly keyId: string;
  /** A token in compact form that says exactly `claims`. */
  sign(claims: Claims): Promise<string>;
}

/** Creates a signer from a private key in PEM; returns an error message for an invalid one. */
export function createSigner(pem: string): TokenSigner | string {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    return "it holds no private key that can be read";
  }
  const algorithm = algorithmOf(key);
  if (algorithm === undefined) return "it must hold an RSA or ECDSA key";
  const keyId = keyIdOf(key);
  return {
    algorithm,
    keyId,
    sign: (claims) => new SignJWT(claims).setProtectedHeader({ alg: algorithm, kid: keyId }).sign(key),
  };
}

/** Signs the token of a service account secret; the token controller writes it to the secret. */
export function signLegacyToken(signer: TokenSigner, identity: Identity, claims: LegacyClaims): Promise<string> {
  return signer.sign(legacyClaims(identity, claims));
}

/** The document of public keys, as JSON. */
export function keySetDocument(keys: readonly VerificationKey[]): string {
  const unique = new Map(keys.map((key) => [key.id, key]));
  const list = [...unique.values()].map(({ id, key, algorithm }) => {
    const { kty, ...parameters } = key.export({ format: "jwk" });
    assert(kty !== undefined, "A public key has a type");
    return { use: "sig", kty, kid: id, alg: algorithm, ...parameters };
  });
  return JSON.stringify({ keys: list });
}

/** The document with the address of the keys, as JSON. */
export function discoveryConfiguration(issuer: string, keySetUrl: string, keys: readonly VerificationKey[]): string {
  const algorithms = [...new Set(keys.map(({ algorithm }) => algorithm))].sort();
  return JSON.stringify({
    issuer,
    jwks_uri: keySetUrl,
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: algorithms,
  });
}
