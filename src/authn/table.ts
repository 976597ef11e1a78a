// All authenticators in their order: certificates of proxies, certificates of users, bearer
// tokens (static, service account, bootstrap, OpenID Connect, webhook), then anonymous. The same on every front thread.
import type { Identity } from "../api/identity.ts";
import type { User } from "../api/user.ts";
import { assert } from "../base/assert.ts";
import type { Clock } from "../base/clock.ts";
import type { Owner } from "../base/shares.ts";
import type { Objects } from "../cache/view/objects.ts";
import type { AuthnConfig, RequestHeaderConfig } from "../config/authnflags.ts";
import { limits } from "../config/limits.ts";
import type { TraceSpans } from "../observe/spans.ts";
import type { Connection } from "../outbound/client.ts";
import { Bundle } from "../pki/bundle.ts";
import { defaultIssuer } from "./accountclaims.ts";
import { createSigner, discoveryConfiguration, keySetDocument, type TokenSigner } from "./accountkeys.ts";
import { boundTokens, legacyTokens } from "./accounttokens.ts";
import {
  type Accepted,
  type Authenticator,
  audienceAgnostic,
  type Credentials,
  isAccepted,
  type Outcome,
  type TokenAuthenticator,
  tokenUnion,
  union,
  withAnonymous,
  withAuthenticatedGroup,
} from "./authenticator.ts";
import { bearerAuthenticator, invalidToken, protocolAuthenticator } from "./bearer.ts";
import { bootstrapTokens } from "./bootstraptokens.ts";
import { certificateAuthenticator } from "./certificates.ts";
import type { AuthnEvents } from "./events.ts";
import { parsePublicKeys } from "./jwt.ts";
import { oidcTokens } from "./oidc.ts";
import { requestHeaderAuthenticator } from "./requestheader.ts";
import { cacheTokens } from "./tokencache.ts";
import { staticTokens, type TokenUser } from "./tokens.ts";
import { webhookTokens } from "./tokenwebhook.ts";

/** The contents of files that main read for the fronts: plain data. Checked before any thread starts. */
export interface AuthnMaterial {
  readonly tokens: readonly TokenUser[];
  /** PEM: every key a service account token may be signed with, the signing one's public half included. */
  readonly accountKeys: string;
  /** PEM: the private key that signs. */
  readonly signingKey: string;
  /** PEM: the private key of the token controller; empty: `signingKey`. */
  readonly privateKey: string;
  /** PEM of the identity provider's authorities; empty: the system's. */
  readonly oidcAuthorities: string;
  /** The service that reviews tokens; undefined: none. */
  readonly webhook: Connection | undefined;
}

/** Dependencies and settings of authentication. */
export interface AuthnOptions {
  readonly config: AuthnConfig;
  readonly material: AuthnMaterial;
  readonly identity: Identity;
  readonly objects: Objects;
  readonly clock: Clock;
  /** `host:port` others reach this server at. */
  readonly serverAddress: string;
  readonly events: AuthnEvents;
  /** Where other servers write the same data: resolves when the logs hold what is newest, or that cannot be known. */
  readonly newest?: (() => Promise<unknown>) | undefined;
}

/** The signer of service account tokens, and its rules. */
export interface AccountIssuer {
  readonly signer: TokenSigner;
  /** Signs the tokens in secrets. */
  readonly controllerSigner: TokenSigner;
  /** The issuer of new tokens. */
  readonly issuer: string;
  /** The audiences of tokens that ask for none. */
  readonly audiences: readonly string[];
  /** 0: no limit. */
  readonly lifetimeSecondsMax: number;
  /** Tokens injected into pods live longer than they say. */
  readonly extends: boolean;
  /** `/.well-known/openid-configuration`, as JSON. */
  readonly configuration: string;
  /** `/openid/v1/jwks`, as JSON. */
  readonly keySet: string;
}

/** The user of a request; undefined: its credentials are invalid; "overloaded": they could not be reviewed. */
export type Sender = User | undefined | "overloaded";

/** Authentication of one front. */
export interface Authentication {
  /** The user of a request. Synchronous for all cached users. */
  authenticate(credentials: Credentials): Sender | Promise<Sender>;
  /** Annotations for the audit event of a request by this user, as authenticate() returned it; undefined: none. */
  notes(user: User): ReadonlyMap<string, string> | undefined;
  /**
   * The user of a token, for the audiences (empty: the server's own), or a refusal with its reason. Charged to `owner`.
   */
  review(
    token: string,
    audiences: readonly string[],
    owner?: Owner,
    spans?: TraceSpans,
  ): Promise<Exclude<Outcome, undefined>>;
  readonly accounts: AccountIssuer;
  /** The data of the config map with which other servers recognize the same users (upstream publishes it). */
  published(): ReadonlyMap<string, string>;
  /** Reads the files of authorities again; returns error messages. */
  reload(): string[];
}

