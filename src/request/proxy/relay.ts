// Passes a request on to another server and its answer back, chunk by chunk: a client that does not read holds up the
// server that sends, and neither costs memory. Whatever ends one side ends the other.
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { limits } from "../../config/limits.ts";
import { CallFailure } from "../../outbound/client.ts";
import type { Sent } from "../../outbound/streams.ts";
import { type AnswerStream, type Exchange, type Headers, type Payer, valuesOf } from "../exchange/transport.ts";

/** The time a request has; never over for those that last. */
export interface Time {
  /** Milliseconds; Infinity: there is no end. */
  leftMs(): number;
}

/** Waits for the head of an answer. "late": it did not come in time; "gone": the client went away. The request is cut then. */
export async function headOf(
  sent: Sent,
  exchange: Exchange,
  { leftMs }: Time,
): Promise<IncomingMessage | CallFailure | "late" | "gone"> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<"late">((resolve) => {
    const ms = leftMs();
    if (ms !== Number.POSITIVE_INFINITY) timer = setTimeout(resolve, Math.max(0, ms), "late");
  });
  const gone = new Promise<"gone">((resolve) => exchange.onAbort(() => resolve("gone")));
  const first = await Promise.race([sent.answer, late, gone]);
  clearTimeout(timer);
  if (first === "late" || first === "gone" || first instanceof CallFailure) sent.cut();
  return first;
}

/** How an answer goes on. */
export interface Relaying {
  readonly code: number;
  readonly headers: Headers;
  /** Unpacks a body that the client did not ask to be packed. */
  readonly unpacks: boolean;
  readonly time: Time;
  readonly payer: Payer | undefined;
}

/**
 * Sends an answer through; resolves when it is over, either way. `started` is called as soon as its end can be asked
 * for: what it is handed ends the answer in order.
 */
export function relay(
  exchange: Exchange,
  sent: Sent,
  response: IncomingMessage,
  relaying: Relaying,
  started: (finish: () => void) => void = () => undefined,
): Promise<void> {
  return new Promise((resolve) => new Relay(exchange, sent, response, relaying, resolve).run(started));
}

class Relay {
  readonly #exchange: Exchange;
  readonly #sent: Sent;
  readonly #response: IncomingMessage;
  readonly #relaying: Relaying;
  readonly #over: () => void;
  /** The body as it is sent. */
  #source: Readable | undefined;
  #stream: AnswerStream | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Releases the charge for bytes the client does not take. */
  #taken: (() => void) | undefined;
  #done = false;

  constructor(exchange: Exchange, sent: Sent, response: IncomingMessage, relaying: Relaying, over: () => void) {
    this.#exchange = exchange;
    this.#sent = sent;
    this.#response = response;
    this.#relaying = relaying;
    this.#over = over;
  }

  run(started: (finish: () => void) => void): void {
    const { time, headers, unpacks } = this.#relaying;
    const response = this.#response;
    const leftMs = time.leftMs();
    if (leftMs !== Number.POSITIVE_INFINITY) this.#timer = setTimeout(() => this.#fail(), Math.max(0, leftMs));
    this.#exchange.onAbort(() => this.#end());
    response.on("error", () => this.#fail());
    response.on("close", () => {
      if (!response.complete) this.#fail();
    });
    if (this.#done) return;
    const source = unpacks ? response.pipe(createGunzip()) : response;
    this.#source = source;
    if (source !== response) source.on("error", () => this.#fail());
    // A front that cannot send a head alone sends a space with it: where that may be part of the body, the head waits.
    if (isSkippingSpace(headers)) this.#open(source);
    source.on("data", (chunk: Buffer) => {
      const stream = this.#open(source);
      if (this.#done || stream.write(chunk)) return;
      source.pause();
      this.#charge();
    });
    source.on("end", () => {
      if (!response.complete) return this.#fail();
      const stream = this.#open(source);
      if (!this.#done) stream.end();
      this.#end();
    });
    started(() => this.#finish());
  }

  #open(source: { resume(): unknown }): AnswerStream {
    if (this.#stream !== undefined) return this.#stream;
    const { code, headers } = this.#relaying;
    const stream = this.#exchange.stream(code, headers);
    this.#stream = stream;
    stream.onDrain(() => {
      this.#taken?.();
      this.#taken = undefined;
      if (!this.#done) source.resume();
    });
    return stream;
  }

  /** What the front holds for a client that is behind is charged to its user. */
  #charge(): void {
    const { payer } = this.#relaying;
    if (payer === undefined || this.#taken !== undefined) return;
    this.#taken = payer.take(limits.streamBufferBytesMax);
    if (this.#taken === undefined) this.#fail();
  }

  /** The answer cannot be completed: the client sees that it is not whole. */
  #fail(): void {
    if (this.#done) return;
    // Also where nothing was sent yet: its head would say that all is well.
    (this.#stream ?? this.#exchange.stream(this.#relaying.code, this.#relaying.headers)).abort();
    this.#end();
  }

  /** Ends it in order, as if the other server had. */
  #finish(): void {
    if (this.#done) return;
    (this.#stream ?? this.#exchange.stream(this.#relaying.code, this.#relaying.headers)).end();
    this.#end();
  }

  #end(): void {
    if (this.#done) return;
    this.#done = true;
    clearTimeout(this.#timer);
    this.#taken?.();
    // An answer that was read to its end leaves its connection to the next request.
    if (!this.#response.complete || !this.#response.readableEnded) this.#sent.cut();
    if (this.#source !== this.#response) this.#source?.destroy();
    this.#over();
  }
}

/** Whether a body of this type may begin with a space: JSON, and not packed. */
function isSkippingSpace(headers: Headers): boolean {
  const [type = ""] = valuesOf(headers, "content-type");
  return (
    /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type) && valuesOf(headers, "content-encoding").length === 0
  );
}
