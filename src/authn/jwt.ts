// JSON Web Tokens as this server takes them: signed, in compact form, under a key that is known beforehand and by the
// one algorithm that key is for (RFC 8725). The header of a token is a hint at most; everything a header
// could ask for beyond that is refused (ATTACKS E07). The cryptography is jose's.
import { createHash, createPublicKey, type KeyObject } from "node:crypto";
import { compactVerify } from "jose/jws/compact/verify";
import { nextPemBlock } from "../pki/pem.ts";

/** A public key that signs tokens. */
export interface VerificationKey {
  /** Base64url of the SHA-256 of the key's DER, as upstream names keys; of other issuers, their own. */
  readonly id: string;
  readonly key: KeyObject;
  readonly algorithm: string;
}

/** The claims of a token, JSON values. Read with claimOf(). */
export type Claims = Readonly<Record<string, unknown>>;

const curves: ReadonlyMap<string, string> = new Map([
  ["prime256v1", "ES256"],
  ["secp384r1", "ES384"],
  ["secp521r1", "ES512"],
]);

/** The one algorithm a key signs service account tokens with; undefined for keys that sign none. */
export function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string | undefined {
  if (asymmetricKeyType === "rsa") return "RS256";
  return asymmetricKeyType === "ec" ? curves.get(asymmetricKeyDetails?.namedCurve ?? "") : undefined;
}

/** The name of a key. */
export function keyIdOf(key: KeyObject): string {
  const der = (key.type === "private" ? createPublicKey(key) : key).export({ type: "spki", format: "der" });
  return createHash("sha256").update(der).digest("base64url");
}

const keyBlocks: ReadonlySet<string> = new Set([
  "PUBLIC KEY",
  "RSA PUBLIC KEY",
  "CERTIFICATE",
  "PRIVATE KEY",
  "RSA PRIVATE KEY",
  "EC PRIVATE KEY",
]);

/** The public keys of a PEM text: public and private keys and certificates, RSA and ECDSA, or an error message. */
export function parsePublicKeys(pem: string): VerificationKey[] | string {
  const keys: VerificationKey[] = [];
  let rest = pem;
  for (let next = nextPemBlock(rest); next !== undefined; next = nextPemBlock(rest)) {
    const { type, bytes } = next.block;
    rest = next.rest;
    if (!keyBlocks.has(type)) continue;
    const text = `-----BEGIN ${type}-----\n${bytes.toString("base64")}\n-----END ${type}-----\n`;
    try {
      const key = createPublicKey(text);
      const algorithm = algorithmOf(key);
      if (algorithm !== undefined) keys.push({ id: keyIdOf(key), key, algorithm });
    } catch {
      return "it holds a key that cannot be read";
    }
  }
  return keys.length === 0 ? "it holds no RSA or ECDSA key" : keys;
}

const compactForm = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

/** The claims of an unverified token, to select its issuer; undefined for anything but a signed token. */
export function peekClaims(token: string): Claims | undefined {
  if (!compactForm.test(token)) return undefined;
  return parsePart(token.slice(token.indexOf(".") + 1, token.lastIndexOf(".")));
}

function parsePart(part: string): Claims | undefined {
  try {
    const value = JSON.parse(Buffer.from(part, "base64url").toString("utf8")) as unknown;
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Claims) : undefined;
  } catch {
    return undefined;
  }
}

/** A claim of a token's own; undefined where there is none. */
export function claimOf(claims: Claims, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] : undefined;
}

/** A claim that is a text; undefined where there is none or it is something else. */
export function textClaim(claims: Claims, name: string): string | undefined {
  const value = claimOf(claims, name);
  return typeof value === "string" ? value : undefined;
}

/** The audiences of a token (RFC 7519 4.1.3): a text or a list of texts; undefined for anything else. */
export function audiencesOf(claims: Claims): string[] | undefined {
  const value = claimOf(claims, "aud");
  if (value === undefined || value === null) return [];
  if (typeof value === "string") return [value];
  return Array.isArray(value) && value.every((one) => typeof one === "string") ? (value as string[]) : undefined;
}

/** Verifies a token under one of `keys`. Returns its claims, or undefined when none of these keys signed it. */
export async function verifyToken(token: string, keys: readonly VerificationKey[]): Promise<Claims | undefined> {
  if (!compactForm.test(token)) return undefined;
  const header = parsePart(token.slice(0, token.indexOf(".")));
  if (header === undefined || claimOf(header, "crit") !== undefined || claimOf(header, "b64") !== undefined) {
    return undefined;
  }
  const named = keys.filter(({ id }) => id === claimOf(header, "kid"));
  for (const { key, algorithm } of named.length > 0 ? named : keys) {
    if (claimOf(header, "alg") !== algorithm) continue;
    try {
      const { payload } = await compactVerify(token, key, { algorithms: [algorithm] });
      return parseClaims(payload);
    } catch {
      // Not by this key.
    }
  }
  return undefined;
}

function parseClaims(payload: Uint8Array): Claims | undefined {
  return parsePart(Buffer.from(payload).toString("base64url"));
}

/** How far clocks may be apart, in seconds (upstream: one minute). */
export const leewaySeconds = 60;

/** When a token holds, in seconds since 1970; undefined where its times are not numbers. */
export interface TokenTimes {
  /** Infinity for a token that does not end. */
  readonly until: number;
  /** The later of nbf and iat. */
  readonly from: number;
}

/** The times of a token. */
export function timesOf(claims: Claims): TokenTimes | undefined {
  const [exp, nbf, iat] = ["exp", "nbf", "iat"].map((name) => claimOf(claims, name));
  for (const time of [exp, nbf, iat]) {
    if (time !== undefined && (typeof time !== "number" || Math.abs(time) > Number.MAX_SAFE_INTEGER)) return undefined;
  }
  const from = Math.max((nbf as number | undefined) ?? 0, (iat as number | undefined) ?? 0);
  return { until: (exp as number | undefined) ?? Number.POSITIVE_INFINITY, from };
}
