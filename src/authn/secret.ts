// The one comparison of what a client shows with a secret that is kept (ATTACKS E09). Its time tells how long the
// secret is, which is no secret, and nothing of what it holds. Secrets that are looked up are looked up by their hash
// (tokens.ts, tokencache.ts); test/authn/secret.test.ts sees to it that there is no third way.
import { timingSafeEqual } from "node:crypto";

/** Whether two secrets are the same, in a time that depends on their lengths only. */
export function sameSecret(kept: Uint8Array, shown: Uint8Array): boolean {
  return kept.length === shown.length && timingSafeEqual(kept, shown);
}
