// Answers leave through here: common headers, formats, compression. One exit for refusals.
import { constants, createGzip, gzip } from "node:zlib";
import type { Message } from "../api/schema.ts";
import type { Status } from "../api/status.ts";
import { statusJson } from "../api/statusjson.ts";
import type { Entry } from "../audit/entry.ts";
import { assert } from "../base/assert.ts";
import { parseJson } from "../codec/json.ts";
import { prettyJson } from "../codec/print.ts";
import { yamlText } from "../codec/yamlprint.ts";
import { limits } from "../config/limits.ts";
import { serverTiming, type Trace } from "../observe/trace.ts";
import { type Accepted, type MediaTypes, negotiateRefusal } from "./negotiate.ts";
import { protoDocument, protoStatus } from "./protoanswer.ts";
import type { AnswerStream, Exchange, Headers } from "./transport.ts";

/** What every answer of one request carries besides its own. */
export interface Reply {
  readonly exchange: Exchange;
  readonly types: MediaTypes;
  /** Audit-Id and Warning headers of the request, in order. */
  readonly extra: readonly (readonly [string, string])[];
  /** Told once, before the answer leaves: its code and bytes (-1 for a stream). */
  readonly answered: (code: number, bytes: number) => void;
  /** Where the time went; its header leaves with the answer. */
  trace: Trace;
  /** Told of the answer's status and, where the policy wants it, its object; undefined: nothing is written down. */
  audit?: Entry | undefined;
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

/** Sends plain text. */
export function sendText(reply: Reply, code: number, text: string, contentType = "text/plain; charset=utf-8"): void {
  reply.answered(code, text.length);
  const safe: Headers = [["X-Content-Type-Options", "nosniff"]];
  reply.exchange.send(code, headersOf(reply, contentType, safe), text);
}

/** Sends a JSON document that is the same for everybody, and for the next hour. */
export function sendPublic(reply: Reply, contentType: string, json: string): void {
  reply.answered(200, json.length);
  const cached = ["Cache-Control", "public, max-age=3600"] as const;
  reply.exchange.send(200, [...reply.extra, cached, ["Content-Type", contentType]], json);
}

/** The reference's answer for a path nothing is served at. */
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
  if (accepted.format === "protobuf") return sendBytes(reply, status.code, protoStatus(status), accepted, more);
  sendJson(reply, status.code, encoder.encode(`${statusJson(status)}\n`), accepted, more);
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
  if (accepted.format !== "protobuf") return sendJson(reply, code, json, accepted, more);
  sendBytes(reply, code, protoDocument(message, json), accepted, more);
}

/** Sends bytes that are in the format asked for. */
export function sendBytes(reply: Reply, code: number, bytes: Uint8Array, accepted: Accepted, more: Headers = []): void {
  reply.answered(code, bytes.length);
  reply.exchange.send(code, headersOf(reply, accepted.contentType, more), bytes);
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
  if (accepted !== undefined && (accepted.format === "yaml" || accepted.pretty)) {
    const text = reformat(json, accepted);
    reply.answered(code, text.length);
    reply.exchange.send(code, headersOf(reply, accepted.contentType, more), text);
    return;
  }
  reply.answered(code, json.length);
  reply.exchange.send(code, headersOf(reply, accepted?.contentType ?? "application/json", more), json);
}

/** JSON bytes of ours in another text form. */
function reformat(json: Uint8Array, accepted: Accepted): string {
  const value = parseJson(json);
  assert(value === null || typeof value !== "object" || !("message" in value), "Our own JSON does not parse");
  return accepted.format === "yaml" ? yamlText(value as never) : prettyJson(value as never);
}

/** Headers of a compressed answer. */
export const gzipHeaders: Headers = [
  ["Content-Encoding", "gzip"],
  ["Vary", "Accept-Encoding"],
];

/** The byte a gzipped body begins with (RFC 1952 2.3.1): a space ahead of it would not be skipped. */
export const gzipOpening = 0x1f;

/** Sends a document gzipped; resolves when it was sent, so that the request is reported with its answer. */
export async function sendGzip(
  reply: Reply,
  code: number,
  bytes: Uint8Array,
  contentType: string,
  more: Headers = [],
): Promise<void> {
  const packed = await new Promise<Uint8Array | undefined>((resolve) => {
    gzip(bytes, { level: constants.Z_BEST_SPEED }, (error, done) => resolve(error === null ? done : undefined));
  });
  if (reply.exchange.aborted) return;
  const body = packed ?? bytes;
  reply.answered(code, body.length);
  const headers = packed === undefined ? more : [...more, ...gzipHeaders];
  reply.exchange.send(code, headersOf(reply, contentType, headers), body);
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
