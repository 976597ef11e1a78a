// The front on uWebSockets.js, and the only import of it. Every trap of that build is handled here and nowhere else;
// the comments name them. What cannot be mended from here: no client certificates; a request line that reaches the
// build in two reads is answered 505 (lines beyond about 1 KiB), a head above 4 KiB in two reads 431; more than 48
// header fields or a name with anything but letters, digits and hyphens get no answer and are closed after 10 s.
// The node front has none of these limits.

import type { HttpRequest, HttpResponse, TemplatedApp, us_listen_socket } from "uWebSockets.js";
import { STATUS_CODES } from "node:http";
import { createRequire } from "node:module";
import { assert } from "../base/assert.ts";
import { copyOf } from "../base/copy.ts";
import { limits } from "../config/limits.ts";
import type { AnswerStream, Exchange, Handler, Headers } from "../request/transport.ts";
import { asksClose, checkHead, encodeHeaderValue, type HeadFault, isHeadFault, isSent } from "./gate.ts";
import type { Listener, ListenOptions } from "./listener.ts";
import { goneStream } from "./streams.ts";

type Library = typeof import("uWebSockets.js");

/** Above the build's 16 KiB cork buffer: an answer of this size is on its way before the handler returns. */
const corkBytesMax = 16 * 1024;
/** An empty chunk ends a body, and nothing else makes this build send the head: JSON readers skip the space. */
const blank = new Uint8Array([0x20]);

/** The build's cork buffer has 16 KiB: a piece and its chunk framing fit, the first one with the head. */
const pieceBytes = 16_000;
const firstPieceBytes = 4_096;
const empty = new Uint8Array(0);
/** How often the timer of a slow upload is started anew, in milliseconds. */
const rearmMs = 1_000;

let library: Library | undefined;

/** Loads the build. Throws where the running Node cannot (anything but 16, 18 and 20). */
export function loadUws(): Library {
  library ??= createRequire(import.meta.url)("uWebSockets.js") as Library;
  return library;
}

/** Opens a listener. Rejects when the address is not to be had. Shares its port with the other front threads. */
export function listenUws(options: ListenOptions): Promise<Listener> {
  const uws = loadUws();
  const { tls } = options;
  const app = tls === undefined ? uws.App() : uws.SSLApp({ key_file_name: tls.keyFile, cert_file_name: tls.certFile });
  const front = new UwsFront(uws, app, options.handle);
  return front.listen(options.host, options.port);
}

/** One listener and the exchanges under way on it. */
class UwsFront implements Listener {
  port = 0;
  /** Answers close their connection: the front is on its way out. */
  closing = false;
  #closed = false;
  readonly exchanges = new Set<UwsExchange>();
  readonly streams = new Set<AnswerStream>();
  readonly #uws: Library;
  readonly #handle: Handler;
  readonly #app: TemplatedApp;
  #socket: us_listen_socket | undefined;

