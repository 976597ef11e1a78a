// The interface of authenticators: credentials in; a user, a refusal or nothing out. The functions that
// combine several, and add groups to their results, are here too (upstream: union, group adder, anonymous).
import type { X509Certificate } from "node:crypto";
import type { User } from "../api/user.ts";
import type { Owner } from "../base/shares.ts";
import type { TraceSpans } from "../observe/spans.ts";

/** Header fields in order, names in lower case. */
export type Headers = readonly (readonly [name: string, value: string])[];

/** The certificates a client presented in its handshake; one object for the life of a connection, or longer. */
export interface PeerCertificates {
  /** The client's own; the client has its key. */
  readonly leaf: X509Certificate;
  /** PEM of the bundle of authorities it was led to in the handshake; undefined: it was not verified. */
  readonly verifiedBy?: string;
  /** The intermediates it sent; unknown where the handshake verified it. */
  others(): readonly X509Certificate[];
}

/** The credentials of a request. An Exchange is one. */
export interface Credentials {
  readonly headers: Headers;
  /** True: bytes beyond ASCII may be missing from both ends of header values. */
  readonly clipsValues?: boolean;
  /** Undefined: none were presented. */
  readonly peer: PeerCertificates | undefined;
  /** Address they came from, which questions to others are charged to; left out: they are the server's own. */
  readonly remote?: string;
  /** The trace of a request that is sampled. */
  readonly spans?: TraceSpans | undefined;
}

/** A successful authentication. */
export interface Accepted {
  readonly user: User;
  /** The audiences a token is good for, among the requested ones; undefined where none were. */
  readonly audiences?: readonly string[] | undefined;
  /** Whether it still holds, where that can be checked synchronously; a cache calls it before each use. */
  readonly holds?: () => boolean;
  /** Annotations for the audit event of a use; called at each use. */
  readonly notes?: () => ReadonlyMap<string, string>;
}

/** Credentials that are wrong. The reasons go to a TokenReview and never contain the credentials. */
export interface Refused {
  readonly reasons: readonly string[];
  /** There was no asking, for lack of means of ours: the request may be tried again (429). */
  readonly overloaded?: boolean;
}

/** The result for credentials; undefined: there are none of this kind. */
export type Outcome = Accepted | Refused | undefined;

/** An authenticator, or several in order. Synchronous where possible; never rejects. */
export interface Authenticator {
  authenticate(credentials: Credentials): Outcome | Promise<Outcome>;
}

/**
 * The same for a bearer token; `audiences` undefined: the server's own, and the result needs to name none. `ownerOf`: the
 * user questions to others are charged to; left out, or without one: the server itself. `spans`: the trace such questions
 * belong to.
 */
export interface TokenAuthenticator {
  authenticateToken(
    token: string,
    audiences: readonly string[] | undefined,
    ownerOf?: () => Owner | undefined,
    spans?: TraceSpans,
  ): Outcome | Promise<Outcome>;
}

/** Group of all users with valid credentials. */
export const authenticatedGroup = "system:authenticated";
const unauthenticatedGroup = "system:unauthenticated";

/** The user of requests without credentials, where these are allowed. */
export const anonymous: User = {
  name: "system:anonymous",
  uid: "",
  groups: [unauthenticatedGroup],
  extra: new Map(),
};

/** Whether the authentication succeeded. */
export function isAccepted(outcome: Outcome): outcome is Accepted {
  return outcome !== undefined && "user" in outcome;
}

/** A refusal for one reason. */
export function refused(reason: string): Refused {
  return { reasons: [reason] };
}

/** The text of several reasons: each once, in brackets when there is more than one (upstream: aggregated errors). */
export function reasonText({ reasons }: Refused): string {
  const unique = [...new Set(reasons)];
  return unique.length === 1 ? (unique[0] ?? "") : `[${unique.join(", ")}]`;
}

