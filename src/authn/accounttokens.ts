// Authenticates service account tokens. A signature is verified once and cached; whether the account, pod or secret
// of a token still exists is checked in the logs at every request, so that revocation takes effect immediately.
import type { Secret } from "../api/gen/core/v1.ts";
import type { Identity } from "../api/identity.ts";
import type { ApiObject } from "../api/object.ts";
import type { User } from "../api/user.ts";
import type { Clock } from "../base/clock.ts";
import type { Objects } from "../cache/view/objects.ts";
import {
  accountGroups,
  accountUserName,
  type BoundClaims,
  type ClaimedObject,
  legacyIssuer,
  readBoundClaims,
  readLegacyClaims,
} from "./accountclaims.ts";
import { isAccepted, type Outcome, type Refused, refused, type TokenAuthenticator } from "./authenticator.ts";
import type { AuthnEvents } from "./events.ts";
import {
  audiencesOf,
  type Claims,
  leewaySeconds,
  peekClaims,
  type TokenTimes,
  textClaim,
  timesOf,
  type VerificationKey,
  verifyToken,
} from "./jwt.ts";
import { sameSecret } from "./secret.ts";

/** Dependencies of the authenticators of both kinds of tokens. */
export interface AccountTokens {
  readonly identity: Identity;
  readonly objects: Objects;
  readonly clock: Clock;
  readonly keys: readonly VerificationKey[];
  /** The issuers whose bound tokens are accepted. */
  readonly issuers: readonly string[];
  /** The server's own audiences. */
  readonly audiences: readonly string[];
  /** Tokens in secrets end with their secret and account. */
  readonly lookup: boolean;
  readonly events: AuthnEvents;
  /** Resolves when the logs hold what is newest, or that cannot be known; undefined: they hold it. */
  readonly newest?: (() => Promise<unknown>) | undefined;
}

const invalidated = "service account token has been invalidated";
const badSignature = refused("square/go-jose: error in cryptographic primitive");
const notValid = refused("token could not be validated");
const expired = refused("token has expired");

/** Knows tokens that are bound to audiences, a time, and perhaps a pod or secret. */
export function boundTokens(options: AccountTokens): TokenAuthenticator {
  const issuers = new Set(options.issuers);
  return {
    authenticateToken: (token, audiences) => {
      const peeked = peekClaims(token);
      if (peeked === undefined || !issuers.has(textClaim(peeked, "iss") ?? "")) return undefined;
      return verifyBound(options, token, audiences);
    },
  };
}

async function verifyBound(
  options: AccountTokens,
  token: string,
  asked: readonly string[] | undefined,
): Promise<Outcome> {
  const verified = await verify(options, token, asked);
  if ("reasons" in verified) return verified;
  const bound = readBoundClaims(options.identity, verified.claims);
  if (bound === undefined) return notValid;
  const { namespace, account, pod, secret, warnAfter } = bound;
  const checks = [new Presence(options, "serviceaccounts", namespace, account)];
  if (secret !== undefined) checks.push(new Presence(options, "secrets", namespace, secret));
  if (pod !== undefined) checks.push(new Presence(options, "pods", namespace, pod));
  const stands = (): boolean => checks.every((check) => check.holds(options.clock.now() / 1000));
  await catchUp(options, stands);
  const outcome = outcomeOf(options, verified, bound, (now) => {
    for (const check of checks) if (!check.holds(now)) return refused(invalidated);
    // Upstream counts only tokens that were let live longer than they say.
    if (warnAfter !== undefined) options.events.accountToken(warnAfter < now ? "stale" : "valid");
    return undefined;
  });
  return warnAfter === undefined || !isAccepted(outcome)
    ? outcome
    : { ...outcome, notes: () => staleNotes(options, verified.claims, warnAfter) };
}

/**
 * What a token is bound to may be on its way from the server that made it: a token with a good signature is not refused
 * before that is here (upstream asks etcd for what its informers do not have).
 */
async function catchUp({ newest }: AccountTokens, stands: () => boolean): Promise<void> {
  if (newest !== undefined && !stands()) await newest();
}

const noNotes: ReadonlyMap<string, string> = new Map();

/** That a token is used after the time that was asked for, in upstream's words; nothing before. */
function staleNotes(
  { clock, identity }: AccountTokens,
  claims: Claims,
  warnAfter: number,
): ReadonlyMap<string, string> {
  const now = clock.now() / 1000;
  if (now <= warnAfter) return noNotes;
  const seconds = Math.floor(now) - Math.floor(warnAfter);
  const text = `subject: ${textClaim(claims, "sub") ?? ""}, seconds after warning threshold: ${seconds}`;
  return new Map([[identity.spell("authentication.k8s.io/stale-token"), text]]);
}

/** A token with a good signature that is meant for us. */
interface Verified {
  readonly claims: Claims;
  readonly audiences: readonly string[];
  readonly times: TokenTimes;
}

async function verify(
  options: AccountTokens,
  token: string,
  asked: readonly string[] | undefined,
): Promise<Verified | Refused> {
  const claims = await verifyToken(token, options.keys);
  if (claims === undefined) return badSignature;
  const audiences = commonAudiences(options, claims, asked);
  if ("reasons" in audiences) return audiences;
  const times = timesOf(claims);
  return times === undefined ? notValid : { claims, audiences, times };
}

