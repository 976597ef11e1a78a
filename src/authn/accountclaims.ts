// The claims of service account tokens: bound tokens, which end with their time or with an object, and the older ones
// that live in a secret (upstream: claims.go and legacy.go of its service account package).
import type { Identity } from "../api/identity.ts";
import { type Claims, claimOf, textClaim } from "./jwt.ts";

/** An object a token names. */
export interface ClaimedObject {
  readonly name: string;
  readonly uid: string;
}

/** The claims of a bound token besides its times. */
export interface BoundClaims {
  readonly namespace: string;
  readonly account: ClaimedObject;
  readonly pod: ClaimedObject | undefined;
  readonly secret: ClaimedObject | undefined;
  /** Seconds since 1970 after which its use is worth a note. */
  readonly warnAfter: number | undefined;
}

/** The claims of a token of a secret. */
export interface LegacyClaims {
  readonly namespace: string;
  readonly account: ClaimedObject;
  readonly secretName: string;
}

const userPrefix = "system:serviceaccount:";
const groupPrefix = "system:serviceaccounts";

/** The user name of a service account. */
export function accountUserName(namespace: string, name: string): string {
  return `${userPrefix}${namespace}:${name}`;
}

/** The groups every service account of a namespace is in. */
export function accountGroups(namespace: string): string[] {
  return [groupPrefix, `${groupPrefix}:${namespace}`];
}

/** The issuer of tokens in secrets. */
export function legacyIssuer(identity: Identity): string {
  return `${identity.spell("kubernetes")}/serviceaccount`;
}

/** The issuer where no flag names one; it is the one audience then, too. */
export function defaultIssuer(identity: Identity): string {
  return `https://${identity.spell("kubernetes")}.default.svc`;
}

/** The claims of a new bound token. */
export interface BoundRequest {
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly claims: BoundClaims;
  /** Seconds since 1970. */
  readonly now: number;
  /** Seconds. */
  readonly lifetime: number;
}

/** The claims of a bound token. */
export function boundClaims(identity: Identity, request: BoundRequest): Claims {
  const { issuer, audiences, now, lifetime } = request;
  const { namespace, account, pod, secret, warnAfter } = request.claims;
  return {
    aud: audiences,
    exp: now + lifetime,
    iat: now,
    iss: issuer,
    [identity.spell("kubernetes.io")]: {
      namespace,
      ...(pod === undefined ? {} : { pod }),
      ...(secret === undefined ? {} : { secret }),
      serviceaccount: account,
      ...(warnAfter === undefined ? {} : { warnafter: warnAfter }),
    },
    nbf: now,
    sub: accountUserName(namespace, account.name),
  };
}

/** The claims of a token that is kept in a secret. */
export function legacyClaims(identity: Identity, { namespace, account, secretName }: LegacyClaims): Claims {
  const own = identity.spell("kubernetes.io");
  return {
    iss: legacyIssuer(identity),
    [`${own}/serviceaccount/namespace`]: namespace,
    [`${own}/serviceaccount/secret.name`]: secretName,
    [`${own}/serviceaccount/service-account.name`]: account.name,
    [`${own}/serviceaccount/service-account.uid`]: account.uid,
    sub: accountUserName(namespace, account.name),
  };
}

/** Reads the claims of a bound token; undefined where they are not all there. */
export function readBoundClaims(identity: Identity, claims: Claims): BoundClaims | undefined {
  const own = objectOf(claimOf(claims, identity.spell("kubernetes.io")));
  if (own === undefined) return undefined;
  const namespace = textClaim(own, "namespace");
  const account = reference(claimOf(own, "serviceaccount"));
  const pod = reference(claimOf(own, "pod"));
  const secret = reference(claimOf(own, "secret"));
  const warnAfter = claimOf(own, "warnafter");
  if (namespace === undefined || account === undefined || account === "malformed") return undefined;
  if (pod === "malformed" || secret === "malformed") return undefined;
  if (textClaim(claims, "sub") !== accountUserName(namespace, account.name)) return undefined;
  return { namespace, account, pod, secret, warnAfter: typeof warnAfter === "number" ? warnAfter : undefined };
}

function objectOf(value: unknown): Claims | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Claims) : undefined;
}

/** A name and a uid; undefined for none. */
function reference(value: unknown): ClaimedObject | undefined | "malformed" {
  if (value === undefined || value === null) return undefined;
  const object = objectOf(value);
  const name = object && textClaim(object, "name");
  const uid = object && textClaim(object, "uid");
  return name === undefined || uid === undefined || name === "" ? "malformed" : { name, uid };
}

/** Reads the claims of a token in a secret; returns an error message for missing ones. */
export function readLegacyClaims(identity: Identity, claims: Claims): LegacyClaims | string {
  const own = identity.spell("kubernetes.io");
  const read = (name: string): string => textClaim(claims, `${own}/serviceaccount/${name}`) ?? "";
  const subject = textClaim(claims, "sub") ?? "";
  const namespace = read("namespace");
  const secretName = read("secret.name");
  const name = read("service-account.name");
  const uid = read("service-account.uid");
  if (subject === "") return "sub claim is missing";
  if (namespace === "") return "namespace claim is missing";
  if (secretName === "") return "secretName claim is missing";
  if (name === "") return "serviceAccountName claim is missing";
  if (uid === "") return "serviceAccountUID claim is missing";
  if (subject !== accountUserName(namespace, name)) return "sub claim is invalid";
  return { namespace, account: { name, uid }, secretName };
}