/** Asks one after the other; the first that accepts decides, and reasons of the others are kept until the end. */
export function firstAccepted<T>(
  list: readonly T[],
  ask: (one: T) => Outcome | Promise<Outcome>,
): Outcome | Promise<Outcome> {
  return askFrom(list, 0, undefined, ask);
}

function askFrom<T>(
  list: readonly T[],
  from: number,
  before: Refused | undefined,
  ask: (one: T) => Outcome | Promise<Outcome>,
): Outcome | Promise<Outcome> {
  let gathered = before;
  for (let index = from; index < list.length; index++) {
    const outcome = ask(list[index] as T);
    if (outcome instanceof Promise) {
      const known = gathered;
      return outcome.then((late) => (isAccepted(late) ? late : askFrom(list, index + 1, gather(known, late), ask)));
    }
    if (isAccepted(outcome)) return outcome;
    gathered = gather(gathered, outcome);
  }
  return gathered;
}

/** Several refusals are one with the reasons of all. */
function gather(before: Refused | undefined, found: Refused | undefined): Refused | undefined {
  if (before === undefined || found === undefined) return before ?? found;
  const reasons = [...before.reasons, ...found.reasons];
  return before.overloaded === true || found.overloaded === true ? { reasons, overloaded: true } : { reasons };
}

/** Several authenticators in order. */
export function union(authenticators: readonly Authenticator[]): Authenticator {
  return { authenticate: (credentials) => firstAccepted(authenticators, (one) => one.authenticate(credentials)) };
}

/** Several token authenticators in order. */
export function tokenUnion(authenticators: readonly TokenAuthenticator[]): TokenAuthenticator {
  return {
    authenticateToken: (token, audiences, ownerOf, spans) =>
      firstAccepted(authenticators, (one) => one.authenticateToken(token, audiences, ownerOf, spans)),
  };
}

/** Tokens that know nothing of audiences are good for the server's own (`implicit`) and for no other. */
export function audienceAgnostic(inner: TokenAuthenticator, implicit: readonly string[]): TokenAuthenticator {
  return {
    authenticateToken: (token, audiences) => {
      if (audiences === undefined) return inner.authenticateToken(token, undefined);
      const common = implicit.filter((audience) => audiences.includes(audience));
      if (common.length === 0) return undefined;
      return mapOutcome(inner.authenticateToken(token, undefined), (found) =>
        isAccepted(found) ? { ...found, audiences: common } : found,
      );
    },
  };
}

/** Applies a function to an outcome now or when it is there. */
export function mapOutcome(
  outcome: Outcome | Promise<Outcome>,
  change: (outcome: Outcome) => Outcome,
): Outcome | Promise<Outcome> {
  return outcome instanceof Promise ? outcome.then(change) : change(outcome);
}

/** Adds `system:authenticated` to every accepted user. */
export function withAuthenticatedGroup(inner: Authenticator): Authenticator {
  // Accepted outcomes are kept by caches: the addition is made once for each.
  const known = new WeakMap<Accepted, Accepted>();
  const add = (outcome: Outcome): Outcome => {
    if (!isAccepted(outcome)) return outcome;
    let added = known.get(outcome);
    if (added === undefined) known.set(outcome, (added = addGroup(outcome)));
    return added;
  };
  return { authenticate: (credentials) => mapOutcome(inner.authenticate(credentials), add) };
}

function addGroup(accepted: Accepted): Accepted {
  const { name, groups } = accepted.user;
  if (name === anonymous.name || groups.includes(authenticatedGroup) || groups.includes(unauthenticatedGroup)) {
    return accepted;
  }
  return { ...accepted, user: { ...accepted.user, groups: [...groups, authenticatedGroup] } };
}

const anonymousAccepted: Accepted = { user: anonymous };

/** A request without credentials is anonymous; one with wrong credentials is rejected, never anonymous. */
export function withAnonymous(inner: Authenticator): Authenticator {
  const fall = (outcome: Outcome): Outcome => outcome ?? anonymousAccepted;
  return { authenticate: (credentials) => mapOutcome(inner.authenticate(credentials), fall) };
}