/** Lets the account in for as long as neither the token's times nor `faultOf` say no; `now` in seconds since 1970. */
function outcomeOf(
  { clock, identity }: AccountTokens,
  { audiences, times }: Verified,
  bound: BoundClaims,
  faultOf: (now: number) => Refused | undefined,
): Outcome {
  const fault = (): Refused | undefined => {
    const now = clock.now() / 1000;
    return faultOfTimes(times, now) ?? faultOf(now);
  };
  return fault() ?? { user: userOf(identity, bound), audiences, holds: () => fault() === undefined };
}

/** The audiences a token and a question have in common. */
function commonAudiences(
  { audiences: own }: AccountTokens,
  claims: Claims,
  asked: readonly string[] | undefined,
): readonly string[] | Refused {
  const named = audiencesOf(claims);
  if (named === undefined) return notValid;
  // A token without audiences is for this server.
  const good = named.length === 0 ? own : named;
  const wanted = asked ?? own;
  const common = good.filter((audience) => wanted.includes(audience));
  if (common.length > 0) return common;
  return refused(`token audiences ${listOf(good)} is invalid for the target audiences ${listOf(wanted)}`);
}

function listOf(texts: readonly string[]): string {
  return `[${texts.map((text) => JSON.stringify(text)).join(" ")}]`;
}

function faultOfTimes({ from, until }: TokenTimes, now: number): Refused | undefined {
  if (from > now + leewaySeconds) return notValid;
  return until < now - leewaySeconds ? expired : undefined;
}

function userOf(identity: Identity, { namespace, account, pod }: BoundClaims): User {
  const extra = new Map<string, readonly string[]>();
  if (pod !== undefined) {
    const own = identity.spell("authentication.kubernetes.io");
    extra.set(`${own}/pod-name`, [pod.name]);
    extra.set(`${own}/pod-uid`, [pod.uid]);
  }
  const { name, uid } = account;
  return { name: accountUserName(namespace, name), uid, groups: accountGroups(namespace), extra };
}

/** Knows tokens that live in a secret and end with it. */
export function legacyTokens(options: AccountTokens): TokenAuthenticator {
  const issuer = legacyIssuer(options.identity);
  return {
    authenticateToken: (token, audiences) => {
      const peeked = peekClaims(token);
      if (peeked === undefined || textClaim(peeked, "iss") !== issuer) return undefined;
      return verifyLegacy(options, token, audiences);
    },
  };
}

async function verifyLegacy(
  options: AccountTokens,
  token: string,
  asked: readonly string[] | undefined,
): Promise<Outcome> {
  const verified = await verify(options, token, asked);
  if ("reasons" in verified) return verified;
  const legacy = readLegacyClaims(options.identity, verified.claims);
  if (typeof legacy === "string") return refused(legacy);
  const { namespace, account, secretName } = legacy;
  const presence = new Presence(options, "serviceaccounts", namespace, account);
  const bound = { namespace, account, pod: undefined, secret: undefined, warnAfter: undefined };
  const faultOf = (now: number): string | undefined => {
    if (!options.lookup) return undefined;
    return tokenFault(options.objects, namespace, secretName, token) ?? (presence.holds(now) ? undefined : invalidated);
  };
  await catchUp(options, () => faultOf(options.clock.now() / 1000) === undefined);
  return outcomeOf(options, verified, bound, (now) => {
    const fault = faultOf(now);
    if (fault !== undefined) return refused(fault);
    options.events.accountToken("legacy");
    return undefined;
  });
}

/** Whether a secret still holds the token; a text says that it does not. */
function tokenFault(objects: Objects, namespace: string, name: string, token: string): string | undefined {
  const secret = objects.table<ApiObject & Secret>("", "v1", "secrets").get(namespace, name);
  if (secret === undefined || secret.metadata.deletionTimestamp !== undefined) return "Token has been invalidated";
  const kept = Buffer.from(secret.data?.get("token") ?? "", "base64");
  const shown = Buffer.from(token);
  return sameSecret(kept, shown) ? undefined : "Token does not match server's copy";
}

/** Whether the object a token names is there, with the uid it names. Looked up every time, decoded when it changed. */
class Presence {
  readonly #objects: Objects;
  readonly #resource: string;
  readonly #namespace: string;
  readonly #claimed: ClaimedObject;
  /** Revision of the record that was looked at last. */
  #revision = -1;
  /** The result of that check: seconds since 1970 after which the object counts as deleted. */
  #goneAfter = 0;

  constructor({ objects }: AccountTokens, resource: string, namespace: string, claimed: ClaimedObject) {
    this.#objects = objects;
    this.#resource = resource;
    this.#namespace = namespace;
    this.#claimed = claimed;
  }

  holds(now: number): boolean {
    const view = this.#objects.view("", "v1", this.#resource);
    if (view === undefined) return false;
    view.drain();
    const { name } = this.#claimed;
    const at = view.get(this.#namespace, name);
    if (at === 0) return false;
    const revision = view.revisionOf(at);
    if (revision !== this.#revision) {
      this.#goneAfter = this.#look();
      this.#revision = revision;
    }
    return now <= this.#goneAfter;
  }

  #look(): number {
    const object = this.#objects.read("", "v1", this.#resource, this.#namespace, this.#claimed.name);
    if (object === undefined || object.metadata.uid !== this.#claimed.uid) return Number.NEGATIVE_INFINITY;
    const { deletionTimestamp } = object.metadata;
    if (deletionTimestamp === undefined) return Number.POSITIVE_INFINITY;
    return Date.parse(deletionTimestamp) / 1000 + leewaySeconds;
  }
}
