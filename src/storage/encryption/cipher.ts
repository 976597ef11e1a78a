// What a provider of --encryption-provider-config is made of: ciphers, one for each key or service. A stored value begins
// with the prefix of the cipher it was encrypted with, by upstream's formats, so that servers of either kind read it:
//
//   k8s:enc:aescbc:v1:KEY:     AES-CBC                aes.ts
//   k8s:enc:aesgcm:v1:KEY:     AES-GCM                aes.ts
//   k8s:enc:secretbox:v1:KEY:  XSalsa20, Poly1305     secretbox.ts
//   k8s:enc:kms:v1:NAME:       an envelope            kmsv1.ts
//   k8s:enc:kms:v2:NAME:       an envelope            kmsv2.ts
//   anything else              not encrypted          identity
//
// These bytes are the same under every identity.
import type { Probe } from "./kmsprobe.ts";

/** First bytes of every encrypted value. */
export const sealedMark = Buffer.from("k8s:enc:");

/** A value that was opened. */
export interface Opened {
  readonly bytes: Uint8Array;
  /** It would be stored otherwise now: with another key, or not as plain. The next write of it is stored even without a change. */
  readonly stale: boolean;
}

/** A value or, where a service is asked, a promise of it. */
export type Awaitable<T> = T | Promise<T>;

/** One key of a provider, or one service. */
export interface Cipher {
  /** First bytes of the values it encrypted; empty: identity. */
  readonly prefix: Buffer;
  /** Its provider, for metrics: the prefix without the name of a key (upstream). */
  readonly label: string;
  /** Two ciphers with the same print encrypt with the same key. Holds nothing of a key that could be found out. */
  readonly print: string;
  /** Encrypts a value stored under `key`; the result begins with the prefix. Throws, or rejects with, KmsFailure. */
  seal(key: string, plain: Uint8Array): Awaitable<Uint8Array>;
  /**
   * Decrypts what follows the prefix in a value stored under `key`. Throws when it was not encrypted with this key, under
   * this name, or was altered; throws, or rejects with, KmsFailure.
   */
  open(key: string, rest: Uint8Array): Awaitable<Opened>;
}

/** A cipher behind which a KMS plugin stands. */
export interface KmsCipher extends Cipher {
  readonly probe: Probe;
  /** Of a call. */
  readonly timeoutMs: number;
  /** Called when what was encrypted until now is stale. */
  onRotated: () => void;
  close(): void;
}

/** Values that are not encrypted; what any provider encrypted never gets here (Transformers.open()). */
export const identityCipher: Cipher = {
  prefix: Buffer.alloc(0),
  label: "identity",
  print: "identity",
  seal: (_key, plain) => plain,
  open: (_key, bytes) => ({ bytes, stale: false }),
};

/** Whether `bytes` begin with `prefix`. */
export function beginsWith(bytes: Uint8Array, prefix: Uint8Array): boolean {
  if (bytes.length < prefix.length) return false;
  for (let at = 0; at < prefix.length; at++) if (bytes[at] !== prefix[at]) return false;
  return true;
}
