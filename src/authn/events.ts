// What is counted of authentication beyond success and failure, by the reference's names.
import type { Registry } from "../observe/metrics.ts";

/** Told what came of credentials; called at every use. */
export interface AuthnEvents {
  /** A certificate was believed, with so many seconds left. */
  certificate(secondsLeft: number): void;
  /** A token of a service account was believed: bound, bound but past the time that was asked for, or of a secret. */
  accountToken(kind: "valid" | "stale" | "legacy"): void;
}

/** Tells nobody. */
export const noEvents: AuthnEvents = { certificate: () => undefined, accountToken: () => undefined };

const hour = 3_600;
const day = 24 * hour;
/** The reference's: from half an hour to a year. */
const leftBuckets = [0, hour / 2, hour, 2 * hour, 6 * hour, 12 * hour, day, 2 * day, 4 * day, 7 * day, 30 * day].concat(
  [90 * day, 180 * day, 360 * day],
);

/** Counts into a registry. */
export function countAuthn(registry: Registry): AuthnEvents {
  const left = registry.histogram(
    "apiserver_client_certificate_expiration_seconds",
    "Seconds left of client certificates that were believed.",
    leftBuckets,
  );
  const tokens = {
    valid: registry.counter("serviceaccount_valid_tokens_total", "Uses of bound tokens of service accounts."),
    stale: registry.counter(
      "serviceaccount_stale_tokens_total",
      "Uses of bound tokens after the time that was asked for, which were let live longer.",
    ),
    legacy: registry.counter("serviceaccount_legacy_tokens_total", "Uses of tokens that live in secrets."),
  };
  return {
    certificate: (secondsLeft) => left.observe("", secondsLeft),
    accountToken: (kind) => tokens[kind].add(""),
  };
}
