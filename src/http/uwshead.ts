// Heads of responses on the uWS build: their size in its cork buffer, and how one that may not fit is sent in parts.
import { STATUS_CODES } from "../base/http.ts";
import type { Headers } from "../request/exchange/transport.ts";
import { encodeHeaderValue, type HeadFault, isSent, statusLine } from "./gate.ts";
import type { HttpResponse } from "./uwsbuild.ts";

/** Bytes of the cork buffer. */
export const corkBytesMax = 16 * 1024;
/** Bytes the build adds to a head: protocol, date, length, its own mark, connection. */
const ownHeadBytes = 256;

/**
 * Answers a malformed head and closes. The build continues with the next pipelined request after a response it still
 * has in its cork buffer, even when told to close; one that overflows the buffer closes at once. Hence the padding.
 */
export function refuse(res: HttpResponse, fault: HeadFault): void {
  res.onAborted(() => {});
  res.writeStatus(statusLine(fault.code));
  res.writeHeader("Content-Type", "text/plain; charset=utf-8");
  res.end(`${fault.code} ${STATUS_CODES[fault.code]}: ${fault.message}\n`.padEnd(corkBytesMax + 1024), true);
}

/** The head of an answer. */
export interface Head {
  readonly code: number;
  readonly headers: Headers;
  /** Its bytes in the cork buffer, at most. */
  readonly bytes: number;
}

/** Measures the head of an answer. */
export function headOf(code: number, headers: Headers): Head {
  let bytes = ownHeadBytes;
  for (const [name, value] of headers) bytes += headerBytes(name, value);
  return { code, headers, bytes };
}

/** Bytes of one header field at most: encoded, and in UTF-8, no character of a value takes more than three. */
function headerBytes(name: string, value: string): number {
  return name.length + 3 * value.length + ": \r\n".length;
}

/** Writes a head in the cork the caller holds. */
export function writeHead(res: HttpResponse, head: Head): void {
  res.writeStatus(statusLine(head.code));
  for (const [name, value] of head.headers) if (isSent(name)) res.writeHeader(name, encodeHeaderValue(value));
}

/**
 * Sends a head by itself, one that may not fit the cork buffer in parts. Not from inside the parser. True: every part
 * fits, so that none can be missing; bytes a full socket does not take wait in the build.
 */
export function sendHead(res: HttpResponse, head: Head): boolean {
  if (head.bytes <= corkBytesMax) {
    res.cork(() => writeHead(res, head));
    return true;
  }
  res.cork(() => res.writeStatus(statusLine(head.code)));
  let whole = true;
  for (const [name, value] of head.headers) {
    if (!isSent(name)) continue;
    res.cork(() => res.writeHeader(name, encodeHeaderValue(value)));
    whole &&= headerBytes(name, value) <= corkBytesMax;
  }
  return whole;
}
