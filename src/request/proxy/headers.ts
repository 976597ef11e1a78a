// Headers on their way through: what of a request another server may see, and what of its answer the client. No
// credentials of the client pass, nor a user it names, nor what is said about one connection alone (RFC 9110 7.6.1).
import type { Headers } from "../exchange/transport.ts";

/** About one connection, named by `Connection:` or not. */
const hopByHop: ReadonlySet<string> = new Set([
  "connection",
  "proxy-connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Of requests: what is written anew, and credentials. */
const replaced: ReadonlySet<string> = new Set(["host", "content-length", "expect", "authorization"]);

const withheldPrefixes = ["impersonate-", "x-remote-"];

/** Which headers name users, and how bearer tokens look among WebSocket protocols. */
export interface Withheld {
  /** In lower case. */
  readonly names: ReadonlySet<string>;
  readonly prefixes: readonly string[];
  /** What a WebSocket protocol begins with that is a token. */
  readonly tokenProtocol: string;
}

/** Names a Connection header lists, in lower case: they are about that connection alone. */
export function namedByConnection(headers: Headers): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [name, value] of headers) {
    if (name.toLowerCase() !== "connection") continue;
    for (const part of value.split(",")) names.add(part.trim().toLowerCase());
  }
  return names;
}

/** What of a client's headers passes to another server; names in lower case, as they came. */
export function passedHeaders(headers: Headers, { names, prefixes, tokenProtocol }: Withheld): Headers {
  const named = namedByConnection(headers);
  const passed: (readonly [string, string])[] = [];
  for (const [name, value] of headers) {
    // Some servers take an underscore for a hyphen (CGI), and would believe the client's own.
    const read = name.replaceAll("_", "-");
    if (hopByHop.has(read) || replaced.has(read) || named.has(name) || names.has(read)) continue;
    if ([...withheldPrefixes, ...prefixes].some((prefix) => read.startsWith(prefix))) continue;
    const kept = read === "sec-websocket-protocol" ? withoutTokens(value, tokenProtocol) : value;
    if (kept !== undefined) passed.push([name, kept]);
  }
  return passed;
}

/** WebSocket protocols without bearer tokens; undefined: there was nothing else. */
function withoutTokens(value: string, tokenProtocol: string): string | undefined {
  if (!value.includes(tokenProtocol)) return value;
  const kept = value
    .split(",")
    .map((protocol) => protocol.trim())
    .filter((protocol) => protocol !== "" && !protocol.startsWith(tokenProtocol));
  return kept.length === 0 ? undefined : kept.join(", ");
}

/** Of answers: fronts write these themselves, and the id of a request is ours. */
const answeredAnew: ReadonlySet<string> = new Set(["content-length", "date", "audit-id"]);

/**
 * What of another server's headers (raw: names and values in turn, read as latin1) passes to the client. `location`
 * rewrites where an answer leads.
 */
export function answerHeaders(raw: readonly string[], location: (value: string) => string): Headers {
  const headers: (readonly [string, string])[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) {
    headers.push([raw[at] as string, Buffer.from(raw[at + 1] as string, "latin1").toString("utf8")]);
  }
  const named = namedByConnection(headers);
  return headers.flatMap(([name, value]) => {
    const lower = name.toLowerCase();
    if (hopByHop.has(lower) || answeredAnew.has(lower) || named.has(lower)) return [];
    return [[name, lower === "location" ? location(value) : value] as const];
  });
}
