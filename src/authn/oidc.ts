// ID tokens of an OpenID Connect provider (OpenID Connect Core 1.0, section 3.1.3.7). Its keys are fetched when a token is
// first seen and when one names a key that is not known; an outage changes nothing for keys that are, and strangers'
// tokens do not make this server ask again and again (ATTACKS E08). Distributed claims are not followed.
import { createPublicKey, type KeyObject } from "node:crypto";
import type { Clock } from "../base/clock.ts";
import { limits } from "../config/limits.ts";
import type { OidcConfig } from "../config/remoteauthnflags.ts";
import { CallFailure, checkUrl, OutboundClient } from "../outbound/client.ts";
import { type Outcome, type Refused, refused, type TokenAuthenticator } from "./authenticator.ts";
import {
  algorithmOf,
  audiencesOf,
  type Claims,
  claimOf,
  peekClaims,
  textClaim,
  timesOf,
  type VerificationKey,
  verifyToken,
} from "./jwt.ts";

/** Seconds the provider's clock may be ahead (go-oidc: five minutes); it may not be behind. */
const aheadSeconds = 300;

/** Knows ID tokens of one provider. `authorities`: PEM; empty: the system's. */
export function oidcTokens(config: OidcConfig, authorities: string, clock: Clock): TokenAuthenticator {
  const keys = new ProviderKeys(config, authorities, clock);
  return {
    authenticateToken: (token) => {
      const peeked = peekClaims(token);
      if (peeked === undefined || textClaim(peeked, "iss") !== config.issuer) return undefined;
      return verify(config, keys, clock, token);
    },
  };
}

async function verify(config: OidcConfig, keys: ProviderKeys, clock: Clock, token: string): Promise<Outcome> {
  const claims = await keys.verify(token);
  if ("reasons" in claims) return claims;
  if (textClaim(claims.verified, "iss") !== config.issuer) return refused("oidc: verify token: wrong issuer");
  return readUser(config, claims.verified, clock);
}

/** The user of a token of the provider. */
function readUser(config: OidcConfig, claims: Claims, clock: Clock): Outcome {
  const audiences = audiencesOf(claims);
  if (audiences?.includes(config.clientId) !== true) return refused("oidc: verify token: expected another audience");
  const times = timesOf(claims);
  const now = (): number => clock.now() / 1000;
  if (times === undefined || times.until === Number.POSITIVE_INFINITY) return refused("oidc: verify token: no expiry");
  if (times.until <= now()) return refused("oidc: verify token: token is expired");
  if (times.from > now() + aheadSeconds) return refused("oidc: verify token: token is not valid yet");
  const name = textClaim(claims, config.usernameClaim);
  if (name === undefined) return refused(`oidc: parse username claims ${JSON.stringify(config.usernameClaim)}`);
  const verified = claimOf(claims, "email_verified");
  if (config.usernameClaim === "email" && verified !== undefined && verified !== true) {
    return refused("oidc: email not verified");
  }
  const groups = config.groupsClaim === "" ? [] : groupsOf(claimOf(claims, config.groupsClaim));
  if (groups === undefined) return refused(`oidc: parse groups claim ${JSON.stringify(config.groupsClaim)}`);
  for (const [claim, value] of config.requiredClaims) {
    const found = claimOf(claims, claim);
    if (found === undefined) return refused(`oidc: required claim ${claim} not present in ID token`);
    if (found !== value) return refused(`oidc: required claim ${claim} value does not match`);
  }
  const user = {
    name: `${config.usernamePrefix}${name}`,
    uid: "",
    groups: groups.map((group) => `${config.groupsPrefix}${group}`),
    extra: new Map(),
  };
  return { user, holds: () => times.until > now() };
}

/** A claim of groups: a text, a list of texts, or nothing; undefined for anything else. */
function groupsOf(claim: unknown): string[] | undefined {
  if (claim === undefined || claim === null) return [];
  if (typeof claim === "string") return [claim];
  return Array.isArray(claim) && claim.every((one) => typeof one === "string") ? (claim as string[]) : undefined;
}

/** The keys of a provider, as it showed them last. */
class ProviderKeys {
  readonly #config: OidcConfig;
  readonly #authorities: string;
  readonly #clock: Clock;
  #keys: readonly VerificationKey[] = [];
  /** Where the keys are; undefined: not discovered yet. */
  #client: OutboundClient | undefined;
  #fetching: Promise<string | undefined> | undefined;
  /** On the monotonic clock. */
  #nextFetch = Number.NEGATIVE_INFINITY;
  #fault = "oidc: authenticator not initialized";

