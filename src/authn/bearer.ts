// Where a request carries a bearer token: the Authorization header (RFC 6750 2.1), or for browsers, which cannot set
// one, a subprotocol of a WebSocket handshake. Neither is ever echoed, logged or handed on.
import { ownerAt } from "../base/network.ts";
import type { Owner } from "../base/shares.ts";
import {
  type Authenticator,
  type Credentials,
  type Headers,
  mapOutcome,
  type Outcome,
  refused,
  type TokenAuthenticator,
} from "./authenticator.ts";

/** The refusal of an unknown token. */
export const invalidToken = refused("invalid bearer token");

const unknownIsInvalid = (outcome: Outcome): Outcome => outcome ?? invalidToken;

/** Looks at the Authorization header. An unknown token is rejected. */
export function bearerAuthenticator(tokens: TokenAuthenticator): Authenticator {
  return {
    authenticate: (credentials) => {
      const { headers, spans } = credentials;
      const authorization = headerValue(headers, "authorization");
      if (authorization === undefined) return undefined;
      const token = bearerToken(authorization);
      if (token === undefined) return undefined;
      return mapOutcome(
        tokens.authenticateToken(token, undefined, () => senderOf(credentials), spans),
        unknownIsInvalid,
      );
    },
  };
}

/** The owner that reviews of a token are charged to: its user is not known yet. */
function senderOf({ remote }: Credentials): Owner | undefined {
  return remote === undefined ? undefined : ownerAt(remote, "ordinary");
}

/** The token of an Authorization header, when it is a bearer's. */
export function bearerToken(authorization: string): string | undefined {
  const [scheme = "", token = ""] = authorization.trim().split(" ", 2);
  return scheme.toLowerCase() === "bearer" && token !== "" ? token : undefined;
}

function headerValue(headers: Headers, name: string): string | undefined {
  for (const header of headers) if (header[0] === name) return header[1];
  return undefined;
}

/**
 * Looks at the subprotocols of a WebSocket handshake for one that begins with `prefix` and continues with a token in
 * base64url. There must be another one beside it, which is the one that is spoken.
 */
export function protocolAuthenticator(tokens: TokenAuthenticator, prefix: string): Authenticator {
  return {
    authenticate: (credentials) => {
      const { headers, spans } = credentials;
      if (!asksWebSocket(headers)) return undefined;
      const protocols = protocolsOf(headers);
      const carriers = protocols.filter((protocol) => protocol.startsWith(prefix));
      const [carrier] = carriers;
      if (carrier === undefined) return undefined;
      if (carriers.length > 1) return refused("multiple base64.bearer.authorization tokens specified");
      const token = readToken(carrier.slice(prefix.length));
      if (typeof token !== "string") return token;
      if (protocols.length === 1) return refused("missing additional subprotocol");
      if (token === "") return undefined;
      return mapOutcome(
        tokens.authenticateToken(token, undefined, () => senderOf(credentials), spans),
        unknownIsInvalid,
      );
    },
  };
}

function asksWebSocket(headers: Headers): boolean {
  const upgrade = headerValue(headers, "upgrade");
  if (upgrade === undefined || upgrade.toLowerCase() !== "websocket") return false;
  return headers.some(([name, value]) => name === "connection" && /(?:^|[, \t])upgrade(?:$|[, \t])/i.test(value));
}

function protocolsOf(headers: Headers): string[] {
  const lists = headers.filter(([name]) => name === "sec-websocket-protocol");
  return lists.flatMap(([, value]) => value.split(",").map((protocol) => protocol.trim()));
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function readToken(encoded: string): string | ReturnType<typeof refused> {
  if (!/^[A-Za-z0-9_-]*$/.test(encoded) || encoded.length % 4 === 1) {
    return refused("invalid base64.bearer.authorization token encoding");
  }
  try {
    return utf8.decode(Buffer.from(encoded, "base64url"));
  } catch {
    return refused("invalid base64.bearer.authorization token");
  }
}
