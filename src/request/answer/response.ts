// Answers leave through here: common headers, formats, compression. One exit for refusals.
import { constants, createGzip, gzip } from "node:zlib";
import type { Message } from "../../api/schema.ts";
import { isStatus, type Status } from "../../api/status.ts";
import { statusJson } from "../../api/statusjson.ts";
import type { Entry } from "../../audit/entry.ts";
import { copyOf } from "../../base/copy.ts";
import { limits } from "../../config/limits.ts";
import type { Gathered } from "../../observe/gathered.ts";
import { serverTiming, type Trace } from "../../observe/trace.ts";
import type { AnswerStream, Exchange, Headers } from "../exchange/transport.ts";
import {
  type Accepted,
  acceptsGzip,
  type MediaTypes,
  negotiateRefusal,
  type PrintFormat,
  printFormatOf,
} from "../route/negotiate.ts";
import { type ItemOf, print, printText, type TextFormat } from "./print.ts";
import { protoStatus } from "./protoanswer.ts";

/** What every answer of one request carries besides its own. */
export interface Reply {
  readonly exchange: Exchange;
  readonly types: MediaTypes;
  /** Audit-Id and Warning headers of the request, in order. */
  readonly extra: readonly (readonly [string, string])[];
  /** Told once, before the answer leaves: its code and bytes (-1 for a stream). */
  readonly answered: (code: number, bytes: number) => void;
  /** Told of the bytes of a streamed answer, chunk by chunk. */
  readonly sent?: (bytes: number) => void;
  /** Answers may be gzipped (gate APIResponseCompression). */
  readonly packs: boolean;
  /** An answer that is being gzipped: settled when it was sent. The request is not over before. */
  packing?: Promise<void>;
  /** The owner of its long work (authz/owner.ts); left out: the server itself. */
  lane?: string;
  /** Prints what is big on another thread; undefined: here. */
  printer?: Printer;
  /** Where the time went; its header leaves with the answer. */
  trace: Trace;
  /** Told of the answer's status and, where the policy wants it, its object; undefined: nothing is written down. */
  audit?: Entry | undefined;
}

/** Prints answers elsewhere than on this thread. */
export interface Printer {
  /** Whether so many bytes of JSON are better printed elsewhere. */
  takes(bytes: number): boolean;
  /** The JSON in another format; a Status where that is refused. */
  print(format: PrintFormat, message: Message, json: Uint8Array): Promise<Uint8Array | Status>;
  /** The JSON as an item of a list. */
  printItem(format: TextFormat, json: Uint8Array, item: ItemOf): Promise<Uint8Array | Status>;
}

const noCache = ["Cache-Control", "no-cache, private"] as const;
const encoder = new TextEncoder();

/** Headers of an answer of `contentType`. */
export function headersOf(reply: Reply, contentType: string, more: Headers = []): Headers {
  reply.trace.done("answer");
  const { timing } = reply.trace;
  const timed: Headers = timing === undefined ? more : [...more, ["Server-Timing", serverTiming(timing)]];
  return [...reply.extra, noCache, ["Content-Type", contentType], ...timed];
}

/** Headers of the answer to an upload that came too late: the rest of it is not waited for. */
export const hangUp: Headers = [["Connection", "close"]];

/**
 * Warning headers of an answer, one per text. Texts may hold what a client sent, so they are made safe for a header and
 * told once each. Beyond `warningCharsMax` together, each is cut, and what still does not fit is left out (the bounds are
 * those of upstream's warning filter).
 */
export function warningHeaders(texts: readonly string[]): Headers {
  const once = [...new Set(texts)];
  const whole = once.reduce((chars, text) => chars + text.length, 0) <= limits.warningCharsMax;
  if (whole) return once.map(warning);
  const headers: Headers[number][] = [];
  let chars = 0;
  for (const text of once) {
    if (chars >= limits.warningCharsMax) break;
    const cut = text.slice(0, limits.warningTextCharsMax);
    headers.push(warning(cut));
    chars += cut.length;
  }
  return headers;
}

/**
 * Warnings of many objects on their way into one answer: each text once, and none of those that warningHeaders() would
 * leave out anyway, so that they take no more room than one answer's.
 */
export class WarningSieve {
  readonly #into: string[];
  readonly #known: Set<string>;
  /** Characters of what is there, each text counted as far as it would be shown. */
  #chars = 0;

  /** What is in `into` already stays. */
  constructor(into: string[]) {
    this.#into = into;
    this.#known = new Set(into);
  }