  constructor(config: OidcConfig, authorities: string, clock: Clock) {
    this.#config = config;
    this.#authorities = authorities;
    this.#clock = clock;
  }

  /** The claims of a token one of the keys signed; a refusal for others. */
  async verify(token: string): Promise<{ readonly verified: Claims } | Refused> {
    const known = await verifyToken(token, this.#keys);
    if (known !== undefined) return { verified: known };
    const fault = await this.#refresh();
    if (fault !== undefined) return refused(fault);
    const verified = await verifyToken(token, this.#keys);
    return verified === undefined ? refused("oidc: verify token: failed to verify signature") : { verified };
  }

  /** Fetches the keys, at most once per limits.oidcFetchMsMin; all waiting callers get the same result. */
  #refresh(): Promise<string | undefined> {
    if (this.#fetching !== undefined) return this.#fetching;
    const now = this.#clock.monotonic();
    if (now < this.#nextFetch) return Promise.resolve(this.#keys.length === 0 ? this.#fault : undefined);
    this.#nextFetch = now + limits.oidcFetchMsMin;
    this.#fetching = this.#fetch().finally(() => (this.#fetching = undefined));
    return this.#fetching;
  }

  /** Returns an error message when the known keys are kept. */
  async #fetch(): Promise<string | undefined> {
    const client = this.#client ?? (await this.#discover());
    if (typeof client === "string") return (this.#fault = client);
    this.#client = client;
    const set = await readJson(client);
    const keys = typeof set === "string" ? set : keysOf(set, this.#config.algorithms);
    if (typeof keys === "string") return (this.#fault = `oidc: fetching keys: ${keys}`);
    this.#keys = keys;
    return undefined;
  }

  async #discover(): Promise<OutboundClient | string> {
    const { issuer } = this.#config;
    const issuerClient = this.#open(issuer);
    const document = await readJson(issuerClient, "/.well-known/openid-configuration");
    issuerClient.close();
    if (typeof document === "string") return `oidc: discovery: ${document}`;
    if (textClaim(document, "issuer") !== issuer) return "oidc: discovery: issuer did not match";
    const url = textClaim(document, "jwks_uri") ?? "";
    if (checkUrl(url) !== undefined || !url.startsWith("https://")) return "oidc: discovery: jwks_uri must be https";
    return this.#open(url);
  }

  #open(url: string): OutboundClient {
    return new OutboundClient({ url, ...(this.#authorities === "" ? {} : { authorities: this.#authorities }) });
  }
}

async function readJson(client: OutboundClient, path?: string): Promise<Claims | string> {
  const answer = await client.call({ method: "GET", timeoutMs: limits.oidcFetchMsMax, ...(path ? { path } : {}) });
  if (answer instanceof CallFailure) return answer.message;
  if (answer.code !== 200) return `the provider answered ${answer.code}`;
  try {
    const value = JSON.parse(answer.body.toString("utf8")) as unknown;
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Claims;
  } catch {
    // As below.
  }
  return "the provider answered no JSON object";
}

/** The keys of a set (RFC 7517) that sign with one of `algorithms`; keys of other kinds and uses are skipped. */
function keysOf(set: Claims, algorithms: readonly string[]): VerificationKey[] | string {
  const list = claimOf(set, "keys");
  if (!Array.isArray(list)) return "the provider answered no keys";
  const keys: VerificationKey[] = [];
  for (const jwk of list.slice(0, limits.oidcKeysMax) as unknown[]) {
    if (typeof jwk !== "object" || jwk === null) continue;
    const claims = jwk as Claims;
    if ((textClaim(claims, "use") ?? "sig") !== "sig") continue;
    const key = importKey(jwk);
    const named = textClaim(claims, "alg");
    for (const algorithm of key === undefined ? [] : algorithms) {
      if (key === undefined || !fits(key, algorithm) || (named !== undefined && named !== algorithm)) continue;
      keys.push({ id: textClaim(claims, "kid") ?? "", key, algorithm });
    }
  }
  return keys.length === 0 ? "the provider has no key of the algorithms allowed" : keys;
}

function importKey(jwk: object): KeyObject | undefined {
  try {
    return createPublicKey({ key: jwk as never, format: "jwk" });
  } catch {
    return undefined;
  }
}

function fits(key: KeyObject, algorithm: string): boolean {
  if (key.asymmetricKeyType === "rsa") return algorithm.startsWith("RS") || algorithm.startsWith("PS");
  return algorithmOf(key) === algorithm;
}