  constructor(uws: Library, app: TemplatedApp, handle: Handler) {
    this.#uws = uws;
    this.#app = app;
    this.#handle = handle;
    // Routes with parameters do not match in this build, and an unmatched request ends its connection unanswered.
    app.any("/*", (res, req) => this.#accept(res, req));
  }

  /** Threads share the port, not a descriptor. */
  get fd(): undefined {
    return undefined;
  }

  get pending(): number {
    return this.exchanges.size + this.streams.size;
  }

  get streaming(): number {
    return this.streams.size;
  }

  listen(host: string, port: number): Promise<Listener> {
    return new Promise((resolve, reject) => {
      this.#app.listen(host, port, (socket) => {
        if (socket === false) {
          reject(new Error(`Cannot listen on ${host}:${port}`));
          return;
        }
        this.#socket = socket;
        this.port = this.#uws.getSocketPort(socket as never);
        resolve(this);
      });
    });
  }

  stopAccepting(): void {
    this.closing = true;
    // Also before a thread ends: an open listen socket makes the end of its loop abort the process.
    if (this.#socket !== undefined) this.#uws.closeSocket(this.#socket);
    this.#socket = undefined;
  }

  cut(): void {
    if (this.#closed) return;
    this.#closed = true;
    // Connections without a request too: any that is open when the thread ends makes its loop abort the process.
    // Missing from the build's types.
    (this.#app as TemplatedApp & { close(): void }).close();
  }

  close(): void {
    this.cut();
    this.#socket = undefined;
  }

  /** Reads the request, which is valid only during this call, and hands it on. Must not throw or leave without hooks. */
  #accept(res: HttpResponse, req: HttpRequest): void {
    const headers: (readonly [string, string])[] = [];
    req.forEachHeader((name, value) => {
      headers.push([name, value]);
    });
    const method = req.getCaseSensitiveMethod().toUpperCase();
    const path = req.getUrl();
    const query = req.getQuery() ?? "";
    const framing = checkHead({ method, path, query, headers });
    if (isHeadFault(framing)) {
      refuse(res, framing);
      return;
    }
    const exchange = new UwsExchange(this, res, method, path, query, headers);
    // A request that closes, and one with a chunked body (whose framing this build reads leniently), is the last one
    // on its connection: whatever follows it is never run.
    exchange.last = framing.close || framing.length === undefined;
    exchange.receive(framing.length);
    try {
      this.#handle(exchange);
    } catch (error) {
      exchange.cut();
      // A bug ends the thread, but not from inside the build's callback, which would end the process.
      setImmediate(() => {
        throw error;
      });
    }
  }
}

/**
 * Answers a malformed head and closes. The build goes on to the next pipelined request after an answer it still has
 * in its cork buffer, even when told to close; one that overflows the buffer closes at once. Hence the padding.
 */
function refuse(res: HttpResponse, fault: HeadFault): void {
  res.onAborted(() => {});
  res.writeStatus(statusLine(fault.code));
  res.writeHeader("Content-Type", "text/plain; charset=utf-8");
  res.end(`${fault.code} ${STATUS_CODES[fault.code]}: ${fault.message}\n`.padEnd(corkBytesMax + 1024), true);
}

const statusLines = new Map<number, string>();

function statusLine(code: number): string {
  let line = statusLines.get(code);
  if (line === undefined) {
    line = `${code} ${STATUS_CODES[code] ?? "Unknown"}`;
    statusLines.set(code, line);
  }
  return line;
}

function writeHead(res: HttpResponse, code: number, headers: Headers): void {
  res.writeStatus(statusLine(code));
  for (const [name, value] of headers) if (isSent(name)) res.writeHeader(name, encodeHeaderValue(value));
}

/** Whether an answer to `method` with `code` has no body (RFC 9110 6.4.1). */
function bodiless(method: string, code: number): boolean {
  return method === "HEAD" || code === 204 || code === 304;
}

/** What is looked at after send() returned must not lie in shared memory, which others recycle. */
function keep(body: Uint8Array | string): Uint8Array | string {
  return typeof body !== "string" && body.buffer instanceof SharedArrayBuffer ? copyOf(body) : body;
}

type Body = Uint8Array | "too-large" | "aborted";

class UwsExchange implements Exchange {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  /** Empty once the answer is a stream: an idle watch keeps no request. */
  headers: Headers;
  readonly certificate = undefined;
  readonly remote: string;
  /** No request may follow on this connection. */
  last = false;
  readonly #front: UwsFront;
  readonly #res: HttpResponse;
  readonly #gone: (() => void)[] = [];
  /** The answer was handed over; `#done` when the build has all of it and `#res` must not be touched. */
  #answered = false;
  #done = false;
  #aborted = false;
  /** The streamed answer, which lives on without this exchange. */
  #stream: UwsStream | undefined;
  // The body: pieces until somebody asks, then a promise.
  #pieces: Uint8Array[] = [];
  #received = 0;
  #complete = true;
  #bytesMax: number = limits.bodyBytesMax;
  /** Monotonic milliseconds: when the build's timer was last started for this body, and when the body must be there. */
  #armedMs = 0;
  #uploadEndMs = 0;
  #settle: ((body: Body) => void) | undefined;
  /** An answer that waits for the rest of an oversized body, so that the client gets to read it. */
  #deferred: (() => void) | undefined;

  constructor(front: UwsFront, res: HttpResponse, method: string, path: string, query: string, headers: Headers) {
    this.#front = front;
    this.#res = res;
    this.method = method;
    this.path = path;
    this.query = query;
    this.headers = headers;
    this.remote = Buffer.from(res.getRemoteAddressAsText()).toString("latin1");
    // First of all: a request left with neither an answer nor this hook ends the process.
    res.onAborted(() => this.#abort());
    front.exchanges.add(this);
  }

  header(name: string): string | undefined {
    for (const header of this.headers) if (header[0] === name) return header[1];
    return undefined;
  }

  /** Hooks the body, which is lost unless asked for during accept. */
  receive(length: number | undefined): void {
    if (length === 0) return;
    this.#complete = false;
    this.#res.onData((chunk, isLast) => this.#take(chunk, isLast));
  }

  #take(chunk: ArrayBuffer, isLast: boolean): void {
    this.#received += chunk.byteLength;
    // The chunk is detached when this call returns.
    if (this.#received <= this.#bytesMax && !this.#answered) this.#pieces.push(new Uint8Array(chunk.slice(0)));
    else this.#pieces.length = 0;
    if (isLast) this.#complete = true;
    else this.#rearm();
    const deferred = this.#deferred;
    if (deferred !== undefined && (isLast || this.#received > this.#bytesMax + limits.bodyDiscardBytesMax)) {
      this.#deferred = undefined;
      deferred();
      return;
    }
    this.#offer();
  }

  /**
   * The build closes uploads of less than 16 KB/s after ten seconds, which resume() starts anew. They have as long as
   * the reference gives them, and a client that sends nothing for ten seconds is closed all the same.
   */
  #rearm(): void {
    const now = performance.now();
    if (this.#armedMs === 0) {
      this.#armedMs = now;
      this.#uploadEndMs = now + limits.requestMsMax;
    } else if (now > this.#uploadEndMs) {
      this.cut();
    } else if (now - this.#armedMs > rearmMs && !this.#done) {
      this.#armedMs = now;
      this.#res.pause();
      this.#res.resume();
    }
  }

  /** Settles a pending body() when there is something to tell. */
  #offer(): void {
    const settle = this.#settle;
    if (settle === undefined) return;
    if (this.#received > this.#bytesMax) this.#give(settle, "too-large");
    else if (this.#complete) this.#give(settle, this.#joined());
  }

  #give(settle: (body: Body) => void, body: Body): void {
    this.#settle = undefined;
    this.#pieces = [];
    settle(body);
  }

  #joined(): Uint8Array {
    if (this.#pieces.length === 0) return empty;
    return this.#pieces.length === 1 ? (this.#pieces[0] as Uint8Array) : Buffer.concat(this.#pieces);
  }

  body(bytesMax: number): Promise<Body> {
    assert(bytesMax <= limits.bodyBytesMax, `A body of ${bytesMax} bytes is above the limit of ${limits.bodyBytesMax}`);
    if (this.aborted) return Promise.resolve("aborted");
    this.#bytesMax = bytesMax;
    return new Promise((resolve) => {
      this.#settle = resolve;
      this.#offer();
    });
  }

  get aborted(): boolean {
    return this.#aborted || this.#stream?.aborted === true;
  }

  onAbort(gone: () => void): void {
    if (this.aborted) gone();
    else if (this.#stream !== undefined) this.#stream.onAbort(gone);
    else this.#gone.push(gone);
  }

  /** The connection is gone, whoever ended it. */
  #abort(): void {
    this.#aborted = true;
    this.#done = true;
    this.#front.exchanges.delete(this);
    if (this.#settle !== undefined) this.#give(this.#settle, "aborted");
    this.#pieces = [];
    for (const gone of this.#gone) gone();
    this.#gone.length = 0;
  }

  /** Ends the connection without an answer. */
  cut(): void {
    if (!this.#done) this.#res.close();
  }

  send(code: number, headers: Headers, body: Uint8Array | string): void {
    assert(!this.#answered, "An exchange is answered once");
    this.#answered = true;
    if (this.aborted) return;
    if (asksClose(headers)) this.last = true;
    const waits = this.last || (!this.#complete && this.#received > this.#bytesMax);
    const kept = waits || body.length > limits.sliceBytesMax ? keep(body) : body;
    if (!this.#complete && this.#received > this.#bytesMax) {
      this.last = true;
      this.#deferred = () => this.#send(code, headers, kept);
    } else if (this.last) {
      // Answering inside the parser would let a pipelined request run before the connection closes; while an answer
      // is due, the build closes on one.
      setImmediate(() => this.#send(code, headers, kept));
    } else {
      this.#send(code, headers, kept);
    }
  }

  #send(code: number, headers: Headers, body: Uint8Array | string): void {
    if (this.#done) return;
    const res = this.#res;
    const close = this.last || this.#front.closing;
    const bytes = typeof body === "string" && body.length > limits.sliceBytesMax ? Buffer.from(body) : body;
    res.cork(() => {
      writeHead(res, code, headers);
      if (bodiless(this.method, code)) {
        // With an argument, the build sends it as a length and counts the answer as unfinished.
        if (close) res.writeHeader("Connection", "close");
        res.endWithoutBody();
        this.#finish();
      } else if (typeof bytes === "string" || bytes.length <= limits.sliceBytesMax) {
        res.end(bytes, close);
        this.#finish();
      } else {
        // tryEnd() cannot close: the header asks the client to, and the build's idle timer sees to the rest.
        if (close) res.writeHeader("Connection", "close");
        this.#sendSlices(bytes);
      }
    });
  }

  /** A large whole answer goes out as the peer takes it, instead of being copied at once. */
  #sendSlices(bytes: Uint8Array): void {
    const res = this.#res;
    const total = bytes.length;
    let offset = 0;
    const more = (): boolean => {
      for (;;) {
        const slice = bytes.subarray(offset, offset + limits.sliceBytesMax);
        const [ok, finished] = res.tryEnd(slice, total);
        if (finished) {
          this.#finish();
          return true;
        }
        if (!ok) {
          offset = res.getWriteOffset();
          return false;
        }
        offset += slice.length;
      }
    };
    res.onWritable(() => {
      offset = res.getWriteOffset();
      return more();
    });
    more();
  }

  #finish(): void {
    this.#done = true;
    this.#gone.length = 0;
    this.#front.exchanges.delete(this);
  }

  stream(code: number, headers: Headers, opening?: number): AnswerStream {
    assert(!this.#answered, "An exchange is answered once");
    this.#answered = true;
    if (this.aborted) return goneStream;
    if (bodiless(this.method, code)) {
      const res = this.#res;
      res.cork(() => {
        writeHead(res, code, headers);
        res.endWithoutBody();
      });
      this.#finish();
      return goneStream;
    }
    this.headers = [];
    const gone = [...this.#gone];
    this.#finish();
    this.#stream = new UwsStream(this.#front, this.#res, () => writeHead(this.#res, code, headers), gone, opening);
    return this.#stream;
  }
}

/**
 * A streamed answer: the head travels with the first chunk, at the latest when the loop comes round. There are thousands
 * of these for hours, so they keep nothing of their requests.
 */
class UwsStream implements AnswerStream {
  aborted = false;
  readonly #front: UwsFront;
  readonly #res: HttpResponse;
  #gone: (() => void)[];
  #head: (() => void) | undefined;
  #chunk: Uint8Array = blank;
  #accepted = true;
  #ended = false;
  #wrote = false;
  /** The byte the body begins with, where that is known. */
  readonly #opening: number | undefined;
  /** It was sent ahead: the first chunk goes without it. */
  #opened = false;
  #drained: (() => void) | undefined;
  /** One closure for the life of the stream: exactly one write per cork, or the build sends piecemeal. */
  readonly #write = (): void => {
    this.#begin();
    this.#accepted = this.#res.write(this.#chunk as Uint8Array<ArrayBuffer>);
  };

  constructor(front: UwsFront, res: HttpResponse, head: () => void, gone: (() => void)[], opening: number | undefined) {
    this.#front = front;
    this.#res = res;
    this.#head = head;
    this.#opening = opening;
    this.#gone = gone;
    front.streams.add(this);
    // In place of the exchange's.
    res.onAborted(() => this.#abort());
    // Mandatory, also where nothing is waiting: without it a stream that was ever behind is closed 10 s later.
    res.onWritable(() => this.#writable());
    setImmediate(() => {
      if (this.#head === undefined || this.#ended) return;
      this.#opened = this.#opening !== undefined;
      this.#send(this.#opening === undefined ? blank : Uint8Array.of(this.#opening));
    });
  }

  /** Writes the head, once. */
  #begin(): void {
    if (this.#head === undefined) return;
    this.#head();
    this.#head = undefined;
    if (this.#front.closing) this.#res.writeHeader("Connection", "close");
  }

  /**
   * In pieces that fit the build's cork buffer. A larger write loses what does not fit when the peer is just then
   * behind: the build flushes the buffer, sees that it could not, and forgets the rest.
   */
  #send(chunk: Uint8Array): boolean {
    let accepted = true;
    for (let at = 0; at < chunk.length; ) {
      const end = at + (this.#head === undefined ? pieceBytes : firstPieceBytes);
      this.#chunk = end >= chunk.length && at === 0 ? chunk : chunk.subarray(at, end);
      this.#res.cork(this.#write);
      accepted &&= this.#accepted;
      at = end;
    }
    this.#chunk = blank;
    this.#wrote = true;
    return accepted;
  }

  write(chunk: Uint8Array): boolean {
    if (this.#ended || chunk.length === 0) return true;
    if (!this.#opened) return this.#send(chunk);
    this.#opened = false;
    assert(chunk[0] === this.#opening, "A body does not begin with the byte it was opened with");
    return chunk.length === 1 ? true : this.#send(chunk.subarray(1));
  }

  onDrain(drained: () => void): void {
    this.#drained = drained;
  }

  #writable(): boolean {
    this.#wrote = false;
    this.#drained?.();
    // What the build holds for the peer moves only with a write or a cork.
    if (!this.#ended && !this.#wrote) this.#res.cork(() => {});
    return true;
  }

  onAbort(gone: () => void): void {
    this.#gone.push(gone);
  }

  /** The connection is gone, whoever ended it. */
  #abort(): void {
    // None when it was ended or cut by this side.
    const gone = this.#gone;
    this.aborted = true;
    this.#forget();
    for (const tell of gone) tell();
  }

  end(): void {
    if (this.#ended) return;
    this.#forget();
    const res = this.#res;
    res.cork(() => {
      this.#begin();
      // Not told to close: the build would write that header into the body.
      res.end();
    });
  }

  abort(): void {
    if (this.#ended) return;
    this.#forget();
    this.#res.close();
  }

  /** Nothing is written from here on. */
  #forget(): void {
    this.#ended = true;
    this.#gone = [];
    this.#front.streams.delete(this);
  }
}