/** Puts the authenticators together. */
export function createAuthentication(options: AuthnOptions): Authentication {
  const { config, clock, events } = options;
  const accounts = issuerOf(options);
  const users = bundleOf(config.clientCaFile);
  const proxies = bundleOf(config.requestHeader?.caFile ?? "");
  const tokens = cacheTokens(tokenUnion(tokenAuthenticators(options, accounts)), clock, events, limits.tokenCacheMsMax);
  const known: Authenticator[] = [];
  if (config.requestHeader !== undefined && proxies !== undefined) {
    known.push(requestHeaderAuthenticator(config.requestHeader, proxies, clock));
  }
  if (users !== undefined) known.push(certificateAuthenticator(users, clock, events));
  const protocolPrefix = options.identity.spell("base64url.bearer.authorization.k8s.io.");
  known.push(bearerAuthenticator(tokens), protocolAuthenticator(tokens, protocolPrefix));
  const named = withAuthenticatedGroup(union(known));
  const whole = config.anonymous ? withAnonymous(named) : named;
  const noted = new WeakMap<User, Accepted>();
  const userOf = (outcome: Outcome, begunMs: number): Sender => {
    const seconds = (clock.monotonic() - begunMs) / 1000;
    if (!isAccepted(outcome)) {
      events.attempted(outcome === undefined ? "failure" : "error", "", seconds);
      return outcome?.overloaded === true ? "overloaded" : undefined;
    }
    events.attempted("success", outcome.user.name, seconds);
    if (outcome.notes !== undefined) noted.set(outcome.user, outcome);
    return outcome.user;
  };
  return {
    authenticate: (credentials) => {
      const begunMs = clock.monotonic();
      const outcome = whole.authenticate(credentials);
      return outcome instanceof Promise ? outcome.then((late) => userOf(late, begunMs)) : userOf(outcome, begunMs);
    },
    notes: (user) => noted.get(user)?.notes?.(),
    review: reviewer(tokens, accounts.audiences),
    accounts,
    published: () => publishedData(config.requestHeader, users, proxies),
    reload: () => [users, proxies].flatMap((bundle) => describe(bundle?.path ?? "", bundle?.reload())),
  };
}

function bundleOf(path: string): Bundle | undefined {
  return path === "" ? undefined : new Bundle(path);
}

/** Upstream's keys; lists are JSON. */
function publishedData(
  headers: RequestHeaderConfig | undefined,
  users: Bundle | undefined,
  proxies: Bundle | undefined,
): Map<string, string> {
  const data = new Map<string, string>();
  if (users !== undefined) data.set("client-ca-file", users.pem);
  if (headers === undefined || proxies === undefined) return data;
  data.set("requestheader-client-ca-file", proxies.pem);
  data.set("requestheader-username-headers", JSON.stringify(headers.username));
  data.set("requestheader-group-headers", JSON.stringify(headers.group));
  data.set("requestheader-extra-headers-prefix", JSON.stringify(headers.extraPrefix));
  data.set("requestheader-allowed-names", JSON.stringify(headers.allowed));
  return data;
}

function describe(path: string, fault: string | undefined): string[] {
  return fault === undefined ? [] : [`${path}: ${fault}`];
}

/** Static, service accounts, bootstrap, OpenID Connect, webhook: local ones first, as upstream has them. */
function tokenAuthenticators(options: AuthnOptions, { audiences }: AccountIssuer): TokenAuthenticator[] {
  const { config, material, identity, objects, clock, newest } = options;
  const keys = parsePublicKeys(material.accountKeys);
  assert(typeof keys !== "string", "Main checked the keys of service accounts");
  const issuers = config.accounts.issuers.length > 0 ? config.accounts.issuers : [defaultIssuer(identity)];
  const { lookup } = config.accounts;
  const accounts = { identity, objects, clock, keys, issuers, audiences, lookup, events: options.events, newest };
  const list = [
    audienceAgnostic(staticTokens(material.tokens), audiences),
    legacyTokens(accounts),
    boundTokens(accounts),
  ];
  if (config.bootstrapTokens) list.push(audienceAgnostic(bootstrapTokens(identity, objects, clock), audiences));
  // After service accounts: their issuer may be the provider's, too.
  const { oidc, tokenWebhook } = config;
  if (oidc !== undefined) list.push(audienceAgnostic(oidcTokens(oidc, material.oidcAuthorities, clock), audiences));
  const { webhook: connection } = material;
  if (tokenWebhook !== undefined && connection !== undefined) {
    const asked = webhookTokens({ config: tokenWebhook, connection, identity, audiences });
    list.push(cacheTokens(asked, clock, options.events, tokenWebhook.cacheMs, tokenWebhook.cacheMs));
  }
  return list;
}

function issuerOf({ config, material, identity, serverAddress }: AuthnOptions): AccountIssuer {
  const { issuers, keySetUrl, lifetimeSecondsMax, extends: extended } = config.accounts;
  const signer = createSigner(material.signingKey);
  const controllerSigner = material.privateKey === "" ? signer : createSigner(material.privateKey);
  const keys = parsePublicKeys(material.accountKeys);
  assert(typeof signer !== "string", "Main checked the signing key");
  assert(typeof controllerSigner !== "string", "Main checked the key of the token controller");
  assert(typeof keys !== "string", "Main checked the keys of service accounts");
  const issuer = issuers[0] ?? defaultIssuer(identity);
  const own = issuers.length > 0 ? issuers : [issuer];
  const url = keySetUrl === "" ? `https://${serverAddress}/openid/v1/jwks` : keySetUrl;
  return {
    signer,
    controllerSigner,
    issuer,
    audiences: config.audiences.length > 0 ? config.audiences : own,
    lifetimeSecondsMax,
    extends: extended,
    configuration: discoveryConfiguration(issuer, url, keys),
    keySet: keySetDocument(keys),
  };
}

/** Asks the token authenticators alone; a token without a result is an invalid token, first of all (upstream). */
function reviewer(tokens: TokenAuthenticator, own: readonly string[]): Authentication["review"] {
  return async (token, audiences, owner, spans) => {
    const ownerOf = (): Owner | undefined => owner;
    const asked = audiences.length > 0 ? audiences : own;
    const one = withAuthenticatedGroup({ authenticate: () => tokens.authenticateToken(token, asked, ownerOf, spans) });
    const outcome = await one.authenticate({ headers: [], peer: undefined });
    if (isAccepted(outcome)) return outcome;
    return { reasons: [...invalidToken.reasons, ...(outcome?.reasons ?? [])] };
  };
}
