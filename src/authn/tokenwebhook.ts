// Tokens that a webhook reviews: it is sent a TokenReview and responds with the same and a status. Its result is
// cached for a while; when it is unavailable, its tokens are rejected (upstream: webhook token authenticator).
import type { Identity } from "../api/identity.ts";
import type { User } from "../api/user.ts";
import { type Owner, Shares } from "../base/shares.ts";
import { limits } from "../config/limits.ts";
import type { TokenWebhookConfig } from "../config/remoteauthnflags.ts";
import { clientCalls } from "../observe/clientcalls.ts";
import { type Asker, CallFailure, type Connection, OutboundClient } from "../outbound/client.ts";
import { post } from "../outbound/post.ts";
import { type Outcome, type Refused, refused, type TokenAuthenticator } from "./authenticator.ts";
import { type Claims, claimOf, textClaim } from "./jwt.ts";

/** Of reviews the server asks for itself. */
const own: Owner = { name: "", level: "masters" };

const tooMany: Refused = { reasons: ["too many token reviews are under way"], overloaded: true };

/** After the first try, milliseconds (upstream: 0.5 s). */
const pauseMs = 500;

/** Dependencies and settings of a token webhook. */
export interface TokenWebhookOptions {
  readonly config: TokenWebhookConfig;
  readonly connection: Connection;
  readonly identity: Identity;
  /** The server's own audiences. */
  readonly audiences: readonly string[];
  /** Waits; a test's does not. */
  readonly pause?: (ms: number) => Promise<void>;
}

/** Knows the tokens a service knows. */
export function webhookTokens(options: TokenWebhookOptions): TokenAuthenticator {
  const client = new OutboundClient(options.connection, clientCalls);
  const underWay = new Shares("token reviews", limits.tokenReviewsMax);
  return {
    authenticateToken: async (token, audiences, ownerOf = undefined, spans = undefined) => {
      const owner = ownerOf?.() ?? own;
      const leave = underWay.take(owner);
      if (leave === undefined) return tooMany;
      try {
        return await ask(options, client, { owner, spans }, token, audiences ?? options.audiences);
      } finally {
        leave();
      }
    },
  };
}

async function ask(
  options: TokenWebhookOptions,
  client: OutboundClient,
  { owner, spans }: Asker,
  token: string,
  audiences: readonly string[],
): Promise<Outcome> {
  const { config, identity, pause } = options;
  const apiVersion = `${identity.spell("authentication.k8s.io")}/${config.version}`;
  const body = JSON.stringify({
    kind: "TokenReview",
    apiVersion,
    metadata: { creationTimestamp: null },
    spec: { token, audiences },
    status: { user: {} },
  });
  const answer = await post(client, body, {
    pauseMs,
    callMs: () => limits.tokenReviewMsMax,
    pause,
    owner,
    traced: spans && { spans, name: "token webhook" },
  });
  if (answer instanceof CallFailure && answer.failure === "busy") return tooMany;
  if (answer instanceof CallFailure) return refused(`the token webhook failed: ${answer.message}`);
  if (answer.code !== 200 && answer.code !== 201)
    return refused(`the token webhook failed: it answered ${answer.code}`);
  return readReview(answer.body, apiVersion, audiences, options);
}

function readReview(body: Buffer, apiVersion: string, asked: readonly string[], options: TokenWebhookOptions): Outcome {
  const review = parse(body);
  const status = objectOf(review && claimOf(review, "status"));
  if (review === undefined || textClaim(review, "kind") !== "TokenReview" || status === undefined) {
    return refused("the token webhook failed: its answer is no TokenReview");
  }
  if (textClaim(review, "apiVersion") !== apiVersion) {
    return refused("the token webhook failed: its answer has another version than the question");
  }
  // A service that says nothing of audiences means the server's own.
  const named = textsOf(claimOf(status, "audiences"));
  const good = named === undefined || named.length === 0 ? options.audiences : named;
  const common = asked.filter((audience) => good.includes(audience));
  if (claimOf(status, "authenticated") !== true) {
    const error = textClaim(status, "error") ?? "";
    return error === "" ? undefined : refused(error);
  }
  if (common.length === 0) return undefined;
  const user = readUser(objectOf(claimOf(status, "user")));
  return user === undefined ? refused("the token webhook failed: it names no user") : { user, audiences: common };
}

function parse(body: Buffer): Claims | undefined {
  try {
    return objectOf(JSON.parse(body.toString("utf8")) as unknown);
  } catch {
    return undefined;
  }
}

function objectOf(value: unknown): Claims | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Claims) : undefined;
}

function textsOf(value: unknown): string[] | undefined {
  return Array.isArray(value) && value.every((one) => typeof one === "string") ? (value as string[]) : undefined;
}

function readUser(user: Claims | undefined): User | undefined {
  if (user === undefined) return undefined;
  const extra = new Map<string, readonly string[]>();
  for (const [key, value] of Object.entries(objectOf(claimOf(user, "extra")) ?? {})) {
    const texts = textsOf(value);
    if (texts === undefined) return undefined;
    extra.set(key, texts);
  }
  const groups = claimOf(user, "groups") === undefined ? [] : textsOf(claimOf(user, "groups"));
  const name = textClaim(user, "username") ?? "";
  if (name === "" || groups === undefined) return undefined;
  return { name, uid: textClaim(user, "uid") ?? "", groups, extra };
}