  take(texts: readonly string[]): void {
    for (const text of texts) {
      if (this.#chars > limits.warningCharsMax) return;
      // One longer than all together is cut whatever its end is.
      const kept = text.slice(0, limits.warningCharsMax + 1);
      if (this.#known.has(kept)) continue;
      this.#known.add(kept);
      this.#into.push(kept);
      this.#chars += Math.min(kept.length, limits.warningTextCharsMax);
    }
  }
}

/** RFC 7234 warn-text: a quoted string, without what a header cannot hold. */
function warning(text: string): Headers[number] {
  const safe = text.replace(/[^\x20-\x7e]/g, " ").replace(/["\\]/g, "\\$&");
  return ["Warning", `299 - "${safe}"`];
}

/** Sends plain text. */
export function sendText(
  reply: Reply,
  code: number,
  text: string,
  contentType = "text/plain; charset=utf-8",
  more: Headers = [],
): void {
  sendBody(reply, code, text, contentType, [["X-Content-Type-Options", "nosniff"], ...more]);
}

/** Whether an answer may be gzipped. */
export function takesGzip({ packs, exchange }: Reply): boolean {
  return packs && acceptsGzip(exchange.header("accept-encoding"));
}

/** Sends a whole body: gzipped where it is large and the client reads that, as upstream does. */
function sendBody(reply: Reply, code: number, body: Uint8Array | string, contentType: string, more: Headers): void {
  if (body.length > limits.gzipBytesMin && takesGzip(reply)) {
    reply.packing = sendGzip(reply, code, body, contentType, more);
    return;
  }
  reply.answered(code, body.length);
  reply.exchange.send(code, headersOf(reply, contentType, more), body);
}

/** Sends a body that may be gzipped already. */
export function sendPacked(
  reply: Reply,
  { code, body, isGzipped }: Gathered,
  contentType: string,
  more: Headers = [],
): void {
  if (reply.exchange.aborted) return;
  reply.answered(code, body.length);
  const packed: Headers = isGzipped ? gzipHeaders : [];
  reply.exchange.send(code, headersOf(reply, contentType, [...packed, ...more]), body);
}

/** Sends a JSON document that is the same for every client, and for the next hour. */
export function sendPublic(reply: Reply, contentType: string, json: string): void {
  reply.answered(200, json.length);
  const cached = ["Cache-Control", "public, max-age=3600"] as const;
  reply.exchange.send(200, [...reply.extra, cached, ["Content-Type", contentType]], json);
}

/** Upstream's answer for a path nothing is served at. */
export function sendNotFoundPage(reply: Reply): void {
  sendText(reply, 404, "404 page not found\n");
}

/** Sends a Status in the format negotiated, or before that in the one the request would get a refusal in. */
export function sendStatus(reply: Reply, status: Status, negotiated?: Accepted, headers: Headers = []): void {
  reply.audit?.refused(status);
  // A refusal has no other form than its own; asking for one only is answered in JSON.
  const accepted =
    negotiated === undefined || negotiated.form !== undefined
      ? negotiateRefusal(reply.exchange.header("accept"), reply.types)
      : negotiated;
  const retry = status.details?.retryAfterSeconds;
  const again: Headers = retry === undefined || retry === 0 ? [] : [["Retry-After", String(retry)]];
  const more: Headers = [...again, ...headers];
  // Upstream's router refuses these before anything knows of the version's age.
  const routed = isUnrouted(status) ? { ...reply, extra: reply.extra.filter(([name]) => name !== "Warning") } : reply;
  if (accepted.format === "protobuf") return sendBytes(routed, status.code, protoStatus(status), accepted, more);
  sendJson(routed, status.code, encoder.encode(`${statusJson(status)}\n`), accepted, more);
}

/** Whether nothing offered or taken at a path fits the request's types. */
function isUnrouted({ code, message }: Status): boolean {
  return (code === 406 || code === 415) && message.startsWith(`${code}: `);
}

/** Sends an object of `message` (or a Status), which is there as JSON, in the format asked for. */
export function sendObject(
  reply: Reply,
  code: number,
  json: Uint8Array,
  message: Message,
  accepted: Accepted,
  more: Headers = [],
): void {
  reply.audit?.responded(json);
  const format = printFormatOf(accepted);
  const { printer } = reply;
  if (format !== undefined && printer?.takes(json.length)) {
    reply.packing = sendPrinted(reply, printer, { code, json, message, format }, accepted, more);
    return;
  }
  if (format === undefined) return sendJson(reply, code, json, accepted, more);
  sendBytes(reply, code, print(format, message, json), accepted, more);
}

/** An answer that is there as JSON. */
interface Unprinted {
  readonly code: number;
  readonly json: Uint8Array;
  readonly message: Message;
  readonly format: PrintFormat;
}

/** Sends what another thread prints. What was written is told in any case: where that thread is not to be had, here. */
async function sendPrinted(
  reply: Reply,
  printer: Printer,
  { code, json, message, format }: Unprinted,
  accepted: Accepted,
  more: Headers,
): Promise<void> {
  const { exchange } = reply;
  const isRead = exchange.method === "GET" || exchange.method === "HEAD";
  const bytes = own(json);
  const printed = await printer.print(format, message, bytes);
  if (exchange.aborted) return;
  if (isStatus(printed) && isRead) return sendStatus(reply, printed, accepted);
  delete reply.packing;
  sendBytes(reply, code, isStatus(printed) ? print(format, message, bytes) : printed, accepted, more);
  if (reply.packing !== undefined) await reply.packing;
}

/** Sends bytes that are in the format asked for. */
export function sendBytes(reply: Reply, code: number, bytes: Uint8Array, accepted: Accepted, more: Headers = []): void {
  sendBody(reply, code, bytes, accepted.contentType, more);
}

/** Answers a HEAD where a GET would get a stream: its headers, and nothing is begun that would go on. */
export function sendStreamHead(reply: Reply, headers: Headers): void {
  reply.answered(200, 0);
  reply.exchange.stream(200, headers).end();
}

/** Sends 204: all is well and there is nothing to show. */
export function sendNothing(reply: Reply): void {
  reply.answered(204, 0);
  reply.exchange.send(204, [...reply.extra, noCache], "");
}

/** Sends one JSON document (with or without its newline) in the text format asked for. */
export function sendJson(
  reply: Reply,
  code: number,
  json: Uint8Array,
  accepted: Accepted | undefined,
  more: Headers = [],
): void {
  const format = accepted && printFormatOf(accepted);
  if (accepted === undefined || format === undefined || format === "protobuf") {
    return sendBody(reply, code, json, accepted?.contentType ?? "application/json", more);
  }
  sendBody(reply, code, printText(format, json), accepted.contentType, more);
}

/** Headers of a compressed answer. */
export const gzipHeaders: Headers = [
  ["Content-Encoding", "gzip"],
  ["Vary", "Accept-Encoding"],
];

/** The byte a gzipped body begins with (RFC 1952 2.3.1): a space ahead of it would not be skipped. */
export const gzipOpening = 0x1f;

/** Sends a document gzipped; resolves when it was sent, so that the request is reported with its answer. */
async function sendGzip(
  reply: Reply,
  code: number,
  body: Uint8Array | string,
  contentType: string,
  more: Headers,
): Promise<void> {
  // zlib reads in another thread, after shared memory may have been recycled.
  const bytes = typeof body === "string" ? Buffer.from(body) : own(body);
  const packed = await new Promise<Uint8Array | undefined>((resolve) => {
    gzip(bytes, { level: constants.Z_BEST_SPEED }, (error, done) => resolve(error === null ? done : undefined));
  });
  if (reply.exchange.aborted) return;
  const sent = packed ?? bytes;
  reply.answered(code, sent.length);
  const headers = packed === undefined ? more : [...more, ...gzipHeaders];
  reply.exchange.send(code, headersOf(reply, contentType, headers), sent);
}

function own(bytes: Uint8Array): Uint8Array {
  return bytes.buffer instanceof SharedArrayBuffer ? copyOf(bytes) : bytes;
}

/**
 * A streamed answer that compresses on the way; same contract as AnswerStream. zlib keeps at most
 * `limits.listChunkBytes` waiting: write() returns false while it works on a chunk.
 */
export function gzipStream(stream: AnswerStream): AnswerStream {
  const packer = createGzip({ level: constants.Z_BEST_SPEED, chunkSize: limits.sliceBytesMax });
  let drained: () => void = () => undefined;
  packer.on("data", (chunk: Buffer) => {
    if (!stream.write(chunk)) packer.pause();
  });
  packer.on("drain", () => drained());
  packer.on("end", () => stream.end());
  packer.on("error", () => stream.abort());
  stream.onDrain(() => packer.resume());
  return {
    // The chunk is copied: zlib works on it in another thread after this call returned.
    write: (chunk) => packer.write(Buffer.from(chunk)),
    onDrain: (callback) => {
      drained = callback;
    },
    end: () => {
      packer.end();
    },
    abort: () => {
      packer.destroy();
      stream.abort();
    },
  };
}
