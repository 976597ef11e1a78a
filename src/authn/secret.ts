// Compares a client's secret with a stored one in constant time. The time depends on the length of the
// secret only, which is no secret. Secrets that are looked up are looked up by their hash
// (tokens.ts, tokencache.ts); test/authn/secret.test.ts sees to it that there is no third way.
import { timingSafeEqual } from "node:crypto";

/** Whether two secrets are the same, in a time that depends on their lengths only. */
export function sameSecret(kept: Uint8Array, shown: Uint8Array): boolean {
  return kept.length === shown.length && timingSafeEqual(kept, shown);
}
