// Metrics of authentication, by upstream's names.
import type { Identity } from "../api/identity.ts";
import type { Registry } from "../observe/metrics.ts";
import { certificatesWithoutNames } from "../outbound/client.ts";

/** The result of an authentication: wrong credentials are an `error`, missing ones a `failure`. */
export type Attempt = "success" | "failure" | "error";

/** Called with the result of every authentication. */
export interface AuthnEvents {
  /** Credentials were checked for so long; `name`: of the user. */
  attempted(result: Attempt, name: string, seconds: number): void;
  /** A certificate was believed, with so many seconds left. */
  certificate(secondsLeft: number): void;
  /**
   * A token of a service account was believed: of a secret, or bound and let live longer than was asked for, before
   * (`valid`) or after (`stale`) that time.
   */
  accountToken(kind: "valid" | "stale" | "legacy"): void;
  /** A token was looked for in a cache; a missing one (`miss`) is reviewed. */
  cached(status: "hit" | "miss", seconds: number): void;
  /** A token that is not cached was reviewed; an unknown token is a result, too. */
  fetched(ok: boolean): void;
  /** Questions begin (1) and end (-1) to take time: asked for a token, or waiting for the answer to an equal question. */
  fetching(how: "in_flight" | "blocked", by: 1 | -1): void;
}

const nothing = (): void => undefined;

/** Counts nothing. */
export const noEvents: AuthnEvents = {
  attempted: nothing,
  certificate: nothing,
  accountToken: nothing,
  cached: nothing,
  fetched: nothing,
  fetching: nothing,
};

const hour = 3_600;
const day = 24 * hour;
/** Upstream's: from half an hour to a year. */
const leftBuckets = [0, hour / 2, hour, 2 * hour, 6 * hour, 12 * hour, day, 2 * day, 4 * day, 7 * day, 30 * day].concat(
  [90 * day, 180 * day, 360 * day],
);
/** Upstream's: a millisecond, doubled fourteen times. */
const attemptBuckets = Array.from({ length: 15 }, (_, at) => 0.001 * 2 ** at);
/** Prometheus' own. */
const cacheBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Counts into a registry. */
export function countAuthn(registry: Registry, identity: Identity): AuthnEvents {
  const left = registry.histogram(
    "apiserver_client_certificate_expiration_seconds",
    "Seconds left of client certificates that were believed.",
    leftBuckets,
  );
  const tokens = {
    valid: registry.counter(
      "serviceaccount_valid_tokens_total",
      "Uses of bound tokens that were let live longer, before the time that was asked for.",
    ),
    stale: registry.counter(
      "serviceaccount_stale_tokens_total",
      "Uses of bound tokens that were let live longer, after the time that was asked for.",
    ),
    legacy: registry.counter("serviceaccount_legacy_tokens_total", "Uses of tokens that live in secrets."),
  };
  const nameless = registry.counter(
    "apiserver_webhooks_x509_missing_san_total",
    "Connections to webhooks, identity providers and the like whose certificates have no alternative names; they fail.",
  );
  registry.onCollect(() => nameless.set("", certificatesWithoutNames()));
  return {
    certificate: (secondsLeft) => left.observe("", secondsLeft),
    accountToken: (kind) => tokens[kind].add(""),
    ...countAttempts(registry, identity),
    ...countCache(registry),
  };
}

function countAttempts(registry: Registry, identity: Identity): Pick<AuthnEvents, "attempted"> {
  const attempts = registry.counter("authentication_attempts", "Authentications by result.", "result");
  const duration = registry.histogram(
    "authentication_duration_seconds",
    "Seconds it took to find out who asks, by result.",
    attemptBuckets,
    "result",
  );
  const users = registry.counter("authenticated_user_requests", "Requests by sort of user.", "username");
  // Upstream's list; all other users are one of two labels, so that no name gets into a metric.
  const account = identity.spell("system:serviceaccount:kube-system:default");
  const known = new Set(["admin", "client", "kube_proxy", "kubelet", account]);
  return {
    attempted: (result, name, seconds) => {
      attempts.add(result);
      duration.observe(result, seconds);
      if (result === "success") users.add(known.has(name) ? name : name.includes("@") ? "email_id" : "other");
    },
  };
}

function countCache(registry: Registry): Pick<AuthnEvents, "cached" | "fetched" | "fetching"> {
  const prefix = "authentication_token_cache";
  const requests = registry.counter(`${prefix}_request_total`, "Tokens looked for in a cache.", "status");
  const duration = registry.histogram(
    `${prefix}_request_duration_seconds`,
    "Seconds, in whole milliseconds, until a cache had an answer.",
    cacheBuckets,
    "status",
  );
  const fetches = registry.counter(`${prefix}_fetch_total`, "Tokens a cache asked for, by what came of it.", "status");
  const active = registry.gauge(`${prefix}_active_fetch_count`, "Questions that wait for an answer.", "status");
  return {
    cached: (status, seconds) => {
      requests.add(status);
      duration.observe(status, Math.floor(seconds * 1000) / 1000);
    },
    fetched: (ok) => fetches.add(ok ? "ok" : "error"),
    fetching: (how, by) => active.add(how, by),
  };
}
