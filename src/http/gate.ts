// The strict gate for HTTP: input that a parser accepted and RFC 9112 does not allow is rejected here, before a handler
// runs, and every header value that leaves passes one encoder. Both fronts call it; it knows neither of them.

import { assert } from "../base/assert.ts";
import { STATUS_CODES } from "../base/http.ts";
import { limits } from "../config/limits.ts";
import type { Headers } from "../request/exchange/transport.ts";

/** Why a request head is refused: answered as text/plain with this code, then the connection is closed. */
export interface HeadFault {
  readonly code: 400 | 417 | 431;
  readonly message: string;
}

/** A request head as a parser hands it over; header names in lower case. */
export interface Head {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Headers;
}

/** The framing of a message, from its valid head. */
export interface Framing {
  /** Length of the body, undefined when it is chunked. */
  readonly length: number | undefined;
  /** The connection is spent after the answer: the client said so, or means to speak another protocol behind the head. */
  readonly close: boolean;
  /** The head says how long the body is, or that it is chunked. */
  readonly framed: boolean;
}

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const fieldValue = /^[\t\x20-\x7e\x80-\uffff]*$/;
/** Anything visible; a fragment never belongs in a request. */
const target = /^[!-"$-~\x80-\uffff]*$/;
/** Registered name, IPv4 or bracketed IPv6 address, optional port; empty is legal (RFC 9112 3.2). */
const authority = /^(?:[A-Za-z0-9.\-_~%!$&'()*+;=]*|\[[0-9A-Fa-f:.%A-Za-z]+\])(?::[0-9]*)?$/;
const digits = /^[0-9]{1,15}$/;

const plain: Framing = { length: 0, close: false, framed: false };

function bad(message: string): HeadFault {
  return { code: 400, message };
}

/**
 * Checks a request head against RFC 9110 5, 9112 2.2, 3.2, 5.1 and 6: names and values, one Host, an unambiguous body
 * length. `countMax` is the most header fields the front can carry.
 */
export function checkHead(head: Head, countMax: number = limits.headerCountMax): Framing | HeadFault {
  const { headers } = head;
  if (headers.length > countMax) return { code: 431, message: `More than ${countMax} header fields` };
  if (!token.test(head.method)) return bad("Malformed method");
  // A success would make a tunnel of the connection (RFC 9110 9.3.6), and the following bytes are of another protocol.
  if (head.method === "CONNECT") return bad("CONNECT is not served");
  if (!head.path.startsWith("/") && !(head.path === "*" && head.method === "OPTIONS"))
    return bad("Malformed request target");
  if (!target.test(head.path) || !target.test(head.query)) return bad("Malformed request target");
  let bytes = head.method.length + head.path.length + head.query.length;
  let hosts = 0;
  let length: string | undefined;
  let coding: string | undefined;
  let close = false;
  for (const [name, value] of headers) {
    bytes += name.length + value.length + 4;
    if (!token.test(name)) return bad("Malformed header name");
    if (!fieldValue.test(value)) return bad(`Malformed value of header ${name}`);
    switch (name) {
      case "host":
        if (++hosts > 1) return bad("More than one Host header");
        if (!authority.test(value)) return bad("Malformed Host header");
        break;
      case "content-length":
        if (length !== undefined) return bad("More than one Content-Length header");
        if (!digits.test(value)) return bad("Malformed Content-Length header");
        length = value;
        break;
      case "transfer-encoding":
        if (coding !== undefined) return bad("More than one Transfer-Encoding header");
        if (value !== "chunked") return bad("Unsupported Transfer-Encoding");
        coding = value;
        break;
      case "connection":
        if (/(?:^|[ \t,])close(?:$|[ \t,])/i.test(value)) close = true;
        break;
      case "upgrade":
        close = true;
        break;
      case "expect":
        if (value.toLowerCase() !== "100-continue") return { code: 417, message: "Unsupported Expect header" };
        break;
      default:
    }
  }
  if (bytes > limits.headBytesMax)
    return { code: 431, message: `Request head larger than ${limits.headBytesMax} bytes` };
  if (hosts === 0) return bad("Missing Host header");
  if (coding !== undefined && length !== undefined) return bad("Content-Length beside Transfer-Encoding");
  if (length === undefined && coding === undefined && !close) return plain;
  const framed = coding !== undefined || length !== undefined;
  return { length: coding === undefined ? Number(length ?? 0) : undefined, close, framed };
}

/** Tells a refusal from a sound head. */
export function isHeadFault(checked: Framing | HeadFault): checked is HeadFault {
  return "code" in checked;
}

const unsafe = /[\x00-\x08\x0a-\x1f\x7f]/;
const unsafeAll = new RegExp(unsafe, "g");

/**
 * Encodes the value of a response header: control bytes, line ends above all, become `%XX`, so that no value can end a
 * header or an answer.
 */
export function encodeHeaderValue(value: string): string {
  if (!unsafe.test(value)) return value;
  return value.replace(unsafeAll, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`);
}

/** Headers that the fronts write themselves, consistent with body and connection. */
const ownHeaders = new Set(["content-length", "date", "transfer-encoding", "connection"]);

/** Cached checks of header names; names are ours, and few. */
const knownNames = new Map<string, boolean>();
const knownNamesMax = 1_000;

/** Whether a handler's header is sent: the fronts write some themselves. Asserts that the name is one. */
export function isSent(name: string): boolean {
  const known = knownNames.get(name);
  if (known !== undefined) return known;
  assert(token.test(name), `A header name must be a token: ${JSON.stringify(name)}`);
  const sent = !ownHeaders.has(name.toLowerCase());
  if (knownNames.size < knownNamesMax) knownNames.set(name, sent);
  return sent;
}

/** Whether a handler asks for the connection to be closed. */
export function asksClose(headers: Headers): boolean {
  for (const [name, value] of headers) {
    if (name.length === "connection".length && name.toLowerCase() === "connection" && value === "close") return true;
  }
  return false;
}

/** Whether an answer to `method` with `code` has no body (RFC 9110 6.4.1). */
export function bodiless(method: string, code: number): boolean {
  return method === "HEAD" || code === 204 || code === 304;
}

const statusLines = new Map<number, string>();

/** Code and reason phrase of an answer, as its first line has them. */
export function statusLine(code: number): string {
  let line = statusLines.get(code);
  if (line === undefined) {
    line = `${code} ${STATUS_CODES[code] ?? "Unknown"}`;
    statusLines.set(code, line);
  }
  return line;
}
